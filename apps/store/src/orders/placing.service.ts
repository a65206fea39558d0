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
import { lockAgainstClosing } from '../customers/customers.repository.js';
import { OrderFeed } from '../feed/order-feed.js';
import { STORE_OPTIONS, type StoreOptions } from '../options.js';
import { lockStock } from '../stock/stock.repository.js';
import {
  type CheckoutPolicy,
  dueAfterPlacing,
  type DueAfterPlacing,
  type OrderRequest,
  place,
  type Placement,
  type PlacingFacts,
  placingTimes,
} from './order.js';
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

interface BatchOutcome {
  /** One per order: the placed order, the saved answer of an earlier request with the same Idempotency-Key, or the refusal. */
  readonly results: readonly (Answer | CodedError)[];
  /** See `writePlacedOrders`; undefined: no order was placed. */
  readonly numberedEvents: (() => FeedNudge | undefined) | undefined;
}

/**
 * Half of 256 clients: while Postgres writes one full batch, this process and the gateway handle the other half. Up to 128 clients, `lingers`
 * joins the halves instead. Larger batches are hardly cheaper per order (docs/performance/experiments.md).
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

  /** Places a batch and announces its events. */
  private async placeQueued(queued: readonly QueuedOrder[]): Promise<BatchOutcome['results']> {
    const { results, numberedEvents } = await this.placeWithFreeIds(queued);
    if (numberedEvents) this.feed.announcePlaced(numberedEvents());
    return results;
  }

  /** Places a batch. Draws new ids and tries again when another transaction has taken one, at most `idAttempts` times in all. */
  private async placeWithFreeIds(queued: readonly QueuedOrder[]): Promise<BatchOutcome> {
    const chosenIds = new Set(chosenIdsOf(queued));
    for (let attempt = 1; ; attempt++) {
      const drawn = await this.ids.draw(queued.filter(hasNoChosenId).length, chosenIds);
      const orders = withIds(queued, drawn);
      const options = { locksDrawnIds: attempt > 1 };
      try {
        return await this.database.transaction((tx) => placeBatch(tx, orders, dueAfterPlacing(this.policy), options));
      } catch (error) {
        // Another transaction took an id before the write: a drawn id for a client that chose it, or a chosen id that it had drawn. From
        // the second attempt on, drawn ids are locked too, so only chosen ids collide. Each does so once: the next attempt finds it taken
        // and refuses its order. If the attempts run out, `Batcher` places the batch in halves, down to single orders.
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
 * If a customer has never ordered, one more round trip between them inserts and locks the row, after the stock. That is against the
 * order, so Postgres may have to break a deadlock, which is rare; the transaction then runs again.
 * Rejected: locking and writing in one statement. Modifying CTEs run in no defined order, and `ON CONFLICT DO NOTHING` does not
 * return the row that won.
 * @param options.locksDrawnIds also locks the drawn ids and replaces those that are taken
 */
export async function placeBatch(
  tx: Transaction,
  batch: readonly BatchOrder[],
  due: DueAfterPlacing,
  { locksDrawnIds = false }: { readonly locksDrawnIds?: boolean } = {},
): Promise<BatchOutcome> {
  const [answers, closedCustomers, takenIds, stocks, at] = await Promise.all([
    SavedAnswers.lockAndRead(tx, batch.flatMap((one) => one.idempotency ?? [])),
    lockAgainstClosing(tx, unique(batch.map((one) => one.ownerId))),
    claimOrderIds(tx, unique(chosenIdsOf(batch))),
    lockStock(tx, unique(batch.map((one) => one.plantId))),
    transactionStart(tx),
  ]);
  const orders = locksDrawnIds ? await withLockedIds(tx, batch) : batch;
  const stockLeft = new Map<number, PlacingFacts['stock']>(stocks.map((row) => [row.plantId, row]));
  const placed: Traced<Placement>[] = [];
  const times = placingTimes(at, due);
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
  const numberedEvents = placed.length === 0 ? undefined : writePlacedOrders(tx, placed, due);
  answers.write(tx);
  return { results, numberedEvents };
}

/**
 * Locks the drawn ids, and replaces those that are taken. Comes after all other locks, in any order, since these locks are never
 * waited for.
 */
async function withLockedIds(tx: Transaction, orders: readonly BatchOrder[]): Promise<BatchOrder[]> {
  const drawn = orders.filter(hasNoChosenId).map((one) => one.id);
  return withIds(orders, await lockDrawnIds(tx, drawn, new Set(chosenIdsOf(orders))));
}

type ChosenId = Pick<QueuedOrder, 'chosenId'>;

const hasNoChosenId = ({ chosenId }: ChosenId): boolean => chosenId === undefined;

function chosenIdsOf(orders: readonly ChosenId[]): number[] {
  const ids: number[] = [];
  for (const { chosenId } of orders) if (chosenId !== undefined) ids.push(chosenId);
  return ids;
}

/** Gives each order the id that its client chose, or the next drawn one. */
function withIds(orders: readonly Omit<BatchOrder, 'id'>[], drawn: readonly number[]): BatchOrder[] {
  let next = 0;
  return orders.map((one) => {
    const id = one.chosenId ?? drawn[next++];
    if (id === undefined) throw new Error('fewer ids were drawn than needed');
    return { ...one, id };
  });
}

const unique = <T>(values: readonly T[]): T[] => [...new Set(values)];
