import { DomainError } from '@plant-shop/contracts/errors';
import type { Basket, Order, OrderPlant, OrderStatus } from '@plant-shop/contracts/store';
import { Versioned } from '@plant-shop/platform/rpc/answer';
import type { Principal, RpcContext } from '@plant-shop/platform/rpc/context';
import { type BasketState, statusOf } from './basket.js';
import { isoText, type OrderState } from './order.js';

export type Viewer = Pick<Principal, 'subject' | 'permissions'>;

/** Whether somebody may read what belongs to this user. */
export const isVisible = ({ subject, permissions }: Viewer, { ownerId }: Pick<OrderState, 'ownerId'>): boolean =>
  ownerId === subject || permissions.includes('read:orders');

/**
 * Returns the order if the principal may read it. Answers 404, not 403, for others' orders, so that ids cannot be probed.
 * @throws DomainError `order-not-found`
 */
export function requireVisible(principal: Principal, orderId: number, order: OrderState | undefined): OrderState {
  if (order && isVisible(principal, order)) return order;
  throw new DomainError('order-not-found', `There is no order ${orderId} that you may read.`);
}

/**
 * Returns the order as clients see it. Omits absent members.
 * @param owner the owner's username; undefined: the principal may not see it, the user was deleted, or the answer is to a change
 * @param plant undefined: it was not asked for, or was deleted
 */
export function toOrder(state: OrderState, owner?: string, plant?: OrderPlant): Order {
  return {
    id: state.id,
    ...(state.basketId !== null && { basketId: state.basketId }),
    plantId: state.plantId,
    quantity: state.quantity,
    ...(state.shipDate && { shipDate: state.shipDate.toISOString() }),
    status: state.status,
    complete: state.status === 'delivered',
    placedAt: isoText(state.placedAt),
    updatedAt: isoText(state.updatedAt ?? state.placedAt),
    ...(state.status === 'placed' && state.dueTransition === 'expire' && state.dueAt && { reservedUntil: isoText(state.dueAt) }),
    ...(state.carrier !== null && { carrier: state.carrier }),
    ...(state.trackingNumber !== '' && { trackingNumber: state.trackingNumber }),
    ...(state.refund !== null && { refund: state.refund }),
    ...(state.externalId !== null && { externalId: state.externalId }),
    ...(state.metadata !== null && { metadata: state.metadata }),
    ...(state.shipTo !== null && { shipTo: state.shipTo }),
    ...(plant && { plant }),
    ...(owner !== undefined && { owner }),
  };
}

const noOwnerData = { externalId: null, metadata: null, shipTo: null };

/**
 * Returns the answer of operations that change an order. It omits the owner: answers are saved for repetitions, and names change. Who may
 * change an order, but not read it, does not see what the owner added.
 */
export const versionedOrder = (state: OrderState, viewer: Viewer): Versioned<Order> => new Versioned(changedOrder(state, viewer), state.version);

const changedOrder = (state: OrderState, viewer: Viewer): Order => toOrder(isVisible(viewer, state) ? state : { ...state, ...noOwnerData });

/** Returns a basket as its reader sees it. @param owners usernames by user id, as `toOrder` shows them */
export const toBasket = (basket: BasketState, orders: readonly OrderState[], owners: ReadonlyMap<string, string>): Basket =>
  basketOf(basket, orders.map((order) => toOrder(order, owners.get(order.ownerId))), statusOf(orders));

/** Returns the answer of operations that change a basket, like `versionedOrder`. */
export const changedBasket = (basket: BasketState, orders: readonly OrderState[], viewer: Viewer): Basket =>
  basketOf(isVisible(viewer, basket) ? basket : { ...basket, ...noOwnerData }, orders.map((order) => changedOrder(order, viewer)), statusOf(orders));

const basketOf = ({ id, externalId, metadata, placedAt }: BasketState, orders: readonly Order[], status: OrderStatus): Basket => ({
  id,
  status,
  orders,
  ...(externalId !== null && { externalId }),
  ...(metadata && { metadata }),
  ...(orders[0]?.shipTo && { shipTo: orders[0].shipTo }),
  placedAt: isoText(placedAt),
});

/** Whether the caller may see the orders of all users, and whose they are. */
export const maySeeOwners = ({ principal }: RpcContext): boolean => principal.permissions.includes('read:orders');
