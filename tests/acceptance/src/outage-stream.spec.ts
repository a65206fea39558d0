import { describe, expect, it } from '@jest/globals';
import { createShop, type StreamMessage } from '@plant-shop/client';
import { allReady, kill } from './internals.js';
import { createPlant, gatewayUrl, placeOrder, until } from './shop.js';
import { pageOfEvents, streamUrl } from './stream.js';

describe('when notifications is killed repeatedly while orders are placed', () => {
  it('a client that resumes with its last cursor gets every event once and in order', async () => {
    const orders = 100;
    const { id: plantId } = await createPlant({ quantity: orders });
    const { cursor } = (await pageOfEvents({ cursor: 'latest' })).body;
    const stream = createShop({ url: gatewayUrl(), streamUrl: streamUrl(), credential: { apiKey: 'special-key' } }).events({ cursor, plantId });
    const seen: StreamMessage[] = [];
    const following = (async () => {
      for await (const message of stream) seen.push(message);
    })();
    try {
      const ids: number[] = [];
      for (let n = 0; n < orders; n++) {
        if (n % 30 === 10) kill('notifications');
        ids.push((await placeOrder({ plantId })).id);
      }
      await allReady();
      const log = async () => {
        const events = [];
        for (let at = cursor; ; ) {
          const { body } = await pageOfEvents({ cursor: at, plantId });
          events.push(...body.events);
          if (body.events.length === 0) return events;
          at = body.cursor;
        }
      };
      await until(async () => (await log()).length === 2 * orders, 60_000);
      const expected = (await log()).map(({ id, data }) => ({ id, orderId: data.orderId }));
      expect(new Set(expected.map(({ orderId }) => orderId))).toEqual(new Set(ids));

      await until(async () => seen.length >= expected.length, 60_000);
      // Time for repetitions, which would be wrong.
      await new Promise((resolve) => setTimeout(resolve, 500));
      expect(seen.map((message) => (message.event === 'stream.gap' ? message : { id: message.id, orderId: message.data.orderId }))).toEqual(expected);
    } finally {
      await stream.close();
      await following;
    }
  }, 180_000);
});
