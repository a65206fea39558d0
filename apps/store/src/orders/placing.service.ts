import { Inject, Injectable } from '@nestjs/common';
import type { NewOrder, Order } from '@plant-shop/contracts/store';
import type { FeedNudge } from '@plant-shop/events/event';
import { Batcher, type BatcherOptions, dropExpired } from '@plant-shop/platform/batcher';
import type { CodedError } from '@plant-shop/platform/errors';
import type { IdempotencyKey } from '@plant-shop/platform/idempotency/idempotency-key';
import { SavedAnswers } from '@plant-shop/platform/idempotency/saved-answers';
import { Database, type Transaction } from '@plant-shop/platform/postgres/database';
import { constraintOf, sqlStateOf, uniqueViolation } from '@plant-shop/platform/postgres/sqlstate';
import type { Replayed, Versioned } from '@plant-shop/platform/rpc/answer';
import type { RpcContext } from '@plant-shop/platform/rpc/context';
import type { Deadline } from '@plant-shop/platform/rpc/deadline';
import { sizeHistogram } from '@plant-shop/platform/service/metrics';
import { Registry } from 'prom-client';
import { lockCustomersForShare } from '../customers/customers.repository.js';
import { OrderFeed } from '../feed/order-feed.js';
import { STORE_OPTIONS, type StoreOptions } from '../options.js';
import { lockStock } from '../stock/stock.repository.js';
import { type CheckoutPolicy, dueAfterPlacing, type DueAfterPlacing, dueTime, type OrderRequest, place, type Placement, type PlacingFacts } from './order.js';
import { versionedOrder } from './order.views.js';
import { OrderIds } from './order-ids.js';
import { claimOrderIds, lockDrawnIds } from './order-ids.repository.js';
import { type Traced, transactionStart, writePlacedOrders } from './orders.repository.js';

/** A new order that waits for its batch. */
interface QueuedOrder extends Omit<OrderRequest, 'id'> {
  /** The client's id; undefined: each attempt at placing the batch draws one. */
  readonly chosenId: number | undefined;
  readonly idempotency: IdempotencyKey | undefined;
  /** Trace context of the request; undefined: it is not traced. */
  readonly traceparent?: string | undefined;
  readonly deadline: Deadline;
}

/** An order of a batch, with the id that the client chose or the store drew. */
export interface BatchOrder extends OrderRequest, Omit<QueuedOrder, 'deadline'> {}

type Answer = Versioned<Order> | Replayed;

interface PlacedBatch {
  /** One per order: the placed order, the saved answer of an earlier request with the same Idempotency-Key, or the refusal. */
  readonly results: readonly (Answer | CodedError)[];
  /** Returns, after the commit, the events that the transaction numbered; undefined: none, or they are numbered later. */
  readonly nudgeAfterCommit: () => FeedNudge | undefined;
}

/**
 * Larger batches are hardly cheaper per order. Smaller ones let the gateway and this process handle one half of 256 clients while Postgres
 * writes the other half's orders (docs/performance/experiments.md).
 */
const maxBatch = 128;
const idAttempts = 5;
/** An id that is taken violates one of these, whichever Postgres checks first. */
const idConstraints = ['orders_pkey', 'one_row_per_version'];
/** Retired plants and plants that the store does not know are refused alike. */
const unknownPlantStock: PlacingFacts['stock'] = { listing: 'retired', free: 0 };

/** Places orders, in batches. */
@Injectable()
export class PlacingService {
  private readonly batcher: Batcher<QueuedOrder, Answer>;
  private readonly ids: OrderIds;
  private readonly policy: CheckoutPolicy;

  constructor(
    private readonly database: Database,
    private readonly feed: OrderFeed,
    metrics: Registry,
    @Inject(STORE_OPTIONS) options: StoreOptions,
  ) {
    this.policy = options.checkout;
    this.ids = new OrderIds(database);
    const onBatch = sizeHistogram(metrics, 'store_batch_orders', 'Orders per batch');
    const batching: BatcherOptions = { name: 'place orders', lanes: options.placingLanes, maxBatch, lingers: true, onBatch };
    this.batcher = new Batcher(batching, dropExpired<QueuedOrder, Answer>('store', (queued) => this.placeQueued(queued)));
  }

  /** The number of orders that wait for a batch. */
  get waiting(): number {
    return this.batcher.waiting;
  }

  /** Places an order in the next batch of its plant's lane. Resolves after the batch has committed. */
  placeOrder({ principal, deadline, idempotency, traceparent }: RpcContext, order: NewOrder): Promise<Answer> {
    return this.batcher.submit(order.plantId, {
      chosenId: order.id === 0 ? undefined : order.id,
      plantId: order.plantId,
      quantity: order.quantity ?? 1,
      shipDate: order.shipDate === undefined ? null : new Date(order.shipDate),
      ownerId: principal.subject,
      idempotency,
      traceparent,
      deadline,
    });
  }

