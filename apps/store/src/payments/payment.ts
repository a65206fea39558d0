import type { Payment } from '@plant-shop/contracts/store';

export type PaymentState = 'accepted' | 'failed' | 'refund-due' | 'refunded';

/** What a report makes of a payment; `state` is what it was, or is from now on. */
export type PaymentDecision =
  | { readonly kind: 'known'; readonly state: PaymentState }
  | { readonly kind: 'new'; readonly state: PaymentState };

/**
 * Providers repeat themselves, and correct a failure to a success; a success is final. Money that arrived for an order
 * that no longer waits for it is owed back.
 */
export function decidePayment(
  known: PaymentState | undefined,
  outcome: Payment['outcome'],
  orderAwaitsPayment: boolean,
): PaymentDecision {
  if (known !== undefined && known !== 'failed') return { kind: 'known', state: known };
  if (outcome === 'failed') return { kind: known === undefined ? 'new' : 'known', state: 'failed' };
  return { kind: 'new', state: orderAwaitsPayment ? 'accepted' : 'refund-due' };
}
