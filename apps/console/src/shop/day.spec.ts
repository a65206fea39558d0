import { describe, expect, it, jest } from '@jest/globals';
import type { Shop } from '@plant-shop/client';
import { Cell } from './cell.js';
import type { Connection, ConnectionState } from './connection.js';
import { Day, LiveDay, median, minuteMs, type Order } from './day.js';
import type { LiveEvents, LiveMessage, LiveState } from './live-events.js';

const now = Date.parse('2026-05-01T12:00:30.000Z');
const at = (agoMs: number): string => new Date(now - agoMs).toISOString();
const order = (id: number, changed: Partial<Order> = {}): Order => ({ id, plantId: 1, quantity: 1, status: 'placed', complete: false, placedAt: at(90_000), updatedAt: at(90_000), ...changed });
const changed = (orderId: number, newStatus: Order['status'], agoMs = 0): LiveMessage =>
  ({ event: 'order.status_changed', cursor: 'c', timestamp: at(agoMs), data: { orderId, plantId: 1, previousStatus: 'placed', newStatus, trackingNumber: '' } });
const placed = (orderId: number, agoMs: number): LiveMessage =>
  ({ event: 'order.placed', cursor: 'c', timestamp: at(agoMs), data: { orderId, plantId: 1, quantity: 2 } });

const sumOf = (day: Day): number => day.figures(now).perMinute.reduce((sum, one) => sum + one.placed, 0);

describe('the last hour', () => {
  it('counts an order once, even if it is received several times', () => {
    const day = new Day();
    day.take(placed(1, 0), now);
    day.take(placed(1, 0), now);
    day.add(order(1));
    expect(sumOf(day)).toBe(1);
  });

  it('counts the last hour by minute, the current minute last', () => {
    const day = new Day();
    day.add(order(1, { placedAt: at(0) }));
    day.add(order(2, { placedAt: at(59 * minuteMs) }));
    day.add(order(3, { placedAt: at(61 * minuteMs) }));
    const { perMinute } = day.figures(now);
    expect(perMinute).toHaveLength(60);
    expect(perMinute.at(-1)).toMatchObject({ placed: 1, at: now - 30_000 });
    expect(perMinute[0]).toMatchObject({ placed: 1 });
    expect(sumOf(day)).toBe(2);
  });

  it('measures the time from placing to delivery', () => {
    const day = new Day();
    day.add(order(1, { placedAt: at(20_000) }));
    day.add(order(2, { placedAt: at(10_000) }));
    day.take(changed(1, 'delivered'), now);
    day.take(changed(2, 'delivered'), now);
    expect(day.figures(now).perMinute.at(-1)?.deliveryMs).toBe(20_000);
  });

  it('drops orders after an hour', () => {
    const day = new Day();
    day.add(order(1, { placedAt: at(0) }));
    expect(day.knows(1)).toBe(true);
    day.figures(now + 62 * minuteMs);
    expect(day.knows(1)).toBe(false);
  });

  it('reports event lag, at least 0', () => {
    const day = new Day();
    expect(day.figures(now).lagMs).toBeUndefined();
    for (const lag of [-400, 20, 30]) day.take(changed(1, 'approved', lag), now);
    expect(day.figures(now).lagMs).toBe(20);
  });

  it('is read again after a gap that comes while it is read, and once the stream has opened', async () => {
    jest.useFakeTimers();
    try {
      const answers: (() => void)[] = [];
      const list = async function* (): AsyncGenerator<Order> {
        await new Promise<void>((resolve) => answers.push(resolve));
        yield* [];
      };
      const opening = Promise.withResolvers<undefined>();
      let tell: (message: LiveMessage) => void = () => undefined;
      const live = { state: new Cell<LiveState>('connecting'), opened: () => opening.promise, subscribe: (listener: typeof tell) => void (tell = listener) };
      const connection = { state: new Cell<ConnectionState>({ isAway: false }) };
      void new LiveDay({ list } as unknown as Shop, live as unknown as LiveEvents, connection as Connection, true);
      const reads = async (): Promise<number> => {
        for (let turn = 0; turn < 20; turn++) await Promise.resolve();
        return answers.length;
      };
      expect(await reads()).toBe(1);
      tell({ event: 'stream.gap' } as LiveMessage);
      tell({ event: 'stream.gap' } as LiveMessage);
      expect(await reads()).toBe(1);
      answers[0]?.();
      expect(await reads()).toBe(2);
      answers[1]?.();
      expect(await reads()).toBe(2);
      opening.resolve(undefined);
      expect(await reads()).toBe(3);
    } finally {
      jest.useRealTimers();
    }
  });

  it('calculates a median', () => {
    expect([median([]), median([3]), median([5, 1, 3])]).toEqual([undefined, 3, 3]);
  });
});
