import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Order, store } from '@plant-shop/contracts/store';
import { CodedError } from '@plant-shop/platform/errors';
import { IdempotencyKey } from '@plant-shop/platform/rpc/context';
import type { Database } from '@plant-shop/platform/postgres/database';
import { until } from '@plant-shop/testing/until';
import { unwrapResponse } from '@plant-shop/platform/rpc/answer';
import { lockAgainstClosing } from '../customers/customers.js';
import { lockStock } from '../stock/stock.repository.js';
import { customer, staff, StoreFixture } from '../store.spec.fixture.js';
import type { CheckoutPolicy } from '../config.js';
import { place as decide } from './placing.js';
import { findTimeline } from './timeline.js';
import { findOrder, readPlacingTimes, writePlacedOrders } from './orders.repository.js';
import { type BatchOrder, placeBatch } from './orders.service.js';

const policy: CheckoutPolicy = { provider: 'external', orderTtlMs: 60_000, approvalDelayMs: 1_500, deliveryDelayMs: 0, unpaid: { orders: 20, units: 200 }, shownUpTo: 10 };
const alice = customer(1).subject;

describe('orders that are placed in one batch', () => {
  let shop: StoreFixture;
  let database: Database;
  beforeAll(async () => {
    shop = await StoreFixture.start();
    database = await shop.database();
  });
  afterAll(async () => {
    await database.close();
    expect(await shop.violations()).toEqual([]);
    await shop.stop();
  });

  const noOwnerData = { externalId: null, metadata: null, shipTo: null };
  let ids = 0;
  const entry = (given: Partial<BatchOrder> & Pick<BatchOrder, 'plantId'>): BatchOrder => {
    const id = given.chosenId ?? ++ids;
    return { id, chosenId: id, quantity: 1, shipDate: null, ...noOwnerData, ownerId: alice, seesStock: false, isLimited: false, idempotency: undefined, ...given };
  };
  const place = async (entries: readonly BatchOrder[]) => (await database.transaction((tx) => placeBatch(tx, entries, policy))).results;
  const outcomesOf = (results: readonly unknown[]): string[] => results.map((one) => (one instanceof CodedError ? one.code : 'placed'));

  it('are limited for a customer who has not paid, also in other batches, and for no one else', async () => {
    const plantId = await shop.plant(1_000);
    const [limited, other] = [customer(50).subject, customer(51).subject];
    const batchOf = (ownerId: string, isLimited: boolean) => Array.from({ length: 25 }, () => entry({ plantId, ownerId, isLimited }));
    const [first, second, third, fourth] = await Promise.all([
      place(batchOf(limited, true)),
      place(batchOf(limited, true)),
      place(batchOf(other, false)),
      place([entry({ plantId, ownerId: other, isLimited: true, quantity: 2 })]),
    ]);
    const outcomes = [...outcomesOf(first), ...outcomesOf(second)];
    expect(outcomes.filter((one) => one === 'placed')).toHaveLength(21);
    expect(outcomes.filter((one) => one === 'unpaid-limit')).toHaveLength(29);
    expect(outcomesOf(third).every((one) => one === 'placed')).toBe(true);
    expect(['placed', 'unpaid-limit']).toContain(outcomesOf(fourth)[0]);
    expect(outcomesOf(await place([entry({ plantId, ownerId: limited, isLimited: true })]))).toEqual(['unpaid-limit']);
    const [oldest] = await shop.rows<{ id: number }>('SELECT min(id) AS id FROM orders WHERE owner_id = $1', [limited]);
    await shop.caller.call(store.cancelOrder, { orderId: oldest!.id }, customer(50));
    expect(outcomesOf(await place([entry({ plantId, ownerId: limited, isLimited: true })]))).toEqual(['placed']);
  });

  it.each<[string, Partial<BatchOrder>, string]>([
    ['one customer, who is limited', { isLimited: true }, 'unpaid-limit'],
    ['one chosen id', { chosenId: 777_001, id: 777_001 }, 'order-exists'],
    ['one external id', { externalId: 'one of two' }, 'external-id-exists'],
  ])('wait for another batch with %s, although their plants differ', async (_, shared, refusal) => {
    const ownerId = customer(60 + ++ids).subject;
    await shop.rows('INSERT INTO customers (user_id) VALUES ($1)', [ownerId]);
    const one = { ...policy, unpaid: { orders: 0, units: 0 } };
    const [first, second] = [entry({ plantId: await shop.plant(5), ownerId, ...shared }), entry({ plantId: await shop.plant(5), ownerId, ...shared })];
    const other = await shop.database();
    let waited: ReturnType<typeof placeBatch> | undefined;
    await database.transaction(async (tx) => {
      expect(outcomesOf((await placeBatch(tx, [first], one)).results)).toEqual(['placed']);
      waited = other.transaction((tx2) => placeBatch(tx2, [second], one));
      await until(async () => (await shop.rows(`SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`)).length > 0);
    });
    expect(outcomesOf((await waited)?.results ?? [])).toEqual([refusal]);
    await other.close();
  });

  it.each(['external', 'simulated'] as const)('are stored as `place` decided, with the %s provider', async (provider) => {
    const plantId = await shop.plant(10);
    const ownerData = { externalId: `web-${provider}`, metadata: { channel: 'web' }, shipTo: { city: 'Łódź', lines: ['"1\\2"'] } };
    const request = { id: ++ids, plantId, quantity: 3, shipDate: new Date('2031-01-02T03:04:05.678Z'), ...ownerData };
    const checkout = { ...policy, provider };
    const decided = await database.transaction(async (tx) => {
      await lockAgainstClosing(tx, [alice]);
      const [stock] = await lockStock(tx, [plantId]);
      const context = { actor: alice, ...(await readPlacingTimes(tx)) };
      const placement = decide(request, { stock: stock!, isCustomerClosed: false, isIdTaken: false, unpaid: undefined, seesStock: false }, context, checkout);
      writePlacedOrders(tx, [stock!], [placement]);
      return placement;
    });
    expect(await findOrder(database, request.id)).toEqual(decided.order);
    const { order, actor, reason, event, units } = decided;
    expect(await findTimeline(database, request.id, { after: { version: 0, noteId: 0 }, limit: 10 }, true)).toEqual([
      {
        version: 1,
        noteId: 0,
        at: order.placedAt,
        previousStatus: null,
        newStatus: order.status,
        actor,
        reason,
        ownerId: order.ownerId,
        eventId: expect.any(String),
        carrier: null,
        clientId: null,
        trackingNumber: null,
        refundId: null,
        note: null,
      },
    ]);
    const transition = 'SELECT order_version::int AS version, body FROM order_transitions WHERE order_id = $1';
    expect(await shop.rows(transition, [request.id])).toEqual([{ version: order.version, body: JSON.stringify(event) }]);
    const stockLeft = 'SELECT free::int, reserved::int, sold::int FROM stock WHERE plant_id = $1';
    expect(await shop.rows(stockLeft, [plantId])).toEqual([{ free: 10 + units.free, reserved: units.reserved, sold: units.sold }]);
  });

  it('get no numbers in a history that ended with a failover', async () => {
    const order = entry({ plantId: await shop.plant(1) });
    const { numberedEvents } = await database.transaction(async (tx) => {
      await tx.execute(`UPDATE feed_head SET timeline = '000000FE'`);
      return placeBatch(tx, [order], policy);
    });
    expect(numberedEvents?.()).toBeUndefined();
    await until(async () => (await shop.rows('SELECT 1 FROM order_transitions WHERE order_id = $1 AND feed_seq > 1000000', [order.id])).length === 1);
  });

  it('count as unpaid until they are paid', async () => {
    const plantId = await shop.plant(1_000);
    const ownerId = customer(60).subject;
    const order = (quantity: number) => entry({ plantId, ownerId, isLimited: true, quantity });
    const first = order(500);
    // Beyond the first: exactly as many units, and as many orders, as the policy allows.
    expect(outcomesOf(await place([first, order(181), ...Array.from({ length: 19 }, () => order(1)), order(1)]))).toEqual([...Array(21).fill('placed'), 'unpaid-limit']);
    // The second is now the first, of any size: 19 units in 19 orders are beyond it.
    const payment = { outcome: 'succeeded', reference: 'paid in full' } as const;
    await shop.caller.call(store.reportPayment, { orderId: first.id, payment }, staff);
    expect(outcomesOf(await place([order(182), order(181), order(1)]))).toEqual(['unpaid-limit', 'placed', 'unpaid-limit']);
  });

  it('that exceed the stock do not block a smaller one after them', async () => {
    const plantId = await shop.plant(10);
    const results = await place([entry({ plantId, quantity: 11 }), entry({ plantId, quantity: 10 })]);
    expect(outcomesOf(results)).toEqual(['insufficient-stock', 'placed']);
    expect(results[0]).toMatchObject({ details: { available: 10 } });
  });

  it('with the same id: the first one gets it', async () => {
    const plantId = await shop.plant(10);
    const [chosenId, other] = [++ids, ++ids];
    const batch = [entry({ plantId, chosenId }), entry({ plantId, chosenId }), entry({ plantId, chosenId: other })];
    expect(outcomesOf(await place(batch))).toEqual(['placed', 'order-exists', 'placed']);
  });

  it('with the same id: a refused one leaves it to the next', async () => {
    const plantId = await shop.plant(10);
    const chosenId = ++ids;
    const batch = [entry({ plantId, chosenId, quantity: 99 }), entry({ plantId, chosenId })];
    expect(outcomesOf(await place(batch))).toEqual(['insufficient-stock', 'placed']);
  });

  it('with the same Idempotency-Key are one order, and the key is refused for another request', async () => {
    const plantId = await shop.plant(10);
    const key = randomUUID();
    const keyed = (payload: string, given: Partial<BatchOrder> = {}) =>
      entry({ plantId, ...given, idempotency: new IdempotencyKey(alice, key, store.placeOrder.pattern, Buffer.from(payload)) });
    const results = await place([keyed('a', { quantity: 99 }), keyed('a'), keyed('a'), keyed('b')]);
    expect(results[0]).toMatchObject({ code: 'insufficient-stock' });
    const first = unwrapResponse(results[1]);
    expect(first.meta).toEqual({ version: 1 });
    expect(unwrapResponse(results[2])).toEqual({ value: first.value, meta: { version: 1, replayed: true } });
    expect(results[3]).toMatchObject({ code: 'idempotency-key-reused' });
    expect(await shop.rows('SELECT id::int FROM orders WHERE plant_id = $1', [plantId])).toEqual([{ id: (first.value as Order).id }]);
    const [again] = await place([keyed('a')]);
    expect(unwrapResponse(again)).toEqual(unwrapResponse(results[2]));
  });
});
