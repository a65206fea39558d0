import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { catalog } from '@plant-shop/contracts/catalog';
import type { PlantFinding } from '@plant-shop/contracts/reconcile';
import { sampleOf, shapeOf } from '@plant-shop/service-testing/samples';
import { until } from '@plant-shop/testing/until';
import { CatalogFixture, outcomeOf } from '../catalog.spec.fixture.js';
import { fail } from '../store.fake.js';

describe('after a database was restored', () => {
  let shop: CatalogFixture;
  beforeAll(async () => {
    shop = await CatalogFixture.start({ replicas: 2 });
  });
  afterEach(async () => {
    shop.store.clearInterceptors();
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
  const stockOf = (plantId: number) => shop.store.stock.get(plantId)!;
  const exists = async (plantId: number) =>
    (await outcomeOf(shop.caller.call(catalog.getPlant, { plantId }))) !== 'plant-not-found';

  it('a plant that the store has lost is reopened without units, since their number is unknown', async () => {
    const [forgotten, older] = [await shop.create({ quantity: 5 }), await shop.create({ quantity: 5 })];
    await shop.create();
    shop.store.stock.delete(forgotten.id);
    stockOf(older.id).incarnation -= 1;
    const found = [forgotten, older].map(({ id: plantId }) => ({ plantId, drift: 'stock-missing' }));
    expect(await reconcile({ dryRun: true })).toEqual(found.map((one) => ({ ...one, outcome: 'found' })));
    expect(shop.store.stock.has(forgotten.id)).toBe(false);
    expect(await reconcile()).toEqual(found.map((one) => ({ ...one, outcome: 'mended' })));
    expect(stockOf(forgotten.id)).toMatchObject({ listing: 'available', units: 0 });
  });

  it('a status that the store has not received is sent again', async () => {
    const { id } = await shop.create({ status: 'pending' });
    Object.assign(stockOf(id), { listing: 'available', listingVersion: 1 });
    expect(await reconcile()).toEqual([{ plantId: id, drift: 'listing-differs', outcome: 'mended' }]);
    expect(stockOf(id).listing).toBe('pending');
  });

  it('a status that the catalog has lost is replaced by its present one, under a version beyond the lost one', async () => {
    const { id } = await shop.create({ status: 'pending' });
    Object.assign(stockOf(id), { listing: 'sold', listingVersion: stockOf(id).listingVersion + 1_000 });
    await raise();
    expect(await reconcile()).toEqual([{ plantId: id, drift: 'listing-differs', outcome: 'mended' }]);
    expect(stockOf(id).listing).toBe('pending');
  });

  it('a plant that was deleted after the backup is deleted again, even if its id was reused', async () => {
    const [retired, again, alive] = [await shop.create(), await shop.create(), await shop.create()];
    stockOf(retired.id).listing = 'retired';
    Object.assign(stockOf(again.id), { listing: 'retired', incarnation: stockOf(again.id).incarnation + 500 });
    Object.assign(stockOf(alive.id), { incarnation: stockOf(alive.id).incarnation + 500 });
    await raise();
    expect(await reconcile()).toEqual([
      { plantId: retired.id, drift: 'plant-deleted', outcome: 'mended' },
      { plantId: again.id, drift: 'plant-deleted', outcome: 'mended' },
      { plantId: alive.id, drift: 'plant-deleted', outcome: 'mended' },
      { plantId: alive.id, drift: 'plant-missing', outcome: 'mended' },
    ]);
    for (const { id } of [retired, again, alive]) expect(await exists(id)).toBe(false);
    expect(stockOf(alive.id).listing).toBe('retired');
  });

  it('stock of a plant that does not exist is retired, unless orders are open, which are named', async () => {
    const [free, ordered] = [await shop.create(), await shop.create()];
    await shop.database.query('DELETE FROM plants WHERE id = ANY($1)', [[free.id, ordered.id]]);
    stockOf(ordered.id).refusedAttempt = 1_000_000_000_000;
    shop.store.openOrders.set(ordered.id, [71, 72]);
    await raise();
    const left = { plantId: ordered.id, drift: 'plant-missing', outcome: 'left', openOrders: [71, 72] };
    expect(await reconcile()).toEqual([{ plantId: free.id, drift: 'plant-missing', outcome: 'mended' }, left]);
    expect(await reconcile()).toEqual([left]);
    expect(stockOf(ordered.id).listing).toBe('available');
    // The remedy that the report names: create the plant again.
    await shop.create({ id: ordered.id, quantity: 3 });
    expect(stockOf(ordered.id)).toMatchObject({ listing: 'available', units: 3 });
  });

  it('numbers are raised beyond all that the store knows, so that no new plant is taken for an old one', async () => {
    const before = await shop.create();
    const lost = { ...stockOf(before.id), incarnation: 5_000_000_000_000, listingVersion: 5_000_000_000_007, listing: 'retired' as const };
    shop.store.stock.set(before.id + 3, lost);
    const looked = await raise(true);
    expect(looked.raised.map(({ sequence }) => sequence)).toEqual(['plant_versions', 'plant_ids']);
    expect(shapeOf(looked)).toEqual(shapeOf(sampleOf(catalog.raiseNumbers).answer));
    expect(await raise()).toEqual(looked);
    expect(await raise()).toEqual({ raised: [] });
    const after = await shop.create();
    expect(after.id).toBe(before.id + 4);
    expect(stockOf(after.id).incarnation).toBeGreaterThan(5_000_000_000_007);
  });

  it('a plant with an intent is left alone (slow)', async () => {
    shop.store.interceptNext('openStock', fail);
    await expect(outcomeOf(shop.create())).resolves.toBe('outcome-unknown');
    expect(await reconcile()).toEqual([]);
  });

  it('a repair whose call to the store fails completes in the background (slow)', async () => {
    const { id } = await shop.create();
    shop.store.stock.delete(id);
    shop.store.interceptNext('openStock', fail);
    expect(await reconcile()).toEqual([{ plantId: id, drift: 'stock-missing', outcome: 'unfinished' }]);
  });

  it('no difference is reported while plants are created, changed and deleted (slow)', async () => {
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
    shop.store.stock.delete(id);
    const answer = await shop.caller.call(catalog.reconcilePlants, { after: id - 1, limit: 1 });
    const { openOrders, ...finding } = sampleOf(catalog.reconcilePlants).answer.findings[1]!;
    expect(openOrders).toBeDefined();
    expect(shapeOf(answer)).toEqual(shapeOf({ ...sampleOf(catalog.reconcilePlants).answer, findings: [finding] }));
  });
});
