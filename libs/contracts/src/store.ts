import { NoPayload, operationsOf } from '@plant-shop/platform/rpc/operation';
import { IsOptional } from 'class-validator';
import { readAuditOf } from './audit.js';
import { type PlantStatus, plantStatuses } from './catalog.js';
import type { ErrorCode } from './errors.js';
import {
  DateTime,
  ExpectedVersion,
  Flag,
  Id,
  IdToAssign,
  Integer,
  ListOf,
  ObjectOf,
  ObjectsOf,
  OneOf,
  OneOrSeveral,
  PageRequest,
  SomeOf,
  Text,
  Uuid,
} from './fields.js';
import { Description, Schema } from './schema.js';
import { feedOperations } from './store.feed.js';
import { reconcileOperations } from './store.reconcile.js';

export const orderStatuses = ['placed', 'approved', 'delivered', 'cancelled'] as const;
export type OrderStatus = (typeof orderStatuses)[number];

// What clients send

export class NewOrder {
  @IdToAssign()
  id?: number;

  @Id()
  plantId: number;

  @IsOptional()
  @Integer(1, 1_000_000)
  @Schema({ default: 1 })
  quantity?: number;

  @IsOptional()
  @DateTime()
  shipDate?: string;

  @IsOptional()
  @OneOf(orderStatuses)
  @Description('Must be a status that exists, and is otherwise ignored: the store owns it.')
  status?: OrderStatus;

  @IsOptional()
  @Flag()
  @Description('Ignored like `status`.')
  complete?: boolean;
}

export class StockChange {
  @Integer(0, 1_000_000_000)
  free: number;
}

export class Transfer {
  @Text()
  @Description('The user who gets the order.')
  username: string;
}

export class Payment {
  @OneOf(['succeeded', 'failed'])
  outcome: 'succeeded' | 'failed';

  @Text()
  @Description("The provider's name for this payment: reported twice, it counts once.")
  reference: string;
}

export class Shipment {
  @Text()
  carrier: string;

  @Text()
  trackingNumber: string;
}

export const refundStatuses = ['due', 'completed'] as const;
export type RefundStatus = (typeof refundStatuses)[number];

export class RefundCompletion {
  @Text()
  @Description("The provider's name for the transfer that gave the money back: reported twice, it counts once.")
  reference: string;
}

// What services ask

export class PlaceOrder {
  @ObjectOf(() => NewOrder)
  order: NewOrder;
}

export class GetOrder {
  @Id()
  orderId: number;
}

/** Newest first. */
export class ListOrders extends PageRequest {
  @IsOptional()
  @OneOrSeveral()
  @ListOf(orderStatuses.length, 1)
  @SomeOf(orderStatuses, `must be one or more of ${orderStatuses.join(', ')}`)
  status?: OrderStatus[];

  @IsOptional()
  @Id()
  plantId?: number;

  @IsOptional()
  @Text()
  @Description('A username, or `*` for everybody: needs `read:orders`. Absent: one\'s own orders.')
  owner?: string;

  @IsOptional()
  @DateTime()
  @Description('Placed at this time or later.')
  placedFrom?: string;

  @IsOptional()
  @DateTime()
  @Description('Placed before this time.')
  placedBefore?: string;
}

export class GetTimeline {
  @Id()
  orderId: number;
}

export class TransferOrder {
  @Id()
  orderId: number;

  @ObjectOf(() => Transfer)
  transfer: Transfer;

  @ExpectedVersion()
  ifVersion?: number;
}

export class ReportPayment {
  @Id()
  orderId: number;

  @ObjectOf(() => Payment)
  payment: Payment;
}

/** Newest first. */
export class ListRefunds extends PageRequest {
  @IsOptional()
  @OneOf(refundStatuses)
  status?: RefundStatus;
}

export class GetRefund {
  @Id()
  refundId: number;
}

export class CompleteRefund {
  @Id()
  refundId: number;

  @ObjectOf(() => RefundCompletion)
  completion: RefundCompletion;
}

export class ShipOrder {
  @Id()
  orderId: number;

  @ObjectOf(() => Shipment)
  shipment: Shipment;

  @ExpectedVersion()
  ifVersion?: number;
}

export class DeliverOrder {
  @Id()
  orderId: number;

  @ExpectedVersion()
  ifVersion?: number;
}

