import { Controller, Inject, Injectable } from '@nestjs/common';
import { DomainError } from '@plant-shop/contracts/errors';
import { identity } from '@plant-shop/contracts/identity';
import { permits, readingStock } from '@plant-shop/contracts/permissions';
import { type Basket, type CancelOrder, type NewBasket, type NewOrder, type Order, type PlaceOrder, store, type TransferOrder } from '@plant-shop/contracts/store';
import type { FeedMessage } from '@plant-shop/events/feed';
import { actorOf, audit } from '@plant-shop/platform/patterns/audit-log';
import { Batcher, type BatcherOptions, dropExpired } from '@plant-shop/platform/patterns/batcher';
import { CodedError } from '@plant-shop/platform/errors';
import type { Deadline, IdempotencyKey, RpcContext } from '@plant-shop/platform/rpc/context';
import { runOnce, IdempotentResults } from '@plant-shop/platform/patterns/idempotent-results';
import { Database, readClock, type Transaction } from '@plant-shop/platform/postgres/database';
import type { Replayed, Versioned } from '@plant-shop/platform/rpc/answer';
import { Answers } from '@plant-shop/platform/rpc/answers.decorator';
import { RpcClient } from '@plant-shop/platform/rpc/client';
import { sizeHistogram } from '@plant-shop/platform/service/metrics';
import { Registry } from 'prom-client';
import { lockAgainstClosing, lockUnpaid } from '../customers/customers.js';
import { OrderFeed } from '../feed/order-feed.js';
import { type CheckoutPolicy, STORE_OPTIONS, type StoreOptions } from '../config.js';
import { lockStock } from '../stock/stock.repository.js';
import { assertVersion, cancel, type OrderState, requireOrder, transfer } from './order.js';
import { type OrderRequest, place, type Placement, type PlacingFacts } from './placing.js';
import { changedBasket, maySeeOwners, requireVisible, versionedOrder } from './order.views.js';
import { type BasketState, placeBasket } from './basket.js';
import { writeBaskets } from './baskets.repository.js';
import { chosenIdsOf, claimOrderIds, type IdOptions, OrderIds, withLockedIds, type WithId } from './order-ids.js';
import { type ExternalIdClaim, ExternalIds, transferMetadata } from './owner-data.js';
import {
  findUnpaid,
  lockOrder,
  lockOrdersAndStock,
  readPlacingTimes,
  type Traced,
  writeAmendments,
  writePlacedOrders,
  writeStatusChanges,
} from './orders.repository.js';

/** What the client says of a basket beside its lines. The orders of one basket share the object. */
type BasketRequest = Pick<BasketState, 'externalId' | 'metadata'>;

/** A new order that waits for its batch. */
interface QueuedOrder extends Omit<OrderRequest, 'id'> {
  /** The client's id; undefined: the store draws one. */
  readonly chosenId: number | undefined;
  readonly ownerId: string;
  /** Whether the owner may know how many units are free. */
  readonly seesStock: boolean;
  /** Whether the owner's unpaid orders are limited. */
  readonly isLimited: boolean;
  readonly idempotency: IdempotencyKey | undefined;
  /** Trace context of the request; undefined: it is not traced. */
  readonly traceparent?: string | undefined;
  /** The OAuth client that placed it for the owner. */
  readonly clientId?: string | undefined;
  readonly deadline: Deadline;
  /** Absent: the order is placed alone. */
  readonly basket?: BasketRequest;
}

/** The orders of a new basket. */
interface QueuedBasket {
  readonly orders: readonly QueuedOrder[];
  readonly deadline: Deadline;
}

/** An order of a batch. The orders of a basket are next to each other. */
export type BatchOrder = WithId<Omit<QueuedOrder, 'deadline'>>;

type Answer = Versioned<Order> | Basket | Replayed;

interface BatchOutcome {
  /** One per order that is placed alone, and per basket: what was placed, the saved answer of an earlier request with the same Idempotency-Key, or the refusal. */
  readonly results: readonly (Answer | CodedError)[];
  /** The function that `writePlacedOrders` returns; undefined: no order was placed. */
  readonly numberedEvents: (() => FeedMessage | undefined) | undefined;
}

/**
 * The most requests of a batch. Up to 128 clients, `lingers` joins all of them; with more, one batch is written while the answers of the last are handled.
 * Larger batches are hardly cheaper per order: of 256, 256 connections placed 7,640 instead of 9,210 orders a second.
 */
const maxBatch = 128;
/**
 * The orders with which a batch also ends, for baskets of many. With 128, a batch of 64 clients' baskets of five had 26 of them, and each cost
 * a quarter more CPU.
 */
