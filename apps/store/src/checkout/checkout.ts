import type { Move } from '../orders/order.js';

/** Something that happens to an order by itself, by the database's clock. */
export interface Due {
  readonly move: Extract<Move, 'approve' | 'deliver' | 'expire'>;
  readonly inMs: number;
}

export interface CheckoutPolicy {
  readonly provider: 'simulated' | 'external';
  readonly orderTtlMs: number;
  readonly approvalDelayMs: number;
  readonly deliveryDelayMs: number;
}

/** An order waits for its payment; whichever comes first, payment or expiry, decides. */
export function dueAfterPlacing(policy: CheckoutPolicy): Due {
  return policy.provider === 'simulated' && policy.approvalDelayMs < policy.orderTtlMs
    ? { move: 'approve', inMs: policy.approvalDelayMs }
    : { move: 'expire', inMs: policy.orderTtlMs };
}

/** What follows a move: only the simulated provider delivers by itself. */
export function dueAfter(move: Move, policy: CheckoutPolicy): Due | undefined {
  return move === 'approve' && policy.provider === 'simulated'
    ? { move: 'deliver', inMs: policy.deliveryDelayMs }
    : undefined;
}

/** The shortest time in which anything happens to an order by itself. */
export function shortestDelayMs(policy: CheckoutPolicy): number {
  const placed = dueAfterPlacing(policy).inMs;
  return Math.min(placed, dueAfter('approve', policy)?.inMs ?? placed);
}
