import { Inject, Injectable } from '@nestjs/common';
import { DomainError } from '@plant-shop/contracts/errors';
import { identity } from '@plant-shop/contracts/identity';
import { type ListOrders, type NewOrder, type Order, store, type TimelineEntry, type TransferOrder } from '@plant-shop/contracts/store';
import { actorOf, audit } from '@plant-shop/platform/audit/audit-log';
import { once } from '@plant-shop/platform/idempotency/saved-answers';
import { Lanes, whoStillWait } from '@plant-shop/platform/lanes';
import { Paging } from '@plant-shop/platform/paging';
import { Database } from '@plant-shop/platform/postgres/database';
import { constraintOf, sqlStateOf, uniqueViolation } from '@plant-shop/platform/postgres/sqlstate';
import { type Page, type Replayed, Versioned } from '@plant-shop/platform/rpc/answer';
import { RpcClient } from '@plant-shop/platform/rpc/client';
import type { RpcContext } from '@plant-shop/platform/rpc/context';
import type { Deadline } from '@plant-shop/platform/rpc/deadline';
import { sizes } from '@plant-shop/platform/service/metrics';
import { Registry } from 'prom-client';
import { type CheckoutPolicy, dueAfterPlacing } from '../checkout/checkout.js';
import { shareCustomers } from '../customers/customers.repository.js';
import { OrderFeed } from '../feed/order-feed.js';
import { STORE_OPTIONS, type StoreOptions } from '../options.js';
import { LockedOrders } from './locked-orders.js';
import { assertVersion, lockOrder, transitionRefused, visible } from './lock-order.js';
import { isOpen, type OrderState, toOrder, toTimelineEntry } from './order.js';
import { OrderIds } from './order-ids.js';
import { OrderOwners } from './order-owners.js';
import { amendOrder, findOrder, findTransitions, listOrders, type OrderFilter } from './orders.repository.js';
import { type BatchEntry, type BatchResult, placeBatch } from './place-batch.js';
import { customerClosed } from './placing.js';

interface PlaceRequest extends Omit<BatchEntry, 'orderId'> {
  /** Absent: one is drawn for each attempt. */
  readonly chosenId: number | undefined;
  readonly deadline: Deadline;
}

type Answer = Versioned<Order> | Replayed;

const maxBatch = 256;
const idAttempts = 5;
/** Whichever of the two the write meets first. */
const idConstraints = ['orders_pkey', 'one_row_per_version'];

@Injectable()
export class OrdersService {
  private readonly lanes: Lanes<PlaceRequest, Answer>;
  private readonly ids: OrderIds;
  private readonly policy: CheckoutPolicy;
  private readonly owners: OrderOwners;

  constructor(
    private readonly database: Database,
    private readonly rpc: RpcClient,
    private readonly feed: OrderFeed,
    metrics: Registry,
    @Inject(STORE_OPTIONS) options: StoreOptions,
  ) {
    this.policy = options.checkout;
    this.ids = new OrderIds(database);
    this.owners = new OrderOwners(rpc);
    const onBatch = sizes(metrics, 'store_batch_orders', 'Orders that were placed together');
    const lanes = { name: 'place orders', count: options.placingLanes, maxBatch, gathers: true, onBatch };
    this.lanes = new Lanes<PlaceRequest, Answer>(
      lanes,
      whoStillWait<PlaceRequest, Answer>('store', (batch) => this.placeAll(batch)),
    );
  }

  /** Orders that wait for a batch. */
  get waiting(): number {
    return this.lanes.waiting;
  }

