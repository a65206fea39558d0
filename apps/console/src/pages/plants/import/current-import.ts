import { Cell } from '../../../shop/cell.js';
import type { ImportPreview } from './import-preview.js';
import type { PlantImport } from './plant-import.js';

/** The current import, kept outside the page: it continues while other pages are shown. */
export const currentImport = new Cell<ImportPreview | PlantImport | undefined>(undefined);
