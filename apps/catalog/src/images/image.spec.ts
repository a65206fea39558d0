import { describe, expect, it } from '@jest/globals';
import { imageChunkBytes, maxImageBytes } from '@plant-shop/contracts/catalog';
import { type AttachedImage, bytesOf, type ImageState, toHead, withChunk } from './image.js';

const upload = (chunkBytes: number[] = [], state: ImageState['state'] = 'uploading'): ImageState => ({
  id: '00000000-0000-4000-8000-000000000001',
  incarnation: 1,
  state,
  chunkBytes,
});
const full = (chunks: number): number[] => Array.from({ length: chunks }, () => imageChunkBytes);

describe('chunks of an upload', () => {
  it('follow in order', () => {
    expect(withChunk(upload([5]), 1, 7)).toEqual([5, 7]);
    expect(() => withChunk(upload([5]), 2, 7)).toThrow(expect.objectContaining({ code: 'invalid-input' }));
  });

  it('a repeated one replaces itself', () => {
    expect(withChunk(upload([5, 6]), 0, 9)).toEqual([9, 6]);
  });

  it('10 MiB are taken, and not one byte more', () => {
    const most = withChunk(upload(full(39)), 39, imageChunkBytes);
    expect(bytesOf({ chunkBytes: most })).toBe(maxImageBytes);
    expect(() => withChunk(upload(full(40)), 40, 1)).toThrow(expect.objectContaining({ code: 'image-too-large' }));
  });

  it('one longer than 256 KiB is refused', () => {
    expect(() => withChunk(upload(), 0, imageChunkBytes + 1)).toThrow(expect.objectContaining({ code: 'invalid-input' }));
  });

  it.each(['sealed', 'attached'] as const)('none is taken once the upload is %s', (state) => {
    expect(() => withChunk(upload([5], state), 1, 7)).toThrow(expect.objectContaining({ code: 'upload-not-found' }));
  });
});

describe('the head of an image', () => {
  const image = (contentType: string): AttachedImage => ({
    ...upload([imageChunkBytes, 10]),
    state: 'attached',
    contentType,
    sha256: 'a'.repeat(64),
  });

  it('a picture is shown, and everything else is a download', () => {
    expect(toHead(image('image/png'))).toEqual({
      contentType: 'image/png',
      disposition: 'inline',
      bytes: imageChunkBytes + 10,
      chunks: 2,
      sha256: 'a'.repeat(64),
    });
    expect(toHead(image('application/octet-stream'))).toMatchObject({ disposition: 'attachment' });
  });
});
