import type { OrderStatusChanged } from '@plant-shop/contracts/events';
import type { Transaction } from '@plant-shop/platform/postgres/database';
import { onlyRow } from '@plant-shop/platform/postgres/rows';
import { ifSampled, tracing } from '@plant-shop/platform/telemetry/tracing';
import { v7 as uuidv7 } from 'uuid';
import { type CheckoutPolicy, dueAfter } from '../checkout/checkout.js';
import { addInventory, addUnits, inventoryOf, noInventory, noUnits, type StockState, type Units, unitsMoved } from '../stock/stock.js';
import { appendInventoryDelta, lockStockOfOrders, moveUnits } from '../stock/stock.repository.js';
import { canMove, type Move, type OrderState, trackingNumberOf, transitions } from './order.js';
import { causesOf, lockOrders, type OwedBack, type WrittenMove, writeMoves, writeOwedBack } from './orders.repository.js';

/** Who moves an order and why; the timeline shows both. */
export interface MoveRequest {
  readonly orderId: number;
  readonly move: Move;
  readonly actor: string;
  readonly reason: string;
  /** The span that it is moved in; absent: the one that runs now, if any. */
  readonly traceparent?: string | undefined;
}

/**
 * Orders and the stock of their plants under their locks, and the one way to move orders: in memory, one after the other, as
 * often as a batch asks for it; then `write` brings state, units, transitions and events into the transaction together.
 */
export class LockedOrders {
  private readonly moves = new Map<number, WrittenMove>();
  private readonly owed: OwedBack[] = [];
  private readonly unitsByPlant = new Map<number, Units>();

  private constructor(
    private readonly orders: Map<number, OrderState>,
    private readonly stock: readonly StockState[],
    private readonly at: Date,
  ) {}

  /** Orders that do not exist are left out. All locks are asked for in one round trip, in the order in which everybody takes them. */
  static async lock(tx: Transaction, orderIds: readonly number[]): Promise<LockedOrders> {
    const [orders, stock, at, causes] = await Promise.all([
      lockOrders(tx, orderIds),
      lockStockOfOrders(tx, orderIds),
      clock(tx),
      tracing ? causesOf(tx, orderIds) : [],
    ]);
    // An order's way goes on here, in the trace of whoever moves it.
    tracing?.causedBy(causes);
    return new LockedOrders(new Map(orders.map((order) => [order.id, order])), stock, at);
  }

  /** As it is after what this transaction did with it. */
  get(orderId: number): OrderState | undefined {
    return this.orders.get(orderId);
  }

  /**
   * Compare-and-set: an order whose status does not allow the move is left alone.
   * @returns the order as it is from now on, undefined when it was left alone
   */
  move(request: MoveRequest, policy: CheckoutPolicy): OrderState | undefined {
    const order = this.orders.get(request.orderId);
    if (!order || !canMove(order, request.move)) return undefined;
    // Its row is written once, and so is its transition.
    if (this.moves.has(order.id) || this.owed.some(({ orderId }) => orderId === order.id)) throw new Error(`order ${order.id} would move twice in one transaction`);
    const { after, write } = movedOrder(order, request, this.at, policy);
    this.orders.set(order.id, after);
    this.moves.set(order.id, write);
    const units = unitsMoved(request.move, order.quantity);
    if (units !== noUnits) {
      this.unitsByPlant.set(order.plantId, addUnits(this.unitsByPlant.get(order.plantId) ?? noUnits, units));
    }
    return after;
  }

  /** Notes that a payment of the order is owed back. */
  owe(order: OrderState, { reference, actor, traceparent }: Pick<OwedBack, 'reference' | 'actor'> & Pick<MoveRequest, 'traceparent'>): void {
    const { id, status, ownerId } = order;
    const version = order.version + 1;
    this.orders.set(id, { ...order, version, refund: 'due' });
    this.owed.push({ orderId: id, version, status, ownerId, reference, actor, traceparent: ifSampled(traceparent ?? tracing?.active?.traceparent) });
  }

  /** What is owed back. Call after `write`, and after its payments are saved. */
  writeOwed(tx: Transaction): void {
    writeOwedBack(tx, this.at, this.owed);
  }

  /** What was moved. Nobody waits for it: when it fails, so does the transaction. */
  write(tx: Transaction): void {
    if (this.moves.size === 0) return;
    const inventory = this.stock.map((row) => inventoryOf(row.listing, this.unitsByPlant.get(row.plantId) ?? noUnits));
    writeMoves(tx, this.at, [...this.moves.values()]);
    moveUnits(tx, this.unitsByPlant);
    appendInventoryDelta(tx, inventory.reduce(addInventory, noInventory));
  }
}

/**
 * The database's clock, read after everything was locked: `now()` is the start of the transaction, which may lie before
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
): { after: OrderState; write: WrittenMove } {
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
    after,
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
      traceparent: ifSampled(request.traceparent ?? tracing?.active?.traceparent),
    },
  };
}
