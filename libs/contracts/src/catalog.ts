import { applyDecorators } from '@nestjs/common';
import { NoPayload, operationsOf } from '@plant-shop/platform/rpc/operation';
import type { FieldError } from '@plant-shop/platform/errors';
import { Transform } from 'class-transformer';
import { ArrayMaxSize, IsArray, IsBase64, IsOptional, IsString, ValidateBy } from 'class-validator';
import { readAuditOf } from './audit.js';
import type { ErrorCode } from './errors.js';
import {
  ExpectedVersion,
  Pattern,
  Id,
  IdToAssign,
  Integer,
  ListOf,
  ObjectOf,
  ObjectsOf,
  OneOf,
  PageCursor,
  PageLimit,
  PageRequest,
  SomeOf,
  Text,
  Texts,
  Uuid,
} from './fields.js';
import { type PlantFinding, type RaisedNumber, RaiseNumbers, type ReconciledPage, ReconcilePlants } from './reconcile.js';
import { Description, Schema } from './schema.js';

export const plantStatuses = ['available', 'pending', 'sold'] as const;
export type PlantStatus = (typeof plantStatuses)[number];

/** The most photographs of one plant, uploaded ones included. */
export const maxPhotoUrls = 64;

// What clients send

export class Category {
  @IdToAssign()
  id?: number;

  @IsOptional()
  @Text()
  name?: string;
}

export class Tag {
  @IdToAssign()
  id?: number;

  @Text()
  name: string;
}

/** A category without id (or with 0) and without name (or with an empty one): generated clients send it for none. */
const EmptyIsAbsent = (): PropertyDecorator =>
  applyDecorators(
    Transform(({ value }: { value: unknown }) => (isEmpty(value) ? undefined : value)),
    // The quick path of validation applies rules without converting first: with this one it leaves such a category to the other.
    ValidateBy({ name: 'isNotEmpty', validator: { validate: (value) => !isEmpty(value), defaultMessage: () => 'must have an id or a name' } }),
  );

const isEmpty = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  !Array.isArray(value) &&
  Object.entries(value).every(([name, one]) => (one ?? undefined) === undefined || (name === 'id' && one === 0) || (name === 'name' && one === ''));

const PhotoUrls = (): PropertyDecorator =>
  applyDecorators(
    ValidateBy({
      name: 'photoUrls',
      validator: {
        validate: (value) => Array.isArray(value) && value.every((one) => typeof one === 'string' && address.test(one)),
        defaultMessage: () => 'must hold addresses without spaces or control characters',
      },
    }),
    Schema({ items: { pattern: address.source } }),
  );
// eslint-disable-next-line no-control-regex -- control characters are what is looked for
const address = /^[^\s\u0000-\u001f\u007f]+$/u;

/** All attributes that a plant's own representation has, but its id. */
class PlantAttributes {
  @Text()
  name: string;

  @IsOptional()
  @EmptyIsAbsent()
  @ObjectOf(() => Category, { message: 'must be an object with id and name' })
  category?: Category;

  @IsOptional()
  @Texts(maxPhotoUrls, 2_048)
  @PhotoUrls()
  photoUrls?: string[];

  @IsOptional()
  @ObjectsOf(() => Tag, { size: 64, message: 'must be an object with id and name' })
  tags?: Tag[];

  @IsOptional()
  @OneOf(plantStatuses)
  @Description('Absent: a new plant is available, a replaced one keeps its status.')
  status?: PlantStatus;
}

export class NewPlant extends PlantAttributes {
  @IdToAssign()
  id?: number;

  /** Absent: the store's `INITIAL_STOCK`. */
  @IsOptional()
  @Description('Free units to begin with; absent: as many as the shop is set to.')
  @Integer(0, 1_000_000_000)
  quantity?: number;
}

/** Replaces all attributes: absent optional ones are cleared, an absent status keeps the current one. */
export class PlantReplacement extends PlantAttributes {
  @Id()
  id: number;
}

