import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { CheckoutPolicy } from '../orders/order.js';
import { pauseMs, shortestDelayMs } from './due-orders.js';

describe('the pause until the next look for due orders', () => {
  it.each([
    ['nothing is due', undefined, 1_000, 1_000],
    ['what is due is far away: what is placed meanwhile may be due before', 5_000, 700, 700],
    ['something is due before that', 450.2, 1_000, 451],
    ['something is due at once: others come along', 3, 1_000, 200],
  ])('%s', (_, inMs, intervalMs, expected) => {
    expect(pauseMs(inMs, intervalMs)).toBe(expected);
  });

  it('never makes an order later than the shortest pause, neither one that is there nor one that is placed meanwhile', () => {
    fc.assert(
      fc.property(fc.double({ min: 0.1, max: 1e7, noNaN: true }), fc.integer({ min: 200, max: 1_000 }), (inMs, intervalMs) => {
        const pause = pauseMs(inMs, intervalMs);
        expect(pause).toBeLessThanOrEqual(Math.max(Math.ceil(inMs), 200));
        expect(pause).toBeLessThanOrEqual(intervalMs);
        expect(pause).toBeGreaterThanOrEqual(200);
      }),
    );
  });
});

const policy = (given: Partial<CheckoutPolicy>): CheckoutPolicy => ({
  provider: 'simulated',
  orderTtlMs: 900_000,
  approvalDelayMs: 5_000,
  deliveryDelayMs: 15_000,
  ...given,
});

describe('the shortest time in which anything happens to an order by itself', () => {
  it.each([
    ['expiry, when payments come from outside', policy({ provider: 'external', approvalDelayMs: 1 }), 900_000],
    ['approval', policy({}), 5_000],
    ['delivery, when that comes sooner', policy({ deliveryDelayMs: 300 }), 300],
    ['expiry, when it comes before approval', policy({ orderTtlMs: 1_000 }), 1_000],
  ])('is that of %s', (_, given, expected) => {
    expect(shortestDelayMs(given)).toBe(expected);
  });
});
