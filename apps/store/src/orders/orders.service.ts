import { Injectable } from '@nestjs/common';
import { DomainError } from '@plant-shop/contracts/errors';
import { identity } from '@plant-shop/contracts/identity';
import { type ListOrders, type Order, store, type TimelineEntry, type TransferOrder } from '@plant-shop/contracts/store';
import { actorOf, audit } from '@plant-shop/platform/audit/audit-log';
import { CodedError } from '@plant-shop/platform/errors';
import { runOnce, SavedAnswers } from '@plant-shop/platform/idempotency/saved-answers';
import { Paging } from '@plant-shop/platform/paging';
import { Database } from '@plant-shop/platform/postgres/database';
import { type Page, type Replayed, Versioned } from '@plant-shop/platform/rpc/answer';
import { RpcClient } from '@plant-shop/platform/rpc/client';
import type { RpcContext } from '@plant-shop/platform/rpc/context';
import { lockAgainstClosing } from '../customers/customers.repository.js';
import { OrderFeed } from '../feed/order-feed.js';
import { assertVersion, cancel, type OrderState, requireOrder, transfer } from './order.js';
import { requireVisible, toOrder, toTimelineEntry, versionedOrder } from './order.views.js';
import { listOrders, type OrderFilter } from './order-lists.repository.js';
import { amendOrder, findOrder, findTransitions, lockOrder, lockOrdersAndStock, writeStatusChanges } from './orders.repository.js';

const allOwners = '*';

/** Reads, lists, transfers and cancels orders. `PlacingService` places them. */
@Injectable()
export class OrdersService {
  constructor(
    private readonly database: Database,
    private readonly rpc: RpcClient,
    private readonly feed: OrderFeed,
  ) {}

  async get(context: RpcContext, orderId: number): Promise<Versioned<Order>> {
    const order = requireVisible(context.principal, orderId, await findOrder(this.database, orderId));
    const owners = await this.ownerNames(context, [order]);
    return new Versioned(toOrder(order, owners.get(order.ownerId)), order.version);
  }

  /**
   * Lists orders newest first: the principal's own by default; another owner's, or all owners' (`*`), with `read:orders`.
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

  async timeline({ principal }: RpcContext, orderId: number): Promise<TimelineEntry[]> {
    requireVisible(principal, orderId, await findOrder(this.database, orderId));
    return (await findTransitions(this.database, orderId)).map(toTimelineEntry);
  }

  /**
   * Hands an open order to another user.
   * @throws DomainError `user-not-found`, `order-not-found`, `precondition-failed`, `customer-closed`, `order-transition-refused`;
   * CodedError `idempotency-key-reused`
   */
  async transfer(context: RpcContext, { orderId, transfer: { username }, ifVersion }: TransferOrder): Promise<Versioned<Order> | Replayed> {
    const { idempotency } = context;
    // Before the call: a repeated request gets its answer even if the user was renamed or deleted since, or identity is down.
    const saved = await SavedAnswers.peek(this.database, idempotency);
    if (saved) return saved;
    const { userId } = await this.rpc.call(identity.resolveUsername, { username }, context);
    return this.database.transaction((tx) =>
      runOnce(tx, idempotency, async () => {
        const closed = await lockAgainstClosing(tx, [userId]);
        const order = requireOrder(orderId, await lockOrder(tx, orderId), ifVersion);
        const step = transfer(order, { ownerId: userId, isCustomerClosed: closed.has(userId) }, context.principal.subject);
        await amendOrder(tx, step);
        audit(tx, actorOf(context), store.transferOrder, orderId);
        return versionedOrder(step.order);
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
      if (order.status === 'cancelled') return versionedOrder(order);
      const change = cancel(order, { actor: principal.subject, at: locked.at });
      writeStatusChanges(tx, locked, [change]);
      if (order.ownerId !== principal.subject) audit(tx, actorOf(context), store.cancelOrder, orderId);
      return versionedOrder(change.order);
    });
    this.feed.announce();
    return cancelled;
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

  /** Resolves the owners' current usernames in one call, if the principal may see them. Omits deleted users. */
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

/** Identifies the list that a cursor belongs to: a cursor of another filter is refused. */
const fingerprintOf = ({ ownerId, status, plantId, placedFrom, placedBefore }: OrderFilter): string[] => [
  ownerId ?? 'everybody',
  ...(status ?? ['any']),
  ...(plantId === undefined ? [] : [`plant ${plantId}`]),
  ...(placedFrom === undefined ? [] : [`from ${placedFrom}`]),
  ...(placedBefore === undefined ? [] : [`before ${placedBefore}`]),
];

const maySeeOwners = ({ principal }: RpcContext): boolean => principal.permissions.includes('read:orders');

const unique = <T>(values: readonly T[]): T[] => [...new Set(values)];
