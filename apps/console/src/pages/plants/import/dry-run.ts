import type { components, Shop } from '@plant-shop/client';
import { type Column, COLUMNS, type Format, whyOf } from '../../../../../../tools/plants/csv.mjs';
import { exportedLines } from '../export/export-plants.js';
import { type Plant, plantStatuses } from '../plant-filter.js';
import { mostUnits } from '../plant-form-values.js';
import type { PlantFile, PlantReading } from './plant-file.js';
import { type RefusedLine, reportHeader, reportRow } from './report.js';

/** What a line of a file says of a plant, as it would be sent. */
export type PlantValues = Readonly<Record<string, unknown>>;

/** Why a cell would be refused. */
export interface CellFault {
  readonly column: Column;
  readonly detail: string;
}

export type Outcome = 'created' | 'updated' | 'unchanged' | 'refused';

/** A line, and what importing it would do. */
export interface DryLine {
  readonly number: number;
  readonly outcome: Outcome;
  readonly plant: PlantValues;
  readonly faults: readonly CellFault[];
  /** Why the line would be refused as a whole. */
  readonly fault?: string;
  /** The plant that it would change. */
  readonly before?: Partial<Plant>;
  readonly changed: readonly Column[];
  /** Free units now, if the line sets them. */
  free?: number;
}

export interface DryRun {
  readonly counts: Readonly<Record<Outcome, number>>;
  /** Existing plants whose free units would be set. */
  readonly stocks: number;
  readonly blank: number;
  /** The first lines. */
  readonly lines: readonly DryLine[];
  /** The first lines that would be refused. */
  readonly refused: readonly (DryLine & { readonly text: string })[];
  /** All lines that would be refused, as CSV. */
  readonly report: Blob;
}

const mostLines = 10;
const mostRefused = 100;
/** Lines between pauses, in which the page answers its reader. */
const stepLines = 250;

/** Reads a whole file and says what importing it would do. Changes nothing. @throws BadFile, ShopError */
export async function dryRun({ shop, file, reading, signal, onPart }: {
  readonly shop: Shop;
  readonly file: PlantFile;
  readonly reading: PlantReading;
  readonly signal: AbortSignal;
  /** Called with the part that is done, from 0 to 1. */
  readonly onPart: (part: number) => void;
}): Promise<DryRun> {
  const steps = async function* (onRead: (part: number) => void) {
    let count = 0;
    for await (const line of file.lines(reading, signal, onRead)) {
      if (++count % stepLines === 0) await new Promise((resolve) => setTimeout(resolve));
      yield line;
    }
  };
  // First which plants of the shop it concerns: the shop may have many more.
  const ids = new Set<unknown>();
  const externalIds = new Set<unknown>();
  for await (const { text, fault } of steps((part) => onPart(part / 3))) {
    if (text === '' || fault !== undefined) continue;
    const { id, externalId } = valuesOf(text) ?? {};
    if (id !== undefined) ids.add(id);
    if (externalId !== undefined) externalIds.add(externalId);
  }
  const known = new Map<unknown, Partial<Plant>>();
  const owners = new Map<unknown, number>();
  if (ids.size + externalIds.size > 0) {
    for await (const line of exportedLines(shop, signal)) {
      const plant = JSON.parse(line) as Plant;
      if (ids.has(plant.id)) known.set(plant.id, plant);
      if (plant.externalId !== undefined && externalIds.has(plant.externalId)) owners.set(plant.externalId, plant.id);
    }
  }
  onPart(2 / 3);

  const counts: Record<Outcome, number> = { created: 0, updated: 0, unchanged: 0, refused: 0 };
  const lines: DryLine[] = [];
  const refused: (DryLine & { text: string })[] = [];
  const parts: Blob[] = [];
  let report: string[] = [];
  let [stocks, blank] = [0, 0];
  for await (const { number, text, fault, isNew } of steps((part) => onPart((2 + part) / 3))) {
    if (text === '') {
      blank += 1;
      continue;
    }
    const line = { number, ...judged(fault === undefined ? valuesOf(text) : {}, { fault, needsId: isNew !== true, known, owners }) };
    counts[line.outcome] += 1;
    if (line.outcome !== 'refused' && line.before && line.plant['quantity'] !== undefined) stocks += 1;
    if (lines.length < mostLines) lines.push(line);
    if (line.outcome !== 'refused') continue;
    if (refused.length < mostRefused) refused.push({ ...line, text });
    report.push(reportRow(refusedLine(file.format, { ...line, text })));
    if (report.length < stepLines) continue;
    parts.push(new Blob(report));
    report = [];
  }
  await readStock(shop, lines, signal);
  return { counts, stocks, blank, lines, refused, report: new Blob([reportHeader, ...parts, ...report], { type: 'text/csv' }) };
}

