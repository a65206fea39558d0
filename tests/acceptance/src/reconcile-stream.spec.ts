import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createShop, type ShopEvents, type StreamMessage } from '@plant-shop/client';
import { type Received, Receiver } from '@plant-shop/testing/receiver';
import { backUp, reconcile, restore, rows } from './internals.js';
import { createPlant, gatewayUrl, ok, placeOrder, send, staff, until } from './shop.js';
import { pageOfEvents, streamUrl } from './stream.js';

const eventTypes = ['order.placed', 'order.status_changed'] as const;

/** A client that follows events with the client library. */
class Follower {
  readonly seen: StreamMessage<(typeof eventTypes)[number]>[] = [];
  private readonly events: ShopEvents<(typeof eventTypes)[number]>;
  private readonly following: Promise<void>;

  constructor(cursor: string) {
    const shop = createShop({ url: gatewayUrl(), streamUrl: streamUrl(), credential: { apiKey: 'special-key' } });
    this.events = shop.events({ cursor, types: eventTypes });
    this.following = this.follow();
  }

  get gaps(): readonly string[] {
    return this.seen.flatMap((one) => (one.event === 'stream.gap' ? one.data.reason : []));
  }

  get ids(): readonly string[] {
    return this.seen.flatMap((one) => (one.event === 'stream.gap' ? [] : (one.id ?? [])));
  }

  async stop(): Promise<void> {
    await this.events.close();
    await this.following;
  }

  private async follow(): Promise<void> {
    for await (const message of this.events) this.seen.push(message);
  }
}

/** Ids of all events of these orders in the store's database, in feed order. */
const feedOf = async (orderIds: readonly number[]): Promise<string[]> =>
  (
    await rows<{ id: string }>('store', 'SELECT event_id AS id FROM order_transitions WHERE order_id = ANY($1) AND feed_seq IS NOT NULL ORDER BY feed_seq', [
      orderIds,
    ])
  ).map(({ id }) => id);
const epoch = async (): Promise<string> => (await rows<{ epoch: string }>('store', 'SELECT epoch FROM feed_head'))[0]!.epoch;

describe('the stream after a database was restored from a backup', () => {
  let receiver: Receiver;
  let plantId: number;
  beforeAll(async () => {
    receiver = await Receiver.start();
    ({ id: plantId } = await createPlant({ quantity: 1_000 }));
    await ok(send('POST', '/v3/webhooks', { as: staff, json: { url: receiver.url, eventTypes, plantId } }));
  });
  afterAll(async () => {
    for (const { id } of await ok(send<{ id: string }[]>('GET', '/v3/webhooks', { as: staff }))) {
      await send('DELETE', `/v3/webhooks/${id}`, { as: staff });
    }
    await receiver.stop();
  });

  /** Places orders and waits until they are delivered and numbered. */
  const ordersDone = async (count: number): Promise<number[]> => {
    const ids: number[] = [];
    for (let n = 0; n < count; n++) ids.push((await placeOrder({ plantId })).id);
    // Placed, approved, delivered.
    await until(async () => (await feedOf(ids)).length === 3 * count, 30_000);
    return ids;
  };
  const postsOf = (ids: readonly string[]): Received[] => receiver.received.filter(({ id }) => ids.includes(id));
  const allPosted = (ids: readonly string[]) =>
    until(async () => {
      const sent = new Set(receiver.received.map(({ id }) => id));
      return ids.every((id) => sent.has(id));
    }, 60_000);
  const start = async () => new Follower((await pageOfEvents({ cursor: 'latest' })).body.cursor);

  it("of notifications: no event is missing, clients get at most one gap, and repetitions have the same id and bytes", async () => {
    const before = await epoch();
    const client = await start();
    try {
      const early = await ordersDone(5);
      await backUp('notifications');
      const late = await ordersDone(5);
      await restore('notifications');
      const more = await ordersDone(5);
      const expected = await feedOf([...early, ...late, ...more]);
      await until(async () => expected.every((id) => client.ids.includes(id)), 60_000);
      expect(client.gaps.length).toBeLessThanOrEqual(1);
      // First occurrences come in feed order.
      expect([...new Set(client.ids)].filter((id) => expected.includes(id))).toEqual(expected);
      await allPosted(expected);
      const bodies = new Map(postsOf(expected).map(({ id, body }) => [id, body]));
      for (const { id, body } of postsOf(expected)) expect(body).toBe(bodies.get(id));
      // The store's feed did not start a new epoch.
      expect(await epoch()).toBe(before);
      expect(await reconcile()).toEqual({ exitCode: 0, findings: [] });
    } finally {
      await client.stop();
    }
  }, 180_000);

  it('of the store: the feed continues in a new epoch, clients get one gap, and miss no event that the shop still has', async () => {
    const before = await epoch();
    const client = await start();
    try {
      const early = await ordersDone(5);
      await backUp('store');
      const undone = await ordersDone(5);
      const known = await feedOf(early);
      const lost = await feedOf(undone);
      await until(async () => [...known, ...lost].every((id) => client.ids.includes(id)), 30_000);
      await restore('store');
      const more = await ordersDone(5);
      const expected = await feedOf(more);
      await until(async () => expected.every((id) => client.ids.includes(id)), 60_000);
      expect(await epoch()).not.toBe(before);
      expect(client.gaps).toEqual(['restored']);
      const ours = new Set([...known, ...lost, ...expected]);
      const own = client.seen.flatMap((one) => (one.event === 'stream.gap' ? one.data.reason : one.id !== undefined && ours.has(one.id) ? one.id : []));
      expect(own).toEqual([...known, ...lost, 'restored', ...expected]);
      await allPosted(expected);
      expect(await reconcile()).toEqual({ exitCode: 0, findings: [] });
    } finally {
      await client.stop();
    }
  }, 180_000);
});
