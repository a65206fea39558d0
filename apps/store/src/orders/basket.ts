import { type DomainCode, DomainError } from '@plant-shop/contracts/errors';
import type { OrderStatus } from '@plant-shop/contracts/store';
import type { CheckoutPolicy } from '../config.js';
import {
  cancel,
  type CancelledOrder,
  customerClosed,
  type OrderState,
  type StatusChange,
  type StepContext,
} from './order.js';
import { assertWithinUnpaid, type OrderRequest, type Placement, placementOf, type PlacingContext, type PlacingFacts } from './placing.js';

// A basket: orders that were placed together. Its id is that of its first order, so it needs none of its own.

/** What the store keeps of a basket beside its orders. */
export interface BasketState {
  readonly id: number;
  /** Who placed it. Stays when an order is transferred. */
  readonly ownerId: string;
  readonly externalId: string | null;
  readonly metadata: Readonly<Record<string, string>> | null;
  readonly placedAt: Date;
}

/** The facts that `placeBasket` decides by. */
export interface BasketFacts extends Pick<PlacingFacts, 'isCustomerClosed' | 'unpaid' | 'seesStock'> {
  readonly stockOf: (plantId: number) => PlacingFacts['stock'];
  /** The customer's basket that has the external id; undefined: none. */
  readonly sameExternalId: number | undefined;
}

/**
 * Places a basket, which belongs to the actor: one order for each line, or nothing. The lines of one plant count together.
 * @throws DomainError `plant-not-found`, `customer-closed`, `external-id-exists`, `plant-not-available`, `insufficient-stock`, `unpaid-limit`; the first
 * that applies, in this order, with all `lines` to which it applies
 */
export function placeBasket(
  lines: readonly [OrderRequest, ...OrderRequest[]],
  { stockOf, isCustomerClosed, sameExternalId, unpaid, seesStock }: BasketFacts,
  context: PlacingContext,
  policy: CheckoutPolicy,
): [Placement, ...Placement[]] {
  const unknown = linesWhere(lines, ({ plantId }) => stockOf(plantId).listing === 'retired');
  if (unknown.length > 0) throw refusal('plant-not-found', 'There is no plant', unknown);
  if (isCustomerClosed) throw customerClosed();
  if (sameExternalId !== undefined) {
    throw new DomainError('external-id-exists', `Your basket ${sameExternalId} has this external id.`, { basketId: sameExternalId });
  }
  const unavailable = linesWhere(lines, ({ plantId }) => stockOf(plantId).listing !== 'available');
  if (unavailable.length > 0) throw refusal('plant-not-available', 'Cannot be ordered now: plant', unavailable);
  const wanted = new Map<number, number>();
  for (const { plantId, quantity } of lines) wanted.set(plantId, (wanted.get(plantId) ?? 0) + quantity);
  const lacking = linesWhere(lines, ({ plantId }) => (wanted.get(plantId) ?? 0) > stockOf(plantId).free);
  if (lacking.length > 0) {
    const shown = lacking.map((line) => {
      const { free } = stockOf(line.plantId);
      return seesStock || free <= policy.shownUpTo ? { ...line, available: free } : line;
    });
    throw refusal('insufficient-stock', 'Too few units are free of plant', shown);
  }
  if (unpaid) assertWithinUnpaid(unpaid, lines, policy);
  const [first, ...others] = lines;
  const placed = (line: OrderRequest): Placement => placementOf(line, first.id, context, policy);
  return [placed(first), ...others.map(placed)];
}

/** A line to which a refusal applies. */
interface RefusedLine {
  /** Into the basket as it was sent. */
  readonly pointer: string;
  readonly plantId: number;
}

const linesWhere = (lines: readonly OrderRequest[], isRefused: (line: OrderRequest) => boolean): RefusedLine[] =>
  lines.flatMap((line, n) => (isRefused(line) ? [{ pointer: `/lines/${n}`, plantId: line.plantId }] : []));

const refusal = (code: DomainCode, what: string, lines: readonly RefusedLine[]): DomainError =>
  new DomainError(code, `${what} ${[...new Set(lines.map(({ plantId }) => plantId))].join(', ')}. Nothing was ordered.`, { lines });

/** Cancels those orders of a basket that are not cancelled yet. @throws DomainError `order-not-cancellable` if one of them cannot be */
export function cancelBasket(orders: readonly OrderState[], context: StepContext): StatusChange<CancelledOrder>[] {
  const open = orders.filter(({ status }) => status !== 'cancelled');
  const kept = open.filter(({ status }) => status !== 'placed').map(({ id }) => id);
  if (kept.length > 0) {
    throw new DomainError('order-not-cancellable', `Nothing was cancelled: only placed orders can be, and ${kept.join(', ')} ${kept.length === 1 ? 'is' : 'are'} not.`, {
      orders: kept,
    });
  }
  return open.map((order) => cancel(order, context));
}

const byProgress: readonly OrderStatus[] = ['placed', 'approved', 'delivered'];

/** Returns the status of the order that is least advanced; cancelled ones count only if all are. */
export const statusOf = (orders: readonly OrderState[]): OrderStatus =>
  byProgress.find((status) => orders.some((order) => order.status === status)) ?? 'cancelled';