/** One line of an import: what PUT takes, and the units that a plant that is not there yet begins with. */
export class ImportedPlant extends PlantAttributes {
  @Id()
  id: number;

  @IsOptional()
  @Description('Free units of a new plant; absent: as many as the shop is set to. A plant that exists keeps its stock.')
  @Integer(0, 1_000_000_000)
  quantity?: number;
}

// What services ask

/** The most lines that one call of an import carries. */
export const maxImportLines = 256;

/** Creates and replaces plants by their ids. Each line is the JSON of one `ImportedPlant`, and judged by itself. */
export class ImportPlants {
  @IsArray({ message: 'must be a list' })
  @ArrayMaxSize(maxImportLines)
  @IsString({ each: true })
  @Schema({ type: 'array', maxItems: maxImportLines, items: { type: 'string' } })
  lines: string[];
}

/** A snapshot of the catalogue that `beginExport` holds open. */
export class ReadExport {
  @Pattern(/^[0-9A-F]{1,16}-[0-9A-F]{1,16}-[0-9]{1,10}$/, 'must be a snapshot of beginExport', {})
  snapshot: string;

  /** The incarnation of the last plant that was read; 0: the first page. */
  @Integer(0, Number.MAX_SAFE_INTEGER)
  after: number;
}

export class EndExport {
  @Pattern(/^[0-9A-F]{1,16}-[0-9A-F]{1,16}-[0-9]{1,10}$/, 'must be a snapshot of beginExport', {})
  snapshot: string;
}

export class CreatePlant {
  @ObjectOf(() => NewPlant)
  plant: NewPlant;
}

export class ReplacePlant {
  @ObjectOf(() => PlantReplacement)
  plant: PlantReplacement;

  @ExpectedVersion()
  ifVersion?: number;
}

/** The form of `POST /plant/{plantId}`: at least one of both (`invalid-input` otherwise). */
export class ChangePlant {
  @Id()
  plantId: number;

  @IsOptional()
  @Text()
  name?: string;

  @IsOptional()
  @OneOf(plantStatuses)
  status?: PlantStatus;

  @ExpectedVersion()
  ifVersion?: number;
}

export class GetPlant {
  @Id()
  plantId: number;
}

export class DeletePlant {
  @Id()
  plantId: number;

  @ExpectedVersion()
  ifVersion?: number;
}

export class FindPlantsByStatus extends PageRequest {
  @ListOf(3, 1)
  @SomeOf(plantStatuses, `must be one or more of ${plantStatuses.join(', ')}`)
  status: PlantStatus[];
}

export class FindPlantsByTags extends PageRequest {
  @ListOf(64, 1)
  @Texts(64)
  tags: string[];
}

export const plantSorts = ['relevance', 'name', 'newest'] as const;
export type PlantSort = (typeof plantSorts)[number];

const Query = (): PropertyDecorator =>
  applyDecorators(
    Text(),
    Description(
      'Words of the name, tags or category, at most 8; a plant must have all of them. A word also stands for those that begin ' +
        'with it, and one that no plant has for those that look like it. Case and accents do not count.',
    ),
  );

/** All conditions must hold. */
export class GetPlantFacets {
  @IsOptional()
  @Query()
  q?: string;

  @IsOptional()
  @ListOf(3, 1)
  @SomeOf(plantStatuses, `must be one or more of ${plantStatuses.join(', ')}`)
  status?: PlantStatus[];

  @IsOptional()
  @ListOf(64, 1)
  @Texts(64)
  @Description('Any of these names.')
  tags?: string[];

  @IsOptional()
  @Text()
  @Description("The category's name, exactly.")
  category?: string;
}

/** The same conditions as those of the facets, and a page. */
export class SearchPlants extends GetPlantFacets implements PageRequest {
  @IsOptional()
  @OneOf(plantSorts)
  @Description('Absent: `relevance` with `q`, else `newest`. By name, letters of ASCII have no case.')
  sort?: PlantSort;

  @PageLimit()
  limit?: number;

  @PageCursor()
  cursor?: string;
}

