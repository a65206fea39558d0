import { describe, expect, it } from '@jest/globals';
import { imageChunkBytes, maxImageBytes } from '@plant-shop/contracts/catalog';
import { type AttachedImage, bytesOf, type ImageState, toHead, withChunk } from './image.js';

const upload = (chunkBytes: number[] = [], state: ImageState['state'] = 'uploading'): ImageState => ({
  id: '00000000-0000-4000-8000-000000000001',
  incarnation: 1,
  state,
  store: 'postgres',
  chunkBytes,
});
const full = (chunks: number): number[] => Array.from({ length: chunks }, () => imageChunkBytes);

const refused = (code: string) => expect.objectContaining({ code });
const refusedAt = (pointer: string) =>
  expect.objectContaining({ code: 'invalid-input', details: { errors: [expect.objectContaining({ pointer })] } });

describe('chunks of an upload', () => {
  it('follow in order', () => {
    expect(withChunk(upload(full(1)), 1, 7)).toEqual([imageChunkBytes, 7]);
    expect(() => withChunk(upload(full(1)), 2, 7)).toThrow(refusedAt('/index'));
  });

  it('are full, except for the last one, so that a byte is found by its position', () => {
    expect(() => withChunk(upload([5]), 1, 7)).toThrow(refusedAt('/index'));
    expect(() => withChunk(upload(full(2)), 0, 7)).toThrow(refusedAt('/index'));
    expect(() => withChunk(upload(), 0, 0)).toThrow(refusedAt('/data'));
  });

  it('replace an earlier one with the same index', () => {
    expect(withChunk(upload([5]), 0, 9)).toEqual([9]);
    expect(withChunk(upload([...full(1), 6]), 0, imageChunkBytes)).toEqual([imageChunkBytes, 6]);
  });

  it('hold up to 10 MiB, and not one byte more', () => {
    const most = withChunk(upload(full(39)), 39, imageChunkBytes);
    expect(bytesOf({ chunkBytes: most })).toBe(maxImageBytes);
    expect(() => withChunk(upload(full(40)), 40, 1)).toThrow(refused('image-too-large'));
  });

  it('are refused if longer than 256 KiB', () => {
    expect(() => withChunk(upload(), 0, imageChunkBytes + 1)).toThrow(refusedAt('/data'));
  });

  it.each(['sealed', 'attached'] as const)('are refused once the upload is %s', (state) => {
    expect(() => withChunk(upload([5], state), 1, 7)).toThrow(refused('upload-not-found'));
  });
});

describe('the head of an image', () => {
  const image = (contentType: string): AttachedImage => ({
    ...upload([imageChunkBytes, 10]),
    state: 'attached',
    contentType,
    sha256: 'a'.repeat(64),
  });

  it('serves a picture inline, and everything else as a download', () => {
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
