import { DomainError } from '@plant-shop/contracts/errors';
import type { OrderEvent } from '@plant-shop/contracts/events';
import type { CheckoutPolicy } from '../config.js';
import { type PlantListing, plantNotFound, type Units } from '../stock/stock.js';
import { customerClosed, dueAfterPlacing, externalIdExists, isoText, type OwnerData, type PlacedOrder, type Step, type StepContext } from './order.js';

// Placing an order: what a request must meet, and what it makes. Baskets are placed by the same rules (basket.ts).

/** `at`: when the order counts as placed; `now`: the clock, from which due times are counted. */
export interface PlacingContext extends StepContext {
  readonly now: Date;
}

/** A request for an order. The client chose the id, or the store drew it. */
export interface OrderRequest extends OwnerData {
  readonly id: number;
  readonly plantId: number;
  readonly quantity: number;
  readonly shipDate: Date | null;
}

/** The facts that `place` decides by. */
export interface PlacingFacts {
  /** A plant that the store does not know counts as retired. */
  readonly stock: { readonly listing: PlantListing; readonly free: number };
  readonly isCustomerClosed: boolean;
  readonly isIdTaken: boolean;
  /** The customer's order with the external id; undefined: there is none. */
  readonly orderWithExternalId?: number | undefined;
  /** The customer's newest unpaid orders, oldest first, as many as decide; undefined: the caller may reserve any number. */
  readonly unpaid: readonly UnpaidOrder[] | undefined;
  /** Whether the caller may know how many units are free. */
  readonly seesStock: boolean;
}

/** An order that reserves units and waits for its payment. */
export interface UnpaidOrder {
  readonly id: number;
  readonly quantity: number;
}

/** The step that begins an order. */
export interface Placement extends Step<PlacedOrder> {
  readonly units: Units;
  readonly event: OrderEvent;
}

/**
 * Places an order, which belongs to the actor, and reserves its units.
 * @throws DomainError `plant-not-found`, `customer-closed`, `order-exists`, `external-id-exists`, `plant-not-available`, `insufficient-stock`,
 * `unpaid-limit`; the first that applies, in this order
 */
export function place(
  request: OrderRequest,
  { stock, isCustomerClosed, isIdTaken, orderWithExternalId, unpaid, seesStock }: PlacingFacts,
  context: PlacingContext,
  policy: CheckoutPolicy,
): Placement {
  const { id, plantId, quantity, externalId } = request;
  if (stock.listing === 'retired') {
    throw plantNotFound(plantId);
  }
  if (isCustomerClosed) {
    throw customerClosed();
  }
  if (isIdTaken) {
    throw new DomainError('order-exists', `The id ${id} is taken. Choose another one, or omit the id to have one assigned.`);
  }
  if (externalId !== null && orderWithExternalId !== undefined) throw externalIdExists(externalId, orderWithExternalId);
  if (stock.listing !== 'available') {
    throw new DomainError('plant-not-available', `Plant ${plantId} is listed ${stock.listing} and cannot be ordered.`);
  }
  if (quantity > stock.free) throw insufficientStock(plantId, stock.free, seesStock || stock.free <= policy.shownUpTo);
  if (unpaid) assertWithinUnpaid(unpaid, [request], policy);
  return placementOf(request, null, context, policy);
}

/** Returns the placing of an order for which there is stock. */
export function placementOf(
  { id, plantId, quantity, shipDate, externalId, metadata, shipTo }: OrderRequest,
  basketId: number | null,
  { actor, at, now }: PlacingContext,
  policy: CheckoutPolicy,
): Placement {
  const due = dueAfterPlacing(policy);
  const dueAt = new Date(now.getTime() + due.inMs);
  return {
    order: {
      id,
      basketId,
      plantId,
      quantity,
      shipDate,
      status: 'placed',
      ownerId: actor,
      version: 1,
      placedAt: at,
      updatedAt: null,
      externalId,
      metadata,
      shipTo,
      dueAt,
      dueTransition: due.transition,
      paidAt: null,
      carrier: null,
      trackingNumber: '',
      refund: null,
    },
    actor,
    reason: 'placed',
    units: { free: -quantity, reserved: quantity, sold: 0 },
    event: {
      event: 'order.placed',
      timestamp: isoText(at),
      data: {
        orderId: id,
        plantId,
        quantity,
        ...(shipDate && { shipDate: shipDate.toISOString() }),
        ...(due.transition === 'expire' && { reservedUntil: isoText(dueAt) }),
      },
    },
  };
}

const insufficientStock = (plantId: number, free: number, isShown: boolean): DomainError =>
  new DomainError(
    'insufficient-stock',
    isShown
      ? `Plant ${plantId} has ${free} free units. Order at most that many, or wait for a cancellation.`
      : `Plant ${plantId} has fewer free units. Order fewer, or wait for a cancellation.`,
    isShown ? { available: free } : {},
  );

/**
 * Whoever pays nothing cannot reserve all stock. The first unpaid order may be of any size.
 * @throws DomainError `unpaid-limit`
 */
export function assertWithinUnpaid(unpaid: readonly UnpaidOrder[], added: readonly UnpaidOrder[], { unpaid: limits }: CheckoutPolicy): void {
  const beyond = [...unpaid, ...added].slice(1);
  if (beyond.length <= limits.orders && beyond.reduce((sum, one) => sum + one.quantity, 0) <= limits.units) return;
  throw new DomainError(
    'unpaid-limit',
    `You have ${unpaid.length} unpaid orders. ` +
      (added.length > 1 ? `The basket adds ${added.length}: order less, or pay or cancel orders first. ` : 'Pay or cancel some of them first. ') +
      `Beyond the first, unpaid orders may be ${limits.orders}, with ${limits.units} units.`,
    { orders: unpaid.slice(0, 100).map((one) => one.id) },
  );
}
