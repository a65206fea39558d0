import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Order, type Refund, store } from '@plant-shop/contracts/store';
import { until } from '@plant-shop/testing/until';
import { customer, outcomeOf, staff, StoreFixture } from '../store.spec.fixture.js';

describe('refunds', () => {
  let shop: StoreFixture;
  beforeAll(async () => {
    shop = await StoreFixture.start({ replicas: 2 });
  });
  afterAll(async () => {
    expect(await shop.violations()).toEqual([]);
    await shop.stop();
  });

  const cancelled = async (): Promise<Order> => {
    const { id: orderId } = await shop.caller.call(store.placeOrder, { order: { plantId: await shop.plant(1) } }, customer(1));
    return shop.caller.call(store.cancelOrder, { orderId }, customer(1));
  };
  const pay = (orderId: number, reference: string) =>
    outcomeOf(shop.caller.call(store.reportPayment, { orderId, payment: { outcome: 'succeeded', reference: `${reference} of ${orderId}` } }, staff));
  const due = (): Promise<Refund[]> => shop.caller.call(store.listRefunds, { status: 'due' }, staff);
  const dueOf = async (orderId: number): Promise<Refund[]> => (await due()).filter((refund) => refund.orderId === orderId);
  const complete = (refundId: number, reference: string) => shop.caller.call(store.completeRefund, { refundId, completion: { reference } }, staff);
  const read = (orderId: number) => shop.caller.call(store.getOrder, { orderId }, customer(1));
  const timeline = async (orderId: number) =>
    (await shop.caller.call(store.getTimeline, { orderId }, customer(1))).map(({ reason, refundId }) => ({ reason, ...(refundId !== undefined && { refundId }) }));

  it('become due once for a late payment, however often it is reported, and the order shows it', async () => {
    const { id } = await cancelled();
    const { version } = (await shop.rows<{ version: number }>('SELECT version FROM orders WHERE id = $1', [id]))[0]!;
    expect(await Promise.all([pay(id, 'late'), pay(id, 'late'), pay(id, 'late')])).toEqual(Array(3).fill('order-not-payable'));
    const refunds = await dueOf(id);
    expect(refunds).toEqual([{ id: expect.any(Number), orderId: id, status: 'due', paymentReference: `late of ${id}`, dueAt: expect.stringMatching(/Z$/) }]);
    expect(await read(id)).toMatchObject({ status: 'cancelled', refund: 'due' });
    expect(await timeline(id)).toEqual([{ reason: 'placed' }, { reason: 'cancelled' }, { reason: 'refund due', refundId: refunds[0]!.id }]);
    expect(await shop.rows('SELECT version FROM orders WHERE id = $1', [id])).toEqual([{ version: version + 1 }]);
  });

  it('become due for a second payment, also when both are reported concurrently', async () => {
    const { id } = await shop.caller.call(store.placeOrder, { order: { plantId: await shop.plant(1) } }, customer(1));
    const outcomes = await Promise.all(['a', 'b', 'c'].map((reference) => pay(id, reference)));
    expect(outcomes.sort()).toEqual(['order-not-payable', 'order-not-payable', 'placed']);
    expect(await dueOf(id)).toHaveLength(2);
    expect(await read(id)).toMatchObject({ status: 'approved', refund: 'due' });
  });

  it('are completed once: repeating the reference is idempotent, another one is refused', async () => {
    const { id: orderId } = await cancelled();
    await pay(orderId, 'late');
    const [refund] = await dueOf(orderId);
    const completed = await complete(refund!.id, 'back-1');
    expect(completed).toEqual({ ...refund, status: 'completed', completedAt: expect.stringMatching(/Z$/), reference: 'back-1' });
    expect(await complete(refund!.id, 'back-1')).toEqual(completed);
    expect(await outcomeOf(complete(refund!.id, 'back-2'))).toBe('refund-completed');
    expect(await shop.caller.call(store.getRefund, { refundId: refund!.id }, staff)).toEqual(completed);
    expect(await dueOf(orderId)).toEqual([]);
    expect(await read(orderId)).toMatchObject({ refund: 'completed' });
    expect((await timeline(orderId)).at(-1)).toEqual({ reason: 'refunded', refundId: refund!.id });
    expect(await shop.caller.call(store.readAudit, { operation: 'store.completeRefund' }, staff)).toHaveLength(1);
    expect(await pay(orderId, 'late')).toBe('order-not-payable');
    expect(await dueOf(orderId)).toEqual([]);
  });

  it('completed by two callers concurrently are completed by one of them (slow)', async () => {
    for (let n = 0; n < 20; n++) {
      const { id: orderId } = await cancelled();
      await pay(orderId, 'late');
      const [refund] = await dueOf(orderId);
      const outcomes = await Promise.all(['one', 'other'].map((reference) => outcomeOf(complete(refund!.id, `${reference} of ${orderId}`))));
      expect(outcomes.sort()).toEqual(['placed', 'refund-completed']);
    }
  });

  it('are completed by a transfer each, also by concurrent callers at two replicas', async () => {
    const refunds: Refund[] = [];
    for (let n = 0; n < 5; n++) {
      const { id: orderId } = await cancelled();
      await pay(orderId, 'late');
      refunds.push(...(await dueOf(orderId)));
    }
    const outcomes = await Promise.all(refunds.map(({ id }) => outcomeOf(complete(id, 'one transfer'))));
    expect(outcomes.sort()).toEqual(['placed', ...Array(4).fill('refund-reference-used')]);
  });

  it('leave the order due until all of its refunds are completed', async () => {
    const { id: orderId } = await cancelled();
    await pay(orderId, 'first');
    await pay(orderId, 'second');
    const [second, first] = await dueOf(orderId);
    await complete(second!.id, 'x');
    expect(await read(orderId)).toMatchObject({ refund: 'due' });
    await complete(first!.id, 'y');
    expect(await read(orderId)).toMatchObject({ refund: 'completed' });
  });

  it('are on one page each, the latest to become due first', async () => {
    for (let n = 0; n < 3; n++) await pay((await cancelled()).id, 'late');
    const [open, all] = [await due(), await shop.caller.call(store.listRefunds, {}, staff)];
    expect(open.length).toBeGreaterThanOrEqual(3);
    expect((await shop.caller.pages(store.listRefunds, { status: 'due', limit: 1 }, staff)).flat()).toEqual(open);
    expect((await shop.caller.pages(store.listRefunds, { limit: 2 }, staff)).flat()).toEqual(all);
    expect(all.map(({ id }) => id)).toEqual(all.map(({ id }) => id).sort((a, b) => b - a));
  });

  it('that do not exist are not found', async () => {
    expect(await outcomeOf(complete(987_654_321, 'x'))).toBe('refund-not-found');
    expect(await outcomeOf(shop.caller.call(store.getRefund, { refundId: 987_654_321 }, staff))).toBe('refund-not-found');
    await expect(shop.caller.call(store.listRefunds, { status: 'lost' as never }, staff)).rejects.toMatchObject({ code: 'invalid-input' });
  });

  it('that are due are counted in metrics, with the age of the oldest (slow)', async () => {
    const refunds = await due();
    await shop.rows(`UPDATE payments SET at = at - interval '1 hour' WHERE refund_id = $1`, [refunds.at(-1)!.id]);
    const [service] = shop.replicas;
    await until(async () => {
      const text = await service!.metrics.metrics();
      const valueOf = (name: string): number => Number(new RegExp(`^${name}(?:{[^}]*})? (\\S+)$`, 'm').exec(text)?.[1]);
      return valueOf('store_refunds_due') === refunds.length && valueOf('store_refund_oldest_due_seconds') >= 3_600;
    }, 15_000);
  });
});
