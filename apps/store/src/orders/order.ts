import { DomainError } from '@plant-shop/contracts/errors';
import type { OrderEvent } from '@plant-shop/contracts/events';
import type { OrderStatus, RefundStatus, Shipment, ShipTo } from '@plant-shop/contracts/store';
import type { CheckoutPolicy } from '../config.js';
import { noUnits, type Units } from '../stock/stock.js';

/** What the owner adds to an order. The store reads nothing into it. */
export interface OwnerData {
  readonly externalId: string | null;
  readonly metadata: Readonly<Record<string, string>> | null;
  readonly shipTo: ShipTo | null;
}

interface OrderFields extends OwnerData {
  readonly id: number;
  /** The basket that it was placed in; null: it was placed alone. */
  readonly basketId: number | null;
  readonly plantId: number;
  readonly quantity: number;
  readonly shipDate: Date | null;
  readonly ownerId: string;
  readonly version: number;
  readonly placedAt: Date;
  /** When the latest step was taken; null: the order is as it was placed. */
  readonly updatedAt: Date | null;
  /** Null: no payment of the order was ever due for refund. */
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
  /** When the store applies `dueTransition` without a request; null: never. */
  readonly dueAt: Date | null;
  readonly dueTransition: DueAfterPlacing['transition'] | null;
}
export interface ApprovedOrder extends OrderFields, Paid {
  readonly status: 'approved';
}
export interface DeliveredOrder extends OrderFields, Paid {
  readonly status: 'delivered';
}
export interface CancelledOrder extends OrderFields {
  readonly status: 'cancelled';
  /** Null unless staff cancelled a paid order. */
  readonly paidAt: Date | null;
  readonly carrier: null;
  readonly trackingNumber: string;
}

/** An order as its row stores it. */
export type OrderState = PlacedOrder | ApprovedOrder | DeliveredOrder | CancelledOrder;

/** While an order is open, neither its plant nor its owner can be deleted. */
export type OpenOrder = PlacedOrder | ApprovedOrder;

/** All transitions; placing.ts has the beginning. order.spec.ts compares them with what the rules below allow. */
export const transitions = {
  approve: { from: 'placed', to: 'approved' },
  deliver: { from: 'approved', to: 'delivered' },
  cancel: { from: 'placed', to: 'cancelled' },
  expire: { from: 'placed', to: 'cancelled' },
  /** Only by staff, and only before the shipment. */
  cancelPaid: { from: 'approved', to: 'cancelled' },
} as const satisfies Readonly<Record<string, { readonly from: OrderStatus; readonly to: OrderStatus }>>;

export type Transition = keyof typeof transitions;

export const canTransition = (order: Pick<OrderState, 'status'>, transition: Transition): boolean =>
  order.status === transitions[transition].from;

/** A transition that the store applies without a request, `inMs` milliseconds from now by the database's clock. */
export interface DueTransition<Next extends Transition = 'approve' | 'deliver' | 'expire'> {
  readonly transition: Next;
  readonly inMs: number;
}

export type DueAfterPlacing = DueTransition<'approve' | 'expire'>;

/** Returns the transition that ends the wait for payment: simulated approval if it comes before the expiry, else the expiry. */
export function dueAfterPlacing(policy: CheckoutPolicy): DueAfterPlacing {
  return policy.provider === 'simulated' && policy.approvalDelayMs < policy.orderTtlMs
    ? { transition: 'approve', inMs: policy.approvalDelayMs }
    : { transition: 'expire', inMs: policy.orderTtlMs };
}

/**
 * Returns the simulated delivery of an order approved at `at`: after the policy's delay, but not before the order's ship date.
 * Undefined with an external provider: staff report deliveries.
 */
function dueAfterApproval({ shipDate }: Pick<OrderState, 'shipDate'>, at: Date, policy: CheckoutPolicy): DueTransition | undefined {
  if (policy.provider !== 'simulated') return undefined;
  const untilShipDateMs = shipDate === null ? 0 : shipDate.getTime() - at.getTime();
  return { transition: 'deliver', inMs: Math.max(policy.deliveryDelayMs, untilShipDateMs) };
}

