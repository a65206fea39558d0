import { ImportedPlant, type ImportLineResult } from '@plant-shop/contracts/catalog';
import { CodedError } from '@plant-shop/platform/errors';
import { validated } from '@plant-shop/platform/rpc/validation';
import { attributesOf, type PlantAttributes, type PlantState } from '../plants/plant.js';
import type { LabelIds } from '../labels/label.js';

/** A line that can be carried out, and which of the batch it is. */
export interface GoodLine {
  readonly line: number;
  readonly plant: ImportedPlant;
}

export interface JudgedLines {
  readonly good: readonly GoodLine[];
  readonly refused: ReadonlyMap<number, ImportLineResult>;
}

/** Each line by itself: one that is wrong fails none of its neighbours. */
export function judge(lines: readonly string[]): JudgedLines {
  const good: GoodLine[] = [];
  const refused = new Map<number, ImportLineResult>();
  lines.forEach((text, line) => {
    try {
      good.push({ line, plant: validated(ImportedPlant, parse(text)) });
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
  return { good, refused };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new CodedError('malformed-json', 'The line is not JSON. Each line must be one JSON object.');
  }
}

/** Lines in rounds in which each id is there once, so that of two lines with one id the later one wins. */
export function rounds(lines: readonly GoodLine[]): GoodLine[][] {
  const all: GoodLine[][] = [];
  const roundOf = new Map<number, number>();
  for (const one of lines) {
    const number = roundOf.get(one.plant.id) ?? 0;
    roundOf.set(one.plant.id, number + 1);
    (all[number] ??= []).push(one);
  }
  return all;
}

/** What is to be written for a line. `after` has the plant's id, incarnation and version for one that exists. */
export type Change =
  | { readonly kind: 'created'; readonly line: number; readonly id: number; readonly attributes: PlantAttributes; readonly units: number | null }
  | { readonly kind: 'updated'; readonly line: number; readonly before: PlantState; readonly after: PlantState }
  | { readonly kind: 'unchanged'; readonly line: number; readonly before: PlantState };

export function changeOf({ line, plant }: GoodLine, before: PlantState | undefined, labels: LabelIds): Change {
  const { id, quantity } = plant;
  if (!before) return { kind: 'created', line, id, attributes: attributesOf(plant, labels, 'available'), units: quantity ?? null };
  const attributes = attributesOf(plant, labels, before.status);
  if (isSame(before, attributes)) return { kind: 'unchanged', line, before };
  return { kind: 'updated', line, before, after: { ...before, ...attributes } };
}

/** Postgres keeps the members of objects in an order of its own. */
function isSame(a: PlantAttributes, b: PlantAttributes): boolean {
  return (
    a.name === b.name &&
    a.status === b.status &&
    (a.category === null) === (b.category === null) &&
    a.category?.id === b.category?.id &&
    a.category?.name === b.category?.name &&
    a.photoUrls.length === b.photoUrls.length &&
    a.photoUrls.every((url, n) => url === b.photoUrls[n]) &&
    a.tags.length === b.tags.length &&
    a.tags.every((tag, n) => tag.id === b.tags[n]?.id && tag.name === b.tags[n].name)
  );
}
