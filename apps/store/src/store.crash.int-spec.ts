import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Basket, type Order, store } from '@plant-shop/contracts/store';
import type { RpcClient } from '@plant-shop/platform/rpc/client';
import { atEveryPoint, type CrashTestbed, crashTestTimeoutMs, type Outcome } from '@plant-shop/service-testing/crash/every-point';
import { contextFor } from '@plant-shop/service-testing/service';
import { until } from '@plant-shop/testing/until';
import { DueOrdersLoop } from './checkout/due-orders.service.js';
import { OrderFeed } from './feed/order-feed.js';
import { customer, staff, StoreFixture } from './store.spec.fixture.js';

describe('wherever the store crashes or loses a connection', () => {
  let shop: StoreFixture;
  let testbed: CrashTestbed;
  beforeAll(async () => {
    shop = await StoreFixture.start({ replicas: 0 });
    testbed = await shop.crashTestbed();
  });
  afterAll(async () => {
    expect(await shop.violations()).toEqual([]);
    await testbed.stop();
    await shop.stop();
  });

  const stockOf = async (plantId: number) => {
    const [stock] = await shop.rows('SELECT free, reserved, sold FROM stock WHERE plant_id = $1', [plantId]);
    return stock;
  };
  const ordersOf = (plantId: number) => shop.rows<{ id: number; status: string }>('SELECT id, status FROM orders WHERE plant_id = $1', [plantId]);

  const placeBy = async (
    client: RpcClient,
    { plantId, key }: { plantId: number; key: string },
    withinMs = 10_000,
  ): Promise<{ order: Order; replayed: boolean }> => {
    const order = { plantId, quantity: 2 };
    const answer = await client.callRaw(store.placeOrder, { order }, contextFor(customer(1), withinMs), key);
    return { order: JSON.parse(Buffer.from(answer.payload).toString()) as Order, replayed: answer.replayed ?? false };
  };
  const placed = async () => {
    const plantId = await shop.plant(10);
    const { id: orderId } = await shop.caller.call(store.placeOrder, { order: { plantId, quantity: 2 } }, customer(1));
    return { plantId, orderId };
  };

  /** Expects one transition after placing, once in the timeline and once in a feed without gaps. */
  async function expectMovedOnce(orderId: number, status: string): Promise<void> {
    // The loops would run anyway; this saves the wait.
    testbed.survivor.app.get(DueOrdersLoop).notify();
    testbed.survivor.app.get(OrderFeed).notify();
    await until(async () => {
      const [order] = await shop.rows<{ status: string }>('SELECT status FROM orders WHERE id = $1', [orderId]);
      const waiting = await shop.rows('SELECT 1 FROM order_transitions WHERE event_id IS NOT NULL AND feed_seq IS NULL');
      return order?.status === status && waiting.length === 0;
    });
    const timeline = await shop.rows<{ status: string; body: string | null }>(
      'SELECT new_status AS status, body FROM order_transitions WHERE order_id = $1 ORDER BY order_version',
      [orderId],
    );
    expect(timeline.map((one) => one.status)).toEqual(['placed', status]);
    expect(JSON.parse(timeline[1]?.body ?? '')).toMatchObject({ data: { orderId, previousStatus: 'placed', newStatus: status } });
    expect(
      await shop.rows(`
        SELECT head, count(t.*), min(feed_seq), max(feed_seq) FROM feed_head LEFT JOIN order_transitions t ON feed_seq IS NOT NULL
        GROUP BY head HAVING count(t.*) <> head OR max(feed_seq) <> head`),
    ).toEqual([]);
    expect(await shop.violations()).toEqual([]);
  }

  /** An answer means that it happened, and `unavailable` that it did not. */
  const expectTruth = (outcome: Outcome<unknown>, happened: boolean): void => {
    if (outcome.kind === 'answered') expect(happened).toBe(true);
    if (outcome.kind !== 'refused') return;
    expect(['unavailable', 'outcome-unknown']).toContain(outcome.code);
    if (outcome.code === 'unavailable') expect(happened).toBe(false);
  };

  it('an order is placed once, and repeating the Idempotency-Key returns it', async () => {
    await atEveryPoint(testbed, {
      name: 'place an order',
      minCalls: 8,
      given: async () => ({ plantId: await shop.plant(10), key: randomUUID() }),
      when: (victim, given, withinMs) => placeBy(victim.caller, given, withinMs),
      immediately: async ({ plantId }, outcome) => expectTruth(outcome, (await ordersOf(plantId)).length === 1),
      eventually: async (given, outcome) => {
        const [committed] = await ordersOf(given.plantId);
        const again = await placeBy(shop.caller.client, given);
        if (outcome.kind === 'answered') expect(again.order).toEqual(outcome.answer.order);
        expect(again.replayed).toBe(committed !== undefined);
        expect(await ordersOf(given.plantId)).toEqual([{ id: again.order.id, status: 'placed' }]);
        expect(await stockOf(given.plantId)).toEqual({ free: 8, reserved: 2, sold: 0 });
        expect(await shop.violations()).toEqual([]);
      },
    });
  }, crashTestTimeoutMs);

  const isStill = async (orderId: number, status: string) =>
    (await shop.rows('SELECT 1 FROM orders WHERE id = $1 AND status = $2', [orderId, status])).length === 1;

  it('a payment approves once, however often it is reported', async () => {
    const pay = (client: RpcClient, orderId: number, withinMs = 10_000) =>
      client.call(
        store.reportPayment,
        { orderId, payment: { outcome: 'succeeded' as const, reference: `pay-${orderId}` } },
        contextFor(staff, withinMs),
      );
    await atEveryPoint(testbed, {
      name: 'approve an order',
      minCalls: 8,
      given: placed,
      when: (victim, { orderId }, withinMs) => pay(victim.caller, orderId, withinMs),
      immediately: async ({ orderId }, outcome) => expectTruth(outcome, await isStill(orderId, 'approved')),
      eventually: async ({ plantId, orderId }) => {
        await expect(pay(shop.caller.client, orderId)).resolves.toMatchObject({ id: orderId, status: 'approved' });
        await expectMovedOnce(orderId, 'approved');
        expect(await shop.rows('SELECT state FROM payments WHERE order_id = $1', [orderId])).toEqual([{ state: 'accepted' }]);
        expect(await stockOf(plantId)).toEqual({ free: 8, reserved: 0, sold: 2 });
      },
    });
  }, crashTestTimeoutMs);

  it('a cancelled order frees its units once', async () => {
    const cancel = (client: RpcClient, orderId: number, withinMs = 10_000) =>
      client.call(store.cancelOrder, { orderId }, contextFor(customer(1), withinMs));
    await atEveryPoint(testbed, {
      name: 'cancel an order',
      minCalls: 7,
      given: placed,
      when: (victim, { orderId }, withinMs) => cancel(victim.caller, orderId, withinMs),
      immediately: async ({ orderId }, outcome) => expectTruth(outcome, await isStill(orderId, 'cancelled')),
      eventually: async ({ plantId, orderId }) => {
        await expect(cancel(shop.caller.client, orderId)).resolves.toMatchObject({ id: orderId, status: 'cancelled' });
        await expectMovedOnce(orderId, 'cancelled');
        expect(await stockOf(plantId)).toEqual({ free: 10, reserved: 0, sold: 0 });
      },
    });
  }, crashTestTimeoutMs);

  it('an order expires once, on whichever replica survives, and its event gets one number in a feed without gaps', async () => {
    await atEveryPoint(testbed, {
      name: 'expire an order and announce it',
      minCalls: 14,
      given: placed,
      makeDue: ({ orderId }) => shop.rows('UPDATE orders SET due_at = now() WHERE id = $1', [orderId]),
      when: async ({ app }) => {
        await app.get(DueOrdersLoop).run();
        await app.get(OrderFeed).numberer.run();
      },
      eventually: async ({ plantId, orderId }) => {
        await expectMovedOnce(orderId, 'cancelled');
        expect(await stockOf(plantId)).toEqual({ free: 10, reserved: 0, sold: 0 });
      },
    });
  }, crashTestTimeoutMs);

  const lines = async (): Promise<number[]> => [await shop.plant(10), await shop.plant(10)];
  const placeBasketBy = async (client: RpcClient, { plantIds, key }: { plantIds: readonly number[]; key: string }, withinMs = 10_000): Promise<Basket> => {
    const basket = { lines: plantIds.map((plantId) => ({ plantId, quantity: 2 })), externalId: key };
    return JSON.parse(Buffer.from((await client.callRaw(store.placeBasket, { basket }, contextFor(customer(1), withinMs), key)).payload).toString()) as Basket;
  };
  const placedBasket = async () => {
    const plantIds = await lines();
    return { plantIds, basket: await placeBasketBy(shop.caller.client, { plantIds, key: randomUUID() }) };
  };
  /** Expects that all orders of the plants have one status, or that there is none. @returns the status */
  const statusOfAll = async (plantIds: readonly number[]): Promise<string | undefined> => {
    const statuses = (await Promise.all(plantIds.map(ordersOf))).flat().map(({ status }) => status);
    expect([0, plantIds.length]).toContain(statuses.length);
    expect(new Set(statuses).size).toBeLessThan(2);
    return statuses[0];
  };
  const expectStocks = async (plantIds: readonly number[], stock: object): Promise<void> => {
    for (const plantId of plantIds) expect(await stockOf(plantId)).toEqual(stock);
  };

  it('a basket is placed once and whole, and repeating the Idempotency-Key returns it', async () => {
    await atEveryPoint(testbed, {
      name: 'place a basket',
      minCalls: 10,
      given: async () => ({ plantIds: await lines(), key: randomUUID() }),
      when: (victim, given, withinMs) => placeBasketBy(victim.caller, given, withinMs),
      immediately: async ({ plantIds }, outcome) => expectTruth(outcome, (await statusOfAll(plantIds)) !== undefined),
      eventually: async (given, outcome) => {
        const again = await placeBasketBy(shop.caller.client, given);
        if (outcome.kind === 'answered') expect(again).toEqual(outcome.answer);
        expect(await statusOfAll(given.plantIds)).toBe('placed');
        expect(await shop.rows('SELECT id FROM baskets WHERE external_id = $1', [given.key])).toEqual([{ id: again.id }]);
        await expectStocks(given.plantIds, { free: 8, reserved: 2, sold: 0 });
      },
    });
  }, crashTestTimeoutMs);

  it('a basket is paid, cancelled and expired whole', async () => {
    const pay = (client: RpcClient, { id }: Basket, withinMs = 10_000) =>
      client.call(store.reportBasketPayment, { basketId: id, payment: { outcome: 'succeeded' as const, reference: `pay basket ${id}` } }, contextFor(staff, withinMs));
    const cancel = (client: RpcClient, { id }: Basket, withinMs = 10_000) => client.call(store.cancelBasket, { basketId: id }, contextFor(customer(1), withinMs));
    for (const { name, act, status, stock } of [
      { name: 'pay for a basket', act: pay, status: 'approved', stock: { free: 8, reserved: 0, sold: 2 } },
      { name: 'cancel a basket', act: cancel, status: 'cancelled', stock: { free: 10, reserved: 0, sold: 0 } },
    ]) {
      await atEveryPoint(testbed, {
        name,
        minCalls: 8,
        given: placedBasket,
        when: (victim, { basket }, withinMs) => act(victim.caller, basket, withinMs),
        immediately: async ({ plantIds }, outcome) => expectTruth(outcome, (await statusOfAll(plantIds)) === status),
        eventually: async ({ plantIds, basket }) => {
          await expect(act(shop.caller.client, basket)).resolves.toMatchObject({ id: basket.id, status });
          for (const { id } of basket.orders) await expectMovedOnce(id, status);
          await expectStocks(plantIds, stock);
        },
      });
    }
    await atEveryPoint(testbed, {
      name: 'expire a basket',
      minCalls: 12,
      given: placedBasket,
      makeDue: ({ basket }) => shop.rows('UPDATE orders SET due_at = now() WHERE basket_id = $1', [basket.id]),
      when: async ({ app }) => void (await app.get(DueOrdersLoop).run()),
      immediately: async ({ plantIds }) => void (await statusOfAll(plantIds)),
      eventually: async ({ plantIds, basket }) => {
        for (const { id } of basket.orders) await expectMovedOnce(id, 'cancelled');
        await expectStocks(plantIds, { free: 10, reserved: 0, sold: 0 });
      },
    });
  }, crashTestTimeoutMs);
});
