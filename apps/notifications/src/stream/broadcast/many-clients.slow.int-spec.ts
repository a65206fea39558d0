import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { until } from '@plant-shop/testing/until';
import { type Client, type FeedEvent, Shop, userId } from '../stream.spec.fixture.js';

/** Enough clients that a batch of events reaches them in several slices, between which other work runs. */
const clients = 1_000;
/** Clients that connect at the same time. */
const together = 50;
const keys = 8;

describe('sending a batch of events to many clients', () => {
  let shop: Shop;
  beforeAll(async () => {
    shop = await Shop.open();
  });
  afterEach(() => shop.reset());
  afterAll(() => shop.close());

  const receivedIds = ({ events }: Client) => events.map(({ id }) => id);
  const idsOf = (events: readonly FeedEvent[]) => events.map(({ id }) => id);
  const key = (n: number): string => `key-${n % keys}`;

  it('reaches each client once: those that stay, are checked again, leave and resume, or connect meanwhile', async () => {
    for (let n = 0; n < keys; n++) shop.identity.addCredential(key(n), { userId: userId(100 + n), permissions: ['read:orders'] });
    const replica = await shop.start();
    const begin = async (n: number, cursor = 'latest'): Promise<Client> => {
      for (const end = performance.now() + 10_000; ; ) {
        try {
          return await replica.opened(`api_key=${key(n)}&cursor=${cursor}`);
        } catch (error) {
          // 503: a replica on a busy machine may not hear of revocations for a second, and then admits no clients.
          if (performance.now() > end) throw error;
          await new Promise((resolve) => setTimeout(resolve, 100));
        }
      }
    };
    const staying: Client[] = [];
    while (staying.length < clients) {
      staying.push(...(await Promise.all(Array.from({ length: together }, (_, n) => begin(n)))));
    }
    const before = shop.feed.length;
    const late: Client[] = [];
    const leavers: { readonly seen: (string | undefined)[]; client: Client }[] = [];
    for (let n = 0; n < 20; n++) leavers.push({ seen: [], client: await begin(n) });

    for (let round = 0; round < 60; round++) {
      shop.move(2);
      await new Promise((resolve) => setTimeout(resolve, 7));
      // Clients with this key are held while they are checked, and then continue from their position.
      if (round % 3 === 0) shop.identity.changeUser(userId(100 + (round % keys)), { permissions: ['read:orders'] });
      if (round % 5 === 0) late.push(await begin(round, 'earliest'));
      const leaver = leavers[round % leavers.length];
      if (leaver && leaver.client.frames.length > 0) {
        leaver.client.socket.terminate();
        leaver.seen.push(...receivedIds(leaver.client));
        leaver.client = await begin(round, leaver.client.events.at(-1)?.cursor);
      }
    }

    const all = idsOf(shop.feed);
    const since = all.slice(before);
    await until(() => staying.every(({ frames }) => frames.length >= since.length), 40_000);
    for (const client of staying) expect(receivedIds(client)).toEqual(since);
    for (const client of late) {
      await client.has(all.length);
      expect(receivedIds(client)).toEqual(all);
    }
    for (const { seen, client } of leavers) {
      await client.has(since.length - seen.length);
      expect([...seen, ...receivedIds(client)]).toEqual(since);
    }
  }, 90_000);
});
