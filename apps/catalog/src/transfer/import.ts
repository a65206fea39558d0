import { isDeepStrictEqual } from 'node:util';
import { ImportedPlant, type ImportLinePreview, type ImportLineResult, type ImportRefusal, NewPlant, type PreviewedPlant } from '@plant-shop/contracts/catalog';
import { CodedError } from '@plant-shop/platform/errors';
import { validated } from '@plant-shop/platform/rpc/validation';
import { attributesOf, externalIdExists, type GivenAttributes, ofNewPlant, type PlantAttributes, type PlantState } from '../plants/plant.js';
import type { LabelIds } from '../labels/labels.js';

/** A line that can be imported. */
interface ReadLine {
  /** The line's index in the batch. */
  readonly line: number;
  readonly text: string;
  readonly plant: ImportedPlant | NewPlant;
}

export interface ValidLine extends ReadLine {
  readonly plant: ImportedPlant;
  /** Whether the line itself has no id: its external id names the plant, and what it does not say stays. */
  readonly isNamed?: true;
  /** Whether its id was drawn for it. */
  readonly isDrawn?: true;
}

export interface ValidatedLines {
  readonly valid: readonly ReadLine[];
  /** Results of invalid lines, by the line's index. */
  readonly refused: ReadonlyMap<number, { readonly refused: ImportRefusal }>;
}

/**
 * Validates each line separately: an invalid line does not affect the others.
 * @param read returns the plant of a line's value @throws CodedError
 */
export function validateLines(lines: readonly string[], read: (value: unknown) => ReadLine['plant'] = readImported): ValidatedLines {
  const valid: ReadLine[] = [];
  const refused = new Map<number, { readonly refused: ImportRefusal }>();
  lines.forEach((text, line) => {
    try {
      valid.push({ line, text, plant: read(parse(text)) });
    } catch (error) {
      if (!(error instanceof CodedError)) throw error;
      const { errors } = error.details;
      refused.set(line, {
        refused: {
          code: error.code,
          detail: error.code === 'invalid-input' ? 'Correct the fields named in errors and send the line again.' : error.message,
          ...(errors && { errors: errors.filter((one) => 'pointer' in one) }),
        },
      });
    }
  });
  return { valid, refused };
}

const lacksId = (value: unknown): value is object => typeof value === 'object' && value !== null && !('id' in value);

/** Reads a line that has an id, or else an external id. */
function readImported(value: unknown): ReadLine['plant'] {
  const plant = lacksId(value) && 'externalId' in value ? validated(NewPlant, value) : undefined;
  return plant?.externalId ? plant : validated(ImportedPlant, value);
}

/** Reads a line that may lack both: importing it creates a plant. */
export const readPreviewed = (value: unknown): ReadLine['plant'] => (lacksId(value) ? validated(NewPlant, value) : validated(ImportedPlant, value));

/**
 * Gives each line the id of its plant.
 * @param owners ids of plants by their external ids
 * @param draw returns an id for the plant of a line that names none yet
 */
export function identified(lines: readonly ReadLine[], owners: ReadonlyMap<string, number>, draw: (line: number) => number): ValidLine[] {
  const known = new Map(owners);
  return lines.map(({ line, text, plant }) => {
    const { id: given, externalId } = plant;
    const owner = typeof externalId === 'string' ? known.get(externalId) : undefined;
    const id = given ?? owner ?? draw(line);
    if (typeof externalId === 'string' && owner === undefined) known.set(externalId, id);
    return { line, text, plant: Object.assign(plant, { id }), ...(given === undefined && (owner === undefined ? { isNamed: true, isDrawn: true } : { isNamed: true })) };
  });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new CodedError('malformed-json', 'The line is not JSON. Each line must be one JSON object.');
  }
}

