import { describe, expect, it } from '@jest/globals';
import { Day, median, minuteMs, type Order } from './day.js';
import type { LiveMessage } from './live-events.js';

const now = Date.parse('2026-05-01T12:00:30.000Z');
const at = (agoMs: number): string => new Date(now - agoMs).toISOString();
const order = (id: number, changed: Partial<Order> = {}): Order => ({ id, plantId: 1, quantity: 1, status: 'placed', complete: false, placedAt: at(90_000), updatedAt: at(90_000), ...changed });
const changed = (orderId: number, newStatus: Order['status'], agoMs = 0): LiveMessage =>
  ({ event: 'order.status_changed', cursor: 'c', timestamp: at(agoMs), data: { orderId, plantId: 1, previousStatus: 'placed', newStatus, trackingNumber: '' } });
const placed = (orderId: number, agoMs: number): LiveMessage =>
  ({ event: 'order.placed', cursor: 'c', timestamp: at(agoMs), data: { orderId, plantId: 1, quantity: 2 } });

describe('the day', () => {
  it('counts orders by status, from lists and events', () => {
    const day = new Day();
    day.add(order(1));
    day.add(order(2, { status: 'approved' }));
    day.take(placed(3, 1_000), now);
    day.take(changed(1, 'approved'), now);
    day.take(changed(3, 'cancelled'), now);
    expect(day.figures(now).counts).toEqual({ placed: 0, approved: 2, delivered: 0, cancelled: 1 });
  });

  it('ignores an older status, in a list or an event', () => {
    const day = new Day();
    day.take(placed(1, 5_000), now);
    day.take(changed(1, 'delivered'), now);
    day.add(order(1, { status: 'approved' }));
    day.take(changed(1, 'approved'), now);
    expect(day.figures(now).counts).toEqual({ placed: 0, approved: 0, delivered: 1, cancelled: 0 });
  });

  it('counts an order once, even if it is received several times', () => {
    const day = new Day();
    day.take(placed(1, 0), now);
    day.take(placed(1, 0), now);
    day.add(order(1));
    expect(day.figures(now).counts.placed).toBe(1);
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
    expect(perMinute.reduce((sum, one) => sum + one.placed, 0)).toBe(2);
  });

  it('measures the time from placing to delivery', () => {
    const day = new Day();
    day.add(order(1, { placedAt: at(20_000) }));
    day.add(order(2, { placedAt: at(10_000) }));
    day.take(changed(1, 'delivered'), now);
    day.take(changed(2, 'delivered'), now);
    expect(day.figures(now).perMinute.at(-1)?.deliveryMs).toBe(20_000);
  });

  it('lists orders to ship, the oldest first', () => {
    const day = new Day();
    day.add(order(1, { status: 'approved', placedAt: at(1_000) }));
    day.add(order(2, { status: 'approved', placedAt: at(90_000_000) }));
    day.add(order(3, { status: 'approved', carrier: 'DHL' }));
    expect(day.figures(now).toShip.map(({ id }) => id)).toEqual([2, 1]);
    day.take({ event: 'order.shipped', cursor: 'c', timestamp: at(0), data: { orderId: 2, plantId: 1, carrier: 'DHL', trackingNumber: 't' } }, now);
    expect(day.figures(now).toShip.map(({ id }) => id)).toEqual([1]);
  });

  it('drops closed orders after a day', () => {
    const day = new Day();
    day.add(order(1, { status: 'delivered', placedAt: at(0) }));
    day.add(order(2, { status: 'approved', placedAt: at(0) }));
    const { counts } = day.figures(now + 25 * 60 * minuteMs);
    expect(counts).toEqual({ placed: 0, approved: 1, delivered: 0, cancelled: 0 });
  });

  it('reports event lag, at least 0', () => {
    const day = new Day();
    expect(day.figures(now).lagMs).toBeUndefined();
    for (const lag of [-400, 20, 30]) day.take(changed(1, 'approved', lag), now);
    expect(day.figures(now).lagMs).toBe(20);
  });

  it('calculates a median', () => {
    expect([median([]), median([3]), median([5, 1, 3])]).toEqual([undefined, 3, 3]);
  });
});
