import { createHash } from 'node:crypto';
import { type CategoryPatch, type ChangePlant, maxPhotoUrls, type Plant, type PlantPatch, type PlantStatus } from '@plant-shop/contracts/catalog';
import { DomainError } from '@plant-shop/contracts/errors';
import { mergeMetadata, type MetadataPairs } from '@plant-shop/contracts/fields';
import { invalidInput } from '@plant-shop/platform/errors';
import { type Labelled, type LabelIds, labelKey } from '../labels/labels.js';

/** A plant's attributes without its id. */
export interface PlantAttributes {
  readonly name: string;
  readonly category: { readonly id?: number; readonly name?: string } | null;
  readonly photoUrls: readonly string[];
  readonly tags: readonly { readonly id: number; readonly name: string }[];
  readonly status: PlantStatus;
  readonly externalId: string | null;
  readonly metadata: MetadataPairs | null;
}

/** A stored plant. `incarnation` and `version` only increase, also when an id is reused. */
export interface PlantState extends PlantAttributes {
  readonly id: number;
  readonly incarnation: number;
  readonly version: number;
  readonly updatedAt: Date;
}

/** The attributes that clients send to create or replace a plant. */
export interface GivenAttributes extends Labelled {
  readonly name: string;
  readonly photoUrls?: readonly string[];
  readonly status?: PlantStatus;
  readonly externalId?: string | null;
  readonly metadata?: MetadataPairs | null;
}

/** What a plant has if a request does not say otherwise. */
type Defaults = Pick<PlantAttributes, 'status' | 'externalId' | 'metadata'>;

export const ofNewPlant: Defaults = { status: 'available', externalId: null, metadata: null };

/** Returns the attributes, with label ids filled in for tags and a category that came without one (or with 0). */
export function attributesOf(given: GivenAttributes, ids: LabelIds, defaults: Defaults): PlantAttributes {
  const { name, category, photoUrls = [], tags = [], status = defaults.status, externalId = defaults.externalId, metadata = defaults.metadata } = given;
  return {
    name,
    category: category ? categoryOf(category, ids) : null,
    photoUrls,
    tags: tags.map((tag) => ({ id: tag.id || idOf(ids, 'tag', tag.name), name: tag.name })),
    status,
    externalId,
    metadata: mergeMetadata(null, metadata, '/plant/metadata'),
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
 * Returns the attributes that a merge patch (RFC 7396) results in.
 * @throws CodedError `invalid-input` if the metadata would have too many pairs
 */
export function patched(plant: PlantAttributes, patch: PlantPatch): GivenAttributes {
  const { name = plant.name, status = plant.status, photoUrls = plant.photoUrls, tags = plant.tags, externalId = plant.externalId } = patch;
  const category = patch.category === null ? null : patchedCategory(plant.category, patch.category);
  return {
    name,
    status,
    ...(category && { category }),
    photoUrls: photoUrls ?? [],
    tags: tags ?? [],
    externalId,
    metadata: mergeMetadata(plant.metadata, patch.metadata, '/plant/metadata'),
  };
}

function patchedCategory(before: PlantAttributes['category'], { id = before?.id, name = before?.name }: CategoryPatch = {}): PlantAttributes['category'] {
  const after = { ...(id && { id }), ...(name && { name }) };
  return Object.keys(after).length === 0 ? null : after;
}

/**
 * Returns the attributes that a form changes.
 * @throws CodedError `invalid-input` if the form has neither name nor status
 */
export function changesOf({ name, status }: Pick<ChangePlant, 'name' | 'status'>): Partial<PlantAttributes> {
  if (name === undefined && status === undefined) {
    throw invalidInput([{ pointer: '', detail: 'must have name or status, or both' }]);
  }
  return { ...(name !== undefined && { name }), ...(status !== undefined && { status }) };
}

/**
 * Adds a photograph. Uploads obey the limit of `photoUrls` in requests; otherwise PUT would refuse what GET returned.
 * @throws DomainError `too-many-photos`
 */
export function withPhoto<T extends PlantAttributes & { readonly id: number }>(plant: T, url: string): T {
  if (plant.photoUrls.length >= maxPhotoUrls) {
    throw new DomainError(
      'too-many-photos',
      `Plant ${plant.id} has ${maxPhotoUrls} photographs, the maximum. Remove some from photoUrls by PUT and upload again.`,
    );
  }
  return { ...plant, photoUrls: [...plant.photoUrls, url] };
}

/** @throws DomainError `precondition-failed` unless the plant is at the expected version, if one is given */
export function assertVersion(plant: PlantState, expected: number | undefined): void {
  if (expected === undefined || expected === plant.version) return;
  throw new DomainError('precondition-failed', `Plant ${plant.id} has changed since you read it. Read it again.`);
}

/** Returns the plant as clients see it: without absent members, but always with its lists. */
export function toPlant({ id, name, category, photoUrls, tags, status, externalId, metadata, updatedAt }: Omit<PlantState, 'incarnation' | 'version'>): Plant {
  return {
    id,
    name,
    ...(category && { category }),
    photoUrls,
    tags,
    status,
    ...(externalId !== null && { externalId }),
    ...(metadata && { metadata }),
    updatedAt: updatedAt.toISOString(),
  };
}

const anyTime = new Date(0);

/** Returns the length of the plant as JSON in UTF-8. */
export const bytesOf = (plant: PlantAttributes & { readonly id: number }): number => Buffer.byteLength(JSON.stringify(toPlant({ ...plant, updatedAt: anyTime })));

/** Returns the distinct tag names, which the index of tags stores. */
export const tagNames = ({ tags }: PlantAttributes): string[] => [...new Set(tags.map(({ name }) => name))];

/** Returns what the index of metadata stores, for each pair. */
export const pairsOf = (metadata: MetadataPairs | null = null): string[] =>
  Object.entries(metadata ?? {}).map((pair) => createHash('sha256').update(JSON.stringify(pair)).digest('base64url'));

/** @param owner the plant that has it; undefined if it has been changed or deleted since */
export function externalIdExists(externalId: string, owner: { readonly id: number } | undefined): DomainError {
  const plant = owner ? `plant ${owner.id}` : 'another plant';
  return new DomainError('external-id-exists', `The external id ${externalId} is that of ${plant}.`, { errors: [{ pointer: '/plant/externalId', detail: `is that of ${plant}` }] });
}

export const plantNotFound = (plantId: number): DomainError =>
  new DomainError('plant-not-found', `There is no plant ${plantId}.`);
