import { Inject, Injectable } from '@nestjs/common';
import { DomainError } from '@plant-shop/contracts/errors';
import type { NewOrder, Order } from '@plant-shop/contracts/store';
import { unavailable } from '@plant-shop/platform/errors';
import { Lanes } from '@plant-shop/platform/lanes';
import { Database } from '@plant-shop/platform/postgres/database';
import { constraintOf, sqlStateOf, uniqueViolation } from '@plant-shop/platform/postgres/sqlstate';
import { Versioned } from '@plant-shop/platform/rpc/answer';
import type { RpcContext } from '@plant-shop/platform/rpc/context';
import type { Deadline } from '@plant-shop/platform/rpc/deadline';
import type { Principal } from '@plant-shop/platform/rpc/principal';
import { type CheckoutPolicy, dueAfterPlacing } from '../checkout/checkout.js';
import { STORE_OPTIONS, type StoreOptions } from '../options.js';
import { moveOrders } from './move-orders.js';
import { type OrderState, toOrder } from './order.js';
import { OrderIds } from './order-ids.js';
import { findOrder, lockOrders } from './orders.repository.js';
import { type BatchEntry, placeBatch } from './place-batch.js';

interface PlaceRequest extends Omit<BatchEntry, 'orderId'> {
  /** Absent: one is drawn for each attempt. */
  readonly chosenId: number | undefined;
  readonly deadline: Deadline;
}

const maxBatch = 256;
const idAttempts = 5;
/** Whichever of the two the write meets first. */
const idConstraints = ['orders_pkey', 'one_row_per_version'];

@Injectable()
export class OrdersService {
  private readonly lanes: Lanes<PlaceRequest, OrderState>;
  private readonly ids: OrderIds;
  private readonly policy: CheckoutPolicy;

  constructor(
    private readonly database: Database,
    @Inject(STORE_OPTIONS) options: StoreOptions,
  ) {
    this.policy = options.checkout;
    this.ids = new OrderIds(database);
    this.lanes = new Lanes({ count: options.placingLanes, maxBatch }, (batch) => this.placeAll(batch));
  }

  /** Orders that wait for a batch. */
  get waiting(): number {
    return this.lanes.waiting;
  }

  /** Joins the next batch of its plant's lane; answered after that batch has committed. */
  async place({ caller, deadline }: RpcContext, order: NewOrder): Promise<Versioned<Order>> {
    const chosenId = order.id === 0 ? undefined : order.id;
    const placed = await this.lanes.submit(order.plantId, {
      chosenId,
      idIsChosen: chosenId !== undefined,
      plantId: order.plantId,
      quantity: order.quantity ?? 1,
      shipDate: order.shipDate === undefined ? null : new Date(order.shipDate),
      ownerId: caller.subject,
      deadline,
    });
    return versioned(placed);
  }

  /** Others' orders do not exist for those who may not read them. */
  async get({ caller }: RpcContext, orderId: number): Promise<Versioned<Order>> {
    return versioned(visible(caller, orderId, await findOrder(this.database, orderId)));
  }

  /** A cancelled order stays readable, and cancelling it again answers the same. */
  cancel({ caller }: RpcContext, orderId: number, ifVersion?: number): Promise<Versioned<Order>> {
    return this.database.transaction(async (tx) => {
      const [locked] = await lockOrders(tx, [orderId]);
      const order = visible(caller, orderId, locked);
      if (order.ownerId !== caller.subject && !caller.permissions.includes('manage:orders')) {
        throw new DomainError('forbidden', "Cancelling another user's order needs the permission manage:orders.");
      }
      if (ifVersion !== undefined && ifVersion !== order.version) throw changedMeanwhile(order);
      if (order.status === 'cancelled') return versioned(order);
      const [cancelled] = await moveOrders(tx, this.policy, [
        { orderId, move: 'cancel', actor: caller.subject, reason: 'cancelled' },
      ]);
      if (!cancelled) throw notCancellable(order);
      return versioned(cancelled);
    });
  }

  private async placeAll(batch: readonly PlaceRequest[]): Promise<(OrderState | Error)[]> {
    // Whoever waited here past their deadline was told that the outcome is unknown; the kindest outcome is none.
    const live = batch.filter((one) => !one.deadline.isPast);
    const results = live.length === 0 ? [] : await this.placeLive(live);
    const resultOf = new Map(live.map((one, n) => [one, results[n]]));
    return batch.map((one) => resultOf.get(one) ?? unavailable('store'));
  }

  private async placeLive(batch: readonly PlaceRequest[]): Promise<(OrderState | Error)[]> {
    for (let attempt = 1; ; attempt++) {
      const entries = await Promise.all(
        batch.map(async (one): Promise<BatchEntry> => ({ ...one, orderId: one.chosenId ?? (await this.ids.draw()) })),
      );
      try {
        return await this.database.transaction((tx) => placeBatch(tx, entries, dueAfterPlacing(this.policy)));
      } catch (error) {
        // A client had chosen an id of our block: draw others.
        const collided = sqlStateOf(error) === uniqueViolation && idConstraints.includes(constraintOf(error) ?? '');
        if (!collided || attempt >= idAttempts) throw error;
        await this.ids.recheck();
      }
    }
  }
}

const versioned = (order: OrderState): Versioned<Order> => new Versioned(toOrder(order), order.version);

function visible(caller: Principal, orderId: number, order: OrderState | undefined): OrderState {
  if (order && (order.ownerId === caller.subject || caller.permissions.includes('read:orders'))) return order;
  throw new DomainError('order-not-found', `There is no order ${orderId} of yours.`);
}

const changedMeanwhile = (order: OrderState): DomainError =>
  new DomainError('precondition-failed', `The order is at version ${order.version} by now. Read it again.`);

const notCancellable = (order: OrderState): DomainError =>
  new DomainError(
    'order-not-cancellable',
    `Order ${order.id} is ${order.status}${order.paidAt ? ` (payment arrived ${order.paidAt.toISOString()})` : ''}: ` +
      'only placed orders can be cancelled.',
    { status: order.status },
  );