  /** Places and announces a batch. Draws new ids and tries again when another transaction has taken one, at most `idAttempts` times in all. */
  private async placeQueued(queued: readonly QueuedOrder[]): Promise<PlacedBatch['results']> {
    const chosenIds = new Set(chosenIdsOf(queued));
    for (let attempt = 1; ; attempt++) {
      const drawn = await this.ids.draw(queued.filter(isWithoutId).length, chosenIds);
      const orders = withDrawnIds(queued, drawn);
      const options = { locksDrawnIds: attempt > 1 };
      try {
        const { results, nudgeAfterCommit } = await this.database.transaction((tx) => placeBatch(tx, orders, dueAfterPlacing(this.policy), options));
        this.feed.announcePlaced(nudgeAfterCommit());
        return results;
      } catch (error) {
        // Another transaction took one of the ids between the look-up and the write. The second attempt locks drawn ids too, so
        // from then on only a chosen id can collide, with an order that drew it. `Batcher` halves a batch that still fails, down to
        // single orders, which fail at most once: the next look-up finds the id taken.
        const collided = sqlStateOf(error) === uniqueViolation && idConstraints.includes(constraintOf(error) ?? '');
        if (!collided || attempt >= idAttempts) throw error;
        await this.ids.recheck();
      }
    }
  }
}

/**
 * Places a batch in one transaction with the result of placing its orders one by one: each order sees the stock that the accepted
 * orders before it left, and a refused order changes nothing. Takes two round trips, unless drawn ids are locked:
 * 1. all locks, in the order that every transaction keeps: idempotency keys, customers, ids, stock by ascending plant id;
 * 2. one write, pipelined with the COMMIT.
 * Between them, customers who have never ordered take a round trip: their rows are inserted and locked after the stock. That is
 * against the order, so Postgres may have to break a deadlock, which is rare; the transaction then runs again.
 * Rejected: locking and writing in one statement. Modifying CTEs run in no defined order, and `ON CONFLICT DO NOTHING` does not
 * return the row that won.
 * @param options.locksDrawnIds also locks the drawn ids and replaces those that are taken
 */
export async function placeBatch(
  tx: Transaction,
  batch: readonly BatchOrder[],
  due: DueAfterPlacing,
  { locksDrawnIds = false }: { readonly locksDrawnIds?: boolean } = {},
): Promise<PlacedBatch> {
  const [answers, closedCustomers, takenIds, stocks, at] = await Promise.all([
    SavedAnswers.lock(tx, batch.flatMap((one) => one.idempotency ?? [])),
    lockCustomersForShare(tx, unique(batch.map((one) => one.ownerId))),
    claimOrderIds(tx, unique(chosenIdsOf(batch))),
    lockStock(tx, unique(batch.map((one) => one.plantId))),
    transactionStart(tx),
  ]);
  const orders = locksDrawnIds ? await withLockedIds(tx, batch) : batch;
  const stockLeft = new Map<number, PlacingFacts['stock']>(stocks.map((row) => [row.plantId, row]));
  const placed: Traced<Placement>[] = [];
  const times = { at, due, dueAt: dueTime(at, due) };
  const results = orders.map((order) =>
    answers.answerOnce(order.idempotency, () => {
      const stock = stockLeft.get(order.plantId) ?? unknownPlantStock;
      const facts = { stock, isCustomerClosed: closedCustomers.has(order.ownerId), isIdTaken: takenIds.has(order.id) };
      const step = place(order, facts, times);
      takenIds.add(order.id);
      stockLeft.set(order.plantId, { ...stock, free: stock.free + step.units.free });
      placed.push({ ...step, traceparent: order.traceparent });
      return versionedOrder(step.order);
    }),
  );
  const nudgeAfterCommit = writePlacedOrders(tx, placed, due);
  answers.write(tx);
  return { results, nudgeAfterCommit };
}

/** Locks the drawn ids. Comes after all other locks, in any order, since these locks are never waited for. */
async function withLockedIds(tx: Transaction, orders: readonly BatchOrder[]): Promise<BatchOrder[]> {
  const drawn = orders.filter(isWithoutId).map((one) => one.id);
  return withDrawnIds(orders, await lockDrawnIds(tx, drawn, new Set(chosenIdsOf(orders))));
}

type ChosenId = Pick<QueuedOrder, 'chosenId'>;

const isWithoutId = ({ chosenId }: ChosenId): boolean => chosenId === undefined;

function chosenIdsOf(orders: readonly ChosenId[]): number[] {
  const ids: number[] = [];
  for (const { chosenId } of orders) if (chosenId !== undefined) ids.push(chosenId);
  return ids;
}

/** Gives each order the id that its client chose, or the next drawn one. */
function withDrawnIds(orders: readonly Omit<BatchOrder, 'id'>[], drawn: readonly number[]): BatchOrder[] {
  let next = 0;
  return orders.map((one) => {
    const id = one.chosenId ?? drawn[next++];
    if (id === undefined) throw new Error('fewer ids were drawn than needed');
    return { ...one, id };
  });
}

const unique = <T>(values: readonly T[]): T[] => [...new Set(values)];
