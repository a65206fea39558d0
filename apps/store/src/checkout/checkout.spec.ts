import { describe, expect, it } from '@jest/globals';
import { type CheckoutPolicy, shortestDelayMs } from './checkout.js';

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
