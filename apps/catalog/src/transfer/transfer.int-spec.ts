import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { catalog, type ExportedPage, type ImportLineResult, type Plant } from '@plant-shop/contracts/catalog';
import { until } from '@plant-shop/testing/until';
import { CatalogFixture, outcomeOf } from '../catalog.spec.fixture.js';
import { fail, loseAnswer } from '../store.fake.js';

let shop: CatalogFixture;

beforeAll(async () => {
  shop = await CatalogFixture.start({ replicas: 2 });
});
afterAll(() => shop.stop());

const staff = { subject: 'user-1', permissions: ['write:plants', 'write:stock'], shown: ['apiKey'] };
const importAll = (plants: readonly object[], budgetMs?: number): Promise<ImportLineResult[]> =>
  shop.caller.call(catalog.importPlants, { lines: plants.map((one) => JSON.stringify(one)) }, staff, budgetMs);
const results = async (plants: readonly object[]): Promise<unknown[]> =>
  (await importAll(plants)).map((one) => ('result' in one ? one.result : one.refused.code));
const get = (plantId: number): Promise<Plant> => shop.caller.call(catalog.getPlant, { plantId });

async function exported(): Promise<Plant[]> {
  const { snapshot } = await shop.caller.call(catalog.beginExport, {});
  const plants: Plant[] = [];
  for (let after: number | undefined = 0; after !== undefined; ) {
    const page: ExportedPage = await shop.caller.call(catalog.readExport, { snapshot, after });
    plants.push(...page.plants);
    after = page.next;
  }
  await shop.caller.call(catalog.endExport, { snapshot });
  return plants;
}

