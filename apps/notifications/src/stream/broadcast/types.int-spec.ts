import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Nats } from '@plant-shop/platform/nats';
import { until } from '@plant-shop/testing/until';
import { customer, type FeedEvent, type HttpAnswer, type Move, type Replica, Shop, updates, userId } from '../stream.spec.fixture.js';

const all = 'order.status_changed,order.placed,order.shipped,refund.due';
/** The events of an order, and of an order of another customer. */
const life: readonly Move[] = [
  { orderId: 1, type: 'order.placed' },
  { orderId: 2, subject: userId(2), type: 'order.placed' },
  { orderId: 1 },
  { orderId: 1, type: 'order.shipped' },
  { orderId: 1, newStatus: 'delivered' },
  { orderId: 1, type: 'refund.due' },
  { orderId: 2, subject: userId(2), newStatus: 'cancelled' },
];

const bodies = (events: readonly FeedEvent[]): string[] => events.map(({ body }) => body);
const typeOf = ({ body }: FeedEvent): string => (JSON.parse(body) as { event: string }).event;

interface Page {
  readonly events: readonly { readonly id: string; readonly event: string }[];
  readonly cursor: string;
}

describe('event types of the stream', () => {
  let shop: Shop;
  beforeAll(async () => {
    shop = await Shop.open();
  });
  afterEach(() => shop.reset());
  afterAll(() => shop.close());

  const ask = (replica: Replica, query: string): Promise<HttpAnswer> => replica.ask(`${updates}?api_key=key&${query}`);
  const page = async (replica: Replica, query: string): Promise<Page> => JSON.parse((await ask(replica, query)).body) as Page;

  it('are sent as requested, in one sequence, live and from the log', async () => {
    const replica = await shop.start();
    const [live, liveOfAll, placed] = await Promise.all([
      replica.opened(`api_key=key&types=${all}`),
      replica.opened('api_key=admin&types=order.placed&types=order.shipped, refund.due'),
      replica.opened('api_key=key&cursor=latest&types=order.placed'),
    ]);
    const events = shop.move(life);
    const own = events.filter(({ subject }) => subject === customer);
    await Promise.all([live.has(own.length), liveOfAll.has(4), placed.has(1)]);
    expect(live.frames).toEqual(bodies(own));
    expect(liveOfAll.frames).toEqual(bodies(events.filter((one) => typeOf(one) !== 'order.status_changed')));
    const resumed = await replica.opened(`api_key=key&cursor=earliest&types=${all}`);
    await resumed.has(own.length);
    expect(resumed.events.map(({ id }) => id)).toEqual(own.map(({ id }) => id));
    expect((await page(replica, `cursor=earliest&types=${all}`)).events.map(({ id }) => id)).toEqual(own.map(({ id }) => id));
  });

  it('are read from the log for each set of types', async () => {
    shop.move(life, { silently: true });
    // The ring holds only these.
    shop.move(Array.from({ length: 10 }, () => ({ subject: userId(2) })), { silently: true });
    const replica = await shop.start({ STREAM_RING_EVENTS: '10' });
    await shop.isLogged();
    await until(async () => (await page(replica, `cursor=earliest&types=${all}`)).events.length === 5);
    const typesOf = async (query: string): Promise<string[]> => (await page(replica, `cursor=earliest&${query}`)).events.map(({ event }) => event);
    expect(await typesOf('types=order.placed')).toEqual(['order.placed']);
    expect(await typesOf('types=order.placed,order.status_changed')).toEqual(['order.placed', 'order.status_changed', 'order.status_changed']);
    expect(await typesOf('')).toEqual(['order.status_changed', 'order.status_changed']);
    // newStatus filters only events that have a status.
    expect(await typesOf(`types=${all}&newStatus=delivered`)).toEqual(['order.placed', 'order.shipped', 'order.status_changed', 'refund.due']);
    expect(await replica.metric('stream_pages_read_total')).toBeGreaterThan(0);
  });

  it('do not change the meaning of a cursor: a client can resume with other types', async () => {
    const replica = await shop.start();
    const client = await replica.opened(`api_key=key&cursor=latest&types=${all}`);
    const own = shop.move(life).filter(({ subject }) => subject === customer);
    await client.has(own.length);
    const { cursor } = client.events[1] ?? { cursor: '' };
    const next = own.slice(2);
    expect((await page(replica, `cursor=${cursor}&types=${all}`)).events.map(({ id }) => id)).toEqual(next.map(({ id }) => id));
    const changes = next.filter((one) => typeOf(one) === 'order.status_changed');
    expect((await page(replica, `cursor=${cursor}`)).events.map(({ id }) => id)).toEqual(changes.map(({ id }) => id));
    expect((await page(replica, `cursor=${cursor}`)).cursor).toBe((await page(replica, 'cursor=latest')).cursor);
  });

  it('that are not requested do not end a long poll', async () => {
    const replica = await shop.start();
    const waiting = page(replica, 'cursor=latest&wait=20');
    await until(async () => (await replica.metric('stream_connections')) === 1);
    shop.move([{ type: 'order.placed' }]);
    await shop.isLogged();
    await new Promise((resolve) => setTimeout(resolve, 300));
    const [change] = shop.move([{ orderId: 5 }]);
    expect((await waiting).events.map(({ id }) => id)).toEqual([change?.id]);
  });

  it.each(['order.unknown', 'order.placed,', '', '*', 'order.placed,stream.gap', 'ORDER.PLACED'])('that do not exist are refused: "%s"', async (types) => {
    const replica = await shop.start();
    const answer = await ask(replica, `types=${types}`);
    expect(answer.status).toBe(400);
    expect(JSON.parse(answer.body)).toMatchObject({
      code: 'invalid-input',
      errors: [{ parameter: 'types', detail: 'types must be some of order.status_changed, order.placed, order.shipped, refund.due' }],
    });
  });

  describe('beside a replica of the previous release', () => {
    let nats: Nats;
    const published: { readonly upTo: number; readonly events?: readonly FeedEvent[]; readonly mixedEvents?: readonly FeedEvent[] }[] = [];
    beforeAll(async () => {
      nats = await shop.connect();
      nats.listen('notifications.fanout', (message) => published.push(message.json()));
      await nats.connection.flush();
    });
    beforeEach(() => {
      published.length = 0;
    });
    afterAll(() => nats.close(1_000));

    /** Returns what such a replica sends from the log: all rows without `repeats`. */
    const sentByPrevious = async (): Promise<string[]> =>
      (await shop.sql.query<{ body: string }>('SELECT body FROM event_log WHERE NOT repeats ORDER BY seq')).rows.map(({ body }) => body);

    it('hides other types from it, in messages and in the log', async () => {
      const replica = await shop.start();
      const client = await replica.opened(`api_key=key&types=${all}`);
      const events = shop.move(life);
      await client.has(5);
      await until(() => published.at(-1)?.upTo === 7);
      expect(published.flatMap((one) => one.events ?? []).map(typeOf)).not.toContain('order.placed');
      expect(await sentByPrevious()).toEqual(bodies(events.filter((one) => typeOf(one) === 'order.status_changed')));
    });

    it('publishes all types to current replicas, which do not read the log for them', async () => {
      const replica = await shop.start();
      const client = await replica.opened(`api_key=key&types=${all}`);
      shop.move(1);
      await client.has(1);
      const events = shop.move(life);
      await until(() => published.at(-1)?.upTo === 8);
      const message = published.find(({ mixedEvents }) => mixedEvents);
      expect(message?.mixedEvents).toEqual(events);
      // An event that is only in a message is sent, too: the replica did not read the log.
      await client.has(6);
      const next = shop.move([{ orderId: 9, type: 'order.placed' }], { silently: true });
      shop.feed.pop();
      nats.connection.publish('notifications.fanout', JSON.stringify({ ...message, after: 8, upTo: 9, mixedEvents: next }));
      await client.has(7);
      expect(client.frames.at(-1)).toBe(next[0]?.body);
    });

    it('sends what that one has logged, and events with two numbers once', async () => {
      const events = shop.move([...life, { orderId: 1, type: 'order.shipped' }], { silently: true });
      const again = { ...events[0]!, seq: events.length + 1 };
      shop.feed.push(again);
      // Logs like that release. After a restore an event may get a second, higher number.
      for (const rows of [shop.feed.slice(0, -1), [again]]) {
        await shop.sql.query(
          `INSERT INTO event_log (seq, event_id, subject, body, repeats)
           SELECT t.seq, t.id, t.subject, t.body, EXISTS (SELECT 1 FROM event_log l WHERE l.event_id = t.id AND l.seq < t.seq)
           FROM unnest($1::bigint[], $2::uuid[], $3::uuid[], $4::text[]) AS t (seq, id, subject, body)
           ON CONFLICT (seq) DO UPDATE SET event_id = excluded.event_id, subject = excluded.subject, body = excluded.body, repeats = excluded.repeats`,
          [rows.map(({ seq }) => seq), rows.map(({ id }) => id), rows.map(({ subject }) => subject), bodies(rows)],
        );
      }
      await shop.sql.query('UPDATE feed_watermark SET watermark = $1, epoch = $2', [shop.feed.length, shop.epoch]);
      const replica = await shop.start();
      const own = events.filter(({ subject }) => subject === customer);
      const ids = async (query: string): Promise<string[]> => (await page(replica, `cursor=earliest&${query}`)).events.map(({ id }) => id);
      await until(async () => (await ids(`types=${all}`)).length > 0);
      expect(await ids(`types=${all}`)).toEqual(own.map(({ id }) => id));
      expect(await ids('')).toEqual(own.filter((one) => typeOf(one) === 'order.status_changed').map(({ id }) => id));
      expect(await sentByPrevious()).toEqual(bodies(events.filter((one) => typeOf(one) === 'order.status_changed')));
    });

    it('overwrites rows with the same number, of any type', async () => {
      const log = (seq: number, event: FeedEvent) =>
        shop.sql.query(
          `INSERT INTO event_log (seq, event_id, subject, body, repeats) VALUES ($1, $2, $3, $4, false)
           ON CONFLICT (seq) DO UPDATE SET event_id = excluded.event_id, subject = excluded.subject, body = excluded.body, repeats = excluded.repeats`,
          [seq, event.id, event.subject, event.body],
        );
      const [placed, change] = shop.move([{ type: 'order.placed' }, {}], { silently: true });
      const row = async (): Promise<object[]> => (await shop.sql.query<{ event_type: string | null }>('SELECT event_type, is_repetition, repeats FROM event_log WHERE seq = 1')).rows;
      await log(1, placed!);
      expect(await row()).toEqual([{ event_type: 'order.placed', is_repetition: false, repeats: true }]);
      await log(1, change!);
      expect(await row()).toEqual([{ event_type: null, is_repetition: null, repeats: false }]);
      await log(1, placed!);
      expect(await row()).toEqual([{ event_type: 'order.placed', is_repetition: false, repeats: true }]);
    });
  });
});
