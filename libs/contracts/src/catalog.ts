import { applyDecorators } from '@nestjs/common';
import { NoPayload, operationsOf } from '@plant-shop/platform/rpc/operation';
import { IsBase64, IsOptional, ValidateBy } from 'class-validator';
import { readAuditOf } from './audit.js';
import type { ErrorCode } from './errors.js';
import {
  ExpectedVersion,
  Id,
  IdToAssign,
  Integer,
  ListOf,
  ObjectOf,
  ObjectsOf,
  OneOf,
  PageRequest,
  SomeOf,
  Text,
  Texts,
  Uuid,
} from './fields.js';
import { type PlantFinding, type RaisedNumber, RaiseNumbers, type Reconciled, ReconcilePlants } from './reconcile.js';
import { Described, Means } from './schema.js';

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

const PhotoUrls = (): PropertyDecorator =>
  applyDecorators(
    ValidateBy({
      name: 'photoUrls',
      validator: {
        validate: (value) => Array.isArray(value) && value.every((one) => typeof one === 'string' && address.test(one)),
        defaultMessage: () => 'must hold addresses without spaces or control characters',
      },
    }),
    Described({ items: { pattern: address.source } }),
  );
// eslint-disable-next-line no-control-regex -- control characters are what is looked for
const address = /^[^\s\u0000-\u001f\u007f]+$/u;

/** All attributes that a plant's own representation has, but its id. */
class PlantAttributes {
  @Text()
  name: string;

  @IsOptional()
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
  @Means('Absent: a new plant is available, a replaced one keeps its status.')
  status?: PlantStatus;
}

export class NewPlant extends PlantAttributes {
  @IdToAssign()
  id?: number;

  /** Absent: the store's `INITIAL_STOCK`. */
  @IsOptional()
  @Means('Free units to begin with; absent: as many as the shop is set to.')
  @Integer(0, 1_000_000_000)
  quantity?: number;
}

/** Replaces all attributes: absent optional ones are cleared, an absent status keeps the current one. */
export class PlantReplacement extends PlantAttributes {
  @Id()
  id: number;
}

// What services ask

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
  @Described({ type: 'string', contentEncoding: 'base64' })
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
  reconcilePlants: write<Reconciled<PlantFinding, number>>()('reconcilePlants', ReconcilePlants),
  readAudit: readAuditOf('catalog'),
};