/** The result of a rule: the order after the step, and the timeline entry and event to write in the same transaction. */
export interface Step<After extends OrderState = OrderState> {
  readonly order: After;
  /** A user id, or `store`. */
  readonly actor: string;
  /** As the timeline shows it. */
  readonly reason: string;
  /** Absent: only the timeline shows the step. */
  readonly event?: OrderEvent;
}

/** A step that leaves the status as it is. */
export interface Amendment<After extends OrderState = OrderState> extends Step<After> {
  /** What the timeline shows of a shipment; absent: the step is none. */
  readonly shipment?: Shipment;
  /** The refund that the step makes due or completes; absent: none. */
  readonly refundId?: number;
}

export interface StatusChange<After extends OrderState = OrderState> extends Step<After> {
  readonly previousStatus: OrderStatus;
  /** Added to the plant's free, reserved and sold units (docs/decisions/orders.md). */
  readonly units: Units;
  /** The next transition that the store applies without a request; undefined: none. */
  readonly due: DueTransition | undefined;
  readonly event: OrderEvent;
}

/** Who takes a step, and when, by the database's clock. */
export interface StepContext {
  readonly actor: string;
  readonly at: Date;
}

/** The actor of steps that the store takes without a request. */
export const storeActor = 'store';
/** The reason of the step that changes an order's owner. */
export const transferred = 'transferred';

/** Returns what every step changes of an order. */
const afterStep = <State extends OrderState>(order: State, at: Date): State => ({ ...order, version: order.version + 1, updatedAt: at });

/** Approves a placed order: its reserved units are sold. @throws DomainError `order-transition-refused` */
export function approve(order: OrderState, { actor, at }: StepContext, policy: CheckoutPolicy): StatusChange<ApprovedOrder> {
  if (order.status !== transitions.approve.from) throw transitionRefused(order, 'only placed orders are approved');
  const { quantity } = order;
  const approved = { ...afterStep(order, at), status: transitions.approve.to, paidAt: at, trackingNumber: trackingNumberOf(order.id) };
  return statusChange(order, approved, at, {
    actor,
    reason: actor === storeActor ? 'payment succeeded (simulated)' : 'payment succeeded',
    units: { free: 0, reserved: -quantity, sold: quantity },
    due: dueAfterApproval(order, at, policy),
  });
}

/** Delivers an approved order. @throws DomainError `order-transition-refused` */
export function deliver(order: OrderState, { actor, at }: StepContext): StatusChange<DeliveredOrder> {
  if (order.status !== transitions.deliver.from) throw transitionRefused(order, 'only approved orders are delivered');
  const delivered = { ...afterStep(order, at), status: transitions.deliver.to };
  return statusChange(order, delivered, at, {
    actor,
    reason: actor === storeActor ? 'delivered (simulated)' : 'delivered',
    units: noUnits,
    due: undefined,
  });
}

/** Cancels a placed order and frees its units. @throws DomainError `order-not-cancellable` */
export function cancel(order: OrderState, { actor, at }: StepContext, reason = 'cancelled'): StatusChange<CancelledOrder> {
  if (order.status !== transitions.cancel.from) throw notCancellable(order);
  const cancelled = { ...afterStep(order, at), status: transitions.cancel.to };
  return statusChange(order, cancelled, at, { actor, reason, units: unitsReleasedBy(order), due: undefined });
}

/**
 * Cancels an approved order that was not shipped, for staff. Its units become free; the caller writes them off if they cannot be sold
 * again (docs/decisions/orders.md).
 * @throws DomainError `order-not-cancellable`
 */
