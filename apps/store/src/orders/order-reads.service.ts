import { Controller, Injectable } from '@nestjs/common';
import { catalog } from '@plant-shop/contracts/catalog';
import { DomainError } from '@plant-shop/contracts/errors';
import { identity } from '@plant-shop/contracts/identity';
import { type CountOrders, type GetOrder, type ListOrders, type ListOrdersOf, type Order, type OrderCounts, type OrderPlant, store } from '@plant-shop/contracts/store';
import { maxLimit, Paging } from '@plant-shop/platform/patterns/paging';
import { Database } from '@plant-shop/platform/postgres/database';
import { type Page, Versioned } from '@plant-shop/platform/rpc/answer';
import { Answers } from '@plant-shop/platform/rpc/answers.decorator';
import { RpcClient } from '@plant-shop/platform/rpc/client';
import type { RpcContext } from '@plant-shop/platform/rpc/context';
import type { OrderState } from './order.js';
import { isCounted, readCounts } from './order-counts.js';
import { countListed, listOrders, maxSearched, type OrderFilter, type OrderSearch, searchFor, sortings } from './order-lists.js';
import { maySeeOwners, requireVisible, toOrder } from './order.views.js';
import { findOrder } from './orders.repository.js';

const allOwners = '*';

/** Reads, lists and counts orders, with the names of their owners and plants, which other services know. */
@Injectable()
export class OrderReads {
  constructor(
    private readonly database: Database,
    private readonly rpc: RpcClient,
  ) {}

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

  /** Lists the orders of a user, newest first, for identity. @throws CodedError `invalid-cursor` */
  async listOf({ userId, ...requested }: ListOrdersOf): Promise<Page<Order>> {
    const sort = '-placedAt';
    const filter = { ownerId: userId };
    const paging = new Paging('orders', sortings[sort], [...fingerprintOf(filter), `sort ${sort}`]);
    const bounds = paging.bounds(requested);
    const { orders, readTo } = await listOrders(this.database, filter, { ...bounds, sort });
    return paging.page(orders, bounds, { entry: (row) => toOrder(row, undefined, undefined), position: ({ placedAt, id }) => ({ at: placedAt.toISOString(), id }), readTo });
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
    const { plants, left } = await this.rpc.call(catalog.resolvePlants, { plantIds: [...new Set(orders.map((order) => order.plantId))] }, context);
    return { plants: new Map(plants.map((plant) => [plant.id, plant])), unread: new Set(left) };
  }

  /** Resolves the owners' current usernames in one call, if the principal may see them. Omits deleted users. */
  async ownerNames(context: RpcContext, orders: readonly OrderState[]): Promise<ReadonlyMap<string, string>> {
    const userIds = [...new Set(orders.map((order) => order.ownerId))];
    if (!maySeeOwners(context) || userIds.length === 0) return new Map();
    const users = await this.rpc.call(identity.resolveUserIds, { userIds }, context);
    return new Map(users.map(({ userId, username }) => [userId, username]));
  }
}

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

@Controller()
export class OrderReadsController {
  constructor(private readonly reads: OrderReads) {}

  @Answers(store.getOrder)
  getOrder(request: GetOrder, context: RpcContext): Promise<Versioned<Order>> {
    return this.reads.get(context, request);
  }

  @Answers(store.listOrders)
  listOrders(request: ListOrders, context: RpcContext): Promise<Page<Order>> {
    return this.reads.list(context, request);
  }

  @Answers(store.listOrdersOf)
  listOrdersOf(request: ListOrdersOf): Promise<Page<Order>> {
    return this.reads.listOf(request);
  }

  @Answers(store.countOrders)
  countOrders(request: CountOrders, context: RpcContext): Promise<OrderCounts> {
    return this.reads.count(context, request);
  }
}
