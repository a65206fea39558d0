import { DomainError } from '@plant-shop/contracts/errors';
import type { Transaction } from '@plant-shop/platform/postgres/database';
import type { Due } from '../checkout/checkout.js';
import { shareCustomers } from '../customers/customers.repository.js';
import { lockStock } from '../stock/stock.repository.js';
import type { OrderState } from './order.js';
import { claimOrderIds, writePlacedOrders } from './orders.repository.js';
import { decidePlacing, type Placing } from './placing.js';

export interface BatchEntry extends Placing {
  /** An id that a client chose must be claimed; one of our own block cannot be chosen by another replica. */
  readonly idIsChosen: boolean;
}

/**
 * Places a batch in one transaction of ordered steps, not in one clever statement: modifying CTEs have no order, and
 * `ON CONFLICT DO NOTHING` hides the winner. Lock order as everywhere: customers, ids, stock by ascending plant id; then
 * the decision in memory; then one write.
 */
export async function placeBatch(
  tx: Transaction,
  entries: readonly BatchEntry[],
  due: Due,
): Promise<(OrderState | DomainError)[]> {
  const closedCustomers = await shareCustomers(tx, unique(entries.map((one) => one.ownerId)));
  const takenIds = await claimOrderIds(tx, unique(entries.filter((one) => one.idIsChosen).map((one) => one.orderId)));
  const stock = await lockStock(tx, unique(entries.map((one) => one.plantId)));
  const decisions = decidePlacing(entries, {
    closedCustomers,
    takenIds,
    stock: new Map(stock.map((row) => [row.plantId, row])),
  });
  const accepted = decisions.filter((one): one is BatchEntry => !(one instanceof DomainError));
  if (accepted.length > 0) await writePlacedOrders(tx, accepted, due);
  return decisions.map((one) => (one instanceof DomainError ? one : placedOrder(one)));
}

const unique = <T>(values: readonly T[]): T[] => [...new Set(values)];

const placedOrder = ({ orderId, plantId, quantity, shipDate, ownerId }: Placing): OrderState => ({
  id: orderId,
  plantId,
  quantity,
  shipDate,
  status: 'placed',
  ownerId,
  version: 1,
  paidAt: null,
  carrier: null,
  trackingNumber: '',
});