const maxOrders = 640;
/** Retired plants and plants that the store does not know are refused alike. */
const unknownPlantStock: PlacingFacts['stock'] = { listing: 'retired', free: 0 };

/** Places orders and baskets; transfers and cancels orders. `OrderReads` reads them. */
@Injectable()
export class OrdersService {
  private readonly batcher: Batcher<QueuedOrder | QueuedBasket, Answer>;
  private readonly ids: OrderIds;
  private readonly policy: CheckoutPolicy;

  constructor(
    private readonly database: Database,
    private readonly rpc: RpcClient,
    private readonly feed: OrderFeed,
    metrics: Registry,
    @Inject(STORE_OPTIONS) options: StoreOptions,
  ) {
    this.policy = options.checkout;
    this.ids = new OrderIds(database);
    const onBatch = sizeHistogram(metrics, 'store_batch_orders', 'Orders per batch');
    const size = { of: (one: QueuedOrder | QueuedBasket): number => ('orders' in one ? one.orders.length : 1), max: maxOrders };
    const batching: BatcherOptions<QueuedOrder | QueuedBasket> = { name: 'place orders', lanes: options.placingLanes, maxBatch, size, lingers: true, onBatch };
    this.batcher = new Batcher(batching, dropExpired<QueuedOrder | QueuedBasket, Answer>('store', (queued) => this.placeQueued(queued)));
  }

  /** The number of new orders that wait for a batch. */
  get waiting(): number {
    return this.batcher.waiting;
  }

  /**
   * Places an order in the next batch of its plant's lane. Resolves after the batch has committed.
   * @throws DomainError as `place`; CodedError `idempotency-key-reused`
   */
  placeOrder(context: RpcContext, order: NewOrder): Promise<Versioned<Order> | Replayed> {
    return this.batcher.submit(order.plantId, toQueued(context, order)) as Promise<Versioned<Order> | Replayed>;
  }

  /**
   * Places a basket in the next batch of its first plant's lane.
   * @throws DomainError as `placeBasket`; CodedError `idempotency-key-reused`
   */
  placeBasket(context: RpcContext, { lines, shipDate, externalId, metadata, shipTo }: NewBasket): Promise<Basket | Replayed> {
    const basket: BasketRequest = { externalId: externalId ?? null, metadata: metadata ?? null };
    const shipping = { ...(shipDate !== undefined && { shipDate }), ...(shipTo && { shipTo }) };
    const orders = lines.map(({ plantId, quantity = 1 }) => ({ ...toQueued(context, { plantId, quantity, ...shipping }), basket }));
    return this.batcher.submit(lines[0]?.plantId ?? 0, { orders, deadline: context.deadline });
  }

  /**
   * Hands an open order to another user.
   * @throws DomainError `user-not-found`, `order-not-found`, `precondition-failed`, `customer-closed`, `order-transition-refused`,
   * `external-id-exists`; CodedError `idempotency-key-reused`
   */
  async transfer(context: RpcContext, { orderId, transfer: { username }, ifVersion }: TransferOrder): Promise<Versioned<Order> | Replayed> {
    const { idempotency } = context;
    // Before the call: a repeated request gets its answer even if the user was renamed or deleted since, or identity is down.
    const saved = await IdempotentResults.peek(this.database, idempotency);
    if (saved) return saved;
    const { userId } = await this.rpc.call(identity.resolveUsername, { username }, context);
    return this.database.transaction((tx) =>
      runOnce(tx, idempotency, async () => {
        const closed = await lockAgainstClosing(tx, [userId]);
        const [found, at] = await Promise.all([lockOrder(tx, orderId), readClock(tx)]);
        const order = requireOrder(orderId, found, ifVersion);
        const claim = { ownerId: userId, externalId: order.externalId };
        const orderWithExternalId = (await ExternalIds.claim(tx, 'orders', [claim])).find(claim);
        const recipient = { ownerId: userId, isCustomerClosed: closed.has(userId), orderWithExternalId, isSeen: maySeeOwners(context) };
        const step = transfer(order, recipient, { actor: context.principal.subject, at });
        writeAmendments(tx, [{ ...step, clientId: context.clientId }], at);
        transferMetadata(tx, order, userId);
        audit(tx, actorOf(context), store.transferOrder, orderId);
        return versionedOrder(step.order, context.principal);
      }),
    );
  }