export class CancelOrder {
  @Id()
  orderId: number;

  @ExpectedVersion()
  ifVersion?: number;
}

export class GetStock {
  @Id()
  plantId: number;
}

export class SetStock {
  @Id()
  plantId: number;

  @ObjectOf(() => StockChange)
  stock: StockChange;

  @ExpectedVersion()
  ifVersion?: number;
}

/** From the catalog. Per plant id, the highest incarnation wins: a late or repeated call changes nothing. */
export class OpenStock {
  @Id()
  plantId: number;

  @Id()
  incarnation: number;

  @OneOf(plantStatuses)
  status: PlantStatus;

  /** The plant's version that `status` belongs to. */
  @Id()
  version: number;

  /** Absent: `INITIAL_STOCK`. */
  @IsOptional()
  @Integer(0, 1_000_000_000)
  units?: number;
}

/** Several at once: an import's. Each is judged by itself. */
export class OpenStocks {
  @ObjectsOf(() => OpenStock, { size: 256, min: 1 })
  plants: OpenStock[];
}

/** From the catalog: staff list the plant under another status. Within one incarnation, the highest version wins. */
export class ListStock {
  @Id()
  plantId: number;

  @Id()
  incarnation: number;

  @Id()
  version: number;

  @OneOf(plantStatuses)
  status: PlantStatus;
}

/** From the catalog: the plant is about to be deleted. Leaves a tombstone whatever was there, unless orders are open. */
export class RetirePlant {
  @Id()
  plantId: number;

  @Id()
  incarnation: number;

  /**
   * Ever increasing per plant. Once the store has answered an attempt with open orders, an older one may retire nothing
   * any more: it was given up, and would find those orders closed. Absent: such calls are not told apart.
   */
  @IsOptional()
  @Id()
  attempt?: number;
}

/** From identity: the user is about to be deleted and may place nothing any more. */
export class CloseCustomer {
  @Uuid()
  userId: string;

  /**
   * Ever increasing per user. Once the store has answered an attempt with open orders, an older one may close nothing any
   * more: it was given up, and would find those orders closed. Absent: such calls are not told apart.
   */
  @IsOptional()
  @Id()
  attempt?: number;
}

// What it answers

export interface Order {
  readonly id: number;
  readonly plantId: number;
  readonly quantity: number;
  /** `YYYY-MM-DDTHH:mm:ss.SSSZ` */
  readonly shipDate?: string;
  readonly status: OrderStatus;
  readonly complete: boolean;
  /** `YYYY-MM-DDTHH:mm:ss.SSSZ` */
  readonly placedAt?: string;
  /** While it waits for a payment: when it is cancelled without one. `YYYY-MM-DDTHH:mm:ss.SSSZ` */
  readonly reservedUntil?: string;
  readonly carrier?: string;
  readonly trackingNumber?: string;
  /** Whether money is owed back for it, or was given back. */
  readonly refund?: RefundStatus;
  /** The owner's username, in what callers with `read:orders` read; absent when that user was deleted. */
  readonly owner?: string;
}

/** One step of an order's life. */
export interface TimelineEntry {
  /** `YYYY-MM-DDTHH:mm:ss.SSSZ` */
  readonly at: string;
  /** Absent: the step changed no status (placing, shipping, a transfer). */
  readonly previousStatus?: OrderStatus;
  readonly newStatus: OrderStatus;
  /** `owner` of that time, `staff`, or the `store` itself. */
  readonly actor: 'owner' | 'staff' | 'store';
  readonly reason: string;
  /** Of a shipment. */
  readonly carrier?: string;
  readonly trackingNumber?: string;
  /** Of a refund that became due or was completed. */
  readonly refundId?: number;
  /** Id of the event that clients get of it. */
  readonly eventId?: string;
}

/** Money that came too late or twice, and is owed back. */
export interface Refund {
  readonly id: number;
  readonly orderId: number;
  readonly status: RefundStatus;
  /** The provider's name for the payment. */
  readonly paymentReference: string;
  /** `YYYY-MM-DDTHH:mm:ss.SSSZ` */
  readonly dueAt: string;
  /** `YYYY-MM-DDTHH:mm:ss.SSSZ` */
  readonly completedAt?: string;
  /** The provider's name for the transfer that gave the money back. */
  readonly reference?: string;
}

