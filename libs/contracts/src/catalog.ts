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

/** Maximum number of photos of one plant, uploaded ones included. */
export const maxPhotoUrls = 64;

// Sent by clients

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

/** Treats a category without id (or with 0) and without name (or with an empty one) as absent: generated clients send it. */
const EmptyIsAbsent = (): PropertyDecorator =>
  applyDecorators(
    Transform(({ value }: { value: unknown }) => (isEmpty(value) ? undefined : value)),
    // The compiled validator applies rules without converting first. This rule makes it fall back to class-validator for such a category.
    ValidateBy({
      name: 'isNotEmpty',
      validator: { validate: (value) => !isEmpty(value), defaultMessage: () => 'must have an id or a name' },
    }),
  );

const isEmpty = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  !Array.isArray(value) &&
  Object.entries(value).every(
    ([name, one]) => (one ?? undefined) === undefined || (name === 'id' && one === 0) || (name === 'name' && one === ''),
  );

const PhotoUrls = (): PropertyDecorator =>
  applyDecorators(
    ValidateBy({
      name: 'photoUrls',
      validator: {
        validate: (value) => Array.isArray(value) && value.every((one) => typeof one === 'string' && address.test(one)),
        defaultMessage: () => 'must contain addresses without spaces or control characters',
      },
    }),
    Schema({ items: { pattern: address.source } }),
  );
// eslint-disable-next-line no-control-regex -- the expression excludes control characters
const address = /^[^\s\u0000-\u001f\u007f]+$/u;

/** All attributes of a plant except its id. */
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
  @Description('Absent: a new plant is `available`; an existing one keeps its status.')
  status?: PlantStatus;
}

export class NewPlant extends PlantAttributes {
  @IdToAssign()
  id?: number;

  /** Absent: the store's `INITIAL_STOCK`. */
  @IsOptional()
  @Description('Initial number of free units. Default: a setting of the shop.')
  @Integer(0, 1_000_000_000)
  quantity?: number;
}

/** Replaces all attributes. Absent optional ones are cleared; an absent status stays the same. */
export class PlantReplacement extends PlantAttributes {
  @Id()
  id: number;
}

/** One line of an import: the members of PUT, and the initial units of a new plant. */
export class ImportedPlant extends PlantAttributes {
  @Id()
  id: number;

  @IsOptional()
  @Description('Free units of a new plant. Default: a setting of the shop. An existing plant keeps its stock.')
  @Integer(0, 1_000_000_000)
  quantity?: number;
}

// Requests

/** Maximum number of lines in one call. */
export const maxImportLines = 256;

/** Creates and replaces plants by their ids. Each line is the JSON of one `ImportedPlant`, and succeeds or fails alone. */
export class ImportPlants {
  @IsArray({ message: 'must be a list' })
  @ArrayMaxSize(maxImportLines)
  @IsString({ each: true })
  @Schema({ type: 'array', maxItems: maxImportLines, items: { type: 'string' } })
  lines: string[];
}

/** Reads from a snapshot of the catalogue that `beginExport` holds open. */
export class ReadExport {
  @Pattern(/^[0-9A-F]{1,16}-[0-9A-F]{1,16}-[0-9]{1,10}$/, 'must be a snapshot of beginExport', {})
  snapshot: string;

  /** The incarnation of the last plant read; 0 for the first page. */
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

/** The form of `POST /plant/{plantId}`. Without name and status: `invalid-input`. */
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
      'At most 8 words of the name, tags or category, all of which must match. A word also matches longer words that begin ' +
        'with it. A word that no plant has matches similar ones. Case and accents are ignored.',
    ),
  );

/** A plant must meet all conditions. */
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
  @Description('The plant has at least one of these tags.')
  tags?: string[];

  @IsOptional()
  @Text()
  @Description("The category's exact name.")
  category?: string;
}

/** The conditions of `GetPlantFacets`, with sorting and pagination. */
export class SearchPlants extends GetPlantFacets implements PageRequest {
  @IsOptional()
  @OneOf(plantSorts)
  @Description('Default: `relevance` with `q`, otherwise `newest`. Sorting by name ignores the case of ASCII letters.')
  sort?: PlantSort;

  @PageLimit()
  limit?: number;

  @PageCursor()
  cursor?: string;
}

/** Maximum number of values in one facet: the most frequent ones. */
export const maxFacetValues = 100;

/** Begins an upload. Chunks follow in order, each acknowledged; `finishImage` makes it an image of the plant. */
export class BeginImage {
  @Id()
  plantId: number;
}

/**
 * Size of every chunk in bytes, except the last, which has 1 to this many. Byte `n` of an image is therefore byte
 * `n % imageChunkBytes` of chunk `Math.floor(n / imageChunkBytes)`, and a range only needs the chunks that contain it.
 */
export const imageChunkBytes = 256 * 1024;
export const maxImageBytes = 10 * 1024 * 1024;

export class WriteImageChunk {
  @Uuid()
  uploadId: string;

  /**
   * 0, 1, 2, …; a repeated chunk replaces itself. A chunk that was not acknowledged may still arrive: repeat it with the
   * same bytes before finishing the upload, or abandon the upload.
   */
  @Integer(0, Math.ceil(maxImageBytes / imageChunkBytes))
  index: number;

  /** `imageChunkBytes` bytes, or fewer in the last chunk. Base64, because payloads are JSON. */
  @IsBase64({}, { message: 'must be base64' })
  @Schema({ type: 'string', contentEncoding: 'base64' })
  data: string;
}

export class FinishImage {
  @Uuid()
  uploadId: string;

