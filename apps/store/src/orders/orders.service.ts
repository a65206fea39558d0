import { Inject, Injectable } from '@nestjs/common';
import { DomainError } from '@plant-shop/contracts/errors';
import { identity } from '@plant-shop/contracts/identity';
import { type ListOrders, type NewOrder, type Order, store, type TimelineEntry, type TransferOrder } from '@plant-shop/contracts/store';
import type { FeedNudge } from '@plant-shop/events/event';
import { actorOf, audit } from '@plant-shop/platform/audit/audit-log';
import { CodedError } from '@plant-shop/platform/errors';
import type { IdempotencyKey } from '@plant-shop/platform/idempotency/idempotency-key';
import { runOnce, SavedAnswers } from '@plant-shop/platform/idempotency/saved-answers';
import { Batcher, type BatcherOptions, dropExpired } from '@plant-shop/platform/batcher';
import { Paging } from '@plant-shop/platform/paging';
import { Database, type Transaction } from '@plant-shop/platform/postgres/database';
import { constraintOf, sqlStateOf, uniqueViolation } from '@plant-shop/platform/postgres/sqlstate';
import { type Page, type Replayed, Versioned } from '@plant-shop/platform/rpc/answer';
import { RpcClient } from '@plant-shop/platform/rpc/client';
import type { RpcContext } from '@plant-shop/platform/rpc/context';
import type { Deadline } from '@plant-shop/platform/rpc/deadline';
import { sizeHistogram } from '@plant-shop/platform/service/metrics';
import { Registry } from 'prom-client';
import { lockCustomersForShare } from '../customers/customers.repository.js';
import { OrderFeed } from '../feed/order-feed.js';
import { STORE_OPTIONS, type StoreOptions } from '../options.js';
import { lockStock } from '../stock/stock.repository.js';
import {
  assertVersion,
  cancel,
  type CheckoutPolicy,
  dueAfterPlacing,
  type DueAfterPlacing,
  type OrderRequest,
  type OrderState,
  place,
  type Placement,
  type PlacingFacts,
  requireOrder,
  requireVisible,
  toOrder,
  toTimelineEntry,
  transfer,
} from './order.js';
import { OrderIds } from './order-ids.js';
import { claimOrderIds, lockDrawnIds } from './order-ids.repository.js';
import { listOrders, type OrderFilter } from './order-lists.repository.js';
import {
  amendOrder,
  findOrder,
  findTransitions,
  lockOrder,
  lockOrdersAndStock,
  type Traced,
  transactionStart,
  writePlacedOrders,
  writeStatusChanges,
} from './orders.repository.js';

/** An order of a batch, with its id: chosen by the client or drawn by the store. */
export interface BatchEntry extends OrderRequest {
  /** The client's id; undefined: `id` was drawn. Chosen ids are always locked, drawn ones only after a collision, which is rare. */
  readonly chosenId: number | undefined;
  readonly idempotency: IdempotencyKey | undefined;
  /** Trace context of the request; undefined: it is not traced. */
  readonly traceparent?: string | undefined;
}

/** An order that waits for its batch. Each attempt at placing the batch draws ids for the orders without a chosen one. */
interface PlaceRequest extends Omit<BatchEntry, 'id'> {
  readonly deadline: Deadline;
}

export interface PlacedBatch {
  /** One per entry: the placed order, the saved answer of an earlier request with the same Idempotency-Key, or the refusal. */
  readonly results: readonly (Answer | CodedError)[];
  /** To be called after the commit. Returns the events that the transaction numbered; undefined: none, or they are numbered later. */
  readonly numbered: () => FeedNudge | undefined;
}

type Answer = Versioned<Order> | Replayed;

const maxBatch = 256;
const idAttempts = 5;
/** An id that is taken violates one of these, whichever Postgres checks first. */
const idConstraints = ['orders_pkey', 'one_row_per_version'];
const allOwners = '*';
/** Retired plants and plants that the store does not know are refused alike. */
const unknownPlantStock: PlacingFacts['stock'] = { listing: 'retired', free: 0 };

