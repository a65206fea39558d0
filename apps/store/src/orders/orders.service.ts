import { Inject, Injectable } from '@nestjs/common';
import { DomainError } from '@plant-shop/contracts/errors';
import { identity } from '@plant-shop/contracts/identity';
import { type ListOrders, type NewOrder, type Order, store, type TimelineEntry, type TransferOrder } from '@plant-shop/contracts/store';
import type { FeedNudge } from '@plant-shop/events/event';
import { actorOf, audit } from '@plant-shop/platform/audit/audit-log';
import { CodedError } from '@plant-shop/platform/errors';
import type { IdempotencyKey } from '@plant-shop/platform/idempotency/idempotency-key';
import { runOnce, SavedAnswers } from '@plant-shop/platform/idempotency/saved-answers';
import { Batcher, dropExpired } from '@plant-shop/platform/batcher';
import { Paging } from '@plant-shop/platform/paging';
import { Database, type Transaction } from '@plant-shop/platform/postgres/database';
import { constraintOf, sqlStateOf, uniqueViolation } from '@plant-shop/platform/postgres/sqlstate';
import { type Page, type Replayed, Versioned } from '@plant-shop/platform/rpc/answer';
import { RpcClient } from '@plant-shop/platform/rpc/client';
import type { RpcContext } from '@plant-shop/platform/rpc/context';
import type { Deadline } from '@plant-shop/platform/rpc/deadline';
import { sizeHistogram } from '@plant-shop/platform/service/metrics';
import { Registry } from 'prom-client';
import { shareCustomers } from '../customers/customers.repository.js';
import { OrderFeed } from '../feed/order-feed.js';
import { STORE_OPTIONS, type StoreOptions } from '../options.js';
import { lockStock } from '../stock/stock.repository.js';
import {
  assertVersion,
  cancel,
  type CheckoutPolicy,
  dueAfterPlacing,
  type DueAfterPlacing,
  existing,
  type OrderRequest,
  type OrderState,
  place,
  type Placed,
  type PlacingFacts,
  toOrder,
  toTimelineEntry,
  transfer,
  visible,
} from './order.js';
import { OrderIds } from './order-ids.js';
import {
  amendOrder,
  claimOrderIds,
  findOrder,
  findTransitions,
  holdDrawnIds,
  listOrders,
  lockOrder,
  lockOrdersAndStock,
  type OrderFilter,
  startOf,
  type Traced,
  writePlacedOrders,
  writeStatusChanges,
} from './orders.repository.js';

/** One order of a batch. */
export interface BatchEntry extends OrderRequest {
  /** Undefined: `id` was drawn. Chosen ids are always claimed; drawn ones only after a collision, since it is rare. */
  readonly chosenId: number | undefined;
  readonly idempotency: IdempotencyKey | undefined;
  /** The span of the request; undefined when it is not traced. */
  readonly traceparent?: string | undefined;
}

/** An order that waits for its batch. An id is drawn for each attempt, unless the client chose one. */
interface PlaceRequest extends Omit<BatchEntry, 'id'> {
  readonly deadline: Deadline;
}

export interface PlacedBatch {
  /** For each entry: the order placed, the answer that an earlier request with the same key got, or why it is refused. */
  readonly results: readonly (Answer | CodedError)[];
  /** After the commit: the events that got their numbers in it; undefined when there are none, or they wait for theirs. */
  readonly numbered: () => FeedNudge | undefined;
}

type Answer = Versioned<Order> | Replayed;

const maxBatch = 256;
const idAttempts = 5;
/** Whichever of the two the write meets first. */
const idConstraints = ['orders_pkey', 'one_row_per_version'];
const everybody = '*';
const unknownPlant: PlacingFacts['stock'] = { listing: 'retired', free: 0 };

