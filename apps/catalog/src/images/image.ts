import { imageChunkBytes, type ImageHead, maxImageBytes } from '@plant-shop/contracts/catalog';
import { DomainError } from '@plant-shop/contracts/errors';
import { invalidInput } from '@plant-shop/platform/errors';
import type { ImageStoreName } from '../config.js';
import { opaque } from './image-type.js';

/** An upload, which becomes an image when it is finished (table `images`). */
export interface ImageState {
  readonly id: string;
  /** The plant's incarnation; null: the plant was deleted. */
  readonly incarnation: number | null;
  readonly state: 'uploading' | 'sealed' | 'attached';
  readonly store: ImageStoreName;
  /** The length of each chunk, in order. All chunks but the last are full. */
  readonly chunkBytes: readonly number[];
}

/** Facts about content, known once all of it was read. */
export interface ImageContent {
  readonly contentType: string;
  readonly sha256: string;
}

export interface AttachedImage extends ImageState, ImageContent {
  readonly state: 'attached';
}

export const isAttached = (image: ImageState): image is AttachedImage => image.state === 'attached';

export const bytesOf = ({ chunkBytes }: Pick<ImageState, 'chunkBytes'>): number =>
  chunkBytes.reduce((sum, bytes) => sum + bytes, 0);

/**
 * Returns the chunk lengths after adding a chunk or replacing one.
 * @throws DomainError `upload-not-found`, `image-too-large`; CodedError `invalid-input` if the chunk is out of order, empty or too
 * long, or if a chunk other than the last would not be full
 */
export function withChunk(upload: ImageState, index: number, bytes: number): readonly number[] {
  if (upload.state !== 'uploading') throw uploadNotFound();
  if (bytes < 1 || bytes > imageChunkBytes) {
    throw invalidInput([{ pointer: '/data', detail: `must hold 1 to ${imageChunkBytes} bytes` }]);
  }
  if (index > upload.chunkBytes.length) {
    throw invalidInput([{ pointer: '/index', detail: `must follow in order: ${upload.chunkBytes.length} is next` }]);
  }
  const chunkBytes = [...upload.chunkBytes];
  chunkBytes[index] = bytes;
  if (chunkBytes.slice(0, -1).some((before) => before < imageChunkBytes)) {
    throw invalidInput([{ pointer: '/index', detail: `only the last chunk may hold fewer than ${imageChunkBytes} bytes` }]);
  }
  if (bytesOf({ chunkBytes }) > maxImageBytes) throw imageTooLarge();
  return chunkBytes;
}

/** @throws CodedError `invalid-input` for an empty upload: serving an image requires a first chunk */
export function checkContent(upload: ImageState): void {
  if (bytesOf(upload) === 0) throw invalidInput([{ pointer: '', detail: 'must not be an empty file' }]);
}

export const toHead = (image: AttachedImage): ImageHead => ({
  contentType: image.contentType,
  disposition: image.contentType === opaque.contentType ? 'attachment' : 'inline',
  bytes: bytesOf(image),
  chunks: image.chunkBytes.length,
  sha256: image.sha256,
});

export const uploadNotFound = (): DomainError =>
  new DomainError('upload-not-found', 'There is no such upload, or it was finished or has expired. Start a new upload.');

export const uploadedPlantGone = (): DomainError =>
  new DomainError('plant-not-found', 'The plant of this upload was deleted.');

const imageTooLarge = (): DomainError =>
  new DomainError('image-too-large', `An image may have at most ${maxImageBytes / 2 ** 20} MiB. Send a smaller one.`);

export const imageTypeRefused = (): DomainError =>
  new DomainError('image-type-refused', 'HTML, SVG and XML are not accepted. Send JPEG, PNG, GIF, WebP or AVIF.');

export const imageNotFound = (): DomainError => new DomainError('image-not-found', 'There is no such image.');
