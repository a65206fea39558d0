import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { store } from '@plant-shop/contracts/store';
import { Deadline, RpcContext } from '@plant-shop/platform/rpc/context';
import { until } from '@plant-shop/testing/until';
import { customer, staff, StoreFixture } from '../store.spec.fixture.js';

let shop: StoreFixture;
beforeAll(async () => {
  shop = await StoreFixture.start({ sandbox: true, simulatedApprovalDelayMs: 3_600_000, simulatedDeliveryDelayMs: 3_600_000, orderTtlMs: 7_200_000 });
});
afterAll(() => shop.stop());

const eventsOf = async (): Promise<{ event: string; data: object }[]> =>
  (await shop.caller.call(store.feedRead, { follower: 'test', after: 0, limit: 100 })).events.map(({ body }) => JSON.parse(body) as { event: string; data: object });

it('a moved clock approves, delivers and expires orders within a second, each step after its own time', async () => {
  const plantId = await shop.plant();
  const place = (payment: string) => shop.caller.call(store.placeOrder, { order: { plantId, metadata: { payment } } }, customer(1));
  const [paid, unpaid] = [await place('test_approve'), await place('test_never')];
  const statusOf = async (orderId: number) => (await shop.caller.call(store.getOrder, { orderId }, staff)).status;
  const advance = (advanceSeconds: number) => shop.caller.call(store.advanceClock, { clock: { advanceSeconds } }, staff);
  expect(await advance(3_601)).toEqual({ advancedSeconds: 3_601 });
  await until(async () => (await statusOf(paid.id)) === 'approved', 1_500);
  expect(await statusOf(unpaid.id)).toBe('placed');
  await advance(3_601);
  await until(async () => (await statusOf(paid.id)) === 'delivered' && (await statusOf(unpaid.id)) === 'cancelled', 1_500);
  expect(await shop.violations()).toEqual([]);
});

it('a test event is in the feed, of the caller, with example values for what was not given', async () => {
  const { id } = await shop.caller.call(store.sendTestEvent, { event: { type: 'order.placed', data: { orderId: 7, shipDate: '2027-01-01T00:00:00Z' } } }, staff);
  await until(async () => (await eventsOf()).some(({ event, data }) => event === 'order.placed' && 'orderId' in data && data.orderId === 7));
  expect((await eventsOf()).at(-1)!.data).toEqual({ orderId: 7, plantId: 1, quantity: 1, shipDate: '2027-01-01T00:00:00Z' });
  expect(await shop.rows('SELECT owner_id AS owner FROM order_transitions WHERE event_id = $1', [id])).toEqual([{ owner: staff.subject }]);
});

it('a test event has no members of other types', async () => {
  await expect(shop.caller.call(store.sendTestEvent, { event: { type: 'order.placed', data: { free: 1 } } }, staff)).rejects.toMatchObject({
    code: 'invalid-input',
    details: { errors: [{ pointer: '/event/data/free', detail: 'is not a member of order.placed' }] },
  });
});

describe('a reset', () => {
  const reset = () => shop.caller.call(store.resetSandbox, {}, staff);

  it('deletes orders with all that belongs to them, frees their units, and lets ids and keys be used again', async () => {
    const plantId = await shop.plant();
    const stockOf = () => shop.caller.call(store.getStock, { plantId }, staff);
    const { free } = await stockOf();
    const order = { id: 7, plantId, externalId: 'mine', metadata: { payment: 'test_never' } };
    const place = async (): Promise<unknown> => {
      const { payload } = await shop.caller.client.callRaw(store.placeOrder, { order }, new RpcContext('test', Deadline.in(10_000), customer(1)), 'a key');
      return JSON.parse(Buffer.from(payload).toString());
    };
    await place();
    await shop.caller.call(store.placeBasket, { basket: { lines: [{ plantId, quantity: 2 }, { plantId }] } }, customer(2));
    const sold = await shop.caller.call(store.placeOrder, { order: { plantId, quantity: 3 } }, customer(2));
    await shop.caller.call(store.reportPayment, { orderId: sold.id, payment: { outcome: 'succeeded', reference: 'paid' } }, staff);
    await shop.caller.call(store.addOrderNote, { orderId: sold.id, note: { text: 'wilted' } }, staff);
    await shop.caller.call(store.cancelOrderByStaff, { orderId: sold.id, cancellation: { reason: 'wilted', restock: false } }, staff);
    expect((await shop.caller.call(store.countOrders, { owner: '*' }, staff)).counts).not.toEqual([]);
    const before = await eventsOf();
    const orders = (await shop.rows('SELECT 1 FROM orders')).length;
    expect(await reset()).toEqual({ deletedOrders: orders });
    expect(await stockOf()).toMatchObject({ free, reserved: 0, sold: 0 });
    expect(await shop.violations()).toEqual([]);
    for (const table of ['orders', 'baskets', 'payments', 'order_notes', 'order_metadata', 'idempotency_keys', 'order_counts']) {
      expect({ table, rows: await shop.rows(`SELECT * FROM ${table}`) }).toEqual({ table, rows: [] });
    }
    expect((await shop.caller.call(store.countOrders, { owner: '*' }, staff)).counts).toEqual([]);
    // Followers still get every event, under its number.
    expect((await eventsOf()).slice(0, before.length)).toEqual(before);
    expect(await place()).toMatchObject({ id: 7, status: 'placed' });
    expect((await shop.caller.call(store.countOrders, { owner: '*' }, staff)).counts).toEqual([{ status: 'placed', shipped: false, orders: 1 }]);
    const entries = await shop.rows('SELECT subject, target FROM audit_log WHERE operation = $1', ['store.resetSandbox']);
    expect(entries).toEqual([{ subject: staff.subject, target: `${orders} orders` }]);
  });

  it('keeps units and orders exact beside orders that are placed, paid and cancelled meanwhile', async () => {
    const plantId = await shop.plant();
    let isOver = false;
    const busy = Array.from({ length: 6 }, async (_, n) => {
      while (!isOver) {
        const { id } = await shop.caller.call(store.placeOrder, { order: { plantId } }, customer(n + 1));
        const next = n % 2 === 0 ? shop.caller.call(store.cancelOrder, { orderId: id }, customer(n + 1)) : shop.caller.call(store.reportPayment, { orderId: id, payment: { outcome: 'succeeded', reference: `r${id}` } }, staff);
        await next.catch((error: unknown) => expect(error).toMatchObject({ code: 'order-not-found' }));
      }
    });
    try {
      for (let n = 0; n < 5; n++) {
        await reset();
        expect(await shop.violations()).toEqual([]);
      }
    } finally {
      isOver = true;
      await Promise.all(busy);
    }
    await reset();
    expect(await shop.violations()).toEqual([]);
  });

  it('destroys nothing in a database that is not marked as one of a sandbox', async () => {
    const plantId = await shop.plant();
    const { id } = await shop.caller.call(store.placeOrder, { order: { plantId } }, customer(1));
    await shop.rows('UPDATE database_mode SET sandbox = false');
    try {
      await expect(reset()).rejects.toMatchObject({ code: 'internal' });
      expect(await shop.caller.call(store.getOrder, { orderId: id }, staff)).toMatchObject({ id, status: 'placed' });
    } finally {
      await shop.rows('UPDATE database_mode SET sandbox = true');
    }
  });
});
