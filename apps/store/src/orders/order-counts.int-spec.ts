import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type CountOrders, type Order, type OrderCounts, store } from '@plant-shop/contracts/store';
import type { Principal } from '@plant-shop/platform/rpc/context';
import { until } from '@plant-shop/testing/until';
import { customer, outcomeOf, staff, StoreFixture } from '../store.spec.fixture.js';

const sorted = (counts: OrderCounts['counts']): string[] =>
  counts.map(({ status, shipped, refund = 'none', orders }) => `${status} ${shipped ? 'shipped' : 'unshipped'} ${refund}: ${orders}`).sort();

describe('counts of orders', () => {
  let shop: StoreFixture;
  let plants: number[];
  beforeAll(async () => {
    shop = await StoreFixture.start({ replicas: 2, usernames: [1, 2, 3] });
    plants = [await shop.plant(1_000), await shop.plant(1_000), await shop.plant(1_000)];
  });
  afterAll(async () => {
    expect(await shop.violations()).toEqual([]);
    await shop.stop();
  });

  const count = (request: CountOrders = {}, who: Principal = staff): Promise<OrderCounts> => shop.caller.call(store.countOrders, request, who);
  /** Counts the rows of orders. */
  const counted = async (where = 'true'): Promise<string[]> =>
    sorted(
      (
        await shop.rows<{ status: Order['status']; shipped: boolean; refund?: 'due'; orders: string }>(
          `SELECT status, carrier IS NOT NULL AS shipped, coalesce(refund, 'none') AS refund, count(*) AS orders FROM orders WHERE ${where} GROUP BY 1, 2, 3`,
        )
      ).map((row) => ({ ...row, orders: Number(row.orders) })),
    );
  const expectExact = async (): Promise<void> => {
    expect(sorted((await count({ owner: '*' })).counts)).toEqual(await counted());
    for (const plantId of plants) expect(sorted((await count({ owner: '*', plantId })).counts)).toEqual(await counted(`plant_id = ${plantId}`));
    for (const n of [1, 2, 3]) expect(sorted((await count({ owner: `user-${n}` })).counts)).toEqual(await counted(`owner_id = '${customer(n).subject}'`));
  };
  const untilAllIsCounted = () =>
    until(async () => {
      const [left] = await shop.rows<{ left: string }>(`
        SELECT count(*) AS left FROM order_transitions, order_counts_head
        WHERE coalesce(feed_seq > order_counts_head.counted, order_transitions.counted IS NULL)`);
      return Number(left?.left) === 0;
    });

  const { cancelOrder, cancelOrderByStaff, completeRefund, deliverOrder, listRefunds, placeOrder, reportPayment, shipOrder, transferOrder } = store;
  let payments = 0;
  const pay = (orderId: number) => outcomeOf(shop.caller.call(reportPayment, { orderId, payment: { outcome: 'succeeded', reference: `p${++payments}` } }, staff));
  /** Takes one order of each customer and plant through its life, as far as `n` says. */
  async function live(n: number): Promise<void> {
    const owner = customer(1 + (n % 3));
    const { id: orderId } = await shop.caller.call(placeOrder, { order: { plantId: plants[n % 3]! } }, owner);
    const story = Math.floor(n / 3) % 8;
    if (story === 0) return;
    if (story === 1) await shop.caller.call(cancelOrder, { orderId }, owner);
    else await pay(orderId);
    if (story <= 2) await pay(orderId);
    if (story === 3) await shop.caller.call(cancelOrderByStaff, { orderId, cancellation: { reason: 'died', restock: true } }, staff);
    if (story >= 4 && story <= 6) for (const trackingNumber of ['1', '2']) await shop.caller.call(shipOrder, { orderId, shipment: { carrier: 'Post', trackingNumber } }, staff);
    if (story === 5) await shop.caller.call(transferOrder, { orderId, transfer: { username: `user-${1 + ((n + 1) % 3)}` } }, staff);
    if (story >= 6) await shop.caller.call(deliverOrder, { orderId }, staff);
  }

  it('are exact overall, for a plant and for an owner, before and after steps are counted (slow)', async () => {
    await Promise.all(Array.from({ length: 48 }, (_, n) => live(n)));
    await expectExact();
    const due = await shop.caller.call(listRefunds, { status: 'due' }, staff);
    await Promise.all(due.slice(0, 5).map(({ id }) => shop.caller.call(completeRefund, { refundId: id, completion: { reference: `back ${id}` } }, staff)));
    await expectExact();
    await untilAllIsCounted();
    await expectExact();
    const [kept] = await shop.rows<{ orders: string }>(`SELECT sum(orders) AS orders FROM order_counts WHERE scope = 'all'`);
    expect(Number(kept?.orders)).toBe(48);
    await Promise.all(Array.from({ length: 24 }, (_, n) => live(n)));
    await expectExact();
  });

  it('have steps of an earlier release, which name no plant (slow)', async () => {
    const database = await shop.database();
    await database.transaction(async (tx) => {
      // Nobody counts meanwhile.
      await tx.query('SELECT 1 FROM order_counts_head FOR UPDATE');
      await Promise.all(Array.from({ length: 24 }, (_, n) => live(n)));
      await shop.rows('UPDATE order_transitions SET plant_id = NULL');
      await expectExact();
    });
    await database.close();
    await untilAllIsCounted();
    await expectExact();
  });

  it('count no step twice when the feed begins a new epoch and numbers events again (slow)', async () => {
    await untilAllIsCounted();
    const [head] = await shop.rows<{ head: string }>('SELECT head FROM feed_head');
    for (const known of [Number(head!.head) + 10, Number(head!.head) + 1_000]) {
      await shop.caller.call(store.startEpoch, { known, agreed: 7 });
      await live(1);
      await expectExact();
    }
    await untilAllIsCounted();
    await expectExact();
  });

  it('can be restricted by status, shipment and refund', async () => {
    const all = await count({ owner: '*' });
    const of = (request: Partial<CountOrders>) => count({ owner: '*', ...request }).then(({ counts }) => sorted(counts));
    expect(await of({ status: ['approved'], shipped: false })).toEqual(sorted(all.counts.filter((one) => one.status === 'approved' && !one.shipped)));
    expect(await of({ refund: 'due' })).toEqual(sorted(all.counts.filter((one) => one.refund === 'due')));
    expect(all.complete).toBe(true);
  });

  it('of other filters are read, up to 10,000 orders', async () => {
    const plantId = plants[0]!;
    expect(sorted((await count({ owner: 'user-1', plantId })).counts)).toEqual(await counted(`plant_id = ${plantId} AND owner_id = '${customer(1).subject}'`));
    expect(sorted((await count({ owner: '*', q: 'user-' })).counts)).toEqual(await counted());
    const placedFrom = '2026-01-01T00:00:00.000Z';
    expect(sorted((await count({ owner: '*', placedFrom })).counts)).toEqual(await counted());
    await shop.rows(`
      INSERT INTO orders (id, plant_id, quantity, status, owner_id, version, placed_at)
      SELECT 100000 + n, 777, 1, 'cancelled', $1, 0, '2025-06-01T00:00:00Z' FROM generate_series(1, 10001) AS n`, [customer(9).subject]);
    expect(await count({ owner: '*', plantId: 777, placedBefore: placedFrom })).toEqual({ complete: false, counts: [{ status: 'cancelled', shipped: false, orders: 10_000 }] });
    await shop.rows('DELETE FROM orders WHERE plant_id = 777');
  });

  it('are the caller’s own without read:orders', async () => {
    expect(sorted((await count({}, customer(1))).counts)).toEqual(await counted(`owner_id = '${customer(1).subject}'`));
    expect(await outcomeOf(count({ owner: '*' }, customer(1)))).toBe('forbidden');
  });
});
