import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { catalog, type NewPlant, type Plant, type PlantPatch, type PlantStatus } from '@plant-shop/contracts/catalog';
import { sampleOf } from '@plant-shop/contracts/samples';
import { CatalogFixture, outcomeOf } from '../catalog.spec.fixture.js';

describe('plants', () => {
  let shop: CatalogFixture;
  beforeAll(async () => {
    shop = await CatalogFixture.start();
  });
  afterAll(() => shop.stop());

  const get = (plantId: number) => shop.caller.call(catalog.getPlant, { plantId });
  const replace = (plant: NewPlant & { id: number }, ifVersion?: number) =>
    shop.caller.call(catalog.replacePlant, { plant, ...(ifVersion !== undefined && { ifVersion }) });
  const updatedAt: unknown = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  const versionOf = async (plantId: number) => (await shop.raw(catalog.getPlant, { plantId })).version!;

  it('a created plant is read as it was sent, and its stock is open', async () => {
    const sent = {
      id: 10,
      name: 'Ficus',
      category: { id: 1, name: 'Trees' },
      photoUrls: ['https://example.org/1.jpg', 'photo'],
      tags: [{ id: 7, name: 'indoor' }],
      status: 'pending' as const,
      externalId: 'E-10',
      metadata: { supplier: 'Green & Sons', bench: '' },
    };
    const created = await shop.create({ ...sent, quantity: 3 });
    expect(created).toEqual({ ...sent, updatedAt });
    expect(await get(10)).toEqual(created);
    expect(shop.store.stock.get(10)).toMatchObject({ listing: 'pending', units: 3 });
    expect(await shop.database.query('SELECT * FROM stock_intents')).toEqual([]);
  });

  it('a plant needs only a name', async () => {
    const plant = await shop.create();
    expect(plant).toEqual({ id: expect.any(Number), name: 'Monstera', photoUrls: [], tags: [], status: 'available', updatedAt });
    expect(plant.id).toBeGreaterThanOrEqual(1_000_000_001);
    expect(shop.store.stock.get(plant.id)).toMatchObject({ units: undefined });
  });

  it('orders get name and pictures of their plants, as many as fit, in the order asked for', async () => {
    const resolve = (plantIds: number[]) => shop.caller.call(catalog.resolvePlants, { plantIds });
    const [fern, palm] = [await shop.create({ name: 'Fern', photoUrls: ['a'] }), await shop.create({ name: 'Palm' })];
    expect(await resolve([palm.id, 987_654_321, fern.id])).toEqual({
      plants: [{ id: palm.id, name: 'Palm', photoUrls: [] }, { id: fern.id, name: 'Fern', photoUrls: ['a'] }],
      left: [],
    });
    const photoUrls = Array.from({ length: 64 }, (_, n) => `${n}`.padEnd(2_048, '€'));
    const large = await Promise.all([1, 2].map(() => shop.create({ photoUrls })));
    const ids = large.map(({ id }) => id);
    expect(await resolve([...ids, fern.id])).toMatchObject({ plants: [{ id: ids[0], photoUrls }], left: [ids[1], fern.id] });
  });

  it('every operation on an unknown plant answers plant-not-found', async () => {
    expect(await outcomeOf(get(404))).toBe('plant-not-found');
    expect(await outcomeOf(replace({ id: 404, name: 'x' }))).toBe('plant-not-found');
    expect(await outcomeOf(shop.caller.call(catalog.changePlant, { plantId: 404, name: 'x' }))).toBe('plant-not-found');
    expect(await outcomeOf(shop.caller.call(catalog.deletePlant, { plantId: 404 }))).toBe('plant-not-found');
  });

  it('an id is assigned once: of 20 concurrent creations with one id, one succeeds', async () => {
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => outcomeOf(shop.create({ id: 20 }))));
    expect(outcomes.filter((outcome) => outcome === 'plant-exists')).toHaveLength(19);
    expect(await get(20)).toMatchObject({ id: 20 });
  });

  it('assigning ids skips those that clients have taken', async () => {
    const { id } = await shop.create();
    for (let taken = id + 1; taken <= id + 5; taken++) await shop.create({ id: taken });
    expect((await shop.create()).id).toBe(id + 6);
  });

  it('10,000 ids claimed ahead make no creation fail and cost few round trips (slow)', async () => {
    const { id } = await shop.create();
    await shop.database.query(
      `INSERT INTO plants (id, incarnation, version, name, photo_urls, tags, status, bytes, name_words, label_words)
       SELECT $1::bigint + n, drawn, drawn, 'taken', '{}', '[]', 'sold', 1, '{taken}', '{}'
       FROM generate_series(1, 10000) AS n, LATERAL (SELECT nextval('plant_versions') + 0 * n AS drawn) AS versions`,
      [id],
    );
    const begun = performance.now();
    const created = await Promise.all(Array.from({ length: 20 }, () => shop.create()));
    // One draw for each id takes 10,000 round trips.
    expect(performance.now() - begun).toBeLessThan(2_000);
    expect(Math.min(...created.map((plant) => plant.id))).toBe(id + 10_001);
    expect(new Set(created.map((plant) => plant.id)).size).toBe(20);
  });

  it('ids that clients claim while they are assigned make no creation fail (slow)', async () => {
    const codeOf = async (creation: Promise<Plant>): Promise<unknown> => {
      const outcome = await outcomeOf(creation);
      return typeof outcome === 'string' ? outcome : 'created';
    };
    for (let round = 0; round < 30; round++) {
      const { id } = await shop.create();
      const pairs = Array.from({ length: 10 }, (_, n) => [codeOf(shop.create({ id: id + 1 + n })), codeOf(shop.create())]);
      for (const [claimed, assigned] of await Promise.all(pairs.map((pair) => Promise.all(pair)))) {
        expect(assigned).toBe('created');
        expect(['created', 'plant-exists']).toContain(claimed);
      }
    }
  });

  it('ids are not drawn faster than versions, as reconciliation requires (slow)', async () => {
    const [drawn] = await shop.database.query<{ ids: number; versions: number }>(
      `SELECT (SELECT last_value - 1000000000 FROM plant_ids) AS ids, (SELECT last_value FROM plant_versions) AS versions`,
    );
    expect(drawn?.ids).toBeGreaterThan(10_000);
    expect(drawn?.versions).toBeGreaterThanOrEqual(drawn?.ids ?? NaN);
  });

  it('labels without an id get one, equal names the same one, also concurrently', async () => {
    const created = await Promise.all(
      Array.from({ length: 10 }, (_, n) =>
        shop.create({
          category: { name: 'Ferns' },
          tags: n % 2 ? [{ name: 'shade' }, { name: 'damp' }] : [{ name: 'damp' }, { id: 0, name: 'shade' }],
        }),
      ),
    );
    const idsOf = (name: string): Set<number> =>
      new Set(created.flatMap(({ tags }) => tags.filter((tag) => tag.name === name).map(({ id }) => id)));
    expect(idsOf('shade').size).toBe(1);
    expect(idsOf('damp').size).toBe(1);
    expect(new Set(created.map(({ category }) => category?.id)).size).toBe(1);
    expect((await shop.create({ tags: [{ name: 'damp' }] })).tags).toEqual([{ id: [...idsOf('damp')][0], name: 'damp' }]);
  });

  it('replacing clears absent attributes, but not the status', async () => {
    await shop.create({ id: 30, category: { id: 1 }, photoUrls: ['a'], tags: [{ name: 'old' }], status: 'sold' });
    const replaced = await replace({ id: 30, name: 'New' });
    expect(replaced).toEqual({ id: 30, name: 'New', photoUrls: [], tags: [], status: 'sold', updatedAt });
    expect(await get(30)).toEqual(replaced);
    expect(await shop.caller.call(catalog.findPlantsByTags, { tags: ['old'] })).toEqual([]);
  });

  it('the form changes name, status or both, and nothing else', async () => {
    const plant = await shop.create({ id: 31, tags: [{ id: 1, name: 'kept' }] });
    expect(await shop.caller.call(catalog.changePlant, { plantId: 31, name: 'Fig' })).toEqual({ ...plant, name: 'Fig', updatedAt });
    expect(await shop.caller.call(catalog.changePlant, { plantId: 31, status: 'sold' })).toEqual({
      ...plant,
      name: 'Fig',
      status: 'sold',
      updatedAt,
    });
    expect(await outcomeOf(shop.caller.call(catalog.changePlant, { plantId: 404 }))).toBe('invalid-input');
  });

  it('replacing keeps external id and metadata, unless they are given', async () => {
    const own = { externalId: 'E-33', metadata: { colour: 'red' } };
    const { updatedAt: before } = await shop.create({ id: 330, ...own });
    const kept = await replace({ id: 330, name: 'New' });
    expect(kept).toMatchObject(own);
    expect(kept.updatedAt > before).toBe(true);
    expect(await replace({ id: 330, name: 'New', externalId: null, metadata: { size: 'L' } })).toEqual({ id: 330, name: 'New', photoUrls: [], tags: [], status: 'available', metadata: { size: 'L' }, updatedAt });
    expect(await replace({ id: 330, name: 'New', metadata: {} })).not.toHaveProperty('metadata');
    expect(await shop.database.query('SELECT FROM plant_metadata JOIN plants USING (incarnation) WHERE id = 330')).toEqual([]);
  });

  it('an external id is that of one plant', async () => {
    const { id } = await shop.create({ externalId: 'E-34' });
    const other = await shop.create();
    const taken = expect.objectContaining({ code: 'external-id-exists', details: { errors: [{ pointer: '/plant/externalId', detail: `is that of plant ${id}` }] } });
    await expect(shop.create({ externalId: 'E-34' })).rejects.toEqual(taken);
    await expect(replace({ id: other.id, name: 'x', externalId: 'E-34' })).rejects.toEqual(taken);
    const racing = await Promise.all(Array.from({ length: 10 }, () => outcomeOf(shop.create({ externalId: 'E-35' }))));
    expect(racing.filter((one) => one === 'external-id-exists')).toHaveLength(9);
    await replace({ id, name: 'x', externalId: null });
    expect(await replace({ id: other.id, name: 'x', externalId: 'E-34' })).toMatchObject({ externalId: 'E-34' });
  });

  describe('a merge patch', () => {
    const patch = (plantId: number, plant: PlantPatch, ifVersion?: number) => shop.caller.call(catalog.patchPlant, { plantId, plant, ...(ifVersion !== undefined && { ifVersion }) });
    const all = { name: 'Fern', category: { id: 3, name: 'Ferns' }, photoUrls: ['a'], tags: [{ id: 4, name: 'damp' }], status: 'pending' as const, externalId: 'E-50', metadata: { colour: 'green', size: 'L' } };

    it('keeps what it does not have, and removes what it has as null', async () => {
      await shop.create({ id: 50, ...all });
      expect(await patch(50, {})).toEqual({ id: 50, ...all, updatedAt });
      expect(await patch(50, { name: 'Fig', metadata: { size: null, light: 'low' } })).toEqual({ id: 50, ...all, name: 'Fig', metadata: { colour: 'green', light: 'low' }, updatedAt });
      expect(await patch(50, { category: { id: null, name: 'Figs' }, tags: [{ name: 'dry' }] })).toMatchObject({ category: { id: expect.any(Number), name: 'Figs' }, tags: [{ id: expect.any(Number), name: 'dry' }] });
      expect(await patch(50, { category: { id: 9 } })).toMatchObject({ category: { id: 9, name: 'Figs' } });
      expect(await patch(50, { category: { name: null } })).toMatchObject({ category: { id: 9 } });
      expect(await patch(50, { category: { id: null } })).not.toHaveProperty('category');
      const removed = await patch(50, { photoUrls: null, tags: null, externalId: null, metadata: null, status: 'sold' });
      expect(removed).toEqual({ id: 50, name: 'Fig', photoUrls: [], tags: [], status: 'sold', updatedAt });
      expect(await get(50)).toEqual(removed);
      expect(shop.store.stock.get(50)).toMatchObject({ listing: 'sold' });
    });

    it('is refused for another version, for what a plant must have, and with an external id of another plant', async () => {
      await shop.create({ id: 51, ...all, externalId: 'E-51' });
      const version = await versionOf(51);
      await patch(51, { name: 'Second' }, version);
      expect(await outcomeOf(patch(51, { name: 'Third' }, version))).toBe('precondition-failed');
      for (const [member, plant] of Object.entries({ name: { name: null }, status: { status: null } })) {
        await expect(patch(51, plant as never)).rejects.toMatchObject({ code: 'invalid-input', details: { errors: [{ pointer: `/plant/${member}` }] } });
      }
      await shop.create({ id: 52, externalId: 'E-52' });
      expect(await outcomeOf(patch(51, { externalId: 'E-52' }))).toBe('external-id-exists');
      await patch(51, { metadata: Object.fromEntries(Array.from({ length: 48 }, (_, n) => [`k${n}`, 'x'])) });
      await expect(patch(51, { metadata: { one: 'x' } })).rejects.toMatchObject({ code: 'invalid-input', details: { errors: [{ pointer: '/plant/metadata' }] } });
      expect(await outcomeOf(patch(404, {}))).toBe('plant-not-found');
    });
  });

  it('every change creates a new version, and a change for another version is refused', async () => {
    await shop.create({ id: 32 });
    const first = await versionOf(32);
    await replace({ id: 32, name: 'Second' }, first);
    const second = await versionOf(32);
    expect(second).toBeGreaterThan(first);
    expect(await outcomeOf(replace({ id: 32, name: 'Third' }, first))).toBe('precondition-failed');
    expect(await outcomeOf(shop.caller.call(catalog.changePlant, { plantId: 32, name: 'x', ifVersion: first }))).toBe(
      'precondition-failed',
    );
    expect(await outcomeOf(shop.caller.call(catalog.deletePlant, { plantId: 32, ifVersion: first }))).toBe(
      'precondition-failed',
    );
    expect(await get(32)).toMatchObject({ name: 'Second' });
    expect(await versionOf(32)).toBe(second);
  });

  it('the id of a deleted plant can be reused, and versions never recur', async () => {
    await shop.create({ id: 33 });
    await replace({ id: 33, name: 'Changed' });
    const last = await versionOf(33);
    expect(await shop.caller.call(catalog.deletePlant, { plantId: 33 })).toEqual({ plantId: 33 });
    expect(await outcomeOf(get(33))).toBe('plant-not-found');
    expect(await shop.create({ id: 33, name: 'Another' })).toMatchObject({ name: 'Another' });
    expect(await versionOf(33)).toBeGreaterThan(last);
  });

  it('none of 50 concurrent changes is lost', async () => {
    await shop.create({ id: 34 });
    const statuses: PlantStatus[] = ['available', 'pending', 'sold'];
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, n) => shop.raw(catalog.changePlant, { plantId: 34, name: `${n}`, status: statuses[n % 3] })),
    );
    const newest = answers.reduce((a, b) => (a.version! > b.version! ? a : b));
    expect(new Set(answers.map(({ version }) => version)).size).toBe(50);
    expect(await get(34)).toEqual(JSON.parse(Buffer.from(newest.payload).toString()));
    expect(shop.store.stock.get(34)).toMatchObject({ listing: (await get(34)).status });
  });
});

