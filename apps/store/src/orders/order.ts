import type { Order, OrderStatus, RefundStatus, TimelineEntry } from '@plant-shop/contracts/store';
import type { Due } from '../checkout/checkout.js';

/** An order as its row holds it. */
export interface OrderState {
  readonly id: number;
  readonly plantId: number;
  readonly quantity: number;
  readonly shipDate: Date | null;
  readonly status: OrderStatus;
  readonly ownerId: string;
  readonly version: number;
  readonly placedAt: Date;
  /** What happens to it by itself, and when; null: nothing. */
  readonly dueAt: Date | null;
  readonly dueMove: Due['move'] | null;
  readonly paidAt: Date | null;
  readonly carrier: string | null;
  readonly trackingNumber: string;
  /** Null: no money was ever owed back for it. */
  readonly refund: RefundStatus | null;
}

export type Move = 'approve' | 'deliver' | 'cancel' | 'expire';

/** The lifecycle, all of it (specification, "Order lifecycle"). */
export const transitions: Readonly<Record<Move, { readonly from: OrderStatus; readonly to: OrderStatus }>> = {
  approve: { from: 'placed', to: 'approved' },
  deliver: { from: 'approved', to: 'delivered' },
  cancel: { from: 'placed', to: 'cancelled' },
  expire: { from: 'placed', to: 'cancelled' },
};

export const canMove = (order: Pick<OrderState, 'status'>, move: Move): boolean => order.status === transitions[move].from;

/** Orders that keep their plant and their owner from being deleted. */
export const isOpen = (status: OrderStatus): boolean => status === 'placed' || status === 'approved';

/** Approval assigns it; a carrier's own number may replace it later. */
export const trackingNumberOf = (orderId: number): string => `PS${String(orderId).padStart(16, '0')}`;

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
export interface Transition {
  readonly at: Date;
  readonly previousStatus: OrderStatus | null;
  readonly newStatus: OrderStatus;
  /** The acting user, or `store`. */
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

/** Who acted is told by their part in it: a user's inner name means nothing to clients. */
export const toTimelineEntry = (transition: Transition): TimelineEntry => ({
  at: transition.at.toISOString(),
  ...(transition.previousStatus && { previousStatus: transition.previousStatus }),
  newStatus: transition.newStatus,
  actor: actorOf(transition),
  reason: transition.reason,
  ...(transition.carrier !== null && { carrier: transition.carrier }),
  ...(transition.trackingNumber !== null && { trackingNumber: transition.trackingNumber }),
  ...(transition.refundId !== null && { refundId: transition.refundId }),
  ...(transition.eventId !== null && { eventId: transition.eventId }),
});

function actorOf({ actor, ownerId }: Transition): TimelineEntry['actor'] {
  if (actor === 'store') return 'store';
  return actor === ownerId ? 'owner' : 'staff';
}
