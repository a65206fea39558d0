import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Order, store } from '@plant-shop/contracts/store';
import { customer, outcomeOf, staff, StoreFixture } from '../store.spec.fixture.js';

describe('an order that staff cancel', () => {
  let shop: StoreFixture;
  beforeAll(async () => {
    shop = await StoreFixture.start({ replicas: 2 });
  });
  afterAll(async () => {
    expect(await shop.violations()).toEqual([]);
    await shop.stop();
  });

  const { cancelOrderByStaff, getStock, getTimeline, listRefunds, listStockChanges, placeOrder, reportPayment, shipOrder } = store;
  const place = async (): Promise<Order> => shop.caller.call(placeOrder, { order: { plantId: await shop.plant(5), quantity: 2 } }, customer(1));
  const pay = (orderId: number) => shop.caller.call(reportPayment, { orderId, payment: { outcome: 'succeeded', reference: `payment of ${orderId}` } }, staff);
  const cancel = (orderId: number, restock = true, more: object = {}) =>
    shop.caller.call(cancelOrderByStaff, { orderId, cancellation: { reason: 'The plant died', restock }, ...more }, staff);
  const stockOf = (plantId: number) => shop.caller.call(getStock, { plantId }, staff);

  it('after its payment returns its units to stock, and its refund becomes due', async () => {
    const { id, plantId } = await place();
    await pay(id);
    expect(await cancel(id)).toMatchObject({ status: 'cancelled', refund: 'due' });
    expect(await stockOf(plantId)).toEqual({ plantId, free: 5, reserved: 0, sold: 0 });
    const [refund] = await shop.caller.call(listRefunds, { status: 'due', limit: 1 }, staff);
    expect(refund).toMatchObject({ orderId: id, paymentReference: `payment of ${id}` });
    const steps = await shop.caller.call(getTimeline, { orderId: id }, customer(1));
    expect(steps.slice(2)).toMatchObject([
      { previousStatus: 'approved', newStatus: 'cancelled', actor: 'staff', reason: 'cancelled: The plant died', eventId: expect.any(String) },
      { newStatus: 'cancelled', reason: 'refund due', refundId: refund?.id, eventId: expect.any(String) },
    ]);
    // The provider repeats its report: the refund is known.
    await expect(outcomeOf(pay(id))).resolves.toBe('order-not-payable');
    expect(await shop.caller.call(listRefunds, { status: 'due' }, staff)).toHaveLength(1);
  });

  it('without restocking has its units written off, and the history of the stock names it', async () => {
    const { id, plantId } = await place();
    await pay(id);
    await cancel(id, false);
    expect(await stockOf(plantId)).toEqual({ plantId, free: 3, reserved: 0, sold: 0, writtenOff: 2 });
    expect(await shop.caller.call(listStockChanges, { plantId }, staff)).toMatchObject([
      { by: 0, free: 3, reason: 'The plant died', orderId: id, writtenOff: 2, actor: staff.subject },
    ]);
    // Counting the stock leaves what was written off.
    await shop.caller.call(store.setStock, { plantId, stock: { free: 10 } }, staff);
    expect(await stockOf(plantId)).toMatchObject({ free: 10, writtenOff: 2 });
  });

  it('before its payment needs no refund', async () => {
    const one = await place();
    expect(await cancel(one.id)).not.toHaveProperty('refund');
    expect(await stockOf(one.plantId)).toMatchObject({ free: 5, reserved: 0 });
    const other = await place();
    await cancel(other.id, false);
    expect(await stockOf(other.plantId)).toEqual({ plantId: other.plantId, free: 3, reserved: 0, sold: 0, writtenOff: 2 });
  });

  it('is cancelled once: again, or at the same time, changes nothing', async () => {
    const { id, plantId } = await place();
    await pay(id);
    const answers = await Promise.all(Array.from({ length: 6 }, (_, n) => cancel(id, n % 2 === 0)));
    expect(new Set(answers.map((one) => JSON.stringify(one))).size).toBe(1);
    const { free, writtenOff = 0 } = await stockOf(plantId);
    expect(free + writtenOff).toBe(5);
    expect(await cancel(id)).toEqual(answers[0]);
  });

  it('is refused after the shipment, and for a version that it no longer has', async () => {
    const { id } = await place();
    await pay(id);
    await expect(outcomeOf(cancel(id, true, { ifVersion: 1 }))).resolves.toBe('precondition-failed');
    await shop.caller.call(shipOrder, { orderId: id, shipment: { carrier: 'Post', trackingNumber: '1' } }, staff);
    await expect(outcomeOf(cancel(id))).resolves.toBe('order-not-cancellable');
    await expect(outcomeOf(cancel(987_654_321))).resolves.toBe('order-not-found');
  });
});