function valuesOf(text: string): PlantValues | undefined {
  try {
    const values: unknown = JSON.parse(text);
    return typeof values === 'object' && values !== null && !Array.isArray(values) ? (values as PlantValues) : undefined;
  } catch {
    // The line is judged as one that is no plant.
    return undefined;
  }
}

/** Says what a line does, and lets the next lines know it. */
function judged(values: PlantValues | undefined, { fault, needsId, known, owners }: {
  readonly fault: string | undefined;
  readonly needsId: boolean;
  readonly known: Map<unknown, Partial<Plant>>;
  readonly owners: Map<unknown, number>;
}): Omit<DryLine, 'number'> {
  const plant = values ?? {};
  const whole = values ? fault : 'is not the JSON of a plant.';
  if (whole !== undefined) return { outcome: 'refused', plant, faults: [], fault: whole, changed: [] };
  const faults = faultsOf(plant, needsId);
  const { id, externalId } = plant;
  const owner = externalId === undefined || externalId === null ? undefined : owners.get(externalId);
  if (owner !== undefined && owner !== id) {
    faults.push({ column: 'externalId', detail: owner === 0 ? 'is that of an earlier line' : `is that of plant ${owner}; with its id, this line changes it` });
  }
  if (faults.length > 0) return { outcome: 'refused', plant, faults, changed: [] };
  if (typeof externalId === 'string') owners.set(externalId, typeof id === 'number' ? id : 0);
  const before = id === undefined ? undefined : known.get(id);
  const kept = before?.externalId === undefined ? {} : { externalId: before.externalId };
  if (id !== undefined) known.set(id, { photoUrls: [], tags: [], status: before?.status ?? 'available', ...kept, ...(plant as Partial<Plant>) });
  if (!before) return { outcome: 'created', plant, faults, changed: [] };
  const changed = changesOf(plant, before);
  return { outcome: changed.length > 0 ? 'updated' : 'unchanged', plant, faults, before, changed };
}

/** The cells that the shop would refuse. It checks them again. */
export function faultsOf(plant: PlantValues, needsId: boolean): CellFault[] {
  const faults: CellFault[] = [];
  const check = (column: Column, isGood: boolean, detail: string): void => {
    if (!isGood) faults.push({ column, detail });
  };
  const { id, name, status, category, tags, photoUrls, externalId, quantity } = plant;
  if (id !== undefined || needsId) check('id', isWhole(id, 1, Number.MAX_SAFE_INTEGER), id === undefined ? 'is missing' : 'must be a whole number in digits, at least 1');
  check('name', isName(name), name === undefined ? 'is missing' : nameRule);
  if (status !== undefined) check('status', plantStatuses.some((one) => one === status), `must be one of ${plantStatuses.join(', ')}`);
  if (category !== undefined && category !== null) check('category', isLabel(category, true), nameRule);
  if (tags !== undefined) check('tags', Array.isArray(tags) && tags.length <= 64 && tags.every((tag) => isLabel(tag, false)), 'must be at most 64, each of 1 to 200 characters that can be seen');
  if (photoUrls !== undefined) check('photoUrls', Array.isArray(photoUrls) && photoUrls.length <= 64 && photoUrls.every((url) => typeof url === 'string' && url.length <= 2_048 && /^[^\s\p{Cc}]+$/u.test(url)), 'must be at most 64 addresses without blanks');
  if (externalId !== undefined && externalId !== null) check('externalId', typeof externalId === 'string' && externalId.length <= 200 && isText(externalId), 'must be text of 1 to 200 characters');
  if (quantity !== undefined) check('quantity', isWhole(quantity, 0, mostUnits), 'must be a whole number in digits, from 0 to 1,000,000,000');
  return faults;
}