describe('lists of plants', () => {
  let shop: CatalogFixture;
  let plants: Plant[];
  beforeAll(async () => {
    shop = await CatalogFixture.start();
    plants = [];
    for (const [status, ...tags] of [
      ['available', 'red', 'tall'],
      ['pending', 'red'],
      ['sold', 'tall'],
      ['available', 'red', 'red'],
      ['available'],
    ]) {
      plants.unshift(await shop.create({ status: status as PlantStatus, tags: tags.map((name) => ({ name })) }));
    }
  });
  afterAll(() => shop.stop());

  const find = (page: { status?: PlantStatus[]; tags?: string[]; limit?: number; cursor?: string }) =>
    shop.raw(page.tags ? catalog.findPlantsByTags : catalog.findPlantsByStatus, page);
  const pageOf = async (page: Parameters<typeof find>[0]): Promise<{ plants: Plant[]; next: string | undefined }> => {
    const { payload, next } = await find(page);
    return { plants: JSON.parse(Buffer.from(payload).toString()) as Plant[], next };
  };

  it('contain plants with any of the statuses, newest first', async () => {
    expect(await pageOf({ status: ['available'] })).toEqual({
      plants: plants.filter(({ status }) => status === 'available'),
      next: undefined,
    });
    expect((await pageOf({ status: ['sold', 'pending', 'available'] })).plants).toEqual(plants);
  });

  it('contain plants with any of the tags, each plant once', async () => {
    expect((await pageOf({ tags: ['red', 'tall', 'red'] })).plants).toEqual(plants.slice(1));
    expect((await pageOf({ tags: ['tall'] })).plants).toEqual([plants[2], plants[4]]);
    expect((await pageOf({ tags: ['unknown'] })).plants).toEqual([]);
  });

  it.each([{ status: ['available', 'pending', 'sold'] as PlantStatus[] }, { tags: ['red', 'tall'] }])(
    'the pages of %j make up the list without gaps or repetitions, also while plants are added',
    async (list) => {
      const whole = (await pageOf(list)).plants;
      const read: Plant[] = [];
      let cursor: string | undefined;
      do {
        const page = await pageOf({ ...list, limit: 2, ...(cursor !== undefined && { cursor }) });
        read.push(...page.plants);
        cursor = page.next;
        const added = await shop.create({ tags: [{ name: 'red' }] });
        await shop.caller.call(catalog.deletePlant, { plantId: added.id });
      } while (cursor !== undefined);
      expect(read).toEqual(whole);
    },
  );

  it('an exactly full page is the last one if nothing follows', async () => {
    expect(await pageOf({ status: ['pending', 'sold'], limit: 2 })).toMatchObject({ next: undefined });
  });

  it('a cursor is valid only for its own list and filter', async () => {
    const { next: cursor } = await pageOf({ tags: ['red', 'tall'], limit: 1 });
    expect((await pageOf({ tags: ['tall', 'red'], limit: 1, cursor: cursor! })).plants).toEqual([plants[2]]);
    for (const foreign of [{ tags: ['red'] }, { status: ['available'] as PlantStatus[] }]) {
      expect(await outcomeOf(find({ ...foreign, cursor: cursor! }))).toBe('invalid-cursor');
    }
    expect(await outcomeOf(find({ tags: ['red'], cursor: 'forged' }))).toBe('invalid-cursor');
  });

  it("accept the cursor of the contract's sample", async () => {
    expect(await shop.caller.call(catalog.findPlantsByStatus, sampleOf(catalog.findPlantsByStatus).request)).toEqual(expect.any(Array));
  });

  it('a page ends at about 512 KiB, however large the plants are', async () => {
    const photoUrls = Array.from({ length: 64 }, (_, n) => `${n}`.padEnd(2_000, 'ü'));
    const large: Plant[] = [];
    for (let n = 0; n < 5; n++) large.unshift(await shop.create({ photoUrls, tags: [{ name: 'large' }] }));
    const read: Plant[][] = [];
    let cursor: string | undefined;
    do {
      const page = await pageOf({ tags: ['large'], ...(cursor !== undefined && { cursor }) });
      read.push(page.plants);
      cursor = page.next;
    } while (cursor !== undefined);
    expect(read.map(({ length }) => length)).toEqual([2, 2, 1]);
    expect(read.flat()).toEqual(large);
  });
});
