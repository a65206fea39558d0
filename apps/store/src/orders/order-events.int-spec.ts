import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { OrderEvent } from '@plant-shop/contracts/events';
import { store } from '@plant-shop/contracts/store';
import type { FeedPage } from '@plant-shop/contracts/store.feed';
import { until } from '@plant-shop/testing/until';
import { OrderFeed } from '../feed/order-feed.js';
import { customer, outcomeOf, staff, StoreFixture } from '../store.spec.fixture.js';

describe('the events of an order', () => {
  let shop: StoreFixture;
  beforeAll(async () => {
    shop = await StoreFixture.start({ replicas: 2 });
  });
  afterAll(async () => {
    expect(await shop.violations()).toEqual([]);
    await shop.stop();
  });

  const place = async (order: object = {}) => shop.caller.call(store.placeOrder, { order: { plantId: await shop.plant(10), ...order } }, customer(1));
  const pay = (orderId: number, reference: string) =>
    outcomeOf(shop.caller.call(store.reportPayment, { orderId, payment: { outcome: 'succeeded', reference: `${reference} of ${orderId}` } }, staff));
  const ship = (orderId: number, carrier: string, trackingNumber: string) =>
    shop.caller.call(store.shipOrder, { orderId, shipment: { carrier, trackingNumber } }, staff);

  /** Returns all events of the feed, once all are numbered. */
  const feed = async (): Promise<FeedPage['events']> => {
    await until(async () => (await shop.rows('SELECT 1 FROM order_transitions WHERE event_id IS NOT NULL AND feed_seq IS NULL')).length === 0);
    const events: FeedPage['events'][number][] = [];
    for (;;) {
      const last = events.at(-1);
      const page = await shop.caller.call(store.feedRead, { follower: 'test', after: last?.seq ?? 0, ...(last && { afterId: last.id }), limit: 1_000 });
      if (page.events.length === 0) return events;
      events.push(...page.events);
    }
  };
  const eventsOf = async (orderId: number): Promise<OrderEvent[]> =>
    (await feed()).map(({ body }) => JSON.parse(body) as OrderEvent).filter(({ data }) => data.orderId === orderId);
  const timesOf = (orderId: number) =>
    shop.rows<{ at: Date }>('SELECT at FROM order_transitions WHERE order_id = $1 AND event_id IS NOT NULL ORDER BY order_version', [orderId]);
  const timestamp = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

  it('report placing, each shipment and each due refund, in order with the changes of status', async () => {
    const { id: orderId, plantId, placedAt, reservedUntil } = await place({ quantity: 3, shipDate: '2027-03-01T09:00:00+01:00' });
    await pay(orderId, 'first');
    await ship(orderId, 'Green Post', 'GP-1');
    await ship(orderId, 'DHL', 'grün "☘"');
    expect(await pay(orderId, 'second')).toBe('order-not-payable');
    await shop.caller.call(store.deliverOrder, { orderId }, staff);
    const [refund] = await shop.caller.call(store.listRefunds, { status: 'due' }, staff);
    const trackingNumber = `PS${String(orderId).padStart(16, '0')}`;
    expect(await eventsOf(orderId)).toEqual([
      { event: 'order.placed', timestamp: placedAt, data: { orderId, plantId, quantity: 3, shipDate: '2027-03-01T08:00:00.000Z', reservedUntil } },
      { event: 'order.status_changed', timestamp, data: { orderId, plantId, previousStatus: 'placed', newStatus: 'approved', trackingNumber } },
      { event: 'order.shipped', timestamp, data: { orderId, plantId, carrier: 'Green Post', trackingNumber: 'GP-1' } },
      { event: 'order.shipped', timestamp, data: { orderId, plantId, carrier: 'DHL', trackingNumber: 'grün "☘"' } },
      { event: 'refund.due', timestamp, data: { refundId: refund?.id, orderId, plantId } },
      { event: 'order.status_changed', timestamp, data: { orderId, plantId, previousStatus: 'approved', newStatus: 'delivered', trackingNumber: 'grün "☘"' } },
    ]);
    expect((await eventsOf(orderId)).map((one) => one.timestamp)).toEqual((await timesOf(orderId)).map(({ at }) => at.toISOString()));
  });

  it('appear in its timeline with their ids', async () => {
    const { id: orderId } = await place();
    await pay(orderId, 'paid');
    await shop.caller.call(store.transferOrder, { orderId, transfer: { username: 'user-2' } }, staff);
    await ship(orderId, 'DHL', '1');
    const ids = (await feed()).filter(({ body }) => body.includes(`"orderId":${orderId},`)).map(({ id }) => id);
    const timeline = await shop.caller.call(store.getTimeline, { orderId }, staff);
    expect(timeline.map(({ reason }) => reason)).toEqual(['placed', 'payment succeeded', 'transferred', 'shipped']);
    expect(timeline.map(({ eventId }) => eventId)).toEqual([ids[0], ids[1], undefined, ids[2]]);
  });

  it('are one per placed order of a batch, and none for a refused or repeated one', async () => {
    const plantId = await shop.plant(20);
    const orders = Array.from({ length: 60 }, () => outcomeOf(shop.caller.call(store.placeOrder, { order: { plantId } }, customer(1))));
    const outcomes = await Promise.all(orders);
    expect(outcomes.filter((one) => one === 'placed')).toHaveLength(20);
    const placed = (await feed()).filter(({ body }) => body.includes('"order.placed"') && body.includes(`"plantId":${plantId},`));
    expect(placed).toHaveLength(20);
    expect(new Set(placed.map(({ id }) => id)).size).toBe(20);
    const ids = await shop.rows<{ id: number }>('SELECT id::int FROM orders WHERE plant_id = $1 ORDER BY id', [plantId]);
    expect(placed.map(({ body }) => (JSON.parse(body) as OrderEvent).data.orderId).sort((a, b) => a - b)).toEqual(ids.map(({ id }) => id));
  });

  it('are announced by a batch only if it placed an order', async () => {
    const announce = jest.spyOn(OrderFeed.prototype, 'publishPlaced');
    await expect(outcomeOf(place({ quantity: 11 }))).resolves.toBe('insufficient-stock');
    expect(announce).not.toHaveBeenCalled();
    await place();
    expect(announce).toHaveBeenCalledTimes(1);
    announce.mockRestore();
  });

  it('report one refund per late payment', async () => {
    const { id: orderId } = await place();
    await shop.caller.call(store.cancelOrder, { orderId }, customer(1));
    expect(new Set(await Promise.all(['a', 'b', 'c'].map((reference) => pay(orderId, reference))))).toEqual(new Set(['order-not-payable']));
    const refunds = (await shop.caller.call(store.listRefunds, { status: 'due' }, staff)).filter((one) => one.orderId === orderId);
    const events = (await eventsOf(orderId)).filter((one) => one.event === 'refund.due');
    expect(events.map(({ data }) => data.refundId).sort()).toEqual(refunds.map(({ id }) => id).sort());
    expect(events).toHaveLength(3);
  });
});
