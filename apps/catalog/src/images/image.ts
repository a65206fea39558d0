import { imageChunkBytes, type ImageHead, maxImageBytes } from '@plant-shop/contracts/catalog';
import { DomainError } from '@plant-shop/contracts/errors';
import { invalidInput } from '@plant-shop/platform/errors';
import type { ImageStoreName } from './image-store.js';
import { opaque } from './image-type.js';

/** An upload, and the image that it becomes (table `images`). */
export interface ImageState {
  readonly id: string;
  /** Of its plant; null when that was deleted. */
  readonly incarnation: number | null;
  readonly state: 'uploading' | 'sealed' | 'attached';
  readonly store: ImageStoreName;
  /** Length of each chunk, in order. All but the last are full. */
  readonly chunkBytes: readonly number[];
}

/** What is known of content once it was read whole. */
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
 * The lengths with one more chunk, or with another length of one that is repeated.
 * @throws DomainError `upload-not-found`, `image-too-large`; CodedError `invalid-input` for a chunk that is out of order,
 * empty or too long, or that leaves one before the last that is not full
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

/** @throws CodedError `invalid-input` for an upload that has no byte: every image has a first chunk to be served */
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
  new DomainError('upload-not-found', 'There is no such upload, or it was finished or given up. Begin again.');

export const uploadedPlantGone = (): DomainError =>
  new DomainError('plant-not-found', 'The plant of this upload was deleted.');

const imageTooLarge = (): DomainError =>
  new DomainError('image-too-large', `An image may have at most ${maxImageBytes / 2 ** 20} MiB. Send a smaller one.`);

export const imageTypeRefused = (): DomainError =>
  new DomainError('image-type-refused', 'HTML, SVG and XML are not taken. Send JPEG, PNG, GIF, WebP or AVIF.');

export const imageNotFound = (): DomainError => new DomainError('image-not-found', 'There is no such image.');