  /**
   * Cancels a placed order. Idempotent: cancelling a cancelled order returns it unchanged.
   * @throws DomainError `order-not-found`, `forbidden`, `precondition-failed`, `order-not-cancellable`
   */
  async cancel(context: RpcContext, orderId: number, ifVersion?: number): Promise<Versioned<Order>> {
    const { principal } = context;
    const cancelled = await this.database.transaction(async (tx) => {
      const locked = await lockOrdersAndStock(tx, [orderId]);
      const order = requireVisible(principal, orderId, locked.orders.get(orderId));
      if (order.ownerId !== principal.subject && !principal.permissions.includes('manage:orders')) {
        throw new DomainError('forbidden', "Cancelling another user's order needs the permission manage:orders.");
      }
      assertVersion(order, ifVersion);
      if (order.status === 'cancelled') return versionedOrder(order, principal);
      const change = cancel(order, { actor: principal.subject, at: locked.at });
      writeStatusChanges(tx, locked, [{ ...change, clientId: context.clientId }]);
      if (order.ownerId !== principal.subject) audit(tx, actorOf(context), store.cancelOrder, orderId);
      return versionedOrder(change.order, principal);
    });
    this.feed.notify();
    return cancelled;
  }

  /** Places a batch and announces its events. */
  private async placeQueued(queued: readonly (QueuedOrder | QueuedBasket)[]): Promise<BatchOutcome['results']> {
    const all = queued.flatMap((one) => ('orders' in one ? one.orders : one));
    const { results, numberedEvents } = await this.ids.assign(all, (orders, options) =>
      this.database.transaction((tx) => placeBatch(tx, orders, this.policy, options), { useGenericPlans: true }),
    );
    if (numberedEvents) this.feed.publishPlaced(numberedEvents());
    return results;
  }
}

/**
 * Places a batch in one transaction with the result of placing its orders and baskets one by one: each sees the stock that the accepted
 * ones before it left, and a refused one changes nothing. Takes two round trips, but for the exceptions below:
 * 1. all locks, in the order that every transaction keeps (README): idempotency keys and external ids by advisory locks; customers, FOR NO KEY
 *    UPDATE if their unpaid orders are limited, and against closing (FOR KEY SHARE); chosen ids by advisory locks; stock by ascending plant id (FOR NO
 *    KEY UPDATE), which excludes every other batch of the plant until the commit; then the clock;
 * 2. one write, pipelined with the COMMIT.
 * One order of staff without a key, an external id or a chosen id: `share-customers`, `lock-stock`, `placing-times`; `write-placed-orders`,
 * `find-event-before-numbered`, COMMIT. One of a customer also: `make-customers`, `lock-customers-for-unpaid`, `find-unpaid-orders`.
 * `place` refuses more than the free units that earlier orders of the batch left; CHECK constraints of the stock are the last guard.
 * If a customer whose unpaid orders are not limited has never ordered, one more round trip between them inserts and locks the row, after
 * the stock. That is against the order, so Postgres may have to break a deadlock, which is rare; the transaction then runs again.
 * So all that `place` decides by stays locked until the orders are written, but for three: an unknown plant has no row; unpaid orders may
 * meanwhile be paid, cancelled or transferred, but not placed; a drawn id is not looked up at first. If it is taken, the write fails (`OrderIds.assign`).
 * Rejected: locking and writing in one statement. Modifying CTEs run in no defined order, and `ON CONFLICT DO NOTHING` does not
 * return the row that won.
 */
