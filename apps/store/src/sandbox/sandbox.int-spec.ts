import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { store } from '@plant-shop/contracts/store';
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
