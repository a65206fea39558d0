import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { catalog, imageChunkBytes, maxImageBytes } from '@plant-shop/contracts/catalog';
import { createLogger } from '@plant-shop/platform/logging';
import { Deadline } from '@plant-shop/platform/rpc/context';
import { startBucket, type TestBucket } from '../bucket.spec.fixture.js';
import { CatalogFixture, outcomeOf } from '../catalog.spec.fixture.js';
import { imageStoreNames, toOptions } from '../config.js';
import { ImageStores } from './image-stores.js';
import { sweepImages } from './images.service.js';

const png = (bytes: number): Buffer =>
  Buffer.concat([Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]), randomBytes(bytes - 8)]);

describe.each(imageStoreNames)('images in %s', (store) => {
  let shop: CatalogFixture;
  let bucket: TestBucket | undefined;
  let stores: ImageStores;
  beforeAll(async () => {
    bucket = store === 's3' ? await startBucket() : undefined;
    shop = await CatalogFixture.start({ replicas: 2, ...(bucket && { environment: bucket.environment }) });
    stores = new ImageStores(toOptions(shop.configFor()), shop.database, createLogger('test', 'fatal'));
    await stores.onModuleInit();
  });
  afterAll(async () => {
    stores.onApplicationShutdown();
    await shop.stop();
    await bucket?.stop();
  });

  /** Returns all stored chunks, as `<image>/<chunk>`. */
  const storedChunks = async (): Promise<string[]> => {
    if (bucket) return (await bucket.keys()).map((key) => key.replace('images/', ''));
    const rows = await shop.database.query<{ key: string }>(`SELECT image_id || '/' || index AS key FROM image_chunks`);
    return rows.map(({ key }) => key);
  };
  const storedOf = async (ids: readonly string[]) =>
    (await storedChunks()).filter((key) => ids.some((id) => key.startsWith(id)));

  const begin = async (plantId: number) => (await shop.caller.call(catalog.beginImage, { plantId })).uploadId;
  const write = (uploadId: string, index: number, data: Uint8Array) =>
    shop.caller.call(catalog.writeImageChunk, { uploadId, index, data: Buffer.from(data).toString('base64') });
  const finish = (uploadId: string) => shop.caller.call(catalog.finishImage, { uploadId });
  const head = (imageId: string) => shop.caller.call(catalog.getImage, { imageId });
  const chunk = async (imageId: string, index: number) =>
    Buffer.from((await shop.caller.call(catalog.readImageChunk, { imageId, index })).data, 'base64');
  const get = (plantId: number) => shop.caller.call(catalog.getPlant, { plantId });

  const upload = async (plantId: number, content: Uint8Array, chunkBytes = imageChunkBytes) => {
    const uploadId = await begin(plantId);
    for (let at = 0; at < content.length; at += chunkBytes) {
      await write(uploadId, at / chunkBytes, content.subarray(at, at + chunkBytes));
    }
    return finish(uploadId);
  };
  /** Reads the chunks in turn, as the gateway does: on a busy machine, 40 at once wait longer for a database connection than the service allows. */
  const read = async (imageId: string) => {
    const { chunks } = await head(imageId);
    const content: Buffer[] = [];
    for (let index = 0; index < chunks; index++) content.push(await chunk(imageId, index));
    return Buffer.concat(content);
  };

  it('a picture of 10 MiB is returned unchanged, and the plant shows it (slow)', async () => {
    const { id } = await shop.create();
    const content = png(maxImageBytes);
    const { imageId, url, shown } = await upload(id, content);
    expect(shown).toBe(true);
    expect(url).toBe(`https://shop.test/v3/images/${imageId}`);
    expect(await head(imageId)).toEqual({
      contentType: 'image/png',
      disposition: 'inline',
      bytes: maxImageBytes,
      chunks: 40,
      sha256: createHash('sha256').update(content).digest('hex'),
    });
    expect((await read(imageId)).equals(content)).toBe(true);
    expect((await get(id)).photoUrls).toEqual([url]);
  });

  it('one byte more than 10 MiB is refused', async () => {
    const { id } = await shop.create();
    const uploadId = await begin(id);
    const full = Array.from({ length: maxImageBytes / imageChunkBytes }, () => imageChunkBytes);
    await shop.database.query('UPDATE images SET chunk_bytes = $2 WHERE id = $1', [uploadId, full]);
    expect(await outcomeOf(write(uploadId, full.length, Buffer.from([0])))).toBe('image-too-large');
    expect(await storedOf([uploadId])).toEqual([]);
  });

  it('a file that is not a picture is stored for download and not shown on the plant', async () => {
    const { id } = await shop.create();
    const content = Buffer.from('%PDF-1.7');
    const { imageId, shown } = await upload(id, content);
    expect(shown).toBe(false);
    expect(await head(imageId)).toMatchObject({ contentType: 'application/octet-stream', disposition: 'attachment' });
    expect(await read(imageId)).toEqual(content);
    expect((await get(id)).photoUrls).toEqual([]);
  });

  it('an empty file is refused', async () => {
    const { id } = await shop.create();
    expect(await outcomeOf(upload(id, Buffer.alloc(0)))).toBe('invalid-input');
    expect(await outcomeOf(write(await begin(id), 0, Buffer.alloc(0)))).toBe('invalid-input');
  });

  it('markup is refused with its first chunk, and nothing of it is stored', async () => {
    const { id } = await shop.create();
    const uploadId = await begin(id);
    expect(await outcomeOf(write(uploadId, 0, Buffer.from(' <svg onload="alert(1)"/>')))).toBe('image-type-refused');
    expect(await storedOf([uploadId])).toEqual([]);
  });

  it('markup can neither be split into small chunks nor replace another chunk', async () => {
    const { id } = await shop.create();
    const uploadId = await begin(id);
    await write(uploadId, 0, Buffer.from('<'));
    expect(await outcomeOf(write(uploadId, 1, Buffer.from('svg onload="alert(1)"/>')))).toBe('invalid-input');
    expect(await outcomeOf(write(uploadId, 0, Buffer.from('<svg onload="alert(1)"/>')))).toBe('image-type-refused');
    const { imageId } = await finish(uploadId);
    expect(await read(imageId)).toEqual(Buffer.from('<'));
  });

  it('a repeated chunk replaces itself', async () => {
    const { id } = await shop.create();
    const uploadId = await begin(id);
    const [first, second] = [png(imageChunkBytes), randomBytes(5)];
    await write(uploadId, 0, png(30));
    await write(uploadId, 0, first);
    await write(uploadId, 1, second);
    const { imageId } = await finish(uploadId);
    expect((await read(imageId)).equals(Buffer.concat([first, second]))).toBe(true);
  });

  it('finishing repeatedly, also concurrently, has the same answer and shows one photograph', async () => {
    const { id } = await shop.create();
    const uploadId = await begin(id);
    await write(uploadId, 0, png(20));
    const answers = await Promise.all(Array.from({ length: 8 }, () => finish(uploadId)));
    answers.push(await finish(uploadId));
    expect(new Set(answers.map(({ url }) => url)).size).toBe(1);
    expect((await get(id)).photoUrls).toHaveLength(1);
    expect(await outcomeOf(write(uploadId, 1, png(20)))).toBe('upload-not-found');
  });

  it('concurrent uploads to one plant are all shown (slow)', async () => {
    const { id } = await shop.create({ photoUrls: ['first'] });
    const images = await Promise.all(Array.from({ length: 10 }, () => upload(id, png(100))));
    expect(new Set((await get(id)).photoUrls)).toEqual(new Set(['first', ...images.map(({ url }) => url)]));
  });

  it('a plant with 64 photographs accepts no more of them, but still downloads', async () => {
    const photoUrls = Array.from({ length: 64 }, (_, n) => `${n}.jpg`);
    const { id } = await shop.create({ photoUrls });
    expect(await outcomeOf(upload(id, png(100)))).toBe('too-many-photos');
    await upload(id, Buffer.from('care instructions'));
    expect((await get(id)).photoUrls).toEqual(photoUrls);
  });

  it('an upload requires its plant, to begin and to finish', async () => {
    expect(await outcomeOf(begin(404))).toBe('plant-not-found');
    const { id } = await shop.create();
    const uploadId = await begin(id);
    await write(uploadId, 0, png(100));
    await shop.caller.call(catalog.deletePlant, { plantId: id });
    expect(await outcomeOf(finish(uploadId))).toBe('plant-not-found');
  });

  it('an upload whose last chunk was recorded but not stored cannot be finished', async () => {
    const { id } = await shop.create();
    const uploadId = await begin(id);
    await write(uploadId, 0, png(imageChunkBytes));
    await shop.database.query('UPDATE images SET chunk_bytes = $2 WHERE id = $1', [uploadId, [imageChunkBytes, 50]]);
    expect(await outcomeOf(finish(uploadId))).toBe('upload-not-found');
  });

  it('an unknown upload and an unknown image are not found', async () => {
    const unknown = randomUUID();
    expect(await outcomeOf(write(unknown, 0, png(10)))).toBe('upload-not-found');
    expect(await outcomeOf(finish(unknown))).toBe('upload-not-found');
    expect(await outcomeOf(head(unknown))).toBe('image-not-found');
    expect(await outcomeOf(chunk(unknown, 0))).toBe('image-not-found');
  });

  it('an unfinished upload is not served', async () => {
    const { id } = await shop.create();
    const uploadId = await begin(id);
    await write(uploadId, 0, png(10));
    expect(await outcomeOf(head(uploadId))).toBe('image-not-found');
    expect(await outcomeOf(chunk(uploadId, 0))).toBe('image-not-found');
  });

  it('images of a deleted plant are deleted; those of others and images without a photoUrl stay', async () => {
    const [one, other] = [await shop.create(), await shop.create()];
    const image = await upload(one.id, png(10));
    const kept = await upload(other.id, png(10));
    await shop.caller.call(catalog.replacePlant, { plant: { id: other.id, name: 'without photographs' } });
    await shop.caller.call(catalog.deletePlant, { plantId: one.id });
    expect(await outcomeOf(head(image.imageId))).toBe('image-not-found');
    expect(await head(kept.imageId)).toMatchObject({ bytes: 10 });
  });

  describe('the sweep', () => {
    const anHourAgo = (uploads: readonly string[]) =>
      shop.database.query(`UPDATE images SET begun_at = now() - interval '61 minutes' WHERE id = ANY($1)`, [uploads]);
    const halfAnHourPasses = () =>
      shop.database.query(`UPDATE images SET remove_at = remove_at - interval '31 minutes'`);
    const sweep = async (): Promise<void> => {
      while (await sweepImages(shop.database, stores, createLogger('test', 'fatal')));
    };
    const rowsOf = async (ids: readonly string[]) =>
      (await shop.database.query<{ id: string }>('SELECT id FROM images WHERE id = ANY($1)', [ids])).map(({ id }) => id);

    it('removes uploads unfinished after an hour and images of deleted plants, and nothing else (slow)', async () => {
      const { id } = await shop.create();
      const image = await upload(id, png(imageChunkBytes + 10));
      const young = await begin(id);
      await write(young, 0, png(10));
      const old = await Promise.all(Array.from({ length: 12 }, () => begin(id)));
      for (const uploadId of old) await write(uploadId, 0, png(10));
      await anHourAgo([...old, image.imageId]);
      const gone = await shop.create();
      const orphan = await upload(gone.id, png(imageChunkBytes + 10));
      await shop.caller.call(catalog.deletePlant, { plantId: gone.id });

      await sweep();
      await halfAnHourPasses();
      await sweep();
      const left = await rowsOf([...old, young, image.imageId, orphan.imageId]);
      expect(new Set(left)).toEqual(new Set([young, image.imageId]));
      expect(await storedOf([...old, orphan.imageId])).toEqual([]);
      expect(await storedOf([young, image.imageId])).toHaveLength(3);
      expect(await outcomeOf(write(old[0]!, 1, png(10)))).toBe('upload-not-found');
    });

    it('also removes a chunk that arrives after its upload was discarded', async () => {
      const { id } = await shop.create();
      const late = await begin(id);
      await write(late, 0, png(imageChunkBytes));
      // A second chunk is recorded, and still in transit to the store.
      await shop.database.query('UPDATE images SET chunk_bytes = $2 WHERE id = $1', [late, [imageChunkBytes, 10]]);
      await anHourAgo([late]);
      await sweep();
      expect(await outcomeOf(finish(late))).toBe('upload-not-found');
      expect(await outcomeOf(write(late, 1, png(10)))).toBe('upload-not-found');
      await stores.of({ store }).write(Deadline.in(5_000), late, 1, png(10));
      expect(await storedOf([late])).toHaveLength(2);

      await halfAnHourPasses();
      await sweep();
      expect(await storedOf([late])).toEqual([]);
      expect(await rowsOf([late])).toEqual([]);
    });
  });
});
