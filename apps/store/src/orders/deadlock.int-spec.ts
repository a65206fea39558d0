import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { store } from '@plant-shop/contracts/store';
import { until } from '@plant-shop/testing/until';
import { customer, outcomeOf, staff, StoreFixture } from '../store.spec.fixture.js';

describe('the lock order', () => {
  let shop: StoreFixture;
  beforeAll(async () => {
    shop = await StoreFixture.start();
  });
  afterAll(async () => {
    expect(await shop.violations()).toEqual([]);
    await shop.stop();
  });

  const deadlocks = async (): Promise<number> => {
    const [database] = await shop.rows<{ deadlocks: string }>('SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()');
    return Number(database?.deadlocks);
  };

  /** Waits until so many transactions wait for a row of this table. */
  const waitingFor = (table: 'stock' | 'orders', transactions: number): Promise<void> =>
    until(async () => {
      const waits = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE $1`;
      return (await shop.rows(waits, [`%FROM %${table} WHERE %FOR NO KEY UPDATE`])).length === transactions;
    });

  // The test holds the stock of the first plant, for which both baskets wait: neither has locked the other plant.
  it('keeps two baskets in opposite order from a deadlock', async () => {
    const [a, b] = [await shop.plant(), await shop.plant()];
    const before = await deadlocks();
    const place = (who: number, ...plantIds: number[]) => outcomeOf(shop.caller.call(store.placeBasket, { basket: { lines: plantIds.map((plantId) => ({ plantId })) } }, customer(who)));
    const placing = await shop.holding('SELECT 1 FROM stock WHERE plant_id = $1', [a], async () => {
      // In two lanes, so in two transactions.
      const both = [place(3, a, b), place(4, b, a)];
      await waitingFor('stock', 2);
      return { both };
    });
    expect(await Promise.all(placing.both)).toEqual(['placed', 'placed']);
    expect(await deadlocks()).toBe(before);
  });

  // Placing holds the stock and waits for the newcomer's row, which the transfer has inserted; the transfer waits for the order, which
  // the cancellation holds; and the cancellation waits for the stock. Each queues behind a row that the test holds, in this order.
  // The newcomer's unpaid orders are not limited: otherwise placing inserts the row before it locks the stock.
  it('has one exception, a customer who has never ordered: a deadlock of placing, transferring and cancelling fails none of them (slow)', async () => {
    const plantId = await shop.plant();
    const { id: orderId } = await shop.caller.call(store.placeOrder, { order: { plantId } }, customer(1));
    const newcomer = 2;
    const calls = await shop.holding('SELECT 1 FROM stock WHERE plant_id = $1', [plantId], async () => {
      const placing = outcomeOf(shop.caller.call(store.placeOrder, { order: { plantId } }, { ...staff, subject: customer(newcomer).subject }));
      await waitingFor('stock', 1);
      const onOrder = await shop.holding('SELECT 1 FROM orders WHERE id = $1', [orderId], async () => {
        const cancelling = outcomeOf(shop.caller.call(store.cancelOrder, { orderId }, staff));
        await waitingFor('orders', 1);
        const transferring = outcomeOf(shop.caller.call(store.transferOrder, { orderId, transfer: { username: `user-${newcomer}` } }, staff));
        await waitingFor('orders', 2);
        return { cancelling, transferring };
      });
      // Without this wait the cancellation could find the stock unlocked, before the placing that queued for it wakes up.
      await waitingFor('stock', 2);
      return { placing, ...onOrder };
    });
    expect(await calls.placing).toBe('placed');
    expect(await calls.cancelling).toBe('placed');
    // Postgres decides whom to roll back, and so whether the transfer finds the order open or already cancelled.
    expect(['placed', 'order-transition-refused']).toContain(await calls.transferring);
    await until(async () => (await deadlocks()) > 0);
  });
});
