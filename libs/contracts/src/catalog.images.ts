import { operationsOf } from '@plant-shop/platform/rpc/operation';
import { IsBase64, IsOptional } from 'class-validator';
import { openLimitedByUser, permission } from './permissions.js';
import { forClientsUnder, ownMessage } from './client-operation.js';
import type { ErrorCode } from './errors.js';
import { Id, Integer, Text, Uuid } from './fields.js';
import { Schema } from './schema.js';

// Images of plants, uploaded and read in chunks.

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

export interface StoredImage {
  readonly imageId: string;
  /** Absolute, at the public address of the API. */
  readonly url: string;
  /** Whether it was appended to the plant's `photoUrls`: only pictures are. */
  readonly shown: boolean;
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
const forClients = forClientsUnder('Plants');

/** Answers the length of the stored chunk. `image-type-refused` depends on the first chunk alone. */
const writeImageChunk = write<{ bytes: number }>()('writeImageChunk', WriteImageChunk, {
  errors: ['upload-not-found', 'image-too-large', 'image-type-refused'],
});
/**
 * `plant-not-found`: the plant was deleted meanwhile. A repeated call gets the same answer.
 *
 * The Idempotency-Key stands for the whole upload. Another upload that is finished with the same key, plant, content and
 * metadata gets the first one's answer and creates no image; with different ones it gets `idempotency-key-reused`.
 */
const finishImage = write<StoredImage>()('finishImage', FinishImage, {
  errors: ['upload-not-found', 'plant-not-found', 'image-type-refused', 'too-many-photos', 'idempotency-key-reused'],
});
const readImageChunk = read<{ data: string }>()('readImageChunk', ReadImageChunk, { errors: ['image-not-found'] });

const exampleUrl = 'https://shop.example/v3/images/0190b6a2-6c1e-7d3a-9f5b-2c4e6a8b0d1f';

export const imageOperations = {
  beginImage: forClients(
    write<{ uploadId: string }>()('beginImage', BeginImage, { errors: ['plant-not-found'] }),
    {
      name: 'uploadImage',
      route: 'POST /v3/plant/:plantId/uploadImage',
      access: permission('write:plants'),
      summary: 'Upload an image of a plant',
      description:
        'Pictures (JPEG, PNG, GIF, WebP or AVIF, detected by content) are appended to `photoUrls`; other files are stored and served as ' +
        'attachments (`shown` is false). At most 10 MiB. The body is a form, or the file itself (`application/octet-stream`) with `additionalMetadata` in the query. The message contains the metadata and the URL of the image.',
      alsoCalls: [writeImageChunk, finishImage],
      body: { kind: 'multipart' },
      budgetFactor: 3,
      answer: {
        ...ownMessage(`additionalMetadata: from the greenhouse; url: ${exampleUrl}`),
        more: {
          schema: 'UploadedImage',
          properties: {
            imageUrl: { type: 'string', format: 'uri', description: 'Where the file is.' },
            shown: { type: 'boolean', description: 'Whether `photoUrls` of the plant contains it.' },
            notShownBecause: { type: 'string', description: 'If `shown` is false.' },
          },
          required: ['imageUrl', 'shown'],
          example: { imageUrl: exampleUrl, shown: true },
        },
      },
    },
  ),
  writeImageChunk,
  finishImage,
  /** With `readImageChunk`, suffices to serve a range: see `imageChunkBytes`. */
  getImage: forClients(
    read<ImageHead>()('getImage', GetImage, { errors: ['image-not-found'] }),
    {
      route: 'GET /v3/images/:imageId',
      access: openLimitedByUser,
      summary: 'Read an image',
      description: 'The content at a URL never changes.',
      alsoCalls: [readImageChunk],
      answer: { kind: 'image' },
    },
  ),
  readImageChunk,
};