  /** Joins the next batch of its plant's lane; answered after that batch has committed. */
  place({ caller, deadline, idempotency, traceparent }: RpcContext, order: NewOrder): Promise<Answer> {
    const chosenId = order.id === 0 ? undefined : order.id;
    return this.lanes.submit(order.plantId, {
      chosenId,
      idIsChosen: chosenId !== undefined,
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
    const owners = await this.owners.namesOf(context, [order]);
    return new Versioned(toOrder(order, owners.get(order.ownerId)), order.version);
  }

  /**
   * Newest first: one's own orders, or those of another owner or of everybody.
   * @throws DomainError `forbidden`, `user-not-found`; CodedError `invalid-cursor`
   */
  async list(context: RpcContext, { owner, limit, cursor, ...wanted }: ListOrders): Promise<Page<Order>> {
    const filter = { ...wanted, ownerId: await this.owners.ofList(context, owner) };
    const paging = new Paging('orders', fingerprintOf(filter));
    const bounds = paging.bounds({ ...(limit !== undefined && { limit }), ...(cursor !== undefined && { cursor }) });
    const rows = await listOrders(this.database, filter, bounds);
    const owners = await this.owners.namesOf(context, rows.slice(0, bounds.limit));
    return paging.page(rows, bounds, { entry: (row) => toOrder(row, owners.get(row.ownerId)), position: (row) => row.position });
  }

  async timeline({ caller }: RpcContext, orderId: number): Promise<TimelineEntry[]> {
    visible(caller, orderId, await findOrder(this.database, orderId));
    return (await findTransitions(this.database, orderId)).map(toTimelineEntry);
  }

  /** Hands an open order to another user: events so far stay the former owner's, later ones are the new one's. */
  async transfer(context: RpcContext, { orderId, transfer, ifVersion }: TransferOrder): Promise<Answer> {
    const { userId } = await this.rpc.call(identity.resolveUsername, { username: transfer.username }, context);
    return this.database.transaction((tx) =>
      once(tx, context.idempotency, async () => {
        const closed = await shareCustomers(tx, [userId]);
        const order = await lockOrder(tx, orderId, ifVersion);
        if (closed.has(userId)) throw customerClosed();
        if (!isOpen(order.status)) throw transitionRefused(order, 'only open orders are transferred');
        const transferred = { ...order, ownerId: userId, version: order.version + 1 };
        await amendOrder(tx, transferred, { actor: context.caller.subject, reason: 'transferred' });
        audit(tx, actorOf(context), store.transferOrder, orderId);
        return versioned(transferred);
      }),
    );
  }

  /** A cancelled order stays readable, and cancelling it again answers the same. */
  async cancel(context: RpcContext, orderId: number, ifVersion?: number): Promise<Versioned<Order>> {
    const { caller } = context;
    const cancelled = await this.database.transaction(async (tx) => {
      const orders = await LockedOrders.lock(tx, [orderId]);
      const order = visible(caller, orderId, orders.get(orderId));
      if (order.ownerId !== caller.subject && !caller.permissions.includes('manage:orders')) {
        throw new DomainError('forbidden', "Cancelling another user's order needs the permission manage:orders.");
      }
      assertVersion(order, ifVersion);
      if (order.status === 'cancelled') return versioned(order);
      const move = { orderId, move: 'cancel', actor: caller.subject, reason: 'cancelled' } as const;
      const cancelled = orders.move(move, this.policy);
      if (!cancelled) throw notCancellable(order);
      orders.write(tx);
      if (order.ownerId !== caller.subject) audit(tx, actorOf(context), store.cancelOrder, orderId);
      return versioned(cancelled);
    });
    this.feed.moved();
    return cancelled;
  }

  private async placeAll(batch: readonly PlaceRequest[]): Promise<BatchResult[]> {
    const chosenIds = new Set(batch.flatMap((one) => one.chosenId ?? []));
    for (let attempt = 1; ; attempt++) {
      const entries = await Promise.all(
        batch.map(async (one): Promise<BatchEntry> => ({ ...one, orderId: one.chosenId ?? (await this.ids.draw(chosenIds)) })),
      );
      const options = { holdsDrawnIds: attempt > 1 };
      try {
        return await this.database.transaction((tx) => placeBatch(tx, entries, dueAfterPlacing(this.policy), options));
      } catch (error) {
        // Another batch took one of these ids between the look and the write. From the second attempt on, drawn ids are held
        // and only chosen ones can collide. A batch of one fails once at most, so the halves that `Lanes` makes of a batch
        // that keeps failing come to an end.
        const collided = sqlStateOf(error) === uniqueViolation && idConstraints.includes(constraintOf(error) ?? '');
        if (!collided || attempt >= idAttempts) throw error;
        await this.ids.recheck();
      }
    }
  }
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

const notCancellable = (order: OrderState): DomainError =>
  new DomainError(
    'order-not-cancellable',
    `Order ${order.id} is ${order.status}${order.paidAt ? ` (payment arrived ${order.paidAt.toISOString()})` : ''}: ` +
      'only placed orders can be cancelled.',
  );
