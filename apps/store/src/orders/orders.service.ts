import { Inject, Injectable } from '@nestjs/common';
import { catalog } from '@plant-shop/contracts/catalog';
import { DomainError } from '@plant-shop/contracts/errors';
import { identity } from '@plant-shop/contracts/identity';
import { permits, readingStock } from '@plant-shop/contracts/permissions';
import { type Basket, type CountOrders, type GetOrder, type ListOrders, type NewBasket, type NewOrder, type Order, type OrderCounts, type OrderPlant, store, type TransferOrder } from '@plant-shop/contracts/store';
import type { FeedMessage } from '@plant-shop/events/event';
import { actorOf, audit } from '@plant-shop/platform/patterns/audit-log';
import { Batcher, type BatcherOptions, dropExpired } from '@plant-shop/platform/patterns/batcher';
import { CodedError } from '@plant-shop/platform/errors';
import type { IdempotencyKey } from '@plant-shop/platform/patterns/idempotency-key';
import { runOnce, IdempotentResults } from '@plant-shop/platform/patterns/idempotent-results';
import { maxLimit, Paging } from '@plant-shop/platform/patterns/paging';
import { Database, readClock, type Transaction } from '@plant-shop/platform/postgres/database';
import { type Page, type Replayed, Versioned } from '@plant-shop/platform/rpc/answer';
import { RpcClient } from '@plant-shop/platform/rpc/client';
import type { Deadline, RpcContext } from '@plant-shop/platform/rpc/context';
import { sizeHistogram } from '@plant-shop/platform/service/metrics';
import { Registry } from 'prom-client';
import { lockAgainstClosing, lockUnpaid } from '../customers/customers.js';
import { OrderFeed } from '../feed/order-feed.js';
import { type CheckoutPolicy, STORE_OPTIONS, type StoreOptions } from '../config.js';
import { lockStock } from '../stock/stock.repository.js';
import { assertVersion, cancel, type OrderState, type Placement, requireOrder, transfer } from './order.js';
import { type OrderRequest, place, type PlacingFacts } from './placing.js';
import { isCounted, readCounts } from './order-counts.js';
import { countListed, listOrders, maxSearched, type OrderFilter, type OrderSearch, searchFor, sortings } from './order-lists.js';
import { changedBasket, requireVisible, toOrder, versionedOrder } from './order.views.js';
import { type BasketState, placeBasket } from './basket.js';
import { writeBaskets } from './baskets.repository.js';
import { chosenIdsOf, type IdOptions, OrderIds, withLockedIds, type WithId } from './order-ids.js';
import { type ExternalIdClaim, ExternalIds, transferMetadata } from './owner-data.js';
import {
  claimOrderIds,
  findOrder,
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
 * The largest batch. Up to 128 clients, `lingers` joins all of them; with more, one batch is written while the answers of the last are handled.
 * Larger batches are hardly cheaper per order (docs/performance/experiments.md).
 */
const maxBatch = 128;
/** Retired plants and plants that the store does not know are refused alike. */
const unknownPlantStock: PlacingFacts['stock'] = { listing: 'retired', free: 0 };

const allOwners = '*';

/** Places, reads, lists, transfers and cancels orders. */
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
    const batching: BatcherOptions = { name: 'place orders', lanes: options.placingLanes, maxBatch, lingers: true, onBatch };
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

  async get(context: RpcContext, { orderId, expand }: GetOrder): Promise<Versioned<Order>> {
    const order = requireVisible(context.principal, orderId, await findOrder(this.database, orderId));
    const [owners, { plants }] = await Promise.all([this.ownerNames(context, [order]), this.plantsOf(context, expand, [order])]);
    return new Versioned(toOrder(order, owners.get(order.ownerId), plants.get(order.plantId)), order.version);
  }

  /**
   * Lists orders by time: the principal's own by default; another owner's, or all owners' (`*`), with `read:orders`.
   * @throws DomainError `forbidden`, `user-not-found`; CodedError `invalid-cursor`
   */
  async list(context: RpcContext, { owner, limit = maxLimit, cursor, q, sort = '-placedAt', expand, ...wanted }: ListOrders): Promise<Page<Order>> {
    const [ownerId, search] = await Promise.all([this.ownerToList(context, owner), this.searchOf(context, q)]);
    const filter = { ...wanted, ownerId, search };
    const paging = new Paging('orders', sortings[sort], [...fingerprintOf(filter), `sort ${sort}`]);
    const bounds = paging.bounds({ limit: search ? Math.min(limit, maxSearched) : limit, ...(cursor !== undefined && { cursor }) });
    const { orders, readTo } = await listOrders(this.database, filter, { ...bounds, sort });
    const shown = orders.slice(0, bounds.limit);
    const [owners, { plants, unread }] = await Promise.all([this.ownerNames(context, shown), this.plantsOf(context, expand, shown)]);
    const end = orders.findIndex((order) => unread.has(order.plantId));
    return paging.page(end === -1 ? orders : orders.slice(0, end), bounds, {
      entry: (row) => toOrder(row, owners.get(row.ownerId), plants.get(row.plantId)),
      position: ({ placedAt, id }) => ({ at: placedAt.toISOString(), id }),
      readTo: end === -1 ? readTo : orders[end - 1],
    });
  }

  /**
   * Counts orders by status, shipment and refund, of the owners that `list` lists.
   * @throws DomainError `forbidden`, `user-not-found`
   */
  async count(context: RpcContext, { owner, q, ...wanted }: CountOrders): Promise<OrderCounts> {
    const [ownerId, search] = await Promise.all([this.ownerToList(context, owner), this.searchOf(context, q)]);
    const filter = { ...wanted, ownerId, search };
    const { counts, complete } = isCounted(filter) ? { counts: await readCounts(this.database, filter), complete: true } : await countListed(this.database, filter);
    return { complete, counts: counts.map(({ refund, ...rest }) => ({ ...rest, ...(refund && { refund }) })) };
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
        writeAmendments(tx, [step], at);
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
      writeStatusChanges(tx, locked, [change]);
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
      this.database.transaction((tx) => placeBatch(tx, orders, this.policy, options)),
    );
    if (numberedEvents) this.feed.publishPlaced(numberedEvents());
    return results;
  }

  /**
   * Resolves the user id whose orders are listed; undefined: all owners.
   * @throws DomainError `forbidden`, `user-not-found`
   */
  private async ownerToList(context: RpcContext, owner: string | undefined): Promise<string | undefined> {
    const { principal } = context;
    if (owner === undefined) return principal.subject;
    const userId = owner === allOwners ? undefined : (await this.rpc.call(identity.resolveUsername, { username: owner }, context)).userId;
    if (!maySeeOwners(context) && userId !== principal.subject) {
      throw new DomainError('forbidden', "Listing others' orders needs the permission read:orders.");
    }
    return userId;
  }

  /** Resolves the users that a text names, if the principal may see owners. */
  private async searchOf(context: RpcContext, q: string | undefined): Promise<OrderSearch | undefined> {
    if (q === undefined) return undefined;
    const byEmail = context.principal.permissions.includes('write:users');
    const { userIds } = maySeeOwners(context) ? await this.rpc.call(identity.findUserIds, { q, byEmail }, context) : { userIds: [] };
    return searchFor(q, userIds);
  }

  /** Reads the plants of orders in one call, if they are asked for. @returns `unread`: ids of plants that did not fit into its answer, never the first */
  private async plantsOf(context: RpcContext, expand: GetOrder['expand'], orders: readonly OrderState[]): Promise<{ plants: ReadonlyMap<number, OrderPlant>; unread: ReadonlySet<number> }> {
    if (!expand?.includes('plant') || orders.length === 0) return { plants: new Map(), unread: new Set() };
    const { plants, left } = await this.rpc.call(catalog.resolvePlants, { plantIds: unique(orders.map((order) => order.plantId)) }, context);
    return { plants: new Map(plants.map((plant) => [plant.id, plant])), unread: new Set(left) };
  }

  /** Resolves the owners' current usernames in one call, if the principal may see them. Omits deleted users. */
  async ownerNames(context: RpcContext, orders: readonly OrderState[]): Promise<ReadonlyMap<string, string>> {
    const userIds = unique(orders.map((order) => order.ownerId));
    if (!maySeeOwners(context) || userIds.length === 0) return new Map();
    const users = await this.rpc.call(identity.resolveUserIds, { userIds }, context);
    return new Map(users.map(({ userId, username }) => [userId, username]));
  }
}

