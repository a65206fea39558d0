import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { eventTypes } from '@plant-shop/contracts/events';
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

  it('are sent as requested, in one sequence, live and from the log (slow)', async () => {
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

  it('that are not requested do not end a long poll (slow)', async () => {
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
      errors: [{ parameter: 'types', detail: `types must be some of ${eventTypes.join(', ')}` }],
    });
  });

  it('of stock are sent to those who may read stock, and request them: live, from memory and from the log', async () => {
    shop.identity.addCredential('keeper', { userId: userId(40), permissions: ['write:orders', 'read:stock'] });
    shop.identity.addCredential('manager', { userId: userId(41), permissions: ['read:orders', 'write:stock'] });
    const replica = await shop.start({ STREAM_RING_EVENTS: '10' });
    const types = `types=${all},stock.low,stock.out,stock.back`;
    const [keeper, manager, filtered, byDefault, only] = await Promise.all(
      [`api_key=keeper&${types}`, `api_key=manager&${types}`, `api_key=manager&${types}&plantId=8&newStatus=delivered`, 'api_key=manager', 'api_key=keeper&types=stock.out'].map((query) => replica.opened(query)),
    );
    const events = shop.move([
      { orderId: 1 },
      { type: 'stock.low' },
      { orderId: 2, subject: userId(40), type: 'order.placed' },
      { type: 'stock.out', plantId: 8 },
      { type: 'stock.back', plantId: 8 },
    ]);
    const of = (...numbers: number[]): string[] => numbers.map((n) => events[n]!.body);
    await Promise.all([keeper!.has(4), manager!.has(5), filtered!.has(2), byDefault!.has(1), only!.has(1)]);
    expect([keeper, manager, filtered, byDefault, only].map((client) => client!.frames)).toEqual([of(1, 2, 3, 4), bodies(events), of(3, 4), of(0), of(3)]);
    const idsOf = async (query: string): Promise<string[]> => (JSON.parse((await replica.ask(`${updates}?cursor=earliest&${query}`)).body) as Page).events.map(({ id }) => id);
    const ids = (...numbers: number[]): string[] => numbers.map((n) => events[n]!.id);
    const readAll = async () => Promise.all([idsOf(`api_key=keeper&${types}`), idsOf(`api_key=manager&${types}`), idsOf(`api_key=keeper&types=stock.low,stock.out`), idsOf(`api_key=key&types=${all}`)]);
    const expected = [ids(1, 2, 3, 4), ids(0, 1, 2, 3, 4), ids(1, 3), ids(0)];
    expect(await readAll()).toEqual(expected);
    // Now they are only in the log.
    shop.move(Array.from({ length: 20 }, () => ({ subject: userId(9), newStatus: 'delivered' })));
    await shop.isLogged();
    const [first, , ...others] = await readAll();
    expect([first, ...others]).toEqual([expected[0], expected[2], expected[3]]);
  });

  it('of stock are refused without the permission, and end with it', async () => {
    const replica = await shop.start();
    for (const key of ['key', 'admin']) {
      const answer = await replica.ask(`${updates}?api_key=${key}&types=order.placed,stock.out`);
      expect([answer.status, JSON.parse(answer.body)]).toEqual([403, expect.objectContaining({ code: 'forbidden', detail: expect.stringContaining('read:stock') })]);
      await expect(replica.connect(`api_key=${key}&types=stock.out`).isOpen).rejects.toThrow('403');
    }
    shop.identity.addCredential('keeper', { userId: userId(40), permissions: ['read:stock'] });
    const client = await replica.opened('api_key=keeper&types=stock.out,order.placed');
    const [first] = shop.move([{ type: 'stock.out' }]);
    await client.has(1);
    shop.identity.changeUser(userId(40), { permissions: ['write:orders'] });
    await until(async () => (await replica.ask(`${updates}?api_key=keeper&types=stock.out`)).status === 403);
    const [, own] = shop.move([{ type: 'stock.out' }, { type: 'order.placed', subject: userId(40) }]);
    await client.has(2);
    expect(client.frames).toEqual([first?.body, own?.body]);
  });

  it('of stock need no permission for orders, and end with that for stock', async () => {
    const replica = await shop.start();
    shop.identity.addCredential('counter', { userId: userId(42), kind: 'session', permissions: ['read:stock'] });
    const headers = { authorization: 'Bearer counter' };
    for (const types of ['', 'types=stock.out,order.placed', 'types=order.placed']) {
      const answer = await replica.ask(`${updates}?${types}`, headers);
      expect([answer.status, JSON.parse(answer.body)]).toEqual([403, expect.objectContaining({ detail: expect.stringContaining('write:orders') })]);
    }
    const client = await replica.opened('types=stock.out', [], { headers });
    const [, out] = shop.move([{ subject: userId(42) }, { type: 'stock.out' }]);
    await client.has(1);
    expect(client.frames).toEqual([out?.body]);
    expect((await replica.ask(`${updates}?types=stock.out`, headers)).status).toBe(200);
    shop.identity.changeUser(userId(42), { permissions: ['write:orders'] });
    expect(await client.closed).toMatchObject({ code: 4003 });
  });

  it('are published to other replicas, which do not read the log for them', async () => {
    const nats = await shop.connect();
    const published: { readonly upTo: number; readonly events?: readonly FeedEvent[] }[] = [];
    nats.listen('notifications.fanout', (message) => published.push(message.json()));
    await nats.connection.flush();
    const replica = await shop.start();
    const client = await replica.opened(`api_key=key&types=${all}`);
    shop.move(1);
    await client.has(1);
    const events = shop.move(life);
    await until(() => published.at(-1)?.upTo === 8);
    const message = published.find(({ upTo }) => upTo === 8);
    expect(message?.events).toEqual(events);
    // An event that is only in a message is sent, too: the replica did not read the log.
    await client.has(6);
    const next = shop.move([{ orderId: 9, type: 'order.placed' }], { silently: true });
    shop.feed.pop();
    nats.connection.publish('notifications.fanout', JSON.stringify({ ...message, after: 8, upTo: 9, events: next }));
    await client.has(7);
    expect(client.frames.at(-1)).toBe(next[0]?.body);
    await nats.close(1_000);
  });
});
