import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type NewOrder, type Order, store } from '@plant-shop/contracts/store';
import { until } from '@plant-shop/testing/until';
import { customer, outcomeOf, staff, StoreFixture } from '../store.spec.fixture.js';

const shipTo = { name: 'Ada', lines: ['12 St James’s Square'], postalCode: 'SW1Y', city: 'London', country: 'GB' };

describe('what owners add to orders', () => {
  let shop: StoreFixture;
  let plantId: number;
  beforeAll(async () => {
    shop = await StoreFixture.start({ replicas: 2 });
    plantId = await shop.plant(10_000);
  });
  afterAll(async () => {
    expect(await shop.violations()).toEqual([]);
    await shop.stop();
  });

  const place = (n: number, order: Partial<NewOrder>): Promise<Order> => shop.caller.call(store.placeOrder, { order: { plantId, ...order } }, customer(n));
  const get = (orderId: number, who = staff): Promise<Order> => shop.caller.call(store.getOrder, { orderId }, who);

  it('is shown to them and to staff, and is in no event', async () => {
    const added = { externalId: 'web-1', metadata: { channel: 'web', __proto__x: '1' }, shipTo };
    const order = await place(1, added);
    expect(order).toMatchObject({ ...added, updatedAt: order.placedAt });
    expect(await get(order.id, customer(1))).toEqual(order);
    expect(await get(order.id)).toMatchObject(added);
    const steps = await shop.rows<{ body: string }>('SELECT body FROM order_transitions WHERE order_id = $1', [order.id]);
    expect(steps).toHaveLength(1);
    expect(steps[0]?.body).not.toMatch(/web|Ada|London/);
  });

  it('stays through the steps of the order, each of which counts as a change', async () => {
    const { id, placedAt } = await place(1, { shipTo });
    await shop.rows(`UPDATE orders SET placed_at = placed_at - interval '1 hour' WHERE id = $1`, [id]);
    const paid = await shop.caller.call(store.reportPayment, { orderId: id, payment: { outcome: 'succeeded', reference: `p${id}` } }, staff);
    const shipped = await shop.caller.call(store.shipOrder, { orderId: id, shipment: { carrier: 'Post', trackingNumber: '1' } }, staff);
    for (const order of [paid, shipped]) {
      expect(order.shipTo).toEqual(shipTo);
      expect(order.updatedAt >= placedAt).toBe(true);
    }
    const { owner, ...now } = await get(id);
    expect([owner, now]).toEqual(['user-1', shipped]);
  });

  it('is not shown to who may change the order, but not read it', async () => {
    const { id } = await place(1, { externalId: 'web-hidden', metadata: { channel: 'web' }, shipTo });
    const provider = { ...staff, permissions: ['write:payments', 'write:shipments'] };
    const paid = await shop.caller.call(store.reportPayment, { orderId: id, payment: { outcome: 'succeeded', reference: `p${id}` } }, provider);
    const shipped = await shop.caller.call(store.shipOrder, { orderId: id, shipment: { carrier: 'Post', trackingNumber: '1' } }, provider);
    for (const order of [paid, shipped]) for (const member of ['externalId', 'metadata', 'shipTo']) expect(order).not.toHaveProperty(member);
    expect(await get(id)).toMatchObject({ externalId: 'web-hidden', shipTo });
  });

  it('has an external id once for each owner, also of orders at the same time', async () => {
    const [first, ...others] = await Promise.allSettled(Array.from({ length: 8 }, () => place(2, { externalId: 'same' })));
    const outcomes = [first!, ...others];
    const placed = outcomes.flatMap((one) => (one.status === 'fulfilled' ? [one.value.id] : []));
    expect(placed).toHaveLength(1);
    for (const one of outcomes) {
      if (one.status === 'rejected') expect(one.reason).toMatchObject({ code: 'external-id-exists', details: { orderId: placed[0] } });
    }
    expect(await place(3, { externalId: 'same' })).toMatchObject({ externalId: 'same' });
    // Plants of other lanes.
    const plants = await Promise.all(Array.from({ length: 4 }, () => shop.plant()));
    const across = await Promise.all(plants.map((one) => outcomeOf(place(4, { plantId: one, externalId: 'same' }))));
    expect(across.sort()).toEqual(['external-id-exists', 'external-id-exists', 'external-id-exists', 'placed']);
  });

  it('goes to the new owner with the order, unless that one has its external id', async () => {
    const { id } = await place(5, { externalId: 'mine', metadata: { channel: 'web' }, shipTo });
    const theirs = await place(6, { externalId: 'mine' });
    const transfer = (n: number, who = staff) => shop.caller.call(store.transferOrder, { orderId: id, transfer: { username: `user-${n}` } }, who);
    await expect(transfer(6)).rejects.toMatchObject({ code: 'external-id-exists', details: { orderId: theirs.id } });
    const blind = { ...staff, permissions: ['manage:orders'] };
    await expect(transfer(6, blind)).rejects.toMatchObject({ code: 'external-id-exists', details: {} });
    await transfer(7);
    const list = (n: number) => shop.caller.call(store.listOrders, { metadata: { channel: 'web' } }, customer(n));
    expect(await list(7)).toMatchObject([{ id, externalId: 'mine', shipTo }]);
    expect(await list(5)).toEqual([]);
  });

  it('is refused if it is too long or has no form', async () => {
    for (const [order, pointer] of [
      [{ externalId: '' }, '/order/externalId'],
      [{ externalId: 'x'.repeat(201) }, '/order/externalId'],
      [{ metadata: { '': 'x' } }, '/order/metadata'],
      [{ metadata: { x: 1 as never } }, '/order/metadata'],
      [{ metadata: Object.fromEntries(Array.from({ length: 51 }, (_, n) => [n, 'x'])) }, '/order/metadata'],
      [{ shipTo: { lines: ['1', '2', '3', '4', '5', '6', '7'] } }, '/order/shipTo/lines'],
      [{ shipTo: { name: 'x'.repeat(200), city: 'x'.repeat(200), country: 'x'.repeat(101) } }, '/order/shipTo'],
    ] as const) {
      await expect(place(1, order as Partial<NewOrder>)).rejects.toMatchObject({ code: 'invalid-input', details: { errors: [{ pointer }] } });
    }
  });

  it('is erased once the account is closed (slow)', async () => {
    const orders = await Promise.all(Array.from({ length: 5 }, (_, n) => place(8, { externalId: `web-${n}`, metadata: { n: String(n) }, shipTo })));
    for (const { id } of orders) await shop.caller.call(store.cancelOrder, { orderId: id }, customer(8));
    await shop.rows(`
      INSERT INTO orders (id, plant_id, quantity, status, owner_id, version, placed_at, external_id)
      SELECT 5000000 + n, 999, 1, 'cancelled', $1, 0, now(), 'many-' || n FROM generate_series(1, 2500) AS n`, [customer(8).subject]);
    expect(await shop.caller.call(store.closeCustomer, { userId: customer(8).subject, attempt: 1 })).toEqual({ openOrders: [] });
    const left = `SELECT id FROM orders WHERE owner_id = $1 AND (external_id IS NOT NULL OR metadata IS NOT NULL OR ship_to IS NOT NULL)`;
    expect(await shop.rows(left, [customer(8).subject])).toEqual([]);
    expect(await shop.rows('SELECT 1 FROM order_metadata WHERE owner_id = $1', [customer(8).subject])).toEqual([]);
    expect(await get(orders[0]!.id)).not.toHaveProperty('shipTo');
    // A crash between the two steps: the repeated call continues.
    await shop.rows(`UPDATE orders SET ship_to = '{"city": "London"}' WHERE id = $1`, [orders[0]!.id]);
    await shop.caller.call(store.closeCustomer, { userId: customer(8).subject, attempt: 2 });
    await until(async () => (await get(orders[0]!.id)).shipTo === undefined);
  });
});
