import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type Order, store } from '@plant-shop/contracts/store';
import { until } from '@plant-shop/testing/until';
import { customer, staff, StoreFixture } from '../store.spec.fixture.js';

let shop: StoreFixture;
let plantId: number;
beforeAll(async () => {
  // The setting of the provider means nothing in a sandbox.
  shop = await StoreFixture.start({ sandbox: true, paymentProvider: 'external', simulatedApprovalDelayMs: 500, simulatedDeliveryDelayMs: 3_600_000, orderTtlMs: 2_500 });
  plantId = await shop.plant();
});
afterAll(async () => {
  expect(await shop.violations()).toEqual([]);
  await shop.stop();
});

const place = (payment?: string): Promise<Order> =>
  shop.caller.call(store.placeOrder, { order: { plantId, ...(payment !== undefined && { metadata: { payment } }) } }, customer(1));
const orderOf = (orderId: number): Promise<Order> => shop.caller.call(store.getOrder, { orderId }, customer(1));
const reasonsOf = async (orderId: number): Promise<string[]> =>
  (await shop.rows<{ reason: string }>('SELECT reason FROM order_transitions WHERE order_id = $1 ORDER BY order_version', [orderId])).map(({ reason }) => reason);
const expired = (orderId: number) => until(async () => (await orderOf(orderId)).status === 'cancelled', 10_000);

it.each([undefined, 'test_approve', 'card'])('an order whose metadata says %s about its payment is approved (slow)', async (payment) => {
  const { id } = await place(payment);
  await until(async () => (await orderOf(id)).status === 'approved', 10_000);
  expect(await reasonsOf(id)).toEqual(['placed', 'payment succeeded (simulated)']);
});

it.each([
  ['test_decline', ['placed', 'payment failed', 'expired without payment']],
  ['test_never', ['placed', 'no payment yet', 'expired without payment']],
  ['test_aprove', ['placed', 'no such test payment', 'expired without payment']],
])('%s leaves the order to expire (slow)', async (payment, reasons) => {
  const { id } = await place(payment);
  await expired(id);
  expect(await reasonsOf(id)).toEqual(reasons);
  expect(await shop.rows('SELECT 1 FROM payments WHERE order_id = $1', [id])).toEqual([]);
});

it('a declined order can still be paid', async () => {
  const { id } = await place('test_decline');
  await until(async () => (await reasonsOf(id)).includes('payment failed'), 10_000);
  await shop.caller.call(store.reportPayment, { orderId: id, payment: { outcome: 'succeeded', reference: `second-${id}` } }, staff);
  expect((await orderOf(id)).status).toBe('approved');
});

it('test_late: the payment arrives after the order has expired, and a refund is due, with its event (slow)', async () => {
  const { id } = await place('test_late');
  await expired(id);
  expect(await reasonsOf(id)).toEqual(['placed', 'no payment yet', 'expired without payment', 'refund due']);
  expect(await orderOf(id)).toMatchObject({ status: 'cancelled', refund: 'due' });
  const [refund] = await shop.caller.call(store.listRefunds, { status: 'due' }, staff);
  expect(refund).toMatchObject({ orderId: id, paymentReference: `test_late-${id}` });
  const events = await shop.rows<{ body: string }>('SELECT body FROM order_transitions WHERE order_id = $1 AND event_id IS NOT NULL ORDER BY order_version', [id]);
  expect(events.map(({ body }) => (JSON.parse(body) as { event: string }).event)).toEqual(['order.placed', 'order.status_changed', 'refund.due']);
});

it("a basket's metadata decides for all its orders (slow)", async () => {
  const { orders } = await shop.caller.call(store.placeBasket, { basket: { lines: [{ plantId }, { plantId }], metadata: { payment: 'test_never' } } }, customer(1));
  for (const { id } of orders) {
    await expired(id);
    expect(await reasonsOf(id)).toEqual(['placed', 'no payment yet', 'expired without payment']);
  }
});