describe('an import', () => {
  it('creates plants that can be ordered, and changes them when repeated', async () => {
    const plants = [
      { id: 101, name: 'One', tags: [{ name: 'imported' }, { id: 3, name: 'x' }], category: { name: 'In' }, quantity: 5 },
      { id: 102, name: 'Two', status: 'sold', photoUrls: ['https://photos.test/2'] },
    ];
    expect(await results(plants)).toEqual(['created', 'created']);
    expect(shop.store.stock.get(101)).toMatchObject({ listing: 'available', units: 5 });
    expect(shop.store.stock.get(102)).toMatchObject({ listing: 'sold', units: undefined });
    expect(await get(102)).toEqual({ id: 102, name: 'Two', photoUrls: ['https://photos.test/2'], tags: [], status: 'sold', updatedAt: expect.any(String) });
    expect(await results(plants)).toEqual(['unchanged', 'unchanged']);
    expect(await results([plants[0]!, { id: 102, name: 'Two', status: 'pending' }])).toEqual(['unchanged', 'updated']);
    expect(await get(102)).toEqual({ id: 102, name: 'Two', photoUrls: [], tags: [], status: 'pending', updatedAt: expect.any(String) });
    expect(shop.store.stock.get(102)).toMatchObject({ listing: 'pending' });
    expect(await shop.caller.call(catalog.findPlantsByTags, { tags: ['imported'] })).toMatchObject([{ id: 101 }]);
    expect(await shop.caller.call(catalog.searchPlants, { q: 'imported one' })).toMatchObject([{ id: 101 }]);
    expect(await shop.disagreements()).toEqual([]);
  });

  it('accepts valid lines beside refused ones; of two lines with one id the later wins', async () => {
    expect(await results([{ id: 111, name: 'First' }, { id: 112 }, { id: 111, name: 'Second', status: 'sold' }, { id: '113', name: 'x' }, { id: 114, name: 'Last' }])).toEqual([
      'created',
      'invalid-input',
      'updated',
      'invalid-input',
      'created',
    ]);
    expect(await get(111)).toMatchObject({ name: 'Second', status: 'sold' });
    expect(await outcomeOf(get(112))).toBe('plant-not-found');
    expect(await shop.disagreements()).toEqual([]);
  });

  it('keeps external ids and metadata that a line does not have, and refuses an external id of another plant', async () => {
    const own = { externalId: 'E-115', metadata: { colour: 'red', size: 'L' } };
    expect(await results([{ id: 115, name: 'Own', ...own }, { id: 116, name: 'Late', externalId: 'E-115' }])).toEqual(['created', 'external-id-exists']);
    expect(await results([{ id: 115, name: 'Renamed' }])).toEqual(['updated']);
    expect(await get(115)).toMatchObject({ name: 'Renamed', ...own });
    expect(await shop.caller.call(catalog.searchPlants, { metadata: { colour: 'red' } })).toMatchObject([{ id: 115 }]);
    expect(await results([{ id: 115, name: 'Renamed', externalId: null, metadata: { colour: 'blue' } }, { id: 116, name: 'Late', externalId: 'E-115' }])).toEqual(['updated', 'external-id-exists']);
    expect(await results([{ id: 116, name: 'Late', externalId: 'E-115' }])).toEqual(['created']);
    expect(await shop.caller.call(catalog.searchPlants, { metadata: { colour: 'red' } })).toEqual([]);
    expect(await shop.caller.call(catalog.searchPlants, { metadata: { colour: 'blue' } })).toMatchObject([{ id: 115 }]);
  });

  it('by external id creates plants with ids of the shop, which take orders, and changes them when repeated', async () => {
    const list = [{ name: 'Listed one', externalId: 'L-1', tags: [{ name: 'listed' }], quantity: 4 }, { name: 'Listed two', externalId: 'L-2' }];
    const created = await shop.caller.call(catalog.importPlants, { lines: list.map((one) => JSON.stringify(one)) }, staff);
    expect(created).toEqual([expect.objectContaining({ result: 'created' }), expect.objectContaining({ result: 'created' })]);
    const [one, two] = created.map(({ id = 0 }) => id);
    expect(one).toBeGreaterThan(1_000_000_000);
    expect(two).toBeGreaterThan(one!);
    await until(async () => (await shop.disagreements()).length === 0);
    expect(await results([{ name: 'Listed one', externalId: 'L-1' }, { name: 'Renamed', externalId: 'L-2' }, { name: 'Listed two', externalId: 'L-2' }])).toEqual(['unchanged', 'updated', 'updated']);
    expect(await get(one!)).toMatchObject({ name: 'Listed one', tags: [{ name: 'listed' }] });
  });

  it('that races for an external id with others has its other lines written', async () => {
    const batches = await Promise.all(Array.from({ length: 6 }, (_, n) => results([{ id: 1_160 + 2 * n, name: 'Racing', externalId: 'E-race' }, { id: 1_161 + 2 * n, name: 'Beside' }])));
    expect(batches.map(([, beside]) => beside)).toEqual(batches.map(() => 'created'));
    expect(batches.map(([racing]) => racing).sort()).toEqual(['created', ...Array.from({ length: 5 }, () => 'external-id-exists')]);
  });

  it('lists plants in the order of its lines', async () => {
    await importAll([123, 121, 122].map((id) => ({ id, name: 'Ordered', tags: [{ name: 'in order' }] })));
    const found = await shop.caller.call(catalog.findPlantsByTags, { tags: ['in order'] });
    expect(found.map(({ id }) => id)).toEqual([122, 121, 123]);
  });

  it('records who changed which plant', async () => {
    await importAll([{ id: 131, name: 'Noted' }, { id: 132, name: 'Noted' }]);
    await importAll([{ id: 131, name: 'Noted' }, { id: 132, name: 'Changed' }]);
    const entries = await shop.database.query(`SELECT subject, target FROM audit_log WHERE operation = 'catalog.importPlants' AND target IN ('131', '132') ORDER BY id`);
    expect(entries).toEqual([
      { subject: 'user-1', target: '131' },
      { subject: 'user-1', target: '132' },
      { subject: 'user-1', target: '132' },
    ]);
  });

  it('is outcome-unknown while the store fails, and reaches the store when repeated (slow)', async () => {
    for (const [n, interceptor] of [fail, loseAnswer].entries()) {
      const plant = { id: 141 + n, name: 'Later' };
      shop.store.interceptNext('openStocks', interceptor);
      expect(await outcomeOf(importAll([plant], 2_000))).toBe('outcome-unknown');
      expect(await results([plant])).toEqual(['unchanged']);
      expect(shop.store.stock.get(plant.id)).toMatchObject({ listing: 'available' });
    }
    await until(async () => (await shop.database.query('SELECT 1 FROM stock_intents')).length === 0);
    expect(await shop.disagreements()).toEqual([]);
  });

  it('by a caller without write:stock answers a repeated creation with a quantity as before, and refuses any other quantity (slow)', async () => {
    const gardener = (subject: string) => ({ subject, permissions: ['write:plants'], shown: ['apiKey'] });
    const importBy = async (subject: string, plants: readonly object[], budgetMs?: number) =>
      (await shop.caller.call(catalog.importPlants, { lines: plants.map((one) => JSON.stringify(one)) }, gardener(subject), budgetMs)).map((one) => ('result' in one ? one.result : one.refused.code));
    const plants = [151, 152].map((id) => ({ id, name: 'Planted', quantity: 4 }));
    shop.store.interceptNext('openStocks', loseAnswer);
    expect(await outcomeOf(importBy('gardener', plants, 2_000))).toBe('outcome-unknown');
    expect(await importBy('gardener', plants)).toEqual(['created', 'created']);
    expect(await importBy('gardener', [...plants, { id: 153, name: 'Late', quantity: 1 }])).toEqual(['created', 'created', 'created']);
    expect(shop.store.stock.get(151)).toMatchObject({ units: 4 });

    const [first, second] = plants as [(typeof plants)[0], (typeof plants)[0]];
    expect(await importBy('gardener', [{ ...first, quantity: 5 }])).toEqual(['forbidden']);
    expect(await importBy('another', plants)).toEqual(['forbidden', 'forbidden']);
    expect(await results([{ id: 151, name: 'Changed' }])).toEqual(['updated']);
    await shop.caller.call(catalog.deletePlant, { plantId: 152 });
    expect(await results([second])).toEqual(['created']);
    expect(await importBy('gardener', plants)).toEqual(['forbidden', 'forbidden']);
    expect(await get(151)).toMatchObject({ name: 'Changed' });
  });

  it('is told by its preview, which changes nothing', async () => {
    await importAll([{ id: 161, name: 'Before', category: { name: 'Known' }, externalId: 'E-161', metadata: { colour: 'red' } }, { id: 162, name: 'Same' }]);
    const rows = () => shop.database.query('SELECT (SELECT count(*) FROM labels) AS labels, (SELECT count(*) FROM audit_log) AS entries, (SELECT max(version) FROM plants) AS version');
    const before = await rows();
    const lines = [
      { id: 161, name: ' After ', tags: [{ name: 'unheard of' }] },
      { id: 162, name: 'Same' },
      { id: 163, name: 'New', category: { name: 'Known' }, externalId: 'E-163' },
      { id: 163, name: 'Newer' },
      { name: 'Without an id', externalId: 'E-161' },
      { name: 'Without an id', externalId: 'E-164' },
      { name: 'Renamed', externalId: 'E-164' },
      { name: 'SAME' },
      { id: 165, name: 'Late', externalId: 'E-164' },
      { id: 0, name: 'Zero' },
      { name: '' },
    ].map((one) => JSON.stringify(one));
    const previews = await shop.caller.call(catalog.previewImport, { lines: [...lines, 'no JSON'] }, staff);
    const plain = { photoUrls: [], tags: [], status: 'available' };
    const known = { id: expect.any(Number), name: 'Known' };
    expect(previews).toEqual([
      { id: 161, result: 'updated', before: { ...plain, id: 161, name: 'Before', category: known, externalId: 'E-161', metadata: { colour: 'red' } }, after: { ...plain, id: 161, name: 'After', tags: [{ name: 'unheard of' }], externalId: 'E-161', metadata: { colour: 'red' } } },
      { id: 162, result: 'unchanged', before: { ...plain, id: 162, name: 'Same' }, after: { ...plain, id: 162, name: 'Same' } },
      { id: 163, result: 'created', after: { ...plain, id: 163, name: 'New', category: known, externalId: 'E-163' } },
      { id: 163, result: 'updated', before: { ...plain, id: 163, name: 'New', category: known, externalId: 'E-163' }, after: { ...plain, id: 163, name: 'Newer', externalId: 'E-163' } },
      { id: 161, result: 'updated', before: { ...plain, id: 161, name: 'After', tags: [{ name: 'unheard of' }], externalId: 'E-161', metadata: { colour: 'red' } }, after: { ...plain, id: 161, name: 'Without an id', tags: [{ name: 'unheard of' }], externalId: 'E-161', metadata: { colour: 'red' } } },
      { result: 'created', after: { ...plain, name: 'Without an id', externalId: 'E-164' } },
      { result: 'updated', before: { ...plain, name: 'Without an id', externalId: 'E-164' }, after: { ...plain, name: 'Renamed', externalId: 'E-164' } },
      { result: 'created', after: { ...plain, name: 'SAME' }, namesake: 162 },
      { id: 165, refused: { code: 'external-id-exists', detail: 'The external id E-164 is that of another plant.', errors: [{ pointer: '/externalId', detail: 'is that of another plant' }] } },
      { refused: expect.objectContaining({ code: 'invalid-input', errors: [expect.objectContaining({ pointer: '/id' })] }) },
      { refused: expect.objectContaining({ code: 'invalid-input', errors: [expect.objectContaining({ pointer: '/name' })] }) },
      { refused: expect.objectContaining({ code: 'malformed-json' }) },
    ]);
    expect(await rows()).toEqual(before);
    // The import does what was told.
    const told = previews.slice(0, 7).map((one) => ('result' in one ? one.result : one.refused.code));
    expect(await results(lines.slice(0, 7).map((one) => JSON.parse(one) as object))).toEqual(told);
    const gardener = { subject: 'gardener', permissions: ['write:plants'], shown: ['apiKey'] };
    expect(await shop.caller.call(catalog.previewImport, { lines: ['{"id":162,"name":"Same","quantity":1}'] }, gardener)).toMatchObject([{ id: 162, refused: { code: 'forbidden' } }]);
  });

  it('has a preview of the first lines only, if the plants are too large for one answer', async () => {
    const photoUrls = Array.from({ length: 64 }, (_, n) => `https://photos.test/${n}/${'x'.repeat(2_000)}`);
    await importAll([171, 172, 173].map((id) => ({ id, name: 'Large', photoUrls })));
    const lines = [171, 172, 173].map((id) => JSON.stringify({ id, name: 'Renamed', photoUrls }));
    expect((await shop.caller.call(catalog.previewImport, { lines }, staff)).map((one) => one.id)).toEqual([171, 172]);
  });

  it('by several clients at once leaves no plant with attributes of two imports (slow)', async () => {
    const plants = (name: string): object[] => Array.from({ length: 60 }, (_, n) => ({ id: 1_000 + ((n * 7) % 60), name, tags: [{ name: `${name} ${n % 5}` }], status: n % 2 ? 'sold' : 'available' }));
    await Promise.all(['A', 'B', 'C', 'D'].flatMap((name) => [importAll(plants(name)), importAll(plants(name).reverse())]));
    for (let id = 1_000; id < 1_060; id++) {
      const { name, tags } = await get(id);
      expect(tags[0]?.name.startsWith(name)).toBe(true);
    }
    await until(async () => (await shop.disagreements()).length === 0);
  });
});

