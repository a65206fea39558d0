import { describe, expect, it } from '@jest/globals';
import { decidePayment, type PaymentState } from './payment.js';

describe('a report of the payment provider', () => {
  it.each<[PaymentState | undefined, 'succeeded' | 'failed', boolean, string, PaymentState]>([
    [undefined, 'succeeded', true, 'new', 'accepted'],
    [undefined, 'succeeded', false, 'new', 'refund-due'],
    [undefined, 'failed', true, 'new', 'failed'],
    [undefined, 'failed', false, 'new', 'failed'],
    ['failed', 'succeeded', true, 'new', 'accepted'],
    ['failed', 'succeeded', false, 'new', 'refund-due'],
    ['failed', 'failed', true, 'known', 'failed'],
    ['accepted', 'succeeded', false, 'known', 'accepted'],
    ['accepted', 'failed', false, 'known', 'accepted'],
    ['refund-due', 'succeeded', false, 'known', 'refund-due'],
  ])('of a payment that was %s, with outcome %s and an order awaiting payment (%s), is %s: %s', (known, outcome, waiting, kind, state) => {
    expect(decidePayment(known, outcome, waiting)).toEqual({ kind, state });
  });
});
