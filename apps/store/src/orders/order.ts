import { DomainError } from '@plant-shop/contracts/errors';
import type { OrderEvent } from '@plant-shop/contracts/events';
import type { Order, OrderStatus, RefundStatus, Shipment, TimelineEntry } from '@plant-shop/contracts/store';
import type { Principal } from '@plant-shop/platform/rpc/principal';
import { type Listing, noUnits, type Units } from '../stock/stock.js';

interface OrderFields {
  readonly id: number;
  readonly plantId: number;
  readonly quantity: number;
  readonly shipDate: Date | null;
  readonly ownerId: string;
  readonly version: number;
  readonly placedAt: Date;
  /** Null: no payment was ever owed back. */
  readonly refund: RefundStatus | null;
}

interface Unpaid {
  readonly paidAt: null;
  readonly carrier: null;
  readonly trackingNumber: '';
}

interface Paid {
  readonly paidAt: Date;
  /** Null until staff report a shipment. */
  readonly carrier: string | null;
  readonly trackingNumber: string;
}

export interface PlacedOrder extends OrderFields, Unpaid {
  readonly status: 'placed';
  /** When the store takes the next step on its own; null: never. */
  readonly dueAt: Date | null;
  readonly dueMove: DueAfterPlacing['move'] | null;
}
export interface ApprovedOrder extends OrderFields, Paid {
  readonly status: 'approved';
}
export interface DeliveredOrder extends OrderFields, Paid {
  readonly status: 'delivered';
}
export interface CancelledOrder extends OrderFields, Unpaid {
  readonly status: 'cancelled';
}

/** An order as its row holds it. */
export type OrderState = PlacedOrder | ApprovedOrder | DeliveredOrder | CancelledOrder;

/** Open orders keep their plant and their owner from being deleted. */
export type OpenOrder = PlacedOrder | ApprovedOrder;

/** The lifecycle, all of it (specification, "Order lifecycle"). */
export const transitions = {
  approve: { from: 'placed', to: 'approved' },
  deliver: { from: 'approved', to: 'delivered' },
  cancel: { from: 'placed', to: 'cancelled' },
  expire: { from: 'placed', to: 'cancelled' },
} as const satisfies Readonly<Record<string, { readonly from: OrderStatus; readonly to: OrderStatus }>>;

export type Move = keyof typeof transitions;

export const canMove = (order: Pick<OrderState, 'status'>, move: Move): boolean => order.status === transitions[move].from;

/** A step that the store takes on its own, by the database's clock. */
export interface Due<Next extends Move = 'approve' | 'deliver' | 'expire'> {
  readonly move: Next;
  readonly inMs: number;
}

export type DueAfterPlacing = Due<'approve' | 'expire'>;

export interface CheckoutPolicy {
  readonly provider: 'simulated' | 'external';
  readonly orderTtlMs: number;
  readonly approvalDelayMs: number;
  readonly deliveryDelayMs: number;
}

/** An order waits for its payment; payment or expiry decides, whichever comes first. */
export function dueAfterPlacing(policy: CheckoutPolicy): DueAfterPlacing {
  return policy.provider === 'simulated' && policy.approvalDelayMs < policy.orderTtlMs
    ? { move: 'approve', inMs: policy.approvalDelayMs }
    : { move: 'expire', inMs: policy.orderTtlMs };
}

/** Returns the simulated delivery of an order approved at `at`: after the policy's delay, but not before its ship date. */
export function dueAfterApproval({ shipDate }: Pick<OrderState, 'shipDate'>, at: Date, policy: CheckoutPolicy): Due | undefined {
  if (policy.provider !== 'simulated') return undefined;
  const untilShipDate = shipDate === null ? 0 : shipDate.getTime() - at.getTime();
  return { move: 'deliver', inMs: Math.max(policy.deliveryDelayMs, untilShipDate) };
}

/** What a rule returns: the order after the step, and what is written with it in the same transaction. */
export interface Step<After extends OrderState = OrderState> {
  readonly order: After;
  /** A user id, or `store`. */
  readonly actor: string;
  /** As the timeline shows it. */
  readonly reason: string;
  /** Absent: the step stands in the timeline only. */
  readonly event?: OrderEvent;
}

