import { readFileSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { notifications } from '@plant-shop/contracts/notifications';
import { Receiver } from '@plant-shop/testing/receiver';
import { until } from '@plant-shop/testing/until';
import { customer as customerId, type FeedEvent, type Replica, Shop, updates } from './stream/stream.spec.fixture.js';
import { customer, TestWebhooks } from './webhooks/webhooks.spec.fixture.js';

// Compares what clients receive, byte for byte, with a recording made by commit c54983e, before there were event types. It had
// status changes only: the events with the numbers of `optIn` were status changes of another customer there.

interface Recording {
  readonly stream: {
    /** WebSocket frames without a cursor. */
    readonly plain: readonly string[];
    /** WebSocket frames with a cursor: of a client that was connected, and of one that resumed. */
    readonly live: readonly string[];
    readonly resumed: readonly string[];
    readonly sse: string;
    readonly pages: readonly string[];
  };
  /** Ids and bodies, sorted by id. */
  readonly webhook: readonly (readonly [string, string])[];
}

const recording = JSON.parse(readFileSync(new URL('./recorded-run.json', import.meta.url), 'utf8')) as Recording;

const at = (seq: number): string => new Date(Date.UTC(2027, 2, 1, 8, 0, seq)).toISOString();

const changes: Readonly<Record<number, readonly [orderId: number, previousStatus: string, newStatus: string, trackingNumber: string]>> = {
  2: [7, 'placed', 'approved', 'PS0000000000000007'],
  4: [8, 'placed', 'cancelled', ''],
  5: [9, 'placed', 'approved', 'PS0000000000000009'],
  8: [7, 'approved', 'delivered', 'grün "☘"'],
  10: [10, 'placed', 'approved', 'PS0000000000000010'],
};

const optIn: Readonly<Record<number, object>> = {
  1: { event: 'order.placed', timestamp: at(1), data: { orderId: 7, plantId: 3, quantity: 1, reservedUntil: at(60) } },
  3: { event: 'order.shipped', timestamp: at(3), data: { orderId: 7, plantId: 3, carrier: 'Green Post', trackingNumber: 'grün "☘"' } },
  6: { event: 'refund.due', timestamp: at(6), data: { refundId: 31, orderId: 8, plantId: 3 } },
  7: { event: 'order.placed', timestamp: at(7), data: { orderId: 10, plantId: 3, quantity: 2 } },
  9: { event: 'order.placed', timestamp: at(9), data: { orderId: 11, plantId: 3, quantity: 1 } },
};

const happened: readonly FeedEvent[] = Array.from({ length: 10 }, (_, n) => {
  const seq = n + 1;
  const [orderId, previousStatus, newStatus, trackingNumber] = changes[seq] ?? [];
  const change = { event: 'order.status_changed', timestamp: at(seq), data: { orderId, plantId: 3, previousStatus, newStatus, trackingNumber } };
  const id = `0190b6a2-7f00-7a11-8b22-${String(seq).padStart(12, '0')}`;
  return { seq, id, subject: customerId, body: JSON.stringify(optIn[seq] ?? change) };
});
const count = Object.keys(changes).length;

/** Connects clients in every form. Returns a function that collects what they received, to be called after the events. */
async function watch(replica: Replica, key: string): Promise<() => Promise<Recording['stream']>> {
  const [plain, live] = await Promise.all([replica.opened(`api_key=${key}`), replica.opened(`api_key=${key}&cursor=latest`)]);
  const page = async (query: string): Promise<string> => (await replica.ask(`${updates}?api_key=${key}&${query}`)).body;
  return async () => {
    await Promise.all([plain.has(count), live.has(count)]);
    const resumed = await replica.opened(`api_key=${key}&cursor=earliest`);
    await resumed.has(count);
    const first = await page('cursor=earliest&limit=2');
    const { cursor } = JSON.parse(first) as { cursor: string };
    const pages = [first, await page(`cursor=${cursor}`), await page('cursor=latest')];
    return { plain: plain.frames, live: live.frames, resumed: resumed.frames, sse: await eventStream(replica, key), pages };
  };
}

/** Returns what an EventSource receives from the beginning up to the last event. */
async function eventStream(replica: Replica, key: string): Promise<string> {
  const request = { port: replica.port, path: `${updates}?api_key=${key}&cursor=earliest`, headers: { accept: 'text/event-stream' }, agent: false };
  const response = await new Promise<IncomingMessage>((resolve) => get(request, resolve));
  let text = '';
  for await (const part of response) {
    text += String(part);
    if (text.endsWith('\n\n') && text.includes('"orderId":10,')) break;
  }
  // `retry` is random.
  return text.replace(/^retry: \d+\n\n/, '');
}

describe('a client of the stream that names no event types', () => {
  let shop: Shop;
  let replica: Replica;
  beforeAll(async () => {
    shop = await Shop.open();
    replica = await shop.start();
  });
  afterAll(() => shop.close());

  it('receives the recorded bytes, for its own orders and for all', async () => {
    const seen = await Promise.all(['key', 'admin'].map((key) => watch(replica, key)));
    shop.feed.push(...happened);
    for (const recorded of seen) expect(await recorded()).toEqual(recording.stream);
  });
});

describe('a webhook', () => {
  let shop: TestWebhooks;
  beforeAll(async () => {
    shop = await TestWebhooks.start();
  });
  afterAll(() => shop.stop());

  it('receives the recorded bytes, with that type or without types', async () => {
    const receivers = [await Receiver.start(), await Receiver.start()] as const;
    await shop.create(receivers[0].url);
    await shop.call(notifications.createWebhook, { webhook: { url: receivers[1].url } }, customer(1));
    shop.feed.push(...happened);
    shop.nudge(happened);
    await until(() => receivers.every(({ received }) => received.length >= count), 20_000);
    for (const receiver of receivers) {
      const got = receiver.received.map(({ headers, body }) => [String(headers['webhook-id']), body] as const);
      expect(got.sort(([a], [b]) => (a < b ? -1 : 1))).toEqual(recording.webhook);
      await receiver.stop();
    }
  });
});
