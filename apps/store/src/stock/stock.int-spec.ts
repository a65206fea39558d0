import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { store } from '@plant-shop/contracts/store';
import { until } from '@plant-shop/testing/until';
import { customer, outcomeOf, staff, StoreFixture } from '../store.spec.fixture.js';
import { compactInventory } from './stock.repository.js';

describe('stock and the catalog', () => {
  let shop: StoreFixture;
  beforeAll(async () => {
    shop = await StoreFixture.start({ replicas: 2, initialStock: 42 });
  });
  afterAll(async () => {
    expect(await shop.violations()).toEqual([]);
    await shop.stop();
  });

  const stockOf = (plantId: number) => shop.caller.call(store.getStock, { plantId }, staff);
  const inventory = () => shop.caller.call(store.readInventory, {}, staff);
  const open = (plantId: number, incarnation: number, units?: number) =>
    shop.caller.call(store.openStock, {
      plantId,
      incarnation,
      version: 1,
      status: 'available',
      ...(units !== undefined && { units }),
    });
  const list = (plantId: number, incarnation: number, version: number, status: 'available' | 'pending' | 'sold') =>
    shop.caller.call(store.listStock, { plantId, incarnation, version, status });
  const retire = (plantId: number, incarnation: number) =>
    shop.caller.call(store.retirePlant, { plantId, incarnation });

  it('a plant starts with INITIAL_STOCK unless its creation sets a quantity', async () => {
    await open(100, 1);
    await open(101, 2, 7);
    expect(await stockOf(100)).toMatchObject({ free: 42 });
    expect(await stockOf(101)).toMatchObject({ free: 7 });
  });

  it('a late or repeated call of the catalog changes nothing', async () => {
    await open(110, 20, 5);
    await open(110, 20, 9);
    await open(110, 19, 9);
    await list(110, 20, 5, 'pending');
    await list(110, 20, 4, 'sold');
    await list(110, 19, 9, 'sold');
    expect(await shop.rows('SELECT free, listing, supplied FROM stock WHERE plant_id = 110')).toEqual([
      { free: 5, listing: 'pending', supplied: 5 },
    ]);
    await retire(110, 19);
    expect(await stockOf(110)).toMatchObject({ free: 5 });
  });

  it('a plant that begins without units is listed until somebody counts them', async () => {
    const listed = async (): Promise<number[]> => (await shop.caller.pages(store.listUncounted, { limit: 1 }, staff)).flat().map(({ plantId }) => plantId);
    for (const plantId of [140, 141, 142, 143]) await open(plantId, 50, 0);
    await open(144, 50, 1);
    expect(await listed()).toEqual([143, 142, 141, 140]);
    // A mark counts nothing.
    expect(await shop.caller.call(store.setStock, { plantId: 140, stock: { lowStockAt: 3 } }, staff)).toMatchObject({ free: 0, lowStockAt: 3 });
    expect(await listed()).toEqual([143, 142, 141, 140]);
    await shop.caller.call(store.setStock, { plantId: 141, stock: { free: 0 } }, staff);
    await shop.caller.call(store.adjustStock, { plantId: 142, adjustment: { by: 3, reason: 'found' } }, staff);
    await retire(143, 50);
    await list(140, 50, 2, 'pending');
    expect(await listed()).toEqual([140]);
    // A new plant of the same id.
    await open(141, 51, 0);
    expect(await listed()).toEqual([141, 140]);
    const [first] = await shop.caller.call(store.listUncounted, {}, staff);
    expect(Date.parse(first?.since ?? '')).toBeGreaterThan(Date.now() - 60_000);
  });

  it('a tombstone rejects a late opening, and a later incarnation opens new stock', async () => {
    await retire(120, 30);
    await open(120, 30, 5);
    await expect(outcomeOf(stockOf(120))).resolves.toBe('plant-not-found');
    await expect(outcomeOf(list(120, 31, 2, 'sold'))).resolves.toBe('plant-not-found');
    await open(120, 31, 6);
    expect(await stockOf(120)).toEqual({ plantId: 120, free: 6, reserved: 0, sold: 0 });
  });

  it('an abandoned attempt at deleting a plant retires nothing after its orders are closed', async () => {
    const plantId = await shop.plant(1);
    const attempt = (number: number) =>
      shop.caller.call(store.retirePlant, { plantId, incarnation: 1, attempt: number });
    const order = await shop.caller.call(store.placeOrder, { order: { plantId } }, customer(1));
    expect(await attempt(8)).toEqual({ openOrders: [order.id] });
    await shop.caller.call(store.cancelOrder, { orderId: order.id }, customer(1));
    await expect(outcomeOf(attempt(7))).resolves.toBe('unavailable');
    expect(await stockOf(plantId)).toMatchObject({ free: 1 });
    expect(await attempt(9)).toEqual({ openOrders: [] });
    await expect(outcomeOf(stockOf(plantId))).resolves.toBe('plant-not-found');
  });

  it('the inventory follows listing, ordering and retiring at once, and compaction does not change it', async () => {
    const before = await inventory();
    await open(130, 1, 10);
    expect(await inventory()).toEqual({ ...before, available: before.available + 10 });
    const order = await shop.caller.call(store.placeOrder, { order: { plantId: 130, quantity: 4 } }, customer(1));
    expect(await inventory()).toEqual({ ...before, available: before.available + 6, pending: before.pending + 4 });
    await list(130, 1, 2, 'sold');
    expect(await inventory()).toEqual({ ...before, pending: before.pending + 4, sold: before.sold + 6 });
    await shop.caller.call(store.cancelOrder, { orderId: order.id }, customer(1));
    expect(await inventory()).toEqual({ ...before, sold: before.sold + 10 });
    await retire(130, 1);
    expect(await inventory()).toEqual(before);
    await until(async () => (await shop.rows('SELECT 1 FROM inventory_deltas')).length === 0);
    expect(await inventory()).toEqual(before);
  });

  it('without deltas, compaction writes nothing (slow)', async () => {
    await until(async () => (await shop.rows('SELECT 1 FROM inventory_deltas')).length === 0);
    const total = () => shop.rows('SELECT ctid::text, xmin::text, xmax::text FROM inventory_total');
    const before = await total();
    await new Promise((resolve) => setTimeout(resolve, 1_300));
    expect(await total()).toEqual(before);
    // As if another replica had just compacted them.
    expect(await shop.replicas[0]!.database!.transaction((tx) => compactInventory(tx, 10))).toBe(0);
    expect(await total()).toEqual(before);
  });

  it('one replica at a time compacts, and the others do not wait for it (slow)', async () => {
    const { database } = shop.replicas[0]!;
    const deltas = () => shop.rows('SELECT available FROM inventory_deltas ORDER BY id');
    await database!.transaction(async (tx) => {
      await tx.query(`SELECT pg_advisory_xact_lock(hashtext('compact inventory'))`);
      await shop.rows('INSERT INTO inventory_deltas (available, pending, sold) VALUES (1, 0, 0), (-1, 0, 0)');
      expect(await database!.transaction((other) => compactInventory(other, 10))).toBe(0);
      expect(await deltas()).toEqual([{ available: 1 }, { available: -1 }]);
    });
    await until(async () => (await deltas()).length === 0);
  });

  it('staff set the free units; reserved and sold ones stay', async () => {
    const plantId = await shop.plant(10);
    await shop.caller.call(store.placeOrder, { order: { plantId, quantity: 4 } }, customer(1));
    const set = (free: number, ifVersion?: number) =>
      shop.caller.call(store.setStock, { plantId, stock: { free }, ...(ifVersion !== undefined && { ifVersion }) }, staff);
    expect(await set(50)).toEqual({ plantId, free: 50, reserved: 4, sold: 0 });
    await expect(outcomeOf(set(60, 1))).resolves.toBe('precondition-failed');
    await expect(outcomeOf(shop.caller.call(store.setStock, { plantId: 999_999, stock: { free: 1 } }, staff))).resolves.toBe(
      'plant-not-found',
    );
  });

  it('a plant with open orders is not retired, and a retired one cannot be ordered: 500 races, no violation (slow)', async () => {
    const races = Array.from({ length: 500 }, (_, n) => 10_000 + n);
    await Promise.all(races.map((plantId) => eventually(() => open(plantId, 1, 10))));
    const ends = await Promise.all(
      races.map(async (plantId, n) => {
        const place = () => outcomeOf(eventually(() => shop.caller.call(store.placeOrder, { order: { plantId } }, customer(n))));
        const [first, retired, second] = await race(n, place, () => eventually(() => retire(plantId, 1)));
        return { placed: [first, second].filter((one) => one === 'placed').length, retired };
      }),
    );
    for (const { placed, retired } of ends) {
      if (retired.openOrders.length === 0) expect(placed).toBe(0);
    }
    expect(new Set(ends.map((end) => end.retired.openOrders.length === 0))).toEqual(new Set([true, false]));
    expect(await shop.violations()).toEqual([]);
  });

  it('a customer with open orders is not closed, and a closed one cannot order: 500 races, no violation (slow)', async () => {
    const plantId = await shop.plant(10_000);
    const customers = Array.from({ length: 500 }, (_, n) => customer(50_000 + n));
    // Half of them have a row already, which is locked rather than inserted.
    await shop.rows('INSERT INTO customers (user_id) SELECT unnest($1::uuid[])', [
      customers.filter((_, n) => n % 2 === 0).map(({ subject }) => subject),
    ]);
    const ends = await Promise.all(
      customers.map(async (who, n) => {
        const place = () => outcomeOf(eventually(() => shop.caller.call(store.placeOrder, { order: { plantId } }, who)));
        const close = () => eventually(() => shop.caller.call(store.closeCustomer, { userId: who.subject }));
        const [first, closed, second] = await race(n, place, close);
        return { outcomes: [first, second], closed: closed.openOrders.length === 0 };
      }),
    );
    for (const { outcomes, closed } of ends) {
      expect(outcomes).toEqual(closed ? ['customer-closed', 'customer-closed'] : expect.arrayContaining(['placed']));
    }
    expect(new Set(ends.map((end) => end.closed))).toEqual(new Set([true, false]));
    expect(await shop.violations()).toEqual([]);
  });
});

/** Retries calls that fail as `unavailable`, without effect, because they waited too long for a connection of the pool. */
async function eventually<T>(call: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if ((error as { code?: string }).code !== 'unavailable') throw error;
    }
  }
}

/** Ends before both orders in one of ten races, between them in another, and concurrently in the rest. */
async function race<P, E>(n: number, place: () => Promise<P>, end: () => Promise<E>): Promise<[P, E, P]> {
  if (n % 10 === 0) {
    const ended = await end();
    return [await place(), ended, await place()];
  }
  if (n % 10 === 1) return [await place(), await end(), await place()];
  return Promise.all([place(), sometimeSoon().then(end), place()]);
}

/** 0 to 40 ms. */
const sometimeSoon = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, Math.random() * 40));