export interface Placed extends Step<PlacedOrder> {
  readonly units: Units;
  readonly event: OrderEvent;
}

export interface StatusChange<After extends OrderState = OrderState> extends Step<After> {
  readonly previousStatus: OrderStatus;
  /** What the step adds to the plant's free, reserved and sold units (docs/decisions/stock-model.md). */
  readonly units: Units;
  /** What the store does next on its own. */
  readonly due: Due | undefined;
  readonly event: OrderEvent;
}

/** Who takes a step, and when by the database's clock. */
export interface Acting {
  readonly actor: string;
  readonly at: Date;
}

const storeItself = 'store';

/** What an order asks for, with the id that the client chose or the store assigns. */
export interface OrderRequest {
  readonly id: number;
  readonly plantId: number;
  readonly quantity: number;
  readonly shipDate: Date | null;
  readonly ownerId: string;
}

/** What placing depends on. All of it is locked until the order is written. */
export interface PlacingFacts {
  /** Of a plant that the store does not know: retired. */
  readonly stock: { readonly listing: Listing; readonly free: number };
  readonly isCustomerClosed: boolean;
  readonly isIdTaken: boolean;
}

/** @throws DomainError `plant-not-found`, `customer-closed`, `order-exists`, `plant-not-available`, `insufficient-stock` */
export function place(
  { id, plantId, quantity, shipDate, ownerId }: OrderRequest,
  { stock, isCustomerClosed, isIdTaken }: PlacingFacts,
  { at, due }: { readonly at: Date; readonly due: DueAfterPlacing },
): Placed {
  if (stock.listing === 'retired') {
    throw new DomainError('plant-not-found', `There is no plant ${plantId}.`);
  }
  if (isCustomerClosed) {
    throw customerClosed();
  }
  if (isIdTaken) {
    throw new DomainError('order-exists', `The id ${id} is taken. Choose another, or send none to get one.`);
  }
  if (stock.listing !== 'available') {
    throw new DomainError('plant-not-available', `Plant ${plantId} is listed ${stock.listing} and cannot be ordered.`);
  }
  if (quantity > stock.free) {
    throw new DomainError(
      'insufficient-stock',
      `Plant ${plantId} has ${stock.free} free units. Order at most that many, or wait for a cancellation.`,
      { available: stock.free },
    );
  }
  const dueAt = new Date(at.getTime() + due.inMs);
  return {
    order: {
      id,
      plantId,
      quantity,
      shipDate,
      status: 'placed',
      ownerId,
      version: 1,
      placedAt: at,
      dueAt,
      dueMove: due.move,
      paidAt: null,
      carrier: null,
      trackingNumber: '',
      refund: null,
    },
    actor: ownerId,
    reason: 'placed',
    units: { free: -quantity, reserved: quantity, sold: 0 },
    event: {
      event: 'order.placed',
      timestamp: at.toISOString(),
      data: {
        orderId: id,
        plantId,
        quantity,
        ...(shipDate && { shipDate: shipDate.toISOString() }),
        ...(due.move === 'expire' && { reservedUntil: dueAt.toISOString() }),
      },
    },
  };
}

/** @throws DomainError `order-transition-refused` */
export function approve(order: OrderState, { actor, at }: Acting, policy: CheckoutPolicy): StatusChange<ApprovedOrder> {
  if (order.status !== transitions.approve.from) throw transitionRefused(order, 'only placed orders are approved');
  const { quantity } = order;
  const approved = { ...order, status: transitions.approve.to, version: order.version + 1, paidAt: at, trackingNumber: trackingNumberOf(order.id) };
  return statusChange(order, approved, at, {
    actor,
    reason: actor === storeItself ? 'payment succeeded (simulated)' : 'payment succeeded',
    units: { free: 0, reserved: -quantity, sold: quantity },
    due: dueAfterApproval(order, at, policy),
  });
}