@Injectable()
export class OrdersService {
  private readonly batcher: Batcher<PlaceRequest, Answer>;
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
    this.batcher = new Batcher<PlaceRequest, Answer>(
      batching,
      dropExpired<PlaceRequest, Answer>('store', async (batch) => {
        const { results, numbered } = await this.placeWithRetries(batch);
        this.feed.announcePlaced(numbered());
        return results;
      }),
    );
  }

  /** The number of orders that wait for a batch. */
  get waiting(): number {
    return this.batcher.waiting;
  }

  /** Places an order in the next batch of its plant's lane. Resolves after the batch has committed. */
  place({ caller, deadline, idempotency, traceparent }: RpcContext, order: NewOrder): Promise<Answer> {
    return this.batcher.submit(order.plantId, {
      chosenId: order.id === 0 ? undefined : order.id,
      plantId: order.plantId,
      quantity: order.quantity ?? 1,
      shipDate: order.shipDate === undefined ? null : new Date(order.shipDate),
      ownerId: caller.subject,
      idempotency,
      traceparent,
      deadline,
    });
  }

  async get(context: RpcContext, orderId: number): Promise<Versioned<Order>> {
    const order = requireVisible(context.caller, orderId, await findOrder(this.database, orderId));
    const owners = await this.ownerNames(context, [order]);
    return new Versioned(toOrder(order, owners.get(order.ownerId)), order.version);
  }

  /**
   * Lists orders newest first: the caller's own by default; another owner's, or all owners' (`*`), with `read:orders`.
   * @throws DomainError `forbidden`, `user-not-found`; CodedError `invalid-cursor`
   */
  async list(context: RpcContext, { owner, limit, cursor, ...wanted }: ListOrders): Promise<Page<Order>> {
    const filter = { ...wanted, ownerId: await this.ownerToList(context, owner) };
    const paging = new Paging('orders', fingerprintOf(filter));
    const bounds = paging.bounds({ ...(limit !== undefined && { limit }), ...(cursor !== undefined && { cursor }) });
    const rows = await listOrders(this.database, filter, bounds);
    const owners = await this.ownerNames(context, rows.slice(0, bounds.limit));
    return paging.page(rows, bounds, { entry: (row) => toOrder(row, owners.get(row.ownerId)), position: (row) => row.position });
  }

  async timeline({ caller }: RpcContext, orderId: number): Promise<TimelineEntry[]> {
    requireVisible(caller, orderId, await findOrder(this.database, orderId));
    return (await findTransitions(this.database, orderId)).map(toTimelineEntry);
  }

  /**
   * Hands an open order to another user.
   * @throws DomainError `user-not-found`, `order-not-found`, `precondition-failed`, `customer-closed`, `order-transition-refused`
   */
  async transfer(context: RpcContext, { orderId, transfer: { username }, ifVersion }: TransferOrder): Promise<Answer> {
    const { userId } = await this.rpc.call(identity.resolveUsername, { username }, context);
    return this.database.transaction((tx) =>
      runOnce(tx, context.idempotency, async () => {
        const closed = await lockCustomersForShare(tx, [userId]);
        const order = requireOrder(orderId, await lockOrder(tx, orderId), ifVersion);
        const step = transfer(order, { ownerId: userId, isCustomerClosed: closed.has(userId) }, context.caller.subject);
        await amendOrder(tx, step);
        audit(tx, actorOf(context), store.transferOrder, orderId);
        return versioned(step.order);
      }),
    );
  }

  /**
   * Cancels a placed order. Idempotent: cancelling a cancelled order returns it unchanged.
   * @throws DomainError `order-not-found`, `forbidden`, `precondition-failed`, `order-not-cancellable`
   */
  async cancel(context: RpcContext, orderId: number, ifVersion?: number): Promise<Versioned<Order>> {
    const { caller } = context;
    const cancelled = await this.database.transaction(async (tx) => {
      const locked = await lockOrdersAndStock(tx, [orderId]);
      const order = requireVisible(caller, orderId, locked.orders.get(orderId));
      if (order.ownerId !== caller.subject && !caller.permissions.includes('manage:orders')) {
        throw new DomainError('forbidden', "Cancelling another user's order needs the permission manage:orders.");
      }
      assertVersion(order, ifVersion);
      if (order.status === 'cancelled') return versioned(order);
      const change = cancel(order, { actor: caller.subject, at: locked.at });
      writeStatusChanges(tx, locked, [change]);
      if (order.ownerId !== caller.subject) audit(tx, actorOf(context), store.cancelOrder, orderId);
      return versioned(change.order);
    });
    this.feed.announce();
    return cancelled;
  }

  /** Places a batch. Retries with newly drawn ids when another transaction has taken one, at most `idAttempts` times in all. */
  private async placeWithRetries(batch: readonly PlaceRequest[]): Promise<PlacedBatch> {
    const chosenIds = new Set(batch.flatMap((one) => one.chosenId ?? []));
    for (let attempt = 1; ; attempt++) {
      const entries = await Promise.all(
        batch.map(async (one): Promise<BatchEntry> => ({ ...one, id: one.chosenId ?? (await this.ids.draw(chosenIds)) })),
      );
      const options = { locksDrawnIds: attempt > 1 };
      try {
        return await this.database.transaction((tx) => placeBatch(tx, entries, dueAfterPlacing(this.policy), options));
      } catch (error) {
        // Another transaction took one of the ids between the look-up and the write. From the second attempt on, drawn ids are locked,
        // so only chosen ids can still collide. `Batcher` halves a batch that keeps failing; this ends, as a batch of one fails at most
        // once.
        const collided = sqlStateOf(error) === uniqueViolation && idConstraints.includes(constraintOf(error) ?? '');
        if (!collided || attempt >= idAttempts) throw error;
        await this.ids.recheck();
      }
    }
  }

  /**
   * Resolves the user id whose orders are listed; undefined: all owners.
   * @throws DomainError `forbidden`, `user-not-found`
   */
  private async ownerToList(context: RpcContext, owner: string | undefined): Promise<string | undefined> {
    const { caller } = context;
    if (owner === undefined) return caller.subject;
    const userId = owner === allOwners ? undefined : (await this.rpc.call(identity.resolveUsername, { username: owner }, context)).userId;
    if (!maySeeOwners(context) && userId !== caller.subject) {
      throw new DomainError('forbidden', "Listing others' orders needs the permission read:orders.");
    }
    return userId;
  }

  /** Resolves the owners' current usernames in one call, if the caller may see them. Omits deleted users. */
  private async ownerNames(context: RpcContext, orders: readonly OrderState[]): Promise<ReadonlyMap<string, string>> {
    const userIds = unique(orders.map((order) => order.ownerId));
    if (!maySeeOwners(context) || userIds.length === 0) return new Map();
    try {
      const users = await this.rpc.call(identity.resolveUserIds, { userIds }, context);
      return new Map(users.map(({ userId, username }) => [userId, username]));
    } catch (error) {
      // Rolling update: an older identity lacks the operation, so orders come without names.
      if (error instanceof CodedError && error.code === 'unknown-operation') return new Map();
      throw error;
    }
  }
}