export function cancelPaid(order: OrderState, { actor, at }: StepContext, reason: string): StatusChange<CancelledOrder> {
  if (order.status !== transitions.cancelPaid.from || order.carrier !== null) throw notCancellable(order, 'staff cancel orders until they are shipped');
  const { carrier, quantity } = order;
  const cancelled = { ...afterStep(order, at), status: transitions.cancelPaid.to, carrier };
  return statusChange(order, cancelled, at, { actor, reason, units: { free: quantity, reserved: 0, sold: -quantity }, due: undefined });
}

/** Cancels a placed order that was not paid in time and frees its units. @throws DomainError `order-transition-refused` */
export function expire(order: OrderState, at: Date): StatusChange<CancelledOrder> {
  if (order.status !== transitions.expire.from) throw transitionRefused(order, 'only placed orders expire');
  const expired = { ...afterStep(order, at), status: transitions.expire.to };
  return statusChange(order, expired, at, { actor: storeActor, reason: 'expired without payment', units: unitsReleasedBy(order), due: undefined });
}

/** Applies a due transition. Returns undefined when the order's status no longer allows it. */
export function applyDueTransition(
  order: OrderState,
  transition: DueTransition['transition'],
  at: Date,
  policy: CheckoutPolicy,
): StatusChange | undefined {
  if (!canTransition(order, transition)) return undefined;
  switch (transition) {
    case 'approve':
      return approve(order, { actor: storeActor, at }, policy);
    case 'deliver':
      return deliver(order, { actor: storeActor, at });
    case 'expire':
      return expire(order, at);
    default:
      return transition satisfies never;
  }
}

/** Whether the order was shipped with this carrier and tracking number: reporting the shipment again changes nothing. */
export const isShippedAs = (order: OrderState, { carrier, trackingNumber }: Shipment): boolean =>
  order.trackingNumber === trackingNumber && order.carrier === carrier;

/**
 * Records a shipment. The carrier's tracking number replaces the assigned one, also in later events.
 * @throws DomainError `order-transition-refused`
 */
export function ship(order: OrderState, { carrier, trackingNumber }: Shipment, { actor, at }: StepContext): Amendment<ApprovedOrder> {
  if (order.status !== 'approved') throw transitionRefused(order, 'only approved orders are shipped');
  const data = { orderId: order.id, plantId: order.plantId, carrier, trackingNumber };
  return {
    order: { ...afterStep(order, at), carrier, trackingNumber },
    actor,
    reason: 'shipped',
    shipment: { carrier, trackingNumber },
    event: { event: 'order.shipped', timestamp: at.toISOString(), data },
  };
}

/** The user who gets a transferred order. */
export interface Recipient {
  readonly ownerId: string;
  readonly isCustomerClosed: boolean;
  /** The recipient's order with the external id of this one; undefined: there is none. */
  readonly orderWithExternalId: number | undefined;
  /** Whether the caller may see the recipient's orders. */
  readonly isSeen: boolean;
}

/**
 * Hands an open order to another user. Earlier events stay with the former owner; later ones go to the new owner.
 * @throws DomainError `customer-closed`, `order-transition-refused`, `external-id-exists`
 */
export function transfer(order: OrderState, to: Recipient, { actor, at }: StepContext): Amendment<OpenOrder> {
  if (to.isCustomerClosed) throw customerClosed();
  if (order.status !== 'placed' && order.status !== 'approved') throw transitionRefused(order, 'only open orders are transferred');
  if (order.externalId !== null && to.orderWithExternalId !== undefined) {
    throw externalIdExists(order.externalId, to.isSeen ? to.orderWithExternalId : undefined);
  }
  return { order: { ...afterStep(order, at), ownerId: to.ownerId }, actor, reason: transferred };
}

/**
 * Records that a payment failed. The simulated provider no longer approves the order, which can be paid until its time to live ends,
 * counted from its placing as `dueAfterPlacing` counts.
 */