/** @throws DomainError `order-transition-refused` */
export function deliver(order: OrderState, { actor, at }: Acting): StatusChange<DeliveredOrder> {
  if (order.status !== transitions.deliver.from) throw transitionRefused(order, 'only approved orders are delivered');
  const delivered = { ...order, status: transitions.deliver.to, version: order.version + 1 };
  return statusChange(order, delivered, at, {
    actor,
    reason: actor === storeItself ? 'delivered (simulated)' : 'delivered',
    units: noUnits,
    due: undefined,
  });
}

/** @throws DomainError `order-not-cancellable` */
export function cancel(order: OrderState, { actor, at }: Acting): StatusChange<CancelledOrder> {
  if (order.status !== transitions.cancel.from) throw notCancellable(order);
  const cancelled = { ...order, status: transitions.cancel.to, version: order.version + 1 };
  return statusChange(order, cancelled, at, { actor, reason: 'cancelled', units: unitsReleasedBy(order), due: undefined });
}

/** @throws DomainError `order-transition-refused` */
export function expire(order: OrderState, at: Date): StatusChange<CancelledOrder> {
  if (order.status !== transitions.expire.from) throw transitionRefused(order, 'only placed orders expire');
  const expired = { ...order, status: transitions.expire.to, version: order.version + 1 };
  return statusChange(order, expired, at, { actor: storeItself, reason: 'expired without payment', units: unitsReleasedBy(order), due: undefined });
}

/** Takes a due step. Returns undefined for an order that its status no longer allows to take it. */
export function takeDueStep(order: OrderState, move: Due['move'], at: Date, policy: CheckoutPolicy): StatusChange | undefined {
  if (!canMove(order, move)) return undefined;
  switch (move) {
    case 'approve':
      return approve(order, { actor: storeItself, at }, policy);
    case 'deliver':
      return deliver(order, { actor: storeItself, at });
    case 'expire':
      return expire(order, at);
    default:
      return move satisfies never;
  }
}

/** The carrier's own tracking number replaces ours; later events carry it. @throws DomainError `order-transition-refused` */
export function ship(
  order: OrderState,
  { carrier, trackingNumber }: Shipment,
  { actor, at }: Acting,
): Step<ApprovedOrder> {
  if (order.status !== 'approved') throw transitionRefused(order, 'only approved orders are shipped');
  const data = { orderId: order.id, plantId: order.plantId, carrier, trackingNumber };
  return {
    order: { ...order, carrier, trackingNumber, version: order.version + 1 },
    actor,
    reason: 'shipped',
    event: { event: 'order.shipped', timestamp: at.toISOString(), data },
  };
}

/**
 * Hands an open order to another user: events so far stay the former owner's, later ones are the new one's.
 * @throws DomainError `customer-closed`, `order-transition-refused`
 */
export function transfer(order: OrderState, to: { readonly ownerId: string; readonly isCustomerClosed: boolean }, actor: string): Step<OpenOrder> {
  if (to.isCustomerClosed) throw customerClosed();
  if (order.status !== 'placed' && order.status !== 'approved') throw transitionRefused(order, 'only open orders are transferred');
  return { order: { ...order, ownerId: to.ownerId, version: order.version + 1 }, actor, reason: 'transferred' };
}

/** Marks the order of a payment that is owed back. Its event is `refundDue`, once the refund has an id. */
export const oweRefund = (order: OrderState, actor: string): Step => ({
  order: { ...order, version: order.version + 1, refund: 'due' },
  actor,
  reason: 'refund due',
});

export const refundDue = (refundId: number, { id, plantId }: Pick<OrderState, 'id' | 'plantId'>, at: Date): OrderEvent => ({
  event: 'refund.due',
  timestamp: at.toISOString(),
  data: { refundId, orderId: id, plantId },
});

/**
 * Answers 404 for orders that the caller may not read.
 * @throws DomainError `order-not-found`
 */
export function visible(caller: Principal, orderId: number, order: OrderState | undefined): OrderState {
  if (order && (order.ownerId === caller.subject || caller.permissions.includes('read:orders'))) return order;
  throw new DomainError('order-not-found', `There is no order ${orderId} of yours.`);
}

/**
 * Returns the order for callers who may see all orders, at the version that they know.
 * @throws DomainError `order-not-found`, `precondition-failed`
 */
