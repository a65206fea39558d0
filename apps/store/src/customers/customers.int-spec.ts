import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type OpenOrders, store } from '@plant-shop/contracts/store';
import { until } from '@plant-shop/testing/until';
import { customer, outcomeOf, staff, StoreFixture } from '../store.spec.fixture.js';

describe('a customer whose user is about to be deleted', () => {
  let shop: StoreFixture;
  beforeAll(async () => {
    shop = await StoreFixture.start({ replicas: 2 });
  });
  afterAll(async () => {
    expect(await shop.violations()).toEqual([]);
    await shop.stop();
  });

  const close = (n: number, attempt: number): Promise<OpenOrders> =>
    shop.caller.call(store.closeCustomer, { userId: customer(n).subject, attempt });
  const place = async (n: number, plantId: number): Promise<number> =>
    (await shop.caller.call(store.placeOrder, { order: { plantId } }, customer(n))).id;
  const cancel = (n: number, orderId: number): Promise<unknown> =>
    shop.caller.call(store.cancelOrder, { orderId }, customer(n));

  it('is not closed by an abandoned attempt, however late it arrives', async () => {
    const plantId = await shop.plant();
    const orderId = await place(1, plantId);
    expect(await close(1, 8)).toEqual({ openOrders: [orderId] });
    await cancel(1, orderId);
    await expect(outcomeOf(close(1, 7))).resolves.toBe('unavailable');
    await cancel(1, await place(1, plantId));
    expect(await close(1, 9)).toEqual({ openOrders: [] });
    await expect(outcomeOf(place(1, plantId))).resolves.toBe('customer-closed');
  });

  it('remembers the latest refused attempt, in whichever order attempts arrive', async () => {
    const plantId = await shop.plant();
    const orderId = await place(2, plantId);
    await close(2, 12);
    await expect(outcomeOf(close(2, 11))).resolves.toBe('unavailable');
    await cancel(2, orderId);
    await expect(outcomeOf(close(2, 11))).resolves.toBe('unavailable');
    expect(await close(2, 12)).toEqual({ openOrders: [] });
  });

  it('treats a call without an attempt as older than every attempt', async () => {
    const orderId = await place(8, await shop.plant());
    await close(8, 1);
    await cancel(8, orderId);
    await expect(outcomeOf(shop.caller.call(store.closeCustomer, { userId: customer(8).subject }))).resolves.toBe('unavailable');
    expect(await close(8, 2)).toEqual({ openOrders: [] });
  });

  it('stays closed for any further attempt', async () => {
    expect(await close(3, 5)).toEqual({ openOrders: [] });
    for (const attempt of [4, 5, 6]) expect(await close(3, attempt)).toEqual({ openOrders: [] });
  });

  // The customer has ordered before, so the row exists and only its lock protects it.
  it('is not closed while an order of theirs is placed', async () => {
    const plantId = await shop.plant();
    await cancel(5, await place(5, plantId));
    const [placed, closing] = await shop.holding('SELECT 1 FROM stock WHERE plant_id = $1', [plantId], async (waiting) => {
      const placing = place(5, plantId);
      await waiting(1);
      const closing = close(5, 1);
      await waiting(2);
      return [placing, closing] as const;
    });
    expect(await closing).toEqual({ openOrders: [await placed] });
  });

  it('is not closed while an order is transferred to them', async () => {
    const plantId = await shop.plant();
    await cancel(6, await place(6, plantId));
    const orderId = await place(7, plantId);
    const [transferred, closing] = await shop.holding('SELECT 1 FROM orders WHERE id = $1', [orderId], async (waiting) => {
      const transferring = shop.caller.call(store.transferOrder, { orderId, transfer: { username: 'user-6' } }, staff);
      await waiting(1);
      const closing = close(6, 1);
      await waiting(2);
      return [transferring, closing] as const;
    });
    expect(await transferred).toMatchObject({ id: orderId });
    expect(await closing).toEqual({ openOrders: [orderId] });
  });

  it('is not closed by a request whose caller has stopped waiting', async () => {
    const { subject } = customer(4);
    await shop.rows('INSERT INTO customers (user_id) VALUES ($1)', [subject]);
    const lockText = 'SELECT closed FROM customers WHERE user_id = $1 FOR UPDATE';
    const waitText = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    const waiting = async (): Promise<number> => (await shop.rows(waitText)).length;
    const holder = await shop.sql.connect();
    try {
      await holder.query('BEGIN');
      await holder.query(lockText, [subject]);
      const late = shop.caller.call(store.closeCustomer, { userId: subject, attempt: 1 }, undefined, 300);
      await expect(outcomeOf(late)).resolves.toBe('outcome-unknown');
      // Queues for the row behind the closing, so it sees that one's result.
      const next = shop.rows<{ closed: boolean }>(lockText, [subject]);
      await until(async () => (await waiting()) === 2);
      await holder.query('ROLLBACK');
      expect(await next).toEqual([{ closed: false }]);
    } finally {
      await holder.query('ROLLBACK');
      holder.release();
    }
    await expect(outcomeOf(place(4, await shop.plant()))).resolves.toBe('placed');
  });
});
