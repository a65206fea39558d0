import { type ChangePlant, maxPhotoUrls, type Plant, type PlantStatus } from '@plant-shop/contracts/catalog';
import { DomainError } from '@plant-shop/contracts/errors';
import { invalidInput } from '@plant-shop/platform/errors';
import { type Labelled, type LabelIds, labelKey } from '../labels/label.js';

/** What a plant is made of, but its id. */
export interface PlantAttributes {
  readonly name: string;
  readonly category: { readonly id?: number; readonly name?: string } | null;
  readonly photoUrls: readonly string[];
  readonly tags: readonly { readonly id: number; readonly name: string }[];
  readonly status: PlantStatus;
}

/** A plant as it is kept. `incarnation` and `version` only go up, also for an id that is used again. */
export interface PlantState extends PlantAttributes {
  readonly id: number;
  readonly incarnation: number;
  readonly version: number;
}

/** What clients send to create or to replace. */
interface GivenAttributes extends Labelled {
  readonly name: string;
  readonly photoUrls?: readonly string[];
  readonly status?: PlantStatus;
}

/** Attributes with the ids that the names of tags and category have where none (or 0) was given. */
export function attributesOf(given: GivenAttributes, ids: LabelIds, statusOtherwise: PlantStatus): PlantAttributes {
  const { name, category, photoUrls = [], tags = [], status = statusOtherwise } = given;
  return {
    name,
    category: category ? categoryOf(category, ids) : null,
    photoUrls,
    tags: tags.map((tag) => ({ id: tag.id || idOf(ids, 'tag', tag.name), name: tag.name })),
    status,
  };
}

function categoryOf({ id, name }: NonNullable<Labelled['category']>, ids: LabelIds): PlantAttributes['category'] {
  if (name === undefined) return id ? { id } : {};
  return { id: id || idOf(ids, 'category', name), name };
}

function idOf(ids: LabelIds, kind: 'category' | 'tag', name: string): number {
  const id = ids.get(labelKey({ kind, name }));
  if (id === undefined) throw new Error(`the ${kind} ${name} was not looked up`);
  return id;
}

/**
 * What the form changes.
 * @throws CodedError `invalid-input` when it has neither name nor status
 */
export function changesOf({ name, status }: Pick<ChangePlant, 'name' | 'status'>): Partial<PlantAttributes> {
  if (name === undefined && status === undefined) {
    throw invalidInput([{ pointer: '', detail: 'must have name or status, or both' }]);
  }
  return { ...(name !== undefined && { name }), ...(status !== undefined && { status }) };
}

/** One more photograph. The limit of clients' lists holds for uploads too, or PUT would refuse what GET gave. */
export function withPhoto<T extends PlantAttributes & { readonly id: number }>(plant: T, url: string): T {
  if (plant.photoUrls.length >= maxPhotoUrls) {
    throw new DomainError(
      'too-many-photos',
      `Plant ${plant.id} has ${maxPhotoUrls} photographs, which is the most. Remove some from photoUrls by PUT and upload again.`,
    );
  }
  return { ...plant, photoUrls: [...plant.photoUrls, url] };
}

/** @throws DomainError `precondition-failed` when another version was expected */
export function checkVersion(plant: PlantState, expected: number | undefined): void {
  if (expected === undefined || expected === plant.version) return;
  throw new DomainError('precondition-failed', `Plant ${plant.id} was changed since you read it. Read it again.`);
}

/** What clients see: absent things are left out, lists are always there. */
export function toPlant({ id, name, category, photoUrls, tags, status }: PlantAttributes & { readonly id: number }): Plant {
  return { id, name, ...(category && { category }), photoUrls, tags, status };
}

/** The distinct names that a plant is found by. */
export const tagNames = ({ tags }: PlantAttributes): string[] => [...new Set(tags.map(({ name }) => name))];

export const plantNotFound = (plantId: number): DomainError =>
  new DomainError('plant-not-found', `There is no plant ${plantId}.`);