  /** Metadata that the client sent with the file. It is not stored, but a repeated upload must send the same. */
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

// Answers

export interface Plant {
  readonly id: number;
  readonly name: string;
  readonly category?: { readonly id?: number; readonly name?: string };
  readonly photoUrls: readonly string[];
  readonly tags: readonly { readonly id: number; readonly name: string }[];
  readonly status: PlantStatus;
}

/** The number of matching plants that have a value. */
export interface FacetCount {
  readonly value: string;
  readonly plants: number;
}

export interface PlantFacets {
  /** Number of plants counted. */
  readonly plants: number;
  /** `false`: more plants match, and only the newest were counted. */
  readonly complete: boolean;
  readonly status: readonly FacetCount[];
  readonly tags: readonly FacetCount[];
  readonly category: readonly FacetCount[];
}

/** The result of one line of an import. */
export type ImportLineResult =
  | { readonly id: number; readonly result: 'created' | 'updated' | 'unchanged' }
  /** Refused, so nothing of the line was stored. `id` is present if it could be read. */
  | { readonly id?: number; readonly refused: { readonly code: string; readonly detail: string; readonly errors?: readonly FieldError[] } };

/** A page of plants in order of creation. */
export interface ExportedPage {
  readonly plants: readonly Plant[];
  /** `after` of the next page; absent on the last one. */
  readonly next?: number;
}

export interface StoredImage {
  readonly imageId: string;
  /** Absolute, at the public address of the API. */
  readonly url: string;
}

/** How to serve an image. Only recognised image types are `inline`. */
export interface ImageHead {
  readonly contentType: string;
  readonly disposition: 'inline' | 'attachment';
  readonly bytes: number;
  /** `Math.ceil(bytes / imageChunkBytes)`, at least one. */
  readonly chunks: number;
  /** SHA-256 of the content in hex, used as its entity tag. */
  readonly sha256: string;
}

const { read, write } = operationsOf<ErrorCode>('catalog');

export const catalog = {
  /** Answers once the store has opened stock for the plant, also when repeated with its Idempotency-Key. */
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
  /** Answers a page. */
  findPlantsByStatus: read<Plant[]>()('findPlantsByStatus', FindPlantsByStatus, { errors: ['invalid-cursor'] }),
  /** Answers a page of the plants that have at least one of the tags, each once. */
  findPlantsByTags: read<Plant[]>()('findPlantsByTags', FindPlantsByTags, { errors: ['invalid-cursor'] }),
  /** Answers a page of the plants that meet all conditions. It may be short or empty although there is a next one. */
  searchPlants: read<Plant[]>()('searchPlants', SearchPlants, { errors: ['invalid-cursor'] }),
  getPlantFacets: read<PlantFacets>()('getPlantFacets', GetPlantFacets),
  /** Details of `plant-has-pending-orders`: `orders` (ids). */
  deletePlant: write<{ plantId: number }>()('deletePlant', DeletePlant, {
    errors: ['plant-not-found', 'plant-has-pending-orders', 'precondition-failed'],
  }),
  /**
   * For caches: answers all current stamps of the catalogue. Answers of `getPlant` and of the lists carry a stamp and are
   * valid while it is current. Every change of a plant replaces some stamps, in the same transaction. A stamp never returns,
   * except together with the plants that it stood for (a restored backup).
   */
  readStamps: read<readonly string[]>()('readStamps', NoPayload),

  /**
   * Answers one result per line, in order, once all its plants can be ordered. It is safe to repeat, and then also sends the
   * store what an earlier call did not.
   */
  importPlants: write<ImportLineResult[]>()('importPlants', ImportPlants),
  /** Holds a snapshot open while it is read at least every 15 s, for at most an hour. */
  beginExport: write<{ snapshot: string }>()('beginExport', NoPayload, { errors: ['overloaded'] }),
  /** `invalid-cursor`: the snapshot is no longer open. */
  readExport: read<ExportedPage>()('readExport', ReadExport, { errors: ['invalid-cursor'] }),
  endExport: write<{ snapshot: string }>()('endExport', EndExport),

  beginImage: write<{ uploadId: string }>()('beginImage', BeginImage, { errors: ['plant-not-found'] }),
  /** Answers the length of the stored chunk. `image-type-refused` depends on the first chunk alone. */
  writeImageChunk: write<{ bytes: number }>()('writeImageChunk', WriteImageChunk, {
    errors: ['upload-not-found', 'image-too-large', 'image-type-refused'],
  }),
  /**
   * `plant-not-found`: the plant was deleted meanwhile. A repeated call gets the same answer.
   *
   * The Idempotency-Key stands for the whole upload. Another upload that is finished with the same key, plant, content and
   * metadata gets the first one's answer and creates no image; with different ones it gets `idempotency-key-reused`.
   */
  finishImage: write<StoredImage>()('finishImage', FinishImage, {
    errors: ['upload-not-found', 'plant-not-found', 'image-type-refused', 'too-many-photos', 'idempotency-key-reused'],
  }),
  /** With `readImageChunk`, suffices to serve a range: see `imageChunkBytes`. */
  getImage: read<ImageHead>()('getImage', GetImage, { errors: ['image-not-found'] }),
  readImageChunk: read<{ data: string }>()('readImageChunk', ReadImageChunk, { errors: ['image-not-found'] }),

  /** Advances the catalog's sequences beyond the numbers that the store knows. */
  raiseNumbers: write<{ raised: RaisedNumber[] }>()('raiseNumbers', RaiseNumbers),
  /** Compares a page of plants with the store's stock and repairs differences. Safe to repeat. */
  reconcilePlants: write<ReconciledPage<PlantFinding, number>>()('reconcilePlants', ReconcilePlants),
  readAudit: readAuditOf('catalog'),
};
