import type { OrderStatusChanged } from '@plant-shop/contracts/events';
import type { Transaction } from '@plant-shop/platform/postgres/database';
import { onlyRow } from '@plant-shop/platform/postgres/rows';
import { tracing } from '@plant-shop/platform/telemetry/tracing';
import { v7 as uuidv7 } from 'uuid';
import { type CheckoutPolicy, dueAfter } from '../checkout/checkout.js';
import { addInventory, addUnits, inventoryOf, noInventory, noUnits, type Units, unitsMoved } from '../stock/stock.js';
import { appendInventoryDelta, lockStock, moveUnits } from '../stock/stock.repository.js';
import { canMove, type Move, type OrderState, trackingNumberOf, transitions } from './order.js';
import { causesOf, lockOrders, type WrittenMove, writeMoves } from './orders.repository.js';

/** Who moves an order and why; the timeline shows both. */
export interface MoveRequest {
  readonly orderId: number;
  readonly move: Move;
  readonly actor: string;
  readonly reason: string;
}

/**
 * The one function that moves orders: it locks them, leaves alone those whose status does not allow the move
 * (compare-and-set), moves their units, and appends transition and event, all in the caller's transaction.
 * @returns the orders as they now are, without those that were left alone
 */
export async function moveOrders(
  tx: Transaction,
  policy: CheckoutPolicy,
  requests: readonly MoveRequest[],
): Promise<OrderState[]> {
  const byId = new Map(requests.map((request) => [request.orderId, request]));
  const orders = await lockOrders(tx, [...byId.keys()]);
  const moving = orders.flatMap((order) => {
    const request = byId.get(order.id);
    return request && canMove(order, request.move) ? [{ order, request }] : [];
  });
  if (moving.length === 0) return [];
  // An order's way goes on here, in the trace of whoever moves it.
  if (tracing) tracing.causedBy(await causesOf(tx, moving.map((one) => one.order)));

  const unitsByPlant = new Map<number, Units>();
  for (const { order, request } of moving) {
    const moved = addUnits(unitsByPlant.get(order.plantId) ?? noUnits, unitsMoved(request.move, order.quantity));
    unitsByPlant.set(order.plantId, moved);
  }
  const [stock, at] = await Promise.all([lockStock(tx, [...unitsByPlant.keys()]), clock(tx)]);

  const moved = moving.map(({ order, request }) => movedOrder(order, request, at, policy));
  const inventory = stock.map((row) => inventoryOf(row.listing, unitsByPlant.get(row.plantId) ?? noUnits));
  writeMoves(tx, at, moved.map((one) => one.write));
  moveUnits(tx, unitsByPlant);
  appendInventoryDelta(tx, inventory.reduce(addInventory, noInventory));
  return moved.map((one) => one.order);
}

/**
 * The database's clock, read after the orders were locked: `now()` is the start of the transaction, which may lie before
 * the transition that the lock waited for.
 */
async function clock(tx: Transaction): Promise<Date> {
  return onlyRow(await tx.query<{ at: Date }>({ name: 'clock', text: 'SELECT clock_timestamp() AS at' })).at;
}

function movedOrder(
  order: OrderState,
  request: MoveRequest,
  at: Date,
  policy: CheckoutPolicy,
): { order: OrderState; write: WrittenMove } {
  const newStatus = transitions[request.move].to;
  const paid = request.move === 'approve';
  const after: OrderState = {
    ...order,
    status: newStatus,
    version: order.version + 1,
    paidAt: paid ? at : order.paidAt,
    trackingNumber: paid ? trackingNumberOf(order.id) : order.trackingNumber,
  };
  const event: OrderStatusChanged = {
    event: 'order.status_changed',
    timestamp: at.toISOString(),
    data: {
      orderId: order.id,
      plantId: order.plantId,
      previousStatus: order.status,
      newStatus,
      trackingNumber: after.trackingNumber,
    },
  };
  return {
    order: after,
    write: {
      orderId: order.id,
      version: after.version,
      previousStatus: order.status,
      newStatus,
      ownerId: order.ownerId,
      trackingNumber: after.trackingNumber,
      paid,
      due: dueAfter(request.move, policy),
      actor: request.actor,
      reason: request.reason,
      eventId: uuidv7(),
      body: JSON.stringify(event),
    },
  };
}
