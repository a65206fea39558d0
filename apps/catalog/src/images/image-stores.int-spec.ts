import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { catalog, imageChunkBytes } from '@plant-shop/contracts/catalog';
import { createLogger } from '@plant-shop/platform/logging';
import { Deadline } from '@plant-shop/platform/rpc/context';
import { startBucket, type TestBucket } from '../bucket.spec.fixture.js';
import { CatalogFixture, outcomeOf } from '../catalog.spec.fixture.js';
import { imageStoreNames, toOptions } from '../config.js';
import { type ImageStore, ImageStores } from './image-stores.js';

describe('image stores', () => {
  let shop: CatalogFixture;
  let bucket: TestBucket;
  let stores: ImageStores;
  beforeAll(async () => {
    bucket = await startBucket();
    shop = await CatalogFixture.start({ environment: { ...bucket.environment, IMAGE_STORE: 'postgres' } });
    stores = await reachable({});
  });
  afterAll(async () => {
    stores.onApplicationShutdown();
    await shop.stop();
    await bucket.stop();
  });

  async function reachable(environment: NodeJS.ProcessEnv): Promise<ImageStores> {
    const options = toOptions(shop.configFor(environment));
    const opened = new ImageStores(options, shop.database, createLogger('test', 'fatal'));
    await opened.onModuleInit();
    return opened;
  }
  const soon = () => Deadline.in(5_000);
  const begin = async () => {
    const { id } = await shop.create();
    return (await shop.caller.call(catalog.beginImage, { plantId: id })).uploadId;
  };

  describe.each(imageStoreNames)('%s', (name) => {
    let store: ImageStore;
    beforeAll(() => {
      store = stores.of({ store: name });
    });

    it('returns each chunk as it was written', async () => {
      const id = await begin();
      const chunks = [randomBytes(imageChunkBytes), Buffer.from([0]), randomBytes(1_000)];
      await Promise.all(chunks.map((chunk, index) => store.write(soon(), id, index, chunk)));
      for (const [index, chunk] of chunks.entries()) {
        expect((await store.read(soon(), id, index))?.equals(chunk)).toBe(true);
      }
    });

    it('replaces a chunk that is written again', async () => {
      const id = await begin();
      await store.write(soon(), id, 0, Buffer.from('first'));
      await store.write(soon(), id, 0, Buffer.from('again'));
      expect(await store.read(soon(), id, 0)).toEqual(Buffer.from('again'));
    });

    it('returns undefined for a chunk that was never written', async () => {
      const id = await begin();
      expect(await store.read(soon(), id, 0)).toBeUndefined();
    });

    it('removes all chunks of an image, tolerates missing ones, and removes no others', async () => {
      const [id, other] = [await begin(), await begin()];
      await store.write(soon(), id, 0, Buffer.from('a'));
      await store.write(soon(), id, 2, Buffer.from('c'));
      await store.write(soon(), other, 0, Buffer.from('kept'));
      for (let times = 1; times <= 2; times++) await store.remove(soon(), id, 3);
      for (let index = 0; index < 3; index++) expect(await store.read(soon(), id, index)).toBeUndefined();
      expect(await store.read(soon(), other, 0)).toEqual(Buffer.from('kept'));
    });
  });

  describe('a bucket that fails', () => {
    const attempts = (store: ImageStore, deadline: () => Deadline) =>
      Promise.all([
        outcomeOf(store.write(deadline(), 'an-image', 0, Buffer.from('x'))),
        outcomeOf(store.read(deadline(), 'an-image', 0)),
        outcomeOf(store.remove(deadline(), 'an-image', 2)),
      ]);
    const unavailable = ['unavailable', 'unavailable', 'unavailable'];

    it('is unavailable without a connection, and works again once it is restored', async () => {
      const store = stores.of({ store: 's3' });
      await bucket.network.cut();
      expect(await attempts(store, soon)).toEqual(unavailable);
      await bucket.network.restore();
      await store.write(soon(), 'an-image', 0, Buffer.from('x'));
    });

    it('is unavailable at the deadline if it does not answer, or stops in the middle of a chunk', async () => {
      const stuck = createServer((request, response) => {
        request.resume();
        if (request.method === 'GET') response.writeHead(200, { 'content-length': 1_000 }).write('only the beginning');
      });
      await once(stuck.listen(0, '127.0.0.1'), 'listening');
      const { port } = stuck.address() as AddressInfo;
      const elsewhere = await reachable({ S3_ENDPOINT: `http://127.0.0.1:${port}` });
      const started = performance.now();
      expect(await attempts(elsewhere.of({ store: 's3' }), () => Deadline.in(300))).toEqual(unavailable);
      expect(performance.now() - started).toBeLessThan(1_500);
      elsewhere.onApplicationShutdown();
      stuck.closeAllConnections();
      stuck.close();
    });

    it('is unavailable if it refuses: the cause is in the log, not in the answer', async () => {
      const elsewhere = await reachable({ S3_BUCKET: 'no-such-bucket' });
      expect(await attempts(elsewhere.of({ store: 's3' }), soon)).toEqual(unavailable);
      elsewhere.onApplicationShutdown();
    });

    it('makes an upload fail as unavailable, which can continue when the bucket is back', async () => {
      const id = await begin();
      await shop.database.query(`UPDATE images SET store = 's3' WHERE id = $1`, [id]);
      const data = Buffer.from('a picture').toString('base64');
      const write = () => outcomeOf(shop.caller.call(catalog.writeImageChunk, { uploadId: id, index: 0, data }));
      await bucket.network.cut();
      expect(await write()).toBe('unavailable');
      await bucket.network.restore();
      expect(await write()).toEqual({ bytes: 9 });
      expect(await shop.caller.call(catalog.finishImage, { uploadId: id })).toMatchObject({ imageId: id });
    });
  });

  it('after a change of the setting, images stay where they are, and uploads end where they began (slow)', async () => {
    const shopOf = async (environment: NodeJS.ProcessEnv) => {
      await shop.restart(environment);
      const write = (uploadId: string, index: number, data: Buffer) =>
        shop.caller.call(catalog.writeImageChunk, { uploadId, index, data: data.toString('base64') });
      const read = async (imageId: string, index: number) =>
        Buffer.from((await shop.caller.call(catalog.readImageChunk, { imageId, index })).data, 'base64');
      return { begin, write, read, finish: (uploadId: string) => shop.caller.call(catalog.finishImage, { uploadId }) };
    };
    const content = [randomBytes(imageChunkBytes), randomBytes(5)] as const;
    const readsBoth = async (catalogNow: Awaited<ReturnType<typeof shopOf>>, imageId: string) => {
      for (const [index, chunk] of content.entries()) {
        expect((await catalogNow.read(imageId, index)).equals(chunk)).toBe(true);
      }
    };

    const before = await shopOf({ IMAGE_STORE: 'postgres' });
    const inPostgres = await before.begin();
    await before.write(inPostgres, 0, content[0]);

    const between = await shopOf({ IMAGE_STORE: 's3' });
    await between.write(inPostgres, 1, content[1]);
    await between.finish(inPostgres);
    const inS3 = await between.begin();
    await between.write(inS3, 0, content[0]);

    const after = await shopOf({ IMAGE_STORE: 'postgres' });
    await after.write(inS3, 1, content[1]);
    await after.finish(inS3);
    for (const id of [inPostgres, inS3]) await readsBoth(after, id);
    expect((await bucket.keys()).filter((key) => key.includes(inS3))).toHaveLength(2);
    expect((await bucket.keys()).filter((key) => key.includes(inPostgres))).toEqual([]);

    const without = await shopOf({ S3_BUCKET: '' });
    await readsBoth(without, inPostgres);
    expect(await outcomeOf(without.read(inS3, 0))).toBe('unavailable');
  });
});
