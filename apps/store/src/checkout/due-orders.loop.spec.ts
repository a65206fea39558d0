import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { CheckoutPolicy } from '../config.js';
import { pauseMs, shortestDelayMs } from './due-orders.service.js';

describe('the pause until the next poll for due orders', () => {
  it.each([
    ['no order will be due', undefined, 1_000, 1_000],
    ['the next order is due later than one placed meanwhile could be', 5_000, 700, 700],
    ['the next order is due before that', 450.2, 1_000, 451],
    ['an order is due at once: others share its batch', 3, 1_000, 200],
  ])('%s', (_, inMs, intervalMs, expected) => {
    expect(pauseMs(inMs, intervalMs)).toBe(expected);
  });

  it('delays no order by more than the shortest pause, neither an existing one nor one placed meanwhile', () => {
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
  unpaid: { orders: 20, units: 200 },
  shownUpTo: 10,
  ...given,
});

describe('the shortest delay of a due transition', () => {
  it.each([
    ['expiry, with an external provider', policy({ provider: 'external', approvalDelayMs: 1 }), 900_000],
    ['approval', policy({}), 5_000],
    ['delivery, if it comes sooner', policy({ deliveryDelayMs: 300 }), 300],
    ['expiry, if it comes before approval', policy({ orderTtlMs: 1_000 }), 1_000],
  ])('is that of %s', (_, given, expected) => {
    expect(shortestDelayMs(given)).toBe(expected);
  });
});