/** Splits the lines into rounds in which each id occurs once, so that of two lines with the same id the later one wins. */
export function rounds(lines: readonly ValidLine[]): ValidLine[][] {
  const all: ValidLine[][] = [];
  const roundOf = new Map<number, number>();
  for (const one of lines) {
    const number = roundOf.get(one.plant.id) ?? 0;
    roundOf.set(one.plant.id, number + 1);
    (all[number] ??= []).push(one);
  }
  return all;
}

/** The change that a line requires. `after` keeps the existing plant's id, incarnation and version. */
export type PlantChange =
  | { readonly kind: 'created'; readonly line: number; readonly id: number; readonly attributes: PlantAttributes; readonly units: number | null }
  | { readonly kind: 'updated'; readonly line: number; readonly before: PlantState; readonly after: PlantState }
  | { readonly kind: 'unchanged'; readonly line: number; readonly before: PlantState }
  | { readonly kind: 'repeated'; readonly line: number; readonly id: number }
  | { readonly kind: 'refused'; readonly line: number; readonly id: number; readonly refused: ImportRefusal };

/**
 * Refuses changes that give a plant an external id of another one, or of one before it in the list.
 * @param owners ids of plants by their external ids, as far as the changes have them
 */
export function refuseTakenExternalIds(changes: readonly PlantChange[], owners: ReadonlyMap<string, number>): PlantChange[] {
  const taken = new Map(owners);
  return changes.map((change) => {
    if (change.kind !== 'created' && change.kind !== 'updated') return change;
    const [id, { externalId }] = change.kind === 'created' ? [change.id, change.attributes] : [change.after.id, change.after];
    if (externalId === null) return change;
    const owner = taken.get(externalId) ?? id;
    taken.set(externalId, owner);
    if (owner === id) return change;
    const { code, message, details } = externalIdExists(externalId, owner < 0 ? undefined : { id: owner });
    const errors = (details.errors ?? []).map(({ detail }) => ({ pointer: '/externalId', detail }));
    return { kind: 'refused', line: change.line, id, refused: { code, detail: message, errors } };
  });
}

/**
 * @param maySetStock whether the line may have a quantity for an existing plant, which the gateway then sets in the store
 * @param created the incarnation of the plant that the caller created by the same line before; undefined: it created none
 */
export function changeOf({ line, plant, isNamed }: Omit<ValidLine, 'text'>, before: PlantState | undefined, labels: LabelIds, maySetStock: boolean, created?: number): PlantChange {
  const { id, quantity } = plant;
  if (!before) return { kind: 'created', line, id, attributes: attributesOf(plant, labels, ofNewPlant), units: quantity ?? null };
  if (quantity !== undefined && !maySetStock) {
    // A new plant's version is its incarnation: nobody has changed it since.
    if (before.version === created) return { kind: 'repeated', line, id };
    const detail = `Plant ${id} exists, and setting its stock needs the permission write:stock. Omit the quantity, or use another credential.`;
    return { kind: 'refused', line, id, refused: { code: 'forbidden', detail } };
  }
  const attributes = attributesOf(isNamed ? withKept(plant, before) : plant, labels, before);
  if (isSame(before, attributes)) return { kind: 'unchanged', line, before };
  return { kind: 'updated', line, before, after: { ...before, ...attributes } };
}

/** Fills in what a line does not say, beyond what stays anyway. */
function withKept(given: GivenAttributes, before: PlantAttributes): GivenAttributes {
  const { category = before.category ?? undefined, photoUrls = before.photoUrls, tags = [...before.tags] } = given;
  return { ...given, ...(category && { category }), photoUrls, tags };
}

export function resultOf(change: PlantChange): ImportLineResult {
  if (change.kind === 'created' || change.kind === 'repeated') return { id: change.id, result: 'created' };
  if (change.kind !== 'refused') return { id: change.before.id, result: change.kind };
  const { id, refused } = change;
  return { id, refused };
}

/** The plants of a preview, and who has which external id, as the lines so far would leave them. */
export class PreviewedPlants {
  constructor(
    readonly plants: Map<number, PlantState>,
    readonly owners: Map<string, number>,
  ) {}

