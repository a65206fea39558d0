import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { catalog, type Plant } from '@plant-shop/contracts/catalog';
import type { RpcClient } from '@plant-shop/platform/rpc/client';
import { atEveryPoint, type CrashTestbed, crashTestTimeoutMs, type Outcome } from '@plant-shop/service-testing/crash/every-point';
import { contextFor } from '@plant-shop/service-testing/service';
import { until } from '@plant-shop/testing/until';
import { CatalogFixture, outcomeOf } from '../catalog.spec.fixture.js';
import { StockIntentsService } from './stock-intents.service.js';

const creator = { subject: 'user-1', permissions: [], shown: [] };

describe('wherever the catalog crashes or loses a connection', () => {
  let shop: CatalogFixture;
  let testbed: CrashTestbed;
  beforeAll(async () => {
    shop = await CatalogFixture.start({ replicas: 0 });
    testbed = await shop.crashTestbed();
  });
  afterAll(async () => {
    await testbed.stop();
    await shop.stop();
  });

  const plantsNamed = (name: string) => shop.database.query<{ id: number }>('SELECT id FROM plants WHERE name = $1', [name]);
  const isListed = (plantId: number) => (shop.store.stock.get(plantId)?.listing ?? 'retired') !== 'retired';

  /** Ends all leases, as time would, and waits until the surviving replicas' loops have completed all intents. */
  async function settle(): Promise<void> {
    await shop.database.query('UPDATE stock_intents SET next_try_at = now()');
    testbed.survivor.app.get(StockIntentsService).notify();
    await until(async () => (await shop.database.query('SELECT 1 FROM stock_intents')).length === 0);
    expect(await shop.disagreements()).toEqual([]);
  }

  const expectTruth = (outcome: Outcome<unknown>, happened: boolean): void => {
    if (outcome.kind === 'answered') expect(happened).toBe(true);
    if (outcome.kind !== 'refused') return;
    expect(['unavailable', 'outcome-unknown']).toContain(outcome.code);
    if (outcome.code === 'unavailable') expect(happened).toBe(false);
  };

  const createBy = async (
    client: RpcClient,
    { name, key }: { name: string; key: string },
    withinMs = 10_000,
  ): Promise<{ plant: Plant; replayed: boolean }> => {
    const plant = { name, tags: [{ name: 'of a crash' }], quantity: 7 };
    const answer = await client.callRaw(catalog.createPlant, { plant }, contextFor(creator, withinMs), key);
    return { plant: JSON.parse(Buffer.from(answer.payload).toString()) as Plant, replayed: answer.replayed ?? false };
  };

  it('a plant is created once, with its stock, and repeating the Idempotency-Key returns it', async () => {
    await atEveryPoint(testbed, {
      name: 'create a plant',
      minCalls: 16,
      given: () => Promise.resolve({ name: `Ficus ${randomUUID()}`, key: randomUUID() }),
      when: (victim, given, withinMs) => createBy(victim.caller, given, withinMs),
      immediately: async ({ name }, outcome) => {
        const [plant] = await plantsNamed(name);
        expectTruth(outcome, plant !== undefined);
        // After the answer, the plant can be ordered.
        if (outcome.kind === 'answered') expect(isListed(outcome.answer.plant.id)).toBe(true);
      },
      eventually: async (given, outcome) => {
        const [committed] = await plantsNamed(given.name);
        const again = await createBy(shop.caller.client, given);
        if (outcome.kind === 'answered') expect(again.plant).toEqual(outcome.answer.plant);
        expect(again.replayed).toBe(committed !== undefined);
        expect(await plantsNamed(given.name)).toEqual([{ id: again.plant.id }]);
        expect(shop.store.stock.get(again.plant.id)).toMatchObject({ listing: 'available', units: 7 });
        await settle();
      },
    });
  }, crashTestTimeoutMs);

  const remove = (client: RpcClient, plantId: number, withinMs = 10_000) =>
    client.call(catalog.deletePlant, { plantId }, contextFor(creator, withinMs));
  const isThere = async (plantId: number) => (await shop.database.query('SELECT 1 FROM plants WHERE id = $1', [plantId])).length === 1;

  it('a plant without open orders is deleted in both services in the end', async () => {
    await atEveryPoint(testbed, {
      name: 'delete a plant',
      minCalls: 10,
      given: async () => ({ plantId: (await shop.create()).id }),
      when: (victim, { plantId }, withinMs) => remove(victim.caller, plantId, withinMs),
      immediately: async ({ plantId }, outcome) => {
        expectTruth(outcome, !(await isThere(plantId)) && !isListed(plantId));
        // `unavailable` means that nothing happened, nor will it happen later.
        if (outcome.kind !== 'refused' || outcome.code !== 'unavailable') return;
        expect(await shop.database.query('SELECT 1 FROM stock_intents')).toEqual([]);
      },
      eventually: async ({ plantId }) => {
        expect([{ plantId }, 'plant-not-found']).toContainEqual(await outcomeOf(remove(shop.caller.client, plantId)));
        await settle();
        expect([await isThere(plantId), isListed(plantId)]).toEqual([false, false]);
      },
    });
  }, crashTestTimeoutMs);

  it('a plant with open orders stays in both services in the end', async () => {
    await atEveryPoint(testbed, {
      name: 'delete a plant that must stay',
      minCalls: 12,
      given: async () => {
        const { id: plantId } = await shop.create();
        shop.store.openOrders.set(plantId, [11]);
        return { plantId };
      },
      when: async (victim, { plantId }, withinMs) => {
        const outcome = await outcomeOf(remove(victim.caller, plantId, withinMs));
        expect(['plant-has-pending-orders', 'unavailable', 'outcome-unknown']).toContain(outcome);
      },
      eventually: async ({ plantId }) => {
        expect(await outcomeOf(remove(shop.caller.client, plantId))).toBe('plant-has-pending-orders');
        await settle();
        expect([await isThere(plantId), isListed(plantId)]).toEqual([true, true]);
      },
    });
  }, crashTestTimeoutMs);
});