export function existing(orderId: number, order: OrderState | undefined, ifVersion?: number): OrderState {
  if (!order) throw new DomainError('order-not-found', `There is no order ${orderId}.`);
  assertVersion(order, ifVersion);
  return order;
}

/** @throws DomainError `precondition-failed` */
export function assertVersion(order: OrderState, ifVersion?: number): void {
  if (ifVersion === undefined || ifVersion === order.version) return;
  throw new DomainError('precondition-failed', `The order is at version ${order.version} by now. Read it again.`);
}

/**
 * The order as clients see it; absent members are left out.
 * @param owner the owner's username, for those who may see it
 */
export function toOrder(state: OrderState, owner?: string): Order {
  return {
    id: state.id,
    plantId: state.plantId,
    quantity: state.quantity,
    ...(state.shipDate && { shipDate: state.shipDate.toISOString() }),
    status: state.status,
    complete: state.status === 'delivered',
    placedAt: state.placedAt.toISOString(),
    ...(state.status === 'placed' && state.dueMove === 'expire' && state.dueAt && { reservedUntil: state.dueAt.toISOString() }),
    ...(state.carrier !== null && { carrier: state.carrier }),
    ...(state.trackingNumber !== '' && { trackingNumber: state.trackingNumber }),
    ...(state.refund !== null && { refund: state.refund }),
    ...(owner !== undefined && { owner }),
  };
}

/** One row of an order's timeline, as it was written. */
export interface TimelineRow {
  readonly at: Date;
  readonly previousStatus: OrderStatus | null;
  readonly newStatus: OrderStatus;
  /** A user id, or `store`. */
  readonly actor: string;
  readonly reason: string;
  /** The owner from this step on. */
  readonly ownerId: string;
  readonly eventId: string | null;
  /** Of a shipment; null at other steps. */
  readonly carrier: string | null;
  readonly trackingNumber: string | null;
  /** Of a refund that became due or was completed; null at other steps. */
  readonly refundId: number | null;
}

export const toTimelineEntry = (row: TimelineRow): TimelineEntry => ({
  at: row.at.toISOString(),
  ...(row.previousStatus && { previousStatus: row.previousStatus }),
  newStatus: row.newStatus,
  actor: roleOf(row),
  reason: row.reason,
  ...(row.carrier !== null && { carrier: row.carrier }),
  ...(row.trackingNumber !== null && { trackingNumber: row.trackingNumber }),
  ...(row.refundId !== null && { refundId: row.refundId }),
  ...(row.eventId !== null && { eventId: row.eventId }),
});

/** Shows the actor's role; internal user ids stay private. */
function roleOf({ actor, ownerId }: TimelineRow): TimelineEntry['actor'] {
  if (actor === storeItself) return 'store';
  return actor === ownerId ? 'owner' : 'staff';
}

/** Approval assigns it; a carrier's own number may replace it later. */
const trackingNumberOf = (orderId: number): string => `PS${String(orderId).padStart(16, '0')}`;

const unitsReleasedBy = ({ quantity }: PlacedOrder): Units => ({ free: quantity, reserved: -quantity, sold: 0 });

function statusChange<After extends OrderState>(
  { status: previousStatus }: OrderState,
  order: After,
  at: Date,
  rest: Pick<StatusChange, 'actor' | 'reason' | 'units' | 'due'>,
): StatusChange<After> {
  const { id: orderId, plantId, status: newStatus, trackingNumber } = order;
  const data = { orderId, plantId, previousStatus, newStatus, trackingNumber };
  return { order, previousStatus, ...rest, event: { event: 'order.status_changed', timestamp: at.toISOString(), data } };
}

const customerClosed = (): DomainError =>
  new DomainError('customer-closed', 'This account is being deleted and takes no orders any more.');

const transitionRefused = (order: OrderState, why: string): DomainError =>
  new DomainError('order-transition-refused', `Order ${order.id} is ${order.status}: ${why}.`);

const notCancellable = (order: OrderState): DomainError =>
  new DomainError(
    'order-not-cancellable',
    `Order ${order.id} is ${order.status}${order.paidAt ? ` (payment arrived ${order.paidAt.toISOString()})` : ''}: ` +
      'only placed orders can be cancelled.',
  );