export function declinePayment(order: OrderState, { actor, at }: StepContext, policy: CheckoutPolicy): Amendment {
  const step = { actor, reason: 'payment failed' };
  if (order.status !== 'placed') return { ...step, order: afterStep(order, at) };
  const declined = afterStep(order, at);
  if (order.dueTransition !== 'approve' || !order.dueAt) return { ...step, order: declined };
  const dueAt = new Date(order.dueAt.getTime() + policy.orderTtlMs - policy.approvalDelayMs);
  return { ...step, order: { ...declined, dueAt, dueTransition: 'expire' } };
}

/** Marks an order as due for a refund. The event (`refundDueEvent`) follows once the refund has an id. */
export const markRefundDue = (order: OrderState, { actor, at }: StepContext): Amendment => ({
  order: { ...afterStep(order, at), refund: 'due' },
  actor,
  reason: 'refund due',
});

export const refundDueEvent = (refundId: number, { id, plantId }: Pick<OrderState, 'id' | 'plantId'>, at: Date): OrderEvent => ({
  event: 'refund.due',
  timestamp: at.toISOString(),
  data: { refundId, orderId: id, plantId },
});

/** A refund whose money was returned. */
export interface ReturnedRefund extends StepContext {
  readonly refundId: number;
  /** The number of other refunds of the order that are still due. */
  readonly otherRefundsDue: number;
}

/** Completes a refund of an order, and the order's refund status once no other refund is due. */
export const completeRefund = (order: OrderState, { refundId, otherRefundsDue, actor, at }: ReturnedRefund): Amendment => ({
  order: { ...afterStep(order, at), refund: otherRefundsDue > 0 ? 'due' : 'completed' },
  actor,
  reason: 'refunded',
  refundId,
});

/**
 * Returns the order if it exists, at version `ifVersion` if one is given. For callers who may see all orders.
 * @throws DomainError `order-not-found`, `precondition-failed`
 */
export function requireOrder(orderId: number, order: OrderState | undefined, ifVersion?: number): OrderState {
  if (!order) throw new DomainError('order-not-found', `There is no order ${orderId}.`);
  assertVersion(order, ifVersion);
  return order;
}

/** @throws DomainError `precondition-failed` unless the order is at version `ifVersion`, if one is given */
export function assertVersion(order: OrderState, ifVersion?: number): void {
  if (ifVersion === undefined || ifVersion === order.version) return;
  throw new DomainError('precondition-failed', `The order is now at version ${order.version}. Read it again.`);
}

/** The number that approval assigns; a shipment may replace it with the carrier's. */
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

export const customerClosed = (): DomainError =>
  new DomainError('customer-closed', 'This account is being deleted. It can have no new orders, and its orders no new notes.');

/** @param orderId undefined: the caller may not see the other order */
export const externalIdExists = (externalId: string, orderId: number | undefined): DomainError =>
  new DomainError(
    'external-id-exists',
    `${orderId === undefined ? 'Another order' : `Order ${orderId}`} of the owner has the external id ${externalId}.`,
    orderId === undefined ? {} : { orderId },
  );

const transitionRefused = (order: OrderState, why: string): DomainError =>
  new DomainError('order-transition-refused', `Order ${order.id} is ${order.status}: ${why}.`);

const notCancellable = (order: OrderState, why = 'only placed orders can be cancelled'): DomainError =>
  new DomainError(
    'order-not-cancellable',
    `Order ${order.id} is ${order.status}${order.paidAt ? ` (payment arrived ${order.paidAt.toISOString()})` : ''}: ` +
      `${why}.`,
  );

/** Times remembered. A batch needs two: when its orders are placed, and until when their units are reserved. */
const maxTexts = 8;
const texts = new Map<number, string>();

/**
 * Formats a time as `toISOString` does, and remembers the last texts: all orders of a batch have the same times, each in an event and
 * in an answer, and formatting them for each order took a noticeable part of the store's CPU.
 */
export function isoText(time: Date): string {
  const ms = time.getTime();
  const known = texts.get(ms);
  if (known !== undefined) return known;
  const text = time.toISOString();
  if (texts.size === maxTexts) texts.clear();
  texts.set(ms, text);
  return text;
}
