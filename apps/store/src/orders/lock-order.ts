import { DomainError } from '@plant-shop/contracts/errors';
import type { Transaction } from '@plant-shop/platform/postgres/database';
import type { Principal } from '@plant-shop/platform/rpc/principal';
import type { OrderState } from './order.js';
import { lockOrders } from './orders.repository.js';

/** Others' orders do not exist for those who may not read them. */
export function visible(caller: Principal, orderId: number, order: OrderState | undefined): OrderState {
  if (order && (order.ownerId === caller.subject || caller.permissions.includes('read:orders'))) return order;
  throw new DomainError('order-not-found', `There is no order ${orderId} of yours.`);
}

/**
 * Locks one order for a caller who has the permission to change it, at the version that they know.
 * @throws DomainError `order-not-found`, `precondition-failed`
 */
export async function lockOrder(tx: Transaction, orderId: number, ifVersion?: number): Promise<OrderState> {
  const [order] = await lockOrders(tx, [orderId]);
  if (!order) throw orderNotFound(orderId);
  assertVersion(order, ifVersion);
  return order;
}

/** @throws DomainError `precondition-failed` */
export function assertVersion(order: OrderState, ifVersion?: number): void {
  if (ifVersion === undefined || ifVersion === order.version) return;
  throw new DomainError('precondition-failed', `The order is at version ${order.version} by now. Read it again.`);
}

/** For those who may see all orders. */
export const orderNotFound = (orderId: number): DomainError =>
  new DomainError('order-not-found', `There is no order ${orderId}.`);

export const transitionRefused = (order: OrderState, why: string): DomainError =>
  new DomainError('order-transition-refused', `Order ${order.id} is ${order.status}: ${why}.`);
