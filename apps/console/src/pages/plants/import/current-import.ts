import { Cell } from '../../../shop/cell.js';
import type { PlantImport } from './plant-import.js';

/** The import of this page, whoever looks at it: it runs on while other pages are shown. */
export const currentImport = new Cell<PlantImport | undefined>(undefined);
