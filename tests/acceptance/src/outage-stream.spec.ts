import { describe, expect, it } from '@jest/globals';
import { allReady, kill } from './inside.js';
import { createPlant, placeOrder, until } from './shop.js';
import { pageOfEvents, Subscription } from './stream.js';

/** Follows the stream as a careful client does: it connects again with the last cursor, until it is stopped. */
async function follow(cursor: string, stopped: () => boolean): Promise<{ id: string; orderId: number }[]> {
  const seen: { id: string; orderId: number }[] = [];
  let position = cursor;
  while (!stopped()) {
    const subscription = await Subscription.open({ cursor: position }).catch(() => undefined);
    if (subscription) {
      await until(async () => stopped() || subscription.closed !== undefined, 60_000);
      for (const { id = '', cursor: own = position, data } of subscription.frames) {
        seen.push({ id, orderId: data.orderId });
        position = own;
      }
      subscription.close();
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return seen;
}

describe('when notifications is killed again and again while orders are placed', () => {
  it('whoever comes back with the last cursor has every event once and in order', async () => {
    const orders = 100;
    const { id: plantId } = await createPlant({ quantity: orders });
    const { cursor } = (await pageOfEvents({ cursor: 'latest' })).body;
    let isOver = false;
    const followed = follow(cursor, () => isOver);
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

      await new Promise((resolve) => setTimeout(resolve, 500));
      isOver = true;
      const own = (await followed).filter(({ orderId }) => ids.includes(orderId));
      expect(own).toEqual(expected);
    } finally {
      isOver = true;
    }
  }, 180_000);
});
