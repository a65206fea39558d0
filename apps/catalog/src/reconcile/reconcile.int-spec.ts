import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { catalog } from '@plant-shop/contracts/catalog';
import type { PlantFinding } from '@plant-shop/contracts/reconcile';
import { sampleOf, shapeOf } from '@plant-shop/testing/samples';
import { until } from '@plant-shop/testing/until';
import { CatalogHarness, outcomeOf } from '../catalog.spec.fixture.js';
import { fails } from '../store.fake.js';

describe('after a database was set back', () => {
  let shop: CatalogHarness;
  beforeAll(async () => {
    shop = await CatalogHarness.start({ replicas: 2 });
  });
  afterEach(async () => {
    shop.store.forgetFates();
    shop.store.openOrders.clear();
    await until(async () => (await shop.database.query('SELECT 1 FROM stock_intents')).length === 0, 15_000);
    expect(await reconcile()).toEqual([]);
    expect(await shop.disagreements()).toEqual([]);
  }, 20_000);
  afterAll(() => shop.stop());

  const raise = (dryRun = false) => shop.caller.call(catalog.raiseNumbers, { dryRun });
  async function reconcile({ limit = 2, dryRun = false } = {}): Promise<PlantFinding[]> {
    const findings: PlantFinding[] = [];
    for (let page: { after?: number } = {}; ; ) {
      const { next, ...found } = await shop.caller.call(catalog.reconcilePlants, { ...page, limit, dryRun });
      findings.push(...found.findings);
      if (next === undefined) return findings;
      page = { after: next };
    }
  }
  const shelfOf = (plantId: number) => shop.store.shelves.get(plantId)!;
  const exists = async (plantId: number) =>
    (await outcomeOf(shop.caller.call(catalog.getPlant, { plantId }))) !== 'plant-not-found';

  it('a plant that the store forgot is opened anew, with no units since nobody knows how many there are', async () => {
    const [forgotten, older] = [await shop.create({ quantity: 5 }), await shop.create({ quantity: 5 })];
    await shop.create();
    shop.store.shelves.delete(forgotten.id);
    shelfOf(older.id).incarnation -= 1;
    const found = [forgotten, older].map(({ id: plantId }) => ({ plantId, drift: 'stock-missing' }));
    expect(await reconcile({ dryRun: true })).toEqual(found.map((one) => ({ ...one, outcome: 'found' })));
    expect(shop.store.shelves.has(forgotten.id)).toBe(false);
    expect(await reconcile()).toEqual(found.map((one) => ({ ...one, outcome: 'mended' })));
    expect(shelfOf(forgotten.id)).toMatchObject({ listing: 'available', units: 0 });
  });

  it('a status that the store has not heard of is told again', async () => {
    const { id } = await shop.create({ status: 'pending' });
    Object.assign(shelfOf(id), { listing: 'available', listingVersion: 1 });
    expect(await reconcile()).toEqual([{ plantId: id, drift: 'listing-differs', outcome: 'mended' }]);
    expect(shelfOf(id).listing).toBe('pending');
  });

  it('a status that the catalog has lost gives way to what the catalog says, under a version beyond the lost one', async () => {
    const { id } = await shop.create({ status: 'pending' });
    Object.assign(shelfOf(id), { listing: 'sold', listingVersion: shelfOf(id).listingVersion + 1_000 });
    await raise();
    expect(await reconcile()).toEqual([{ plantId: id, drift: 'listing-differs', outcome: 'mended' }]);
    expect(shelfOf(id).listing).toBe('pending');
  });

  it('a plant that was deleted meanwhile is deleted again, whatever came after it under its id', async () => {
    const [retired, again, alive] = [await shop.create(), await shop.create(), await shop.create()];
    shelfOf(retired.id).listing = 'retired';
    Object.assign(shelfOf(again.id), { listing: 'retired', incarnation: shelfOf(again.id).incarnation + 500 });
    Object.assign(shelfOf(alive.id), { incarnation: shelfOf(alive.id).incarnation + 500 });
    await raise();
    expect(await reconcile()).toEqual([
      { plantId: retired.id, drift: 'plant-deleted', outcome: 'mended' },
      { plantId: again.id, drift: 'plant-deleted', outcome: 'mended' },
      { plantId: alive.id, drift: 'plant-deleted', outcome: 'mended' },
      { plantId: alive.id, drift: 'plant-missing', outcome: 'mended' },
    ]);
    for (const { id } of [retired, again, alive]) expect(await exists(id)).toBe(false);
    expect(shelfOf(alive.id).listing).toBe('retired');
  });

  it('stock of a plant that is not there is retired, unless orders are open: those are named', async () => {
    const [free, ordered] = [await shop.create(), await shop.create()];
    await shop.database.query('DELETE FROM plants WHERE id = ANY($1)', [[free.id, ordered.id]]);
    shelfOf(ordered.id).refusedAttempt = 1_000_000_000_000;
    shop.store.openOrders.set(ordered.id, [71, 72]);
    await raise();
    const left = { plantId: ordered.id, drift: 'plant-missing', outcome: 'left', openOrders: [71, 72] };
    expect(await reconcile()).toEqual([{ plantId: free.id, drift: 'plant-missing', outcome: 'mended' }, left]);
    expect(await reconcile()).toEqual([left]);
    expect(shelfOf(ordered.id).listing).toBe('available');
    // What the report says that a person can do: the plant is created again.
    await shop.create({ id: ordered.id, quantity: 3 });
    expect(shelfOf(ordered.id)).toMatchObject({ listing: 'available', units: 3 });
  });

  it('numbers go on beyond all that the store knows, so that no new plant is taken for an old one', async () => {
    const before = await shop.create();
    const lost = { ...shelfOf(before.id), incarnation: 5_000_000_000_000, listingVersion: 5_000_000_000_007, listing: 'retired' as const };
    shop.store.shelves.set(before.id + 3, lost);
    const looked = await raise(true);
    expect(looked.raised.map(({ sequence }) => sequence)).toEqual(['plant_versions', 'plant_ids']);
    expect(shapeOf(looked)).toEqual(shapeOf(sampleOf(catalog.raiseNumbers).answer));
    expect(await raise()).toEqual(looked);
    expect(await raise()).toEqual({ raised: [] });
    const after = await shop.create();
    expect(after.id).toBe(before.id + 4);
    expect(shelfOf(after.id).incarnation).toBeGreaterThan(5_000_000_000_007);
  });

  it('what is under way is left alone', async () => {
    shop.store.next('openStock', fails);
    await expect(outcomeOf(shop.create())).resolves.toBe('outcome-unknown');
    expect(await reconcile()).toEqual([]);
  });

  it('what the store could not be told now goes on by itself', async () => {
    const { id } = await shop.create();
    shop.store.shelves.delete(id);
    shop.store.next('openStock', fails);
    expect(await reconcile()).toEqual([{ plantId: id, drift: 'stock-missing', outcome: 'unfinished' }]);
  });

  it('nothing differs while plants are created, changed and deleted', async () => {
    let stopped = false;
    const serving = Array.from({ length: 8 }, async (_, n) => {
      while (!stopped) {
        const { id } = await shop.create({ id: 900 + n });
        await shop.caller.call(catalog.changePlant, { plantId: id, status: 'sold' });
        await shop.caller.call(catalog.deletePlant, { plantId: id });
      }
    });
    const found: PlantFinding[] = [];
    for (let round = 0; round < 40; round++) found.push(...(await reconcile()));
    stopped = true;
    await Promise.all(serving);
    expect(found).toEqual([]);
  });

  it('answers as the contract says', async () => {
    const { id } = await shop.create();
    shop.store.shelves.delete(id);
    const answer = await shop.caller.call(catalog.reconcilePlants, { after: id - 1, limit: 1 });
    const { openOrders, ...finding } = sampleOf(catalog.reconcilePlants).answer.findings[1]!;
    expect(openOrders).toBeDefined();
    expect(shapeOf(answer)).toEqual(shapeOf({ ...sampleOf(catalog.reconcilePlants).answer, findings: [finding] }));
  });
});