  apply(change: PlantChange): void {
    if (change.kind !== 'created' && change.kind !== 'updated') return;
    const before = change.kind === 'updated' ? change.before : undefined;
    const after = change.kind === 'updated' ? change.after : { ...change.attributes, id: change.id, incarnation: 0, version: 0, updatedAt: new Date(0) };
    this.plants.set(after.id, after);
    if (before && before.externalId !== null && this.owners.get(before.externalId) === before.id) this.owners.delete(before.externalId);
    if (after.externalId !== null) this.owners.set(after.externalId, after.id);
  }
}

/** @param namesakes ids of plants by their names */
export function previewOf(change: PlantChange, plants: ReadonlyMap<number, PlantState>, namesakes: ReadonlyMap<string, number>): ImportLinePreview {
  switch (change.kind) {
    case 'refused':
      return { ...assigned(change.id), refused: change.refused };
    case 'created':
      return { ...assigned(change.id), result: 'created', after: toPreviewed({ ...change.attributes, id: change.id }), ...namesakeOf(change.attributes, namesakes) };
    case 'repeated': {
      const plant = plants.get(change.id);
      if (!plant) throw new Error(`plant ${change.id} was not read`);
      return { id: change.id, result: 'created', after: toPreviewed(plant) };
    }
    case 'updated':
      return { ...assigned(change.after.id), result: 'updated', before: toPreviewed(change.before), after: toPreviewed(change.after) };
    case 'unchanged':
      return { ...assigned(change.before.id), result: 'unchanged', before: toPreviewed(change.before), after: toPreviewed(change.before) };
  }
}

/** A plant may have more than 100 KiB, and a call answers 900 KiB. */
const previewBytes = 512 * 1024;

/** Returns as many of the first previews as an answer holds, at least one. */
export function fitting(previews: readonly ImportLinePreview[]): ImportLinePreview[] {
  let bytes = 0;
  const end = previews.findIndex((one) => (bytes += Buffer.byteLength(JSON.stringify(one))) > previewBytes);
  const [first] = previews;
  if (end === 0 && first && 'before' in first) return [{ ...first, before: undefined }];
  return end === -1 ? [...previews] : previews.slice(0, Math.max(end, 1));
}

function namesakeOf({ name }: PlantAttributes, namesakes: ReadonlyMap<string, number>): { readonly namesake?: number } {
  const namesake = namesakes.get(name);
  return namesake === undefined ? {} : { namesake };
}

/** Without an id that the shop would assign. */
const assigned = (id: number | undefined): { readonly id?: number } => (id === undefined || id <= 0 ? {} : { id });

function toPreviewed({ id, name, category, photoUrls, tags, status, externalId, metadata }: PlantAttributes & { readonly id: number }): PreviewedPlant {
  return {
    ...assigned(id),
    name,
    ...(category && { category: { ...assigned(category.id), ...(category.name !== undefined && { name: category.name }) } }),
    photoUrls,
    tags: tags.map((tag) => ({ ...assigned(tag.id), name: tag.name })),
    status,
    ...(externalId !== null && { externalId }),
    ...(metadata && { metadata }),
  };
}

/** Compares member by member, not as JSON: Postgres reorders the members of jsonb objects. */
function isSame(a: PlantAttributes, b: PlantAttributes): boolean {
  return (
    a.name === b.name &&
    a.status === b.status &&
    a.externalId === b.externalId &&
    isDeepStrictEqual(a.metadata, b.metadata) &&
    (a.category === null) === (b.category === null) &&
    a.category?.id === b.category?.id &&
    a.category?.name === b.category?.name &&
    a.photoUrls.length === b.photoUrls.length &&
    a.photoUrls.every((url, n) => url === b.photoUrls[n]) &&
    a.tags.length === b.tags.length &&
    a.tags.every((tag, n) => tag.id === b.tags[n]?.id && tag.name === b.tags[n].name)
  );
}