const nameRule = 'must be text of 1 to 200 characters that can be seen';
const isWhole = (value: unknown, min: number, max: number): boolean => Number.isInteger(value) && (value as number) >= min && (value as number) <= max;
const isText = (text: string): boolean => text !== '' && !text.includes('\0') && text.isWellFormed();
const isName = (value: unknown): boolean => {
  if (typeof value !== 'string') return false;
  const name = value.trim();
  // Control characters but tabs and line ends change what a terminal shows.
  return name.length <= 200 && isText(name) && /[^\p{Cc}\p{Cf}\p{Z}\p{M}\p{Default_Ignorable_Code_Point}]/u.test(name) && !/\p{Cc}/u.test(name.replaceAll(/[\t\n\r]/g, ''));
};

type Label = Partial<components['schemas']['Tag']>;

function isLabel(value: unknown, mayBeUnnamed: boolean): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const { id = 0, name } = value as Readonly<Record<string, unknown>>;
  return isWhole(id, 0, Number.MAX_SAFE_INTEGER) && (name === undefined ? mayBeUnnamed : isName(name));
}

/** Ids from here are the shop's own: it gives a name the same one again. */
const firstOwnId = 1_000_000_001;

function isSameLabel(one: Label | undefined, other: Label | undefined): boolean {
  if (!one || !other) return one === other;
  if (one.name?.trim() !== other.name?.trim()) return false;
  const [a = 0, b = 0] = [one.id, other.id];
  return a === b || (a === 0 && b >= firstOwnId) || (b === 0 && a >= firstOwnId);
}

function changesOf(plant: PlantValues, before: Partial<Plant>): Column[] {
  const { tags: tagsBefore = [], photoUrls: photoUrlsBefore = [] } = before;
  const { name, status = before.status, category, tags = [], photoUrls = [], externalId = before.externalId } = plant as Partial<Plant>;
  const isChanged: Partial<Record<Column, boolean>> = {
    name: name?.trim() !== before.name,
    status: status !== before.status,
    category: !isSameLabel(category, before.category),
    tags: tags.length !== tagsBefore.length || tags.some((tag, n) => !isSameLabel(tag, tagsBefore[n])),
    photoUrls: JSON.stringify(photoUrls) !== JSON.stringify(photoUrlsBefore),
    externalId: (externalId ?? undefined) !== before.externalId,
  };
  return COLUMNS.filter((column) => isChanged[column]);
}

/** Reads the free units of the plants that are shown. */
async function readStock(shop: Shop, lines: readonly DryLine[], signal: AbortSignal): Promise<void> {
  await Promise.all(lines.map(async (line) => {
    if (line.before?.id === undefined || line.plant['quantity'] === undefined || line.outcome === 'refused') return;
    const { data } = await shop.GET('/store/inventory/{plantId}', { params: { path: { plantId: line.before.id } }, signal });
    line.free = data.free;
  }));
}

const refusedLine = (format: Format, { number, plant, faults, fault, text }: DryLine & { readonly text: string }): RefusedLine => ({
  number,
  id: typeof plant['id'] === 'number' ? plant['id'] : undefined,
  why: fault ?? whyOf(format, { errors: faults.map(({ column, detail }) => ({ pointer: `/${column}`, detail })) }),
  text,
});