export async function placeBatch(
  tx: Transaction,
  batch: readonly BatchOrder[],
  policy: CheckoutPolicy,
  { locksDrawnIds = false }: IdOptions = {},
): Promise<BatchOutcome> {
  const lockedKeys = IdempotentResults.lockAndRead(tx, batch.flatMap((one) => one.idempotency ?? []));
  const claimedForOrders = ExternalIds.claim(tx, 'orders', batch);
  const claimedForBaskets = ExternalIds.claim(tx, 'baskets', batch.map(basketClaimOf));
  const limitedOwners = unique(batch.flatMap((one) => (one.isLimited ? [one.ownerId] : [])));
  lockUnpaid(tx, limitedOwners);
  const lockedCustomers = lockAgainstClosing(tx, unique(batch.map((one) => one.ownerId)));
  const claimedIds = claimOrderIds(tx, unique(chosenIdsOf(batch)));
  const lockedStock = lockStock(tx, unique(batch.map((one) => one.plantId)));
  const readTimes = readPlacingTimes(tx);
  const foundUnpaid = findUnpaid(tx, limitedOwners, policy.unpaid.orders + 1);
  const [answers, namedOrders, namedBaskets, closedCustomers, takenIds, stocks, times, unpaid] = await Promise.all([
    lockedKeys, claimedForOrders, claimedForBaskets, lockedCustomers, claimedIds, lockedStock, readTimes, foundUnpaid,
  ]);
  const orders = locksDrawnIds ? await withLockedIds(tx, batch) : batch;
  const stockLeft = new Map<number, PlacingFacts['stock']>(stocks.map((row) => [row.plantId, row]));
  const stockOf = (plantId: number): PlacingFacts['stock'] => stockLeft.get(plantId) ?? unknownPlantStock;
  const placed: Traced<Placement>[] = [];
  const baskets: BasketState[] = [];
  const accept = (step: Placement, { traceparent, clientId }: BatchOrder): OrderState => {
    const { order, units } = step;
    takenIds.add(order.id);
    unpaid.get(order.ownerId)?.push(order);
    const stock = stockOf(order.plantId);
    stockLeft.set(order.plantId, { ...stock, free: stock.free + units.free });
    placed.push({ ...step, traceparent, clientId });
    return order;
  };
  const results = requestGroups(orders).map((lines) => {
    const [order] = lines;
    const { ownerId, basket, seesStock } = order;
    const context = { actor: ownerId, ...times };
    const viewer = { subject: ownerId, permissions: [] };
    const customer = { isCustomerClosed: closedCustomers.has(ownerId), seesStock, unpaid: order.isLimited ? unpaid.get(ownerId) : undefined };
    return answers.answerOnce(order.idempotency, () => {
      if (!basket) {
        const facts = { ...customer, stock: stockOf(order.plantId), isIdTaken: takenIds.has(order.id), orderWithExternalId: namedOrders.find(order) };
        const step = place(order, facts, context, policy);
        namedOrders.add(order, order.id);
        return versionedOrder(accept(step, order), viewer);
      }
      const claim = basketClaimOf(order);
      const steps = placeBasket(lines, { ...customer, stockOf, sameExternalId: namedBaskets.find(claim) }, context, policy);
      const accepted = steps.map((step) => accept(step, order));
      const state = { ...basket, id: order.id, ownerId, placedAt: times.at };
      baskets.push(state);
      namedBaskets.add(claim, order.id);
      return changedBasket(state, accepted, viewer);
    });
  });
  const [first, ...others] = placed;
  const numberedEvents = first && writePlacedOrders(tx, stocks, [first, ...others]);
  writeBaskets(tx, baskets);
  answers.write(tx);
  return { results, numberedEvents };
}

function toQueued({ principal, deadline, idempotency, traceparent, clientId }: RpcContext, order: NewOrder): QueuedOrder {
  return {
    chosenId: order.id === 0 ? undefined : order.id,
    plantId: order.plantId,
    quantity: order.quantity ?? 1,
    shipDate: order.shipDate === undefined ? null : new Date(order.shipDate),
    ownerId: principal.subject,
    externalId: order.externalId ?? null,
    metadata: order.metadata ?? null,
    shipTo: order.shipTo ?? null,
    seesStock: permits(readingStock, principal),
    isLimited: !principal.permissions.includes('manage:orders'),
    idempotency,
    traceparent,
    clientId,
    deadline,
  };
}

/** Returns the orders of each request: one, or those of a basket. */
function requestGroups(batch: readonly BatchOrder[]): [BatchOrder, ...BatchOrder[]][] {
  const requests: [BatchOrder, ...BatchOrder[]][] = [];
  for (const order of batch) {
    const last = requests.at(-1);
    if (order.basket && last?.[0].basket === order.basket) last.push(order);
    else requests.push([order]);
  }
  return requests;
}

/** Returns the external id of an order's basket, if it has one. */
const basketClaimOf = ({ ownerId, basket }: BatchOrder): ExternalIdClaim => ({ ownerId, externalId: basket?.externalId ?? null });

const unique = <T>(values: readonly T[]): T[] => [...new Set(values)];

@Controller()
export class OrdersController {
  constructor(private readonly orders: OrdersService) {}

  @Answers(store.placeOrder)
  placeOrder({ order }: PlaceOrder, context: RpcContext): Promise<Versioned<Order> | Replayed> {
    return this.orders.placeOrder(context, order);
  }

  @Answers(store.transferOrder)
  transferOrder(transferring: TransferOrder, context: RpcContext): Promise<Versioned<Order> | Replayed> {
    return this.orders.transfer(context, transferring);
  }

  @Answers(store.cancelOrder)
  cancelOrder({ orderId, ifVersion }: CancelOrder, context: RpcContext): Promise<Versioned<Order>> {
    return this.orders.cancel(context, orderId, ifVersion);
  }
}
