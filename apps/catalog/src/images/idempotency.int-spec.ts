import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { catalog, type FinishImage, imageChunkBytes, type StoredImage } from '@plant-shop/contracts/catalog';
import { CatalogFixture, type Keyed, outcomeOf } from '../catalog.spec.fixture.js';

const png = (bytes: number): Buffer =>
  Buffer.concat([Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]), randomBytes(bytes - 8)]);

describe('an upload with an Idempotency-Key', () => {
  let shop: CatalogFixture;
  beforeAll(async () => {
    shop = await CatalogFixture.start({ replicas: 2 });
  });
  afterAll(() => shop.stop());

  /** Uploads the chunks without finishing; a client that repeats an upload repeats this part too. */
  const send = async (plantId: number, content: Buffer): Promise<string> => {
    const { uploadId } = await shop.caller.call(catalog.beginImage, { plantId });
    for (let index = 0; index * imageChunkBytes < content.length; index++) {
      const data = content.subarray(index * imageChunkBytes, (index + 1) * imageChunkBytes).toString('base64');
      await shop.caller.call(catalog.writeImageChunk, { uploadId, index, data });
    }
    return uploadId;
  };
  const finish = (key: string, end: FinishImage, user?: string): Promise<Keyed<StoredImage>> =>
    shop.keyed(catalog.finishImage, end, { key, ...(user !== undefined && { user }) });
  const upload = async (key: string, plantId: number, content: Buffer, metadata?: string, user?: string) => {
    const uploadId = await send(plantId, content);
    return finish(key, { uploadId, ...(metadata !== undefined && { additionalMetadata: metadata }) }, user);
  };
  const photosOf = async (plantId: number) => (await shop.caller.call(catalog.getPlant, { plantId })).photoUrls;

  it('that is repeated completely adds no second image and gets the first answer', async () => {
    const { id } = await shop.create();
    const content = png(imageChunkBytes + 9);
    const first = await upload('whole', id, content, 'a fern');
    expect(first).toMatchObject({ replayed: false });
    expect(await upload('whole', id, content, 'a fern')).toEqual({ ...first, replayed: true });
    expect(await photosOf(id)).toEqual([first.answer.url]);
  });

  it('whose last call alone is repeated gets the first answer too', async () => {
    const { id } = await shop.create();
    const end = { uploadId: await send(id, png(50)) };
    const first = await finish('end', end);
    expect(await finish('end', end)).toEqual({ ...first, replayed: true });
  });

  it('with other bytes, other metadata or another plant is refused and adds nothing', async () => {
    const [one, other] = [await shop.create(), await shop.create()];
    const content = png(50);
    const { answer } = await upload('used', one.id, content, 'a fern');
    expect(await outcomeOf(upload('used', one.id, png(50), 'a fern'))).toBe('idempotency-key-reused');
    expect(await outcomeOf(upload('used', one.id, content, 'another'))).toBe('idempotency-key-reused');
    expect(await outcomeOf(upload('used', one.id, content))).toBe('idempotency-key-reused');
    expect(await outcomeOf(upload('used', other.id, content, 'a fern'))).toBe('idempotency-key-reused');
    expect(await outcomeOf(shop.keyed(catalog.createPlant, { plant: { name: 'x' } }, { key: 'used' }))).toBe(
      'idempotency-key-reused',
    );
    expect({ one: await photosOf(one.id), other: await photosOf(other.id) }).toEqual({ one: [answer.url], other: [] });
  });

  it('is a separate image for another principal or another key', async () => {
    const { id } = await shop.create();
    const content = png(50);
    for (const [key, user] of [['a', 'user-1'], ['a', 'user-2'], ['b', 'user-1']] as const) {
      expect(await upload(key, id, content, undefined, user)).toMatchObject({ replayed: false });
    }
    expect(await photosOf(id)).toHaveLength(3);
  });

  it('that is repeated concurrently, under different ids and on two replicas, is one image (slow)', async () => {
    const { id } = await shop.create();
    const content = png(2_000);
    const uploads = await Promise.all(Array.from({ length: 12 }, () => send(id, content)));
    const answers = await Promise.all(uploads.map((uploadId) => finish('many', { uploadId })));
    expect(new Set(answers.map(({ answer }) => answer.imageId)).size).toBe(1);
    expect(answers.filter(({ replayed }) => !replayed)).toHaveLength(1);
    expect(await photosOf(id)).toEqual([answers[0]!.answer.url]);
  });

  it('is evaluated again after a refusal, and replayed even after it filled the last place', async () => {
    const photoUrls = Array.from({ length: 64 }, (_, n) => `${n}.jpg`);
    const { id } = await shop.create({ photoUrls });
    const content = png(50);
    expect(await outcomeOf(upload('last', id, content))).toBe('too-many-photos');
    await shop.caller.call(catalog.replacePlant, { plant: { id, name: 'Ficus', photoUrls: photoUrls.slice(1) } });
    const first = await upload('last', id, content);
    expect(first).toMatchObject({ replayed: false });
    expect(await upload('last', id, content)).toEqual({ ...first, replayed: true });
    expect(await photosOf(id)).toHaveLength(64);
  });

  it('of a deleted plant answers plant-not-found, also when repeated', async () => {
    const { id } = await shop.create();
    const end = { uploadId: await send(id, png(50)) };
    await finish('gone', end);
    await shop.caller.call(catalog.deletePlant, { plantId: id });
    expect(await outcomeOf(finish('gone', end))).toBe('plant-not-found');
  });
});
