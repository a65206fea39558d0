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

// Sent by clients

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
  @Description('Ignored, because the store sets it; must be a valid status.')
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
  @Description('The new owner of the order.')
  username: string;
}

export class Payment {
  @OneOf(['succeeded', 'failed'])
  outcome: 'succeeded' | 'failed';

  @Text()
  @Description("The provider's reference of this payment. Reporting it twice has no further effect.")
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
  @Description("The provider's reference of the transfer that returned the money. Reporting it twice has no further effect.")
  reference: string;
}

// Requests

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
  @Description('A username, or `*` for all users; requires `read:orders`. Default: the caller\'s own orders.')
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

/** Sent by the catalog. The highest incarnation of a plant id wins, so late and repeated calls change nothing. */
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

  /** Default: `INITIAL_STOCK`. */
  @IsOptional()
  @Integer(0, 1_000_000_000)
  units?: number;
}

/** Opens stock for several plants of an import. The rule of `OpenStock` applies to each. */
export class OpenStocks {
  @ObjectsOf(() => OpenStock, { size: 256, min: 1 })
  plants: OpenStock[];
}

/** Sent by the catalog when staff change a plant's status. Within one incarnation, the highest version wins. */
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

/** Sent by the catalog before it deletes a plant. Leaves a tombstone, even of an unknown plant, unless orders are open. */
export class RetirePlant {
  @Id()
  plantId: number;

  @Id()
  incarnation: number;

  /**
   * Increases with each attempt for a plant. Once the store has answered an attempt with open orders, older attempts have no
   * effect: the catalog has abandoned them, and they might arrive after those orders were closed. Absent: no such check.
   */
  @IsOptional()
  @Id()
  attempt?: number;
}

/** Sent by identity before it deletes a user, who may not place orders any more. */
export class CloseCustomer {
  @Uuid()
  userId: string;

  /**
   * Increases with each attempt for a user. Once the store has answered an attempt with open orders, older attempts have no
   * effect: identity has abandoned them, and they might arrive after those orders were closed. Absent: no such check.
   */
  @IsOptional()
  @Id()
  attempt?: number;
}

// Answers

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
  /** When it is cancelled unless it is paid; absent if it does not wait for a payment. `YYYY-MM-DDTHH:mm:ss.SSSZ` */
  readonly reservedUntil?: string;
  readonly carrier?: string;
  readonly trackingNumber?: string;
  /** `due`: a payment must be refunded. `completed`: it was refunded. */
  readonly refund?: RefundStatus;
  /** The owner's username, only for callers with `read:orders`; absent if the user was deleted. */
  readonly owner?: string;
}

/** One step in the history of an order. */
export interface TimelineEntry {
  /** `YYYY-MM-DDTHH:mm:ss.SSSZ` */
  readonly at: string;
  /** Absent: the step changed no status (placing, shipping, a transfer). */
  readonly previousStatus?: OrderStatus;
  readonly newStatus: OrderStatus;
  /** The `owner` at that time, `staff`, or the `store` itself. */
  readonly actor: 'owner' | 'staff' | 'store';
  readonly reason: string;
  /** Only for a shipment. */
  readonly carrier?: string;
  readonly trackingNumber?: string;
  /** Only for a refund that became due or was completed. */
  readonly refundId?: number;
  /** Id of the step's event. */
  readonly eventId?: string;
}

/** A payment that arrived too late or twice and must be returned. */
export interface Refund {
  readonly id: number;
  readonly orderId: number;
  readonly status: RefundStatus;
  /** The provider's reference of the payment. */
  readonly paymentReference: string;
  /** `YYYY-MM-DDTHH:mm:ss.SSSZ` */
  readonly dueAt: string;
  /** `YYYY-MM-DDTHH:mm:ss.SSSZ` */
  readonly completedAt?: string;
  /** The provider's reference of the transfer that returned the money. */
  readonly reference?: string;
}

/** Units per status, summed over all plants. Always has all three members. */
export type Inventory = Readonly<Record<PlantStatus, number>>;

export interface Stock {
  readonly plantId: number;
  readonly free: number;
  readonly reserved: number;
  readonly sold: number;
}

/** The result of retiring or closing. With open orders, nothing was changed. */
export interface OpenOrders {
  readonly openOrders: readonly number[];
}

const { read, write } = operationsOf<ErrorCode>('store');

export const store = {
  /** Details of `insufficient-stock`: `available`. */
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
  /** `order-not-found` also for orders of others without `read:orders`. */
  getOrder: read<Order>()('getOrder', GetOrder, { errors: ['order-not-found'], versioned: true }),
  /** Cancelling again answers the same order. */
  cancelOrder: write<Order>()('cancelOrder', CancelOrder, {
    errors: ['order-not-found', 'forbidden', 'order-not-cancellable', 'precondition-failed'],
    versioned: true,
  }),
  /** Answers a page. `forbidden`: orders of others without `read:orders`. */
  listOrders: read<Order[]>()('listOrders', ListOrders, { errors: ['invalid-cursor', 'forbidden', 'user-not-found'] }),
  /** Answers all steps, beginning with the placing. */
  getTimeline: read<TimelineEntry[]>()('getTimeline', GetTimeline, { errors: ['order-not-found'] }),
  /** Transfers an open order to another user. */
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
   * A failed payment does not change the order. `order-not-payable`: the payment arrived too late or twice and was recorded
   * as a due refund.
   */
  reportPayment: write<Order>()('reportPayment', ReportPayment, {
    errors: ['order-not-found', 'order-not-payable', 'idempotency-key-reused'],
    versioned: true,
  }),
  /** Answers a page. */
  listRefunds: read<Refund[]>()('listRefunds', ListRefunds, { errors: ['invalid-cursor'] }),
  getRefund: read<Refund>()('getRefund', GetRefund, { errors: ['refund-not-found'] }),
  /** Repeating a reference answers the same refund. `refund-completed`: it was completed with another reference. */
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
  /** Retires the plant if `openOrders` is empty. */
  retirePlant: write<OpenOrders>()('retirePlant', RetirePlant),
  /** Closes the customer if `openOrders` is empty. */
  closeCustomer: write<OpenOrders>()('closeCustomer', CloseCustomer),

  ...feedOperations,
  ...reconcileOperations,
  readAudit: readAuditOf('store'),
};