/** The most values that one facet shows: those that most plants have. */
export const maxFacetValues = 100;

/** Begins an upload. Chunks follow in order, each acknowledged; `finishImage` makes it an image of the plant. */
export class BeginImage {
  @Id()
  plantId: number;
}

/**
 * Bytes of every chunk but the last one, which has 1 to as many. So byte `n` of an image is byte `n % imageChunkBytes` of
 * chunk `Math.floor(n / imageChunkBytes)`, and a part of an image needs no other chunks than those that it is in.
 */
export const imageChunkBytes = 256 * 1024;
export const maxImageBytes = 10 * 1024 * 1024;

export class WriteImageChunk {
  @Uuid()
  uploadId: string;

  /**
   * 0, 1, 2, …; a repeated one replaces itself. What was not acknowledged may still arrive: repeat it with the same bytes
   * before the upload is finished, or give the upload up.
   */
  @Integer(0, Math.ceil(maxImageBytes / imageChunkBytes))
  index: number;

  /** `imageChunkBytes` bytes, or fewer in the last chunk; base64 since payloads are JSON. */
  @IsBase64({}, { message: 'must be base64' })
  @Schema({ type: 'string', contentEncoding: 'base64' })
  data: string;
}

export class FinishImage {
  @Uuid()
  uploadId: string;

  /** What the client sent beside the file. It is not kept, but a repeated upload must have the same. */
  @IsOptional()
  @Text({ min: 0, max: 1_000 })
  additionalMetadata?: string;
}

export class GetImage {
  @Uuid()
  imageId: string;
}

export class ReadImageChunk extends GetImage {
  @Integer(0, Math.ceil(maxImageBytes / imageChunkBytes))
  index: number;
}

// What it answers

export interface Plant {
  readonly id: number;
  readonly name: string;
  readonly category?: { readonly id?: number; readonly name?: string };
  readonly photoUrls: readonly string[];
  readonly tags: readonly { readonly id: number; readonly name: string }[];
  readonly status: PlantStatus;
}

/** How many of the plants that match have a value. */
export interface FacetCount {
  readonly value: string;
  readonly plants: number;
}

export interface PlantFacets {
  /** Plants that were counted. */
  readonly plants: number;
  /** `false`: more plants match than were counted, and those counted are the newest. */
  readonly complete: boolean;
  readonly status: readonly FacetCount[];
  readonly tags: readonly FacetCount[];
  readonly category: readonly FacetCount[];
}

/** What became of a line of an import. */
export type ImportLineResult =
  | { readonly id: number; readonly result: 'created' | 'updated' | 'unchanged' }
  /** Refused: nothing of it was stored. `id` where it could be read. */
  | { readonly id?: number; readonly refused: { readonly code: string; readonly detail: string; readonly errors?: readonly FieldError[] } };

/** Plants in the order of their creation. */
export interface ExportedPage {
  readonly plants: readonly Plant[];
  /** Where the next page begins; absent: this was the last. */
  readonly next?: number;
}

export interface StoredImage {
  readonly imageId: string;
  /** Absolute, on the public address of the API. */
  readonly url: string;
}

/** How an image is to be served. Only recognised pictures are `inline`. */
export interface ImageHead {
  readonly contentType: string;
  readonly disposition: 'inline' | 'attachment';
  readonly bytes: number;
  /** `Math.ceil(bytes / imageChunkBytes)`, at least one. */
  readonly chunks: number;
  /** SHA-256 of the content in hex: its entity tag. */
  readonly sha256: string;
}

const { read, write } = operationsOf<ErrorCode>('catalog');

