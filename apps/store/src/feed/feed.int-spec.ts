import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { broadcasts } from '@plant-shop/contracts/broker';
import { store } from '@plant-shop/contracts/store';
import type { FeedHead, FeedPage } from '@plant-shop/contracts/store.feed';
import type { FeedMessage } from '@plant-shop/events/feed';
import { createLogger } from '@plant-shop/platform/logging';
import { Nats } from '@plant-shop/platform/nats';
import { until } from '@plant-shop/testing/until';
import { customer, staff, StoreFixture } from '../store.spec.fixture.js';

describe('the feed of order events', () => {
  let shop: StoreFixture;
  let nats: Nats;
  const published: FeedPage['events'][number][] = [];

  beforeAll(async () => {
    shop = await StoreFixture.start({
      replicas: 2,
      paymentProvider: 'simulated',
      simulatedApprovalDelayMs: 20,
      simulatedDeliveryDelayMs: 20,
    });
    nats = await Nats.connect({ url: shop.nats.url, name: 'notifications' }, createLogger('test', 'fatal'));
    nats.listen(broadcasts.feed.subject, (message) => {
      const { events } = JSON.parse(Buffer.from(message.data).toString()) as FeedPage;
      published.push(...events);
    });
    await nats.connection.flush();
  });
  afterAll(async () => {
    await nats.close(1_000);
    expect(await shop.violations()).toEqual([]);
    await shop.stop();
  });

  const feedHead = async () => (await shop.rows<FeedHead>('SELECT epoch, head FROM feed_head'))[0]!;

  const readAll = async (): Promise<FeedPage['events']> => {
    const events: FeedPage['events'][number][] = [];
    for (;;) {
      const last = events.at(-1);
      const place = { after: last?.seq ?? 0, ...(last && { afterId: last.id }) };
      const page = await shop.caller.call(store.feedRead, { follower: 'test', ...place, limit: 100 });
      expect(page).toMatchObject({ matches: true, next: place.after + 1 });
      if (page.events.length === 0) return events;
      events.push(...page.events);
    }
  };

  it('has each event once, numbered without gaps, with the bytes that were stored', async () => {
    const plantId = await shop.plant(300);
    const orders = await Promise.all(
      Array.from({ length: 150 }, (_, n) => shop.caller.call(store.placeOrder, { order: { plantId } }, customer(n))),
    );
    await Promise.allSettled(
      orders.slice(0, 40).map(({ id: orderId }, n) => shop.caller.call(store.cancelOrder, { orderId }, customer(n))),
    );
    await until(async () => (await shop.rows(`SELECT 1 FROM orders WHERE status IN ('placed', 'approved')`)).length === 0);
    const written = await shop.rows<{ body: string; owner_id: string }>(
      'SELECT body, owner_id FROM order_transitions WHERE event_id IS NOT NULL',
    );
    await until(async () => (await feedHead()).head === written.length);
    const events = await readAll();
    expect(events.map((event) => event.seq)).toEqual(written.map((_, n) => n + 1));
    expect(new Set(events.map((event) => `${event.subject} ${event.body}`))).toEqual(
      new Set(written.map((one) => `${one.owner_id} ${one.body}`)),
    );
    await until(() => published.length === written.length);
    // Two replicas number events; a message of the one may arrive after a later one of the other.
    const bySeq = published.toSorted((a, b) => a.seq - b.seq);
    expect(bySeq.map(({ seq, body }) => ({ seq, body }))).toEqual(events.map(({ seq, body }) => ({ seq, body })));
    // In chronological order per order.
    const last = new Map<number, string>();
    for (const { body } of events) {
      const { event, data } = JSON.parse(body) as { event: string; data: { orderId: number; previousStatus: string; newStatus: string } };
      if (event === 'order.placed') expect(last.has(data.orderId)).toBe(false);
      else expect(data.previousStatus).toBe(last.get(data.orderId));
      last.set(data.orderId, event === 'order.placed' ? 'placed' : data.newStatus);
    }
  }, 20_000);

  /** Places an order of a new plant. */
  const place = async () => shop.caller.call(store.placeOrder, { order: { plantId: await shop.plant(5) } }, customer(1));
  const placedEvent = async (orderId: number) =>
    (await shop.rows<{ seq: number | null; id: string }>('SELECT feed_seq::int AS seq, event_id AS id FROM order_transitions WHERE order_id = $1 AND order_version = 1', [orderId]))[0]!;
  const isQuiet = () => until(async () => (await shop.rows(`SELECT 1 FROM orders WHERE status IN ('placed', 'approved')`)).length === 0 &&
    (await shop.rows('SELECT 1 FROM order_transitions WHERE event_id IS NOT NULL AND feed_seq IS NULL')).length === 0);

  it('numbers the event of a new order in the placing transaction, and announces its predecessor', async () => {
    await isQuiet();
    const { head } = await feedHead();
    const [last] = await shop.rows<{ id: string }>('SELECT event_id AS id FROM order_transitions WHERE feed_seq = $1', [head]);
    const messages: FeedMessage[] = [];
    const heard = nats.listen(broadcasts.feed.subject, (message) => messages.push(message.json<FeedMessage>()));
    await nats.connection.flush();
    const { id: orderId } = await place();
    const { seq, id } = await placedEvent(orderId);
    expect(seq).toBe(head + 1);
    await until(() => messages.length > 0);
    heard.stop();
    expect(messages[0]).toMatchObject({ head: seq, after: { seq: head, id: last!.id }, mayWait: true, events: [{ seq, id }] });
  });

  it('does not delay an order while another transaction numbers: its event is numbered afterwards (slow)', async () => {
    await isQuiet();
    const orderId = await shop.holding('SELECT 1 FROM feed_head', [], async () => {
      const { id } = await place();
      expect(await placedEvent(id)).toMatchObject({ seq: null });
      return id;
    });
    await until(async () => (await placedEvent(orderId)).seq !== null);
    await isQuiet();
  });

  it('drops old bodies that all followers have passed; the timeline stays, and late readers start after them', async () => {
    await isQuiet();
    const { head } = await feedHead();
    const passed = head - 10;
    await shop.caller.call(store.feedRead, { follower: 'test', after: passed, limit: 1 });
    const [oldest] = await shop.rows<{ order_id: number; event_id: string }>(
      'SELECT order_id::int, event_id FROM order_transitions WHERE feed_seq = 1',
    );
    const timeline = await shop.caller.call(store.getTimeline, { orderId: oldest!.order_id }, staff);
    await shop.rows(`UPDATE order_transitions SET at = at - interval '8 days' WHERE feed_seq <= $1`, [head - 5]);
    // Retention runs at the start of a replica, and then each minute.
    await shop.addReplica();
    await until(async () => (await shop.rows('SELECT 1 FROM feed_kept WHERE oldest = $1', [passed + 1])).length === 1);
    expect(await shop.rows('SELECT feed_seq::int AS seq FROM order_transitions WHERE event_id IS NOT NULL AND body IS NOT NULL ORDER BY 1')).toEqual(
      Array.from({ length: 10 }, (_, n) => ({ seq: passed + 1 + n })),
    );
    const page = await shop.caller.call(store.feedRead, { follower: 'late', after: 1, afterId: oldest!.event_id, limit: 100 });
    expect(page).toMatchObject({ matches: true, next: passed + 1 });
    expect(page.events.map((event) => event.seq)).toEqual(Array.from({ length: 10 }, (_, n) => passed + 1 + n));
    const after = await shop.caller.call(store.getTimeline, { orderId: oldest!.order_id }, staff);
    expect(after.map((entry) => entry.eventId)).toEqual(timeline.map((entry) => entry.eventId));
    expect(after.some((entry) => entry.eventId === oldest!.event_id)).toBe(true);
  });

  it('does not number a new order in a history that ended with a failover', async () => {
    await isQuiet();
    const { epoch, head } = await feedHead();
    await shop.rows(`UPDATE feed_head SET timeline = '000000FF'`);
    const { id: orderId } = await place();
    await until(async () => (await placedEvent(orderId)).seq !== null);
    expect((await placedEvent(orderId)).seq).toBeGreaterThan(head + 1_000);
    expect((await feedHead()).epoch).not.toBe(epoch);
  });
});