/**
 * Places a batch in one transaction with the result of placing its orders one by one: each order sees the stock that the accepted
 * orders before it left, and a refused order changes nothing. Takes two round trips, unless drawn ids are locked:
 * 1. all locks, in the order that every transaction keeps: idempotency keys, customers, ids, stock by ascending plant id;
 * 2. one write, pipelined with the COMMIT.
 * Rejected: locking and writing in one statement. Modifying CTEs run in no defined order, and `ON CONFLICT DO NOTHING` does not
 * return the row that won.
 * @param options.locksDrawnIds also locks the drawn ids and replaces those that are taken
 */
export async function placeBatch(
  tx: Transaction,
  given: readonly BatchEntry[],
  due: DueAfterPlacing,
  { locksDrawnIds = false }: { readonly locksDrawnIds?: boolean } = {},
): Promise<PlacedBatch> {
  const [answers, closedCustomers, takenIds, stocks, at] = await Promise.all([
    SavedAnswers.lock(tx, given.flatMap((one) => one.idempotency ?? [])),
    lockCustomersForShare(tx, unique(given.map((one) => one.ownerId))),
    claimOrderIds(tx, unique(given.flatMap((one) => one.chosenId ?? []))),
    lockStock(tx, unique(given.map((one) => one.plantId))),
    transactionStart(tx),
  ]);
  const entries = locksDrawnIds ? await withLockedIds(tx, given) : given;
  const stockLeft = new Map<number, PlacingFacts['stock']>(stocks.map((row) => [row.plantId, row]));
  const placed: Traced<Placement>[] = [];
  const results = entries.map((entry) =>
    answers.answerOnce(entry.idempotency, () => {
      const stock = stockLeft.get(entry.plantId) ?? unknownPlantStock;
      const facts = { stock, isCustomerClosed: closedCustomers.has(entry.ownerId), isIdTaken: takenIds.has(entry.id) };
      const step = place(entry, facts, { at, due });
      takenIds.add(entry.id);
      stockLeft.set(entry.plantId, { ...stock, free: stock.free + step.units.free });
      placed.push({ ...step, traceparent: entry.traceparent });
      return versioned(step.order);
    }),
  );
  const numbered = writePlacedOrders(tx, placed, due);
  answers.write(tx);
  return { results, numbered };
}

/** Locks the drawn ids. Comes after all other locks, in any order, since these locks are never waited for. */
async function withLockedIds(tx: Transaction, entries: readonly BatchEntry[]): Promise<BatchEntry[]> {
  const drawn = entries.flatMap((one) => (one.chosenId === undefined ? [one.id] : []));
  const locked = await lockDrawnIds(tx, drawn, new Set(entries.flatMap((one) => one.chosenId ?? [])));
  return entries.map((one) => {
    if (one.chosenId !== undefined) return one;
    const id = locked.shift();
    if (id === undefined) throw new Error('fewer ids were locked than drawn');
    return { ...one, id };
  });
}

/** Identifies the list that a cursor belongs to: a cursor of another filter is refused. */
const fingerprintOf = ({ ownerId, status, plantId, placedFrom, placedBefore }: OrderFilter): string[] => [
  ownerId ?? 'everybody',
  ...(status ?? ['any']),
  ...(plantId === undefined ? [] : [`plant ${plantId}`]),
  ...(placedFrom === undefined ? [] : [`from ${placedFrom}`]),
  ...(placedBefore === undefined ? [] : [`before ${placedBefore}`]),
];

const versioned = (order: OrderState): Versioned<Order> => new Versioned(toOrder(order), order.version);

const maySeeOwners = ({ caller }: RpcContext): boolean => caller.permissions.includes('read:orders');

const unique = <T>(values: readonly T[]): T[] => [...new Set(values)];