export const catalog = {
  /** Answers after the store has opened stock for the plant, also when it is repeated with its Idempotency-Key. */
  createPlant: write<Plant>()('createPlant', CreatePlant, {
    errors: ['plant-exists', 'idempotency-key-reused'],
    versioned: true,
  }),
  replacePlant: write<Plant>()('replacePlant', ReplacePlant, {
    errors: ['plant-not-found', 'precondition-failed'],
    versioned: true,
  }),
  changePlant: write<Plant>()('changePlant', ChangePlant, {
    errors: ['plant-not-found', 'precondition-failed', 'idempotency-key-reused'],
    versioned: true,
  }),
  getPlant: read<Plant>()('getPlant', GetPlant, { errors: ['plant-not-found'], versioned: true }),
  /** A page. */
  findPlantsByStatus: read<Plant[]>()('findPlantsByStatus', FindPlantsByStatus, { errors: ['invalid-cursor'] }),
  /** Plants with any of the names, each once. A page. */
  findPlantsByTags: read<Plant[]>()('findPlantsByTags', FindPlantsByTags, { errors: ['invalid-cursor'] }),
  /** Plants that meet all conditions. A page, which may be short or empty while there is a next one. */
  searchPlants: read<Plant[]>()('searchPlants', SearchPlants, { errors: ['invalid-cursor'] }),
  getPlantFacets: read<PlantFacets>()('getPlantFacets', GetPlantFacets),
  /** `plant-has-pending-orders` comes with `orders` (ids). */
  deletePlant: write<{ plantId: number }>()('deletePlant', DeletePlant, {
    errors: ['plant-not-found', 'plant-has-pending-orders', 'precondition-failed'],
  }),
  /**
   * For caches: all stamps of the catalogue as it is now. `getPlant` and the lists come with one, and what they said holds
   * for as long as it is among these. Every change of a plant changes some of them, in its own transaction; a stamp that is
   * gone never comes back, but with the very plants that it was drawn for (a restored backup).
   */
  readStamps: read<readonly string[]>()('readStamps', NoPayload),

  /**
   * One result for each line, in order. It answers when all its plants can be ordered. Repeating it is harmless, and tells the
   * store what an earlier call left untold.
   */
  importPlants: write<ImportLineResult[]>()('importPlants', ImportPlants),
  /** Holds a snapshot open for as long as it is read at least every 15 s, at most for an hour. */
  beginExport: write<{ snapshot: string }>()('beginExport', NoPayload, { errors: ['overloaded'] }),
  /** `invalid-cursor`: the snapshot is no longer held open. */
  readExport: read<ExportedPage>()('readExport', ReadExport, { errors: ['invalid-cursor'] }),
  endExport: write<{ snapshot: string }>()('endExport', EndExport),

  beginImage: write<{ uploadId: string }>()('beginImage', BeginImage, { errors: ['plant-not-found'] }),
  /** Acknowledges one chunk, by its length. `image-type-refused` is seen in the first. */
  writeImageChunk: write<{ bytes: number }>()('writeImageChunk', WriteImageChunk, {
    errors: ['upload-not-found', 'image-too-large', 'image-type-refused'],
  }),
  /**
   * `plant-not-found`: deleted meanwhile. Again: the same answer.
   *
   * Its Idempotency-Key stands for the whole upload: another upload that is finished with the same key, plant, content and
   * metadata gets the answer of the first and becomes no image; with others it is `idempotency-key-reused`.
   */
  finishImage: write<StoredImage>()('finishImage', FinishImage, {
    errors: ['upload-not-found', 'plant-not-found', 'image-type-refused', 'too-many-photos', 'idempotency-key-reused'],
  }),
  /** With `readImageChunk` all that it takes to serve a range: see `imageChunkBytes`. */
  getImage: read<ImageHead>()('getImage', GetImage, { errors: ['image-not-found'] }),
  readImageChunk: read<{ data: string }>()('readImageChunk', ReadImageChunk, { errors: ['image-not-found'] }),

  /** Moves the numbers that the catalog draws beyond those that the store knows. */
  raiseNumbers: write<{ raised: RaisedNumber[] }>()('raiseNumbers', RaiseNumbers),
  /** Compares a page of plants with the store's stock and mends what differs. Repeating it is harmless. */
  reconcilePlants: write<ReconciledPage<PlantFinding, number>>()('reconcilePlants', ReconcilePlants),
  readAudit: readAuditOf('catalog'),
};