@Injectable()
export class OrdersService {
  private readonly lanes: Batcher<PlaceRequest, Answer>;
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
    const onBatch = sizeHistogram(metrics, 'store_batch_orders', 'Orders that were placed together');
    const lanes = { name: 'place orders', lanes: options.placingLanes, maxBatch, lingers: true, onBatch };
    this.lanes = new Batcher<PlaceRequest, Answer>(
      lanes,
      dropExpired<PlaceRequest, Answer>('store', async (batch) => {
        const { results, numbered } = await this.placeAll(batch);
        this.feed.placed(numbered());
        return results;
      }),
    );
  }

  /** Orders that wait for a batch. */
  get waiting(): number {
    return this.lanes.waiting;
  }

  /** Joins the next batch of its plant's lane; answered after that batch has committed. */
  place({ caller, deadline, idempotency, traceparent }: RpcContext, order: NewOrder): Promise<Answer> {
    return this.lanes.submit(order.plantId, {
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
    const order = visible(context.caller, orderId, await findOrder(this.database, orderId));
    const owners = await this.ownerNames(context, [order]);
    return new Versioned(toOrder(order, owners.get(order.ownerId)), order.version);
  }

  /**
   * Newest first: one's own orders, or those of another owner or of everybody.
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
    visible(caller, orderId, await findOrder(this.database, orderId));
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
        const closed = await shareCustomers(tx, [userId]);
        const order = existing(orderId, await lockOrder(tx, orderId), ifVersion);
        const step = transfer(order, { ownerId: userId, isCustomerClosed: closed.has(userId) }, context.caller.subject);
        await amendOrder(tx, step);
        audit(tx, actorOf(context), store.transferOrder, orderId);
        return versioned(step.order);
      }),
    );
  }

  /**
   * A cancelled order stays readable, and cancelling it again answers the same.
   * @throws DomainError `order-not-found`, `forbidden`, `precondition-failed`, `order-not-cancellable`
   */
  async cancel(context: RpcContext, orderId: number, ifVersion?: number): Promise<Versioned<Order>> {
    const { caller } = context;
    const cancelled = await this.database.transaction(async (tx) => {
      const locked = await lockOrdersAndStock(tx, [orderId]);
      const order = visible(caller, orderId, locked.orders.get(orderId));
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
    this.feed.appended();
    return cancelled;
  }

  /** Places a batch, again with other ids when another transaction took one of them. */
  private async placeAll(batch: readonly PlaceRequest[]): Promise<PlacedBatch> {
    const chosenIds = new Set(batch.flatMap((one) => one.chosenId ?? []));
    for (let attempt = 1; ; attempt++) {
      const entries = await Promise.all(
        batch.map(async (one): Promise<BatchEntry> => ({ ...one, id: one.chosenId ?? (await this.ids.draw(chosenIds)) })),
      );
      const options = { holdsDrawnIds: attempt > 1 };
      try {
        return await this.database.transaction((tx) => placeBatch(tx, entries, dueAfterPlacing(this.policy), options));
      } catch (error) {
        // Another batch took one of these ids between the look and the write. From the second attempt on, drawn ids are held
        // and only chosen ones can collide. A batch of one fails once at most, so the halves that `Batcher` makes of a batch
        // that keeps failing come to an end.
        const collided = sqlStateOf(error) === uniqueViolation && idConstraints.includes(constraintOf(error) ?? '');
        if (!collided || attempt >= idAttempts) throw error;
        await this.ids.recheck();
      }
    }
  }

  /**
   * Resolves the owner whose orders are listed; undefined: everybody's.
   * @throws DomainError `forbidden`, `user-not-found`
   */
  private async ownerToList(context: RpcContext, owner: string | undefined): Promise<string | undefined> {
    const { caller } = context;
    if (owner === undefined) return caller.subject;
    const userId = owner === everybody ? undefined : (await this.rpc.call(identity.resolveUsername, { username: owner }, context)).userId;
    if (!seesOwners(context) && userId !== caller.subject) {
      throw new DomainError('forbidden', "Listing others' orders needs the permission read:orders.");
    }
    return userId;
  }

  /** Resolves current names in one call a page, for callers who may see them. Deleted users are left out. */
  private async ownerNames(context: RpcContext, orders: readonly OrderState[]): Promise<ReadonlyMap<string, string>> {
    const userIds = unique(orders.map((order) => order.ownerId));
    if (!seesOwners(context) || userIds.length === 0) return new Map();
    try {
      const users = await this.rpc.call(identity.resolveUserIds, { userIds }, context);
      return new Map(users.map(({ userId, username }) => [userId, username]));
    } catch (error) {
      // Identity is of the release before: orders are shown without names.
      if (error instanceof CodedError && error.code === 'unknown-operation') return new Map();
      throw error;
    }
  }
}

/**
 * Places a batch in one transaction, as if its orders came one at a time: each sees what the accepted ones before it left, and
 * a refused one changes nothing. Ordered statements, not one clever one: modifying CTEs have no order, and `ON CONFLICT DO
 * NOTHING` hides the winner. All locks are requested in one round trip, in the order in which every transaction takes them:
 * idempotency keys, customers, ids, stock by ascending plant id. One write follows, with the COMMIT behind it.
 */
export async function placeBatch(
  tx: Transaction,
  given: readonly BatchEntry[],
  due: DueAfterPlacing,
  { holdsDrawnIds = false }: { readonly holdsDrawnIds?: boolean } = {},
): Promise<PlacedBatch> {
  const [answers, closedCustomers, takenIds, stocks, at] = await Promise.all([
    SavedAnswers.lock(tx, given.flatMap((one) => one.idempotency ?? [])),
    shareCustomers(tx, unique(given.map((one) => one.ownerId))),
    claimOrderIds(tx, unique(given.flatMap((one) => one.chosenId ?? []))),
    lockStock(tx, unique(given.map((one) => one.plantId))),
    startOf(tx),
  ]);
  const entries = holdsDrawnIds ? await withHeldIds(tx, given) : given;
  const stockLeft = new Map<number, PlacingFacts['stock']>(stocks.map((row) => [row.plantId, row]));
  const placed: Traced<Placed>[] = [];
  const results = entries.map((entry) =>
    answers.answerOnce(entry.idempotency, () => {
      const stock = stockLeft.get(entry.plantId) ?? unknownPlant;
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

/** Holds the drawn ids, after all other locks: none of these is waited for. */
async function withHeldIds(tx: Transaction, entries: readonly BatchEntry[]): Promise<BatchEntry[]> {
  const drawn = entries.flatMap((one) => (one.chosenId === undefined ? [one.id] : []));
  const held = await holdDrawnIds(tx, drawn, new Set(entries.flatMap((one) => one.chosenId ?? [])));
  return entries.map((one) => {
    if (one.chosenId !== undefined) return one;
    const id = held.shift();
    if (id === undefined) throw new Error('fewer ids are held than were drawn');
    return { ...one, id };
  });
}

/** What a cursor of the list belongs to. */
const fingerprintOf = ({ ownerId, status, plantId, placedFrom, placedBefore }: OrderFilter): string[] => [
  ownerId ?? 'everybody',
  ...(status ?? ['any']),
  ...(plantId === undefined ? [] : [`plant ${plantId}`]),
  ...(placedFrom === undefined ? [] : [`from ${placedFrom}`]),
  ...(placedBefore === undefined ? [] : [`before ${placedBefore}`]),
];

const versioned = (order: OrderState): Versioned<Order> => new Versioned(toOrder(order), order.version);

const seesOwners = ({ caller }: RpcContext): boolean => caller.permissions.includes('read:orders');

const unique = <T>(values: readonly T[]): T[] => [...new Set(values)];