/** Units per status, summed over all plants. Always all three. */
export type Inventory = Readonly<Record<PlantStatus, number>>;

export interface Stock {
  readonly plantId: number;
  readonly free: number;
  readonly reserved: number;
  readonly sold: number;
}

/** What retiring or closing found: open orders keep it from happening, and nothing was changed. */
export interface OpenOrders {
  readonly openOrders: readonly number[];
}

const { read, write } = operationsOf<ErrorCode>('store');

export const store = {
  /** `insufficient-stock` comes with `available`. */
  placeOrder: write<Order>()('placeOrder', PlaceOrder, {
    errors: [
      'plant-not-found',
      'plant-not-available',
      'insufficient-stock',
      'order-exists',
      'customer-closed',
      'idempotency-key-reused',
    ],
    versioned: true,
  }),
  /** `order-not-found` also for others' orders without `read:orders`. */
  getOrder: read<Order>()('getOrder', GetOrder, { errors: ['order-not-found'], versioned: true }),
  /** Again: the same order. */
  cancelOrder: write<Order>()('cancelOrder', CancelOrder, {
    errors: ['order-not-found', 'forbidden', 'order-not-cancellable', 'precondition-failed'],
    versioned: true,
  }),
  /** A page. `forbidden`: others' orders without `read:orders`. */
  listOrders: read<Order[]>()('listOrders', ListOrders, { errors: ['invalid-cursor', 'forbidden', 'user-not-found'] }),
  /** From placing on. */
  getTimeline: read<TimelineEntry[]>()('getTimeline', GetTimeline, { errors: ['order-not-found'] }),
  /** Hands an open order to another user. */
  transferOrder: write<Order>()('transferOrder', TransferOrder, {
    errors: [
      'order-not-found',
      'user-not-found',
      'order-transition-refused',
      'customer-closed',
      'precondition-failed',
      'idempotency-key-reused',
    ],
    versioned: true,
  }),
  /**
   * A failed payment leaves the order as it is. `order-not-payable`: a payment that came too late or twice, noted as
   * `refund-due`.
   */
  reportPayment: write<Order>()('reportPayment', ReportPayment, {
    errors: ['order-not-found', 'order-not-payable', 'idempotency-key-reused'],
    versioned: true,
  }),
  /** A page. */
  listRefunds: read<Refund[]>()('listRefunds', ListRefunds, { errors: ['invalid-cursor'] }),
  getRefund: read<Refund>()('getRefund', GetRefund, { errors: ['refund-not-found'] }),
  /** The same reference again: the same refund. `refund-completed`: it was completed with another reference. */
  completeRefund: write<Refund>()('completeRefund', CompleteRefund, {
    errors: ['refund-not-found', 'refund-completed', 'idempotency-key-reused'],
  }),
  /** Replaces carrier and tracking number. */
  shipOrder: write<Order>()('shipOrder', ShipOrder, {
    errors: ['order-not-found', 'order-transition-refused', 'precondition-failed', 'idempotency-key-reused'],
    versioned: true,
  }),
  deliverOrder: write<Order>()('deliverOrder', DeliverOrder, {
    errors: ['order-not-found', 'order-transition-refused', 'precondition-failed', 'idempotency-key-reused'],
    versioned: true,
  }),
  readInventory: read<Inventory>()('readInventory', NoPayload),
  getStock: read<Stock>()('getStock', GetStock, { errors: ['plant-not-found'], versioned: true }),
  /** Sets the free units. */
  setStock: write<Stock>()('setStock', SetStock, {
    errors: ['plant-not-found', 'precondition-failed'],
    versioned: true,
  }),

  openStock: write<{ plantId: number }>()('openStock', OpenStock),
  /** `openStock` for several plants in one transaction. */
  openStocks: write<{ plants: number }>()('openStocks', OpenStocks),
  listStock: write<{ plantId: number }>()('listStock', ListStock),
  /** Retired when `openOrders` is empty. */
  retirePlant: write<OpenOrders>()('retirePlant', RetirePlant),
  /** Closed when `openOrders` is empty. */
  closeCustomer: write<OpenOrders>()('closeCustomer', CloseCustomer),

  ...feedOperations,
  ...reconcileOperations,
  readAudit: readAuditOf('store'),
};