/**
 * Places a batch in one transaction with the result of placing its orders and baskets one by one: each sees the stock that the accepted
 * ones before it left, and a refused one changes nothing. Takes two round trips, unless drawn ids are locked:
 * 1. all locks, in the order that every transaction keeps: idempotency keys, external ids, customers, ids, stock by ascending plant id;
 * 2. one write, pipelined with the COMMIT.
 * If a customer whose unpaid orders are not limited has never ordered, one more round trip between them inserts and locks the row, after
 * the stock. That is against the order, so Postgres may have to break a deadlock, which is rare; the transaction then runs again.
 * If a customer's unpaid orders are limited, the customer's row is locked for other batches that are limited for the same one.
 * So all that `place` decides by stays locked until the orders are written, but for two: an unknown plant has no row, and a drawn id is
 * not looked up at first. If it is taken, the write fails (`OrderIds.assign`).
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
  const take = (step: Placement, traceparent: string | undefined): OrderState => {
    const { order, units } = step;
    takenIds.add(order.id);
    unpaid.get(order.ownerId)?.push(order);
    const stock = stockOf(order.plantId);
    stockLeft.set(order.plantId, { ...stock, free: stock.free + units.free });
    placed.push({ ...step, traceparent });
    return order;
  };
  const results = requestsOf(orders).map((lines) => {
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
        return versionedOrder(take(step, order.traceparent), viewer);
      }
      const claim = basketClaimOf(order);
      const steps = placeBasket(lines, { ...customer, stockOf, sameExternalId: namedBaskets.find(claim) }, context, policy);
      const taken = steps.map((step) => take(step, order.traceparent));
      const state = { ...basket, id: order.id, ownerId, placedAt: times.at };
      baskets.push(state);
      namedBaskets.add(claim, order.id);
      return changedBasket(state, taken, viewer);
    });
  });
  const [first, ...others] = placed;
  const numberedEvents = first && writePlacedOrders(tx, stocks, [first, ...others]);
  writeBaskets(tx, baskets);
  answers.write(tx);
  return { results, numberedEvents };
}

function toQueued({ principal, deadline, idempotency, traceparent }: RpcContext, order: NewOrder): QueuedOrder {
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
    deadline,
  };
}

/** Returns the orders of each request: one, or those of a basket. */
function requestsOf(batch: readonly BatchOrder[]): [BatchOrder, ...BatchOrder[]][] {
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

/** Identifies the list that a cursor belongs to: a cursor of another filter is refused. */
const fingerprintOf = ({ ownerId, status, plantId, placedFrom, placedBefore, externalId, metadata, shipped, refund, search }: OrderFilter): string[] => [
  ownerId ?? 'everybody',
  ...(status ?? ['any']),
  ...(externalId === undefined ? [] : [`external ${externalId}`]),
  ...Object.entries(metadata ?? {}).map((pair) => JSON.stringify(pair)),
  ...(shipped === undefined ? [] : [`shipped ${shipped}`]),
  ...(refund === undefined ? [] : [`refund ${refund}`]),
  ...(search === undefined ? [] : [`search ${search.text}`]),
  ...(plantId === undefined ? [] : [`plant ${plantId}`]),
  ...(placedFrom === undefined ? [] : [`from ${placedFrom}`]),
  ...(placedBefore === undefined ? [] : [`before ${placedBefore}`]),
];

const maySeeOwners = ({ principal }: RpcContext): boolean => principal.permissions.includes('read:orders');

const unique = <T>(values: readonly T[]): T[] => [...new Set(values)];
