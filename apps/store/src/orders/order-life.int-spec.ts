import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Order, store } from '@plant-shop/contracts/store';
import { Deadline, RpcContext } from '@plant-shop/platform/rpc/context';
import { customer, outcomeOf, staff, StoreFixture } from '../store.spec.fixture.js';

describe('the life of an order with an external payment provider', () => {
  let shop: StoreFixture;
  beforeAll(async () => {
    shop = await StoreFixture.start();
  });
  afterAll(async () => {
    expect(await shop.violations()).toEqual([]);
    await shop.stop();
  });

  const place = async (n = 1): Promise<Order> =>
    shop.caller.call(store.placeOrder, { order: { plantId: await shop.plant(1) } }, customer(n));
  const pay = (orderId: number, reference: string, outcome: 'succeeded' | 'failed' = 'succeeded') =>
    shop.caller.call(store.reportPayment, { orderId, payment: { outcome, reference: `${reference} of ${orderId}` } }, staff);
  const ship = (orderId: number, trackingNumber = 'DHL 1') =>
    shop.caller.call(store.shipOrder, { orderId, shipment: { carrier: 'DHL', trackingNumber } }, staff);
  const deliver = (orderId: number) => shop.caller.call(store.deliverOrder, { orderId }, staff);
  const transfer = (orderId: number, n: number) =>
    shop.caller.call(store.transferOrder, { orderId, transfer: { username: `user-${n}` } }, staff);
  const timeline = (orderId: number, n = 1) => shop.caller.call(store.getTimeline, { orderId }, customer(n));

  it('is paid, shipped and delivered, and the timeline shows each step with its event', async () => {
    const { id } = await place();
    expect(await pay(id, 'p-1')).toMatchObject({ status: 'approved' });
    expect(await ship(id)).toMatchObject({ status: 'approved', carrier: 'DHL', trackingNumber: 'DHL 1' });
    expect(await deliver(id)).toMatchObject({ status: 'delivered', complete: true });
    const at = expect.stringMatching(/Z$/);
    const eventId = expect.stringMatching(/^[0-9a-f-]{36}$/);
    expect(await timeline(id)).toEqual([
      { at, newStatus: 'placed', actor: 'owner', reason: 'placed', eventId },
      { at, previousStatus: 'placed', newStatus: 'approved', actor: 'staff', reason: 'payment succeeded', eventId },
      { at, newStatus: 'approved', actor: 'staff', reason: 'shipped', carrier: 'DHL', trackingNumber: 'DHL 1', eventId },
      { at, previousStatus: 'approved', newStatus: 'delivered', actor: 'staff', reason: 'delivered', eventId },
    ]);
    const [last] = await shop.rows<{ body: string }>(
      'SELECT body FROM order_transitions WHERE order_id = $1 AND event_id IS NOT NULL ORDER BY position DESC LIMIT 1',
      [id],
    );
    expect(JSON.parse(last?.body ?? '')).toMatchObject({ data: { trackingNumber: 'DHL 1', newStatus: 'delivered' } });
  });

  it('a payment reported repeatedly counts once, and a failed one leaves the order placed', async () => {
    const { id } = await place();
    expect(await pay(id, 'p-2', 'failed')).toMatchObject({ status: 'placed' });
    const paid = await Promise.all([pay(id, 'p-3'), pay(id, 'p-3'), pay(id, 'p-3')]);
    expect(new Set(paid.map((order) => order.status))).toEqual(new Set(['approved']));
    expect((await timeline(id)).map(({ reason }) => reason)).toEqual(['placed', 'payment failed', 'payment succeeded']);
  });

  it('a payment that arrives too late or twice becomes due for refund', async () => {
    const { id } = await place();
    await shop.caller.call(store.cancelOrder, { orderId: id }, customer(1));
    for (let again = 0; again < 2; again++) {
      await expect(pay(id, 'late')).rejects.toMatchObject({ code: 'order-not-payable', details: { payment: 'refund-due' } });
    }
    const { id: paidTwice } = await place();
    await pay(paidTwice, 'first');
    await expect(outcomeOf(pay(paidTwice, 'second'))).resolves.toBe('order-not-payable');
    expect(await shop.rows(`SELECT order_id, reference FROM payments WHERE state = 'refund-due' ORDER BY at`)).toEqual([
      { order_id: id, reference: `late of ${id}` },
      { order_id: paidTwice, reference: `second of ${paidTwice}` },
    ]);
  });

  it('transitions that the lifecycle does not allow are refused', async () => {
    const { id } = await place();
    await expect(outcomeOf(ship(id))).resolves.toBe('order-transition-refused');
    await expect(outcomeOf(deliver(id))).resolves.toBe('order-transition-refused');
    await expect(outcomeOf(pay(999_999_999, 'x'))).resolves.toBe('order-not-found');
    await pay(id, 'p-4');
    await expect(shop.caller.call(store.cancelOrder, { orderId: id }, customer(1))).rejects.toMatchObject({
      code: 'order-not-cancellable',
      message: expect.stringContaining('payment arrived'),
    });
  });

  it('a transferred order belongs to the new owner; earlier events stay with the former one', async () => {
    const { id } = await place(1);
    await transfer(id, 2);
    await expect(outcomeOf(timeline(id, 1))).resolves.toBe('order-not-found');
    await pay(id, 'p-5');
    expect(await timeline(id, 2)).toHaveLength(3);
    const owners = await shop.rows('SELECT owner_id FROM order_transitions WHERE order_id = $1 ORDER BY position', [id]);
    expect(owners.map((row) => row['owner_id'] as string)).toEqual([1, 2, 2].map((n) => customer(n).subject));
    await deliver(id);
    await expect(outcomeOf(transfer(id, 1))).resolves.toBe('order-transition-refused');
    await shop.caller.call(store.closeCustomer, { userId: customer(77).subject });
    await expect(outcomeOf(transfer((await place(1)).id, 77))).resolves.toBe('customer-closed');
  });

  it.each([
    ['transferred', (orderId: number, ifVersion: number) => shop.caller.call(store.transferOrder, { orderId, transfer: { username: 'user-2' }, ifVersion }, staff)],
    ['shipped', (orderId: number, ifVersion: number) => shop.caller.call(store.shipOrder, { orderId, shipment: { carrier: 'DHL', trackingNumber: 'DHL 2' }, ifVersion }, staff)],
    ['delivered', (orderId: number, ifVersion: number) => shop.caller.call(store.deliverOrder, { orderId, ifVersion }, staff)],
    ['cancelled', (orderId: number, ifVersion: number) => shop.caller.call(store.cancelOrder, { orderId, ifVersion }, staff)],
  ])('an order is %s only at the version that the caller expects', async (what, change) => {
    const { id } = await place();
    if (what !== 'cancelled') await pay(id, `if-${what}`);
    const state = () => shop.rows<{ version: number }>('SELECT version, status, owner_id, carrier FROM orders WHERE id = $1', [id]);
    const before = await state();
    const version = before[0]?.version ?? NaN;
    for (const other of [version - 1, version + 1]) {
      await expect(outcomeOf(change(id, other))).resolves.toBe('precondition-failed');
    }
    expect(await state()).toEqual(before);
    await expect(outcomeOf(change(id, version))).resolves.toBe('placed');
    expect(await state()).toMatchObject([{ version: version + 1 }]);
  });

  it('lists the caller’s orders newest first, each exactly once while others are placed', async () => {
    const plantId = await shop.plant(1_000);
    const placeFor = (n: number) => shop.caller.call(store.placeOrder, { order: { plantId } }, customer(n));
    const mine: number[] = [];
    for (let n = 0; n < 25; n++) mine.unshift((await placeFor(31)).id);
    await placeFor(32);
    const seen: number[] = [];
    let cursor: string | undefined;
    do {
      const context = new RpcContext('test', Deadline.in(5_000), customer(31));
      const answer = await shop.caller.client.callRaw(store.listOrders, { limit: 10, ...(cursor && { cursor }) }, context);
      seen.push(...(JSON.parse(Buffer.from(answer.payload).toString()) as Order[]).map((order) => order.id));
      cursor = answer.next;
      await placeFor(31);
    } while (cursor !== undefined);
    expect(seen).toEqual(mine);
    const list = (request: object, n = 31) => shop.caller.call(store.listOrders, request, customer(n));
    await expect(list({ status: ['cancelled'] })).resolves.toEqual([]);
    await expect(outcomeOf(list({ cursor: 'forged' }))).resolves.toBe('invalid-cursor');
    await expect(list({ limit: 0 })).rejects.toMatchObject({ code: 'invalid-input' });
  });
});
