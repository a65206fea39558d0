import { Cell } from '../../../shop/cell.js';
import { prefix } from '../../../ui/drafts.js';
import type { ImportPreview } from './import-preview.js';
import type { ImportState, PlantImport } from './plant-import.js';

/** The current import, kept outside the page: it continues while other pages are shown. */
export const currentImport = new Cell<ImportPreview | PlantImport | undefined>(undefined);

// What the tab remembers also when it is reloaded, until the user logs out.

/** What is left of an import when its page is closed. */
export type LeftImport = Pick<ImportState, 'phase' | 'fileName' | 'lastLine' | 'created' | 'updated' | 'unchanged' | 'refused'>;

const leftAs = `${prefix}import`;

export const leftImport = (): LeftImport | null => JSON.parse(sessionStorage.getItem(leftAs) ?? 'null') as LeftImport | null;
export const forgetLeft = (): void => sessionStorage.removeItem(leftAs);
export const keepLeft = ({ phase, fileName, lastLine, created, updated, unchanged, refused }: LeftImport): void =>
  sessionStorage.setItem(leftAs, JSON.stringify({ phase, fileName, lastLine, created, updated, unchanged, refused }));

/** For how long the shop adds a row only once. */
const rememberedMs = 24 * 3_600_000;
/** More would leave no room for drafts. The preview counts rows beyond them as new, and the import adds none of them twice. */
const mostRemembered = 20_000;

/** A plant that a row without an id has added. */
interface Added {
  readonly id: number;
  readonly at: number;
}

/** @param key of the row (`PlantLine.key`) */
const addedAs = (key: string): string => `${prefix}added ${key}`;
const readAdded = (name: string): Added => JSON.parse(sessionStorage.getItem(name) ?? '{"id":0,"at":0}') as Added;

export function noteAdded(key: string, id: number): void {
  if (sessionStorage.length < mostRemembered) sessionStorage.setItem(addedAs(key), JSON.stringify({ id, at: Date.now() } satisfies Added));
}

/** A deleted plant is added again. */
export function forgetAdded(plantId: number): void {
  for (const name of Object.keys(sessionStorage)) if (name.startsWith(addedAs('')) && readAdded(name).id === plantId) sessionStorage.removeItem(name);
}

/** @returns the id of the plant that the row added before; undefined: it would add one */
export function addedBy(key = ''): number | undefined {
  const { id, at } = readAdded(addedAs(key));
  return Date.now() - at < rememberedMs ? id : undefined;
}
