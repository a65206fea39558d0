import { Cell } from '../../../shop/cell.js';
import type { ImportPreview } from './import-preview.js';
import type { PlantImport } from './plant-import.js';

/** The current import, kept outside the page: it continues while other pages are shown. */
export const currentImport = new Cell<ImportPreview | PlantImport | undefined>(undefined);

/** For how long the shop adds a row only once. */
const rememberedMs = 24 * 3_600_000;

/** The plants that rows without an id have added since the console was opened, by the rows' keys (`PlantLine.key`). */
const added = new Map<string, { readonly id: number; readonly at: number }>();

export const noteAdded = (key: string, id: number): void => void added.set(key, { id, at: Date.now() });

/** A deleted plant is added again. */
export function forgetAdded(plantId: number): void {
  for (const [key, { id }] of added) if (id === plantId) added.delete(key);
}

/** @returns the id of the plant that the row added before; undefined: it would add one */
export function addedBy(key = ''): number | undefined {
  const { id, at } = added.get(key) ?? { id: undefined, at: 0 };
  return Date.now() - at < rememberedMs ? id : undefined;
}
