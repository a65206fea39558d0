import type { Payment } from '@plant-shop/contracts/store';

export type PaymentState = 'accepted' | 'failed' | 'refund-due' | 'refunded';

/** The effect of a report on its payment: `known` leaves the payment in `state`, `new` moves it to `state`. */
export type PaymentDecision =
  | { readonly kind: 'known'; readonly state: PaymentState }
  | { readonly kind: 'new'; readonly state: PaymentState };

/**
 * Decides what a provider's report changes. Providers repeat reports and may correct a failure to a success; a success is final.
 * A success for an order that no longer awaits payment is due for refund.
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