describe('an export', () => {
  it('shows one moment, whatever changes while it is read (slow)', async () => {
    await importAll(Array.from({ length: 200 }, (_, n) => ({ id: 2_000 + n, name: 'Exported', photoUrls: [`https://photos.test/${'x'.repeat(2_000)}`] })));
    const { snapshot } = await shop.caller.call(catalog.beginExport, {});
    const before = await shop.database.query<{ id: number }>('SELECT id FROM plants ORDER BY incarnation');
    await importAll([{ id: 2_000, name: 'Changed' }, { id: 2_300, name: 'Too late' }]);
    await shop.caller.call(catalog.deletePlant, { plantId: 2_199 });
    const plants: Plant[] = [];
    let pages = 0;
    for (let after: number | undefined = 0; after !== undefined; pages++) {
      const page: ExportedPage = await shop.caller.call(catalog.readExport, { snapshot, after });
      plants.push(...page.plants);
      after = page.next;
    }
    expect(plants.map(({ id }) => id)).toEqual(before.map(({ id }) => id));
    expect(plants.find(({ id }) => id === 2_000)).toMatchObject({ name: 'Exported' });
    expect(pages).toBeGreaterThan(2);
    await shop.caller.call(catalog.endExport, { snapshot });
    expect(await outcomeOf(shop.caller.call(catalog.readExport, { snapshot, after: 0 }))).toBe('invalid-cursor');
    // The holder polls once a second.
    const isHeld = async () => (await shop.database.query(`SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle in transaction'`)).length > 0;
    await until(async () => !(await isHeld()));
  });

  it('gives another shop the same catalogue, in the same order (slow)', async () => {
    const other = await CatalogFixture.start();
    try {
      const plants = await exported();
      for (let n = 0; n < plants.length; n += 100) {
        const lines = plants.slice(n, n + 100).map((one) => JSON.stringify(one));
        const imported = await other.caller.call(catalog.importPlants, { lines }, staff);
        expect(imported.every((one) => 'result' in one && one.result === 'created')).toBe(true);
      }
      const list = async (from: CatalogFixture) =>
        (await from.caller.call(catalog.findPlantsByStatus, { status: ['available', 'pending', 'sold'], limit: 100 })).map((one) => ({ ...one, updatedAt: 'then' }));
      expect(await list(other)).toEqual(await list(shop));
      expect(await other.disagreements()).toEqual([]);
    } finally {
      await other.stop();
    }
  });

  it('waits for a slot, and is refused if none becomes free (slow)', async () => {
    const begin = (): Promise<unknown> => outcomeOf(shop.caller.call(catalog.beginExport, {}));
    // More exports than both replicas can hold, none of which ends.
    const begun = await Promise.all(Array.from({ length: 6 }, begin));
    expect(begun).toContain('overloaded');
    const held = begun.filter((one) => one !== 'overloaded');
    expect(held.length).toBeLessThanOrEqual(4);
    for (const one of held) await shop.caller.call(catalog.endExport, one as { snapshot: string });
    await until(async () => (await Promise.all(Array.from({ length: 3 }, exported))).length === 3);
  });
});
