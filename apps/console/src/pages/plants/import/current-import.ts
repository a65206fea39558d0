import { Cell } from '../../../shop/cell.js';
import type { ImportPreview } from './import-preview.js';
import type { PlantImport } from './plant-import.js';

/** The current import, kept outside the page: it continues while other pages are shown. */
export const currentImport = new Cell<ImportPreview | PlantImport | undefined>(undefined);

/** Ids of the plants that rows without an id have added since the console was opened, by the rows' keys (`PlantFile.keyOf`). */
export const addedPlants = new Map<string, number>();
