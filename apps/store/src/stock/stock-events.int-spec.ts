import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { noSubject, type StockEvent } from '@plant-shop/contracts/events';
import { store } from '@plant-shop/contracts/store';
import { until } from '@plant-shop/testing/until';
import { customer, outcomeOf, staff, StoreFixture } from '../store.spec.fixture.js';

describe('events of stock', () => {
  let shop: StoreFixture;
  beforeAll(async () => {
    shop = await StoreFixture.start({ replicas: 2, paymentProvider: 'external', initialStock: 42 });
  });
  afterAll(async () => {
    expect(await shop.violations()).toEqual([]);
    await shop.stop();
  });

  const place = (plantId: number, quantity = 1, n = 1) => shop.caller.call(store.placeOrder, { order: { plantId, quantity } }, customer(n));
  const cancel = (orderId: number, n = 1) => shop.caller.call(store.cancelOrder, { orderId }, customer(n));
  const cancelByStaff = (orderId: number, restock: boolean) =>
    shop.caller.call(store.cancelOrderByStaff, { orderId, cancellation: { reason: 'wilted', restock } }, staff);
  const pay = (orderId: number) =>
    shop.caller.call(store.reportPayment, { orderId, payment: { outcome: 'succeeded', reference: `payment of ${orderId}` } }, staff);
  const set = (plantId: number, free: number, lowStockAt?: number | null) =>
    shop.caller.call(store.setStock, { plantId, stock: { free, ...(lowStockAt !== undefined && { lowStockAt }) } }, staff);
  const adjust = (plantId: number, by: number) => shop.caller.call(store.adjustStock, { plantId, adjustment: { by, reason: 'counted' } }, staff);

  interface Row {
    readonly seq: number | null;
    readonly subject: string;
    readonly body: string;
  }
  const rowsOf = (plantId: number): Promise<Row[]> =>
    shop.rows<Row>(
      `SELECT feed_seq::int AS seq, owner_id AS subject, body FROM order_transitions
       WHERE order_id IS NULL AND (body::jsonb #>> '{data,plantId}')::bigint = $1 ORDER BY position`,
      [plantId],
    );
  /** The type of each event, and the free units after it. */
  const eventsOf = async (plantId: number): Promise<(string | number)[][]> =>
    (await rowsOf(plantId)).map(({ body }) => JSON.parse(body) as StockEvent).map(({ event, data }) => [event, data.free]);

  it('follow orders and cancellations that cross a threshold, one for each change', async () => {
    const plantId = await shop.plant(10);
    await set(plantId, 10, 5);
    const first = await place(plantId, 4);
    expect(await eventsOf(plantId)).toEqual([]);
    const second = await place(plantId, 1);
    await place(plantId, 1);
    await place(plantId, 4);
    await expect(outcomeOf(place(plantId))).resolves.toBe('insufficient-stock');
    await cancel(first.id);
    await cancel(second.id);
    expect(await eventsOf(plantId)).toEqual([['stock.low', 5], ['stock.out', 0], ['stock.back', 4]]);
    expect(JSON.parse((await rowsOf(plantId))[0]!.body)).toEqual({
      event: 'stock.low',
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      data: { plantId, free: 5, lowStockAt: 5 },
    });
  });

  it('follow changes by staff, with the threshold that they set', async () => {
    const plantId = await shop.plant(20);
    await set(plantId, 12, 12);
    await set(plantId, 12, 15);
    await adjust(plantId, -12);
    await adjust(plantId, 0);
    await set(plantId, 3, null);
    await adjust(plantId, -2);
    expect(await eventsOf(plantId)).toEqual([['stock.low', 12], ['stock.out', 0], ['stock.back', 3]]);
  });

  it('are not sent for units that are written off, for a new plant, and for a deleted one', async () => {
    const plantId = await shop.plant(1);
    const { id: paid } = await place(plantId);
    await pay(paid);
    await cancelByStaff(paid, false);
    expect(await eventsOf(plantId)).toEqual([['stock.out', 0]]);
    await set(plantId, 1);
    const { id: other } = await place(plantId);
    await cancelByStaff(other, true);
    expect(await eventsOf(plantId)).toEqual([['stock.out', 0], ['stock.back', 1], ['stock.out', 0], ['stock.back', 1]]);
    await shop.caller.call(store.retirePlant, { plantId, incarnation: 1 });
    await shop.caller.call(store.openStock, { plantId, incarnation: 2, version: 1, status: 'available', units: 5 });
    expect(await eventsOf(plantId)).toHaveLength(4);
  });

  it('are numbered in the feed of orders within a second, for no user, and in order per plant (slow)', async () => {
    const plantId = await shop.plant(30);
    await set(plantId, 30, 10);
    const orders = await Promise.all(Array.from({ length: 30 }, (_, n) => place(plantId, 1, n)));
    await until(async () => (await rowsOf(plantId)).every(({ seq }) => seq !== null), 1_000);
    await Promise.all(orders.map(({ id }, n) => cancel(id, n)));
    await until(async () => (await rowsOf(plantId)).every(({ seq }) => seq !== null), 1_000);
    const rows = await rowsOf(plantId);
    // Orders that arrive together are one change.
    expect((await eventsOf(plantId)).map(([event]) => event).filter((event) => event !== 'stock.low')).toEqual(['stock.out', 'stock.back']);
    expect(rows.map(({ seq }) => seq)).toEqual(rows.map(({ seq }) => seq).toSorted((a, b) => a! - b!));
    const { events } = await shop.caller.call(store.feedRead, { follower: 'test', after: rows[0]!.seq! - 1, limit: 1 });
    expect(events).toEqual([{ seq: rows[0]!.seq, id: expect.any(String), subject: noSubject, body: rows[0]!.body }]);
  });
});
