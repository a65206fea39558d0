import { type OrderSort, type OrderStatus, orderStatuses, type RefundStatus } from '@plant-shop/contracts/store';
import { byTime, type PageBounds, type Sorting, type TimePosition } from '@plant-shop/platform/patterns/paging';
import type { Reader } from '@plant-shop/platform/postgres/database';
import type { OrderState } from './order.js';
import { orderColumns } from './orders.repository.js';
import { pairHash } from './owner-data.js';

/** Conditions that all listed orders meet; an absent one does not restrict. */
export interface OrderFilter {
  readonly ownerId?: string | undefined;
  readonly plantId?: number | undefined;
  readonly status?: readonly OrderStatus[] | undefined;
  /** Inclusive. */
  readonly placedFrom?: string | undefined;
  /** Exclusive. */
  readonly placedBefore?: string | undefined;
  /** Of the order, or of the basket that it was placed in. */
  readonly externalId?: string | undefined;
  /** Pairs that an order has, all of them. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  readonly shipped?: boolean | undefined;
  readonly refund?: RefundStatus | undefined;
  readonly search?: OrderSearch | undefined;
}

/** Orders are found that have one of these. */
export interface OrderSearch {
  /** An external id of an order or its basket, or the tracking number of a shipment. */
  readonly text: string;
  /** The order or basket that the text is the id of, or the order that it is the assigned tracking number of. */
  readonly orderId: number | undefined;
  readonly ownerIds: readonly string[];
}

export function searchFor(text: string, ownerIds: readonly string[]): OrderSearch {
  const [, digits] = /^(?:PS)?0*(\d{1,16})$/.exec(text) ?? [];
  const orderId = Number(digits);
  return { text, orderId: Number.isSafeInteger(orderId) && orderId > 0 ? orderId : undefined, ownerIds };
}

/** The lists of orders by time. */
export const sortings: Readonly<Record<OrderSort, Sorting<TimePosition>>> = {
  '-placedAt': byTime,
  placedAt: { ...byTime, start: { at: '-infinity', id: 0 } },
};

/** Orders of a list, at most one more than its page holds. */
export interface ListedOrders {
  readonly orders: readonly OrderState[];
  /** The order at which reading stopped before the page was full; undefined: the list ends, or the page is full. */
  readonly readTo: OrderState | undefined;
}

/**
 * The most orders that a page reads from each part of an index to find those that meet conditions which the index does not have. If they
 * do not fill the page, it ends there, and the next page continues.
 */
const maxRead = 1_200;
/** Of a search, which reads four parts of an index for each of at most 100 owners. */
export const maxSearched = 100;

/**
 * Lists orders by time, one more than the page holds. Reads each status from an index in list order, only as far as the page needs.
 * Rejected: one scan of the owner's orders with a status filter, which read all 200,000 orders of an owner who had none placed.
 */
export async function listOrders(
  db: Reader,
  filter: OrderFilter,
  { after, limit, sort }: PageBounds<TimePosition> & { readonly sort: OrderSort },
): Promise<ListedOrders> {
  const reading = new Reading(filter, sort, after);
  const size = reading.value(limit + 1);
  const { order, others } = reading;
  if (others.length === 0) {
    const text = filter.search ? reading.first(size) : `SELECT * FROM (${reading.parts(size)}) AS listed ORDER BY ${order} LIMIT ${size}`;
    return { orders: await db.query<OrderState>({ name: reading.name, text }, reading.values), readTo: undefined };
  }
  const most = filter.search ? maxSearched : maxRead;
  const rows = await db.query<OrderState & { isListed: boolean; n: number }>(
    `SELECT * FROM (
       SELECT *, ${others.join(' AND ')} AS "isListed", row_number() OVER (ORDER BY ${order}) AS n FROM (${reading.first(String(most))}) AS read
     ) AS numbered WHERE "isListed" OR n = ${most} ORDER BY ${order} LIMIT ${size}`,
    reading.values,
  );
  const orders = rows.filter((row) => row.isListed);
  return { orders, readTo: orders.length > limit ? undefined : rows.find(({ n }) => n === most) };
}

/** The number of orders in a state. */
export interface StateCount {
  readonly status: OrderStatus;
  readonly shipped: boolean;
  /** Null: no payment was ever due for refund. */
  readonly refund: RefundStatus | null;
  readonly orders: number;
}

/** The most orders that are read to count those of any filter. */
const maxCounted = 10_000;

/** Counts orders by reading them. @returns `complete`: false if there may be more */
export async function countListed(db: Reader, filter: OrderFilter): Promise<{ counts: readonly StateCount[]; complete: boolean }> {
  const reading = new Reading(filter, '-placedAt', byTime.start);
  const rows = await db.query<StateCount & { read: number }>(
    `WITH read AS MATERIALIZED (
       SELECT id, status, carrier IS NOT NULL AS shipped, refund, ${reading.others.join(' AND ') || 'true'} AS "isListed"
       FROM (${reading.parts(String(maxCounted))}) AS part LIMIT ${maxCounted}
     )
     SELECT status, shipped, refund, count(DISTINCT id) FILTER (WHERE "isListed") AS orders, (SELECT count(*) FROM read) AS read
     FROM read GROUP BY status, shipped, refund`,
    reading.values,
  );
  const counts = rows.filter(({ orders }) => orders > 0).map(({ status, shipped, refund, orders }) => ({ status, shipped, refund, orders }));
  return { counts, complete: (rows[0]?.read ?? 0) < maxCounted };
}

/** SQL: the ids of baskets with an external id. */
const basketsWith = (externalId: string): string => `SELECT baskets.id FROM baskets WHERE baskets.external_id = ${externalId}`;

/** SQL that reads the orders of a filter from the index that suits it. */
class Reading {
  readonly values: unknown[] = [];
  /** The list's order. */
  readonly order: string;
  /** Conditions that the index does not have, on the columns of orders as they are read. */
  readonly others: readonly string[];
  /** A query of at most so many orders from each part of the index. */
  readonly parts: (most: string) => string;
  private readonly names = ['list-orders'];
  private readonly direction: string;
  /** Conditions on the place in the list, by the column with the order's id. */
  private readonly range: (id: string) => readonly string[];

  constructor(
    private readonly filter: OrderFilter,
    sort: OrderSort,
    after: TimePosition,
  ) {
    this.direction = sort === 'placedAt' ? 'ASC' : 'DESC';
    this.names.push(this.direction);
    this.order = this.orderBy('"placedAt"', 'id');
    const beyond = sort === 'placedAt' ? '>' : '<';
    const position = `(${this.value(after.at)}::timestamptz, ${this.value(after.id)}::bigint)`;
    const period = [...this.where('from', 'placed_at >= ?', filter.placedFrom), ...this.where('before', 'placed_at < ?', filter.placedBefore)];
    this.range = (id) => [`(placed_at, ${id}) ${beyond} ${position}`, ...period];
    const { parts, others } = this.indexOf(filter);
    this.parts = parts;
    this.others = others;
  }

  get name(): string {
    return this.names.join('-');
  }

  /** Adds a parameter. */
  value(value: unknown): string {
    return `$${this.values.push(value)}`;
  }

  /** A query of the first orders, each once, that the index has. */
  first(most: string): string {
    return `SELECT DISTINCT ON ("placedAt", id) * FROM (${this.parts(most)}) AS part ORDER BY ${this.order} LIMIT ${most}`;
  }

  private orderBy(placedAt: string, id: string): string {
    return `${placedAt} ${this.direction}, ${id} ${this.direction}`;
  }

  private where(name: string, condition: string, value: unknown): string[] {
    if (value === undefined) return [];
    this.names.push(name);
    return [condition.replaceAll('?', this.value(value))];
  }

  private indexOf(filter: OrderFilter): Pick<Reading, 'parts' | 'others'> {
    const { ownerId, metadata, shipped, refund, search } = filter;
    if (search) return { parts: this.found(search, ownerId), others: this.except('status', ...(ownerId === undefined ? [] : ['ownerId' as const])) };
    if (filter.externalId !== undefined) {
      const own = this.where('owner', 'owner_id = ?', ownerId);
      const [externalId = ''] = this.where('external', '?', filter.externalId);
      // Orders of a basket have no external id, so none is found twice.
      const either = [`external_id = ${externalId}`, `basket_id IN (${basketsWith(externalId)})`];
      return { parts: (most) => either.map((one) => this.orders([...own, one], most)).join(' UNION ALL '), others: this.except('ownerId', 'externalId') };
    }
    const [pair] = Object.entries(metadata ?? {});
    if (pair) return { parts: this.withPair(pair, ownerId), others: this.except('ownerId') };
    if (refund !== undefined && ownerId === undefined) {
      const conditions = this.where('refund', 'refund = ?', refund);
      return { parts: (most) => this.orders(conditions, most), others: this.except('refund') };
    }
    const statuses = filter.status ?? orderStatuses;
    if (ownerId === undefined && filter.plantId === undefined && shipped !== undefined) {
      return { parts: this.shipped(shipped, statuses), others: this.except('status', 'shipped') };
    }
    const conditions = ownerId === undefined ? this.where('plant', 'plant_id = ?', filter.plantId) : this.where('owner', 'owner_id = ?', ownerId);
    return { parts: this.byStatus(statuses, conditions), others: this.except('status', ownerId === undefined ? 'plantId' : 'ownerId') };
  }

  /** Returns the conditions of the filter without those that the index has. */
  private except(...had: readonly (keyof OrderFilter)[]): string[] {
    const { ownerId, plantId, status, externalId, metadata, shipped, refund } = this.filter;
    const conditions = [
      ['ownerId', '"ownerId" = ?', ownerId],
      ['plantId', '"plantId" = ?', plantId],
      ['status', 'status = ANY(?::text[])', status],
      ['externalId', `("externalId" = ? OR "basketId" IN (${basketsWith('?')}))`, externalId],
      ['metadata', 'metadata @> ?::jsonb', metadata && JSON.stringify(metadata)],
      ['shipped', '(carrier IS NOT NULL) = ?', shipped],
      ['refund', 'refund = ?', refund],
    ] as const;
    return conditions.flatMap(([name, condition, value]) => (had.includes(name) ? [] : this.where(name, condition, value)));
  }

  private orders(conditions: readonly string[], most: string): string {
    const where = [...this.range('id'), ...conditions].join(' AND ');
    return `(SELECT ${orderColumns} FROM orders WHERE ${where} ORDER BY ${this.orderBy('placed_at', 'id')} LIMIT ${most})`;
  }

  private byStatus(statuses: readonly OrderStatus[], conditions: readonly string[]): Reading['parts'] {
    const wanted = this.value(statuses);
    return (most) =>
      `SELECT listed.* FROM unnest(${wanted}::text[]) AS wanted (status) CROSS JOIN LATERAL ${this.orders(['orders.status = wanted.status', ...conditions], most)} AS listed`;
  }

  /** Only approved and delivered orders can be shipped, so those that cannot be are read by their status. */
  private shipped(shipped: boolean, statuses: readonly OrderStatus[]): Reading['parts'] {
    const mayBe = (status: OrderStatus): boolean => status === 'approved' || status === 'delivered';
    this.names.push(shipped ? 'shipped' : 'unshipped');
    const indexed = this.byStatus(statuses.filter(mayBe), shipped ? ['carrier IS NOT NULL'] : ['carrier IS NULL', `orders.status IN ('approved', 'delivered')`]);
    if (shipped) return indexed;
    const others = this.byStatus(statuses.filter((one) => !mayBe(one)), []);
    return (most) => `${indexed(most)} UNION ALL ${others(most)}`;
  }

  private withPair([key, value]: readonly [string, string], ownerId: string | undefined): Reading['parts'] {
    const conditions = [
      ...this.range('order_id'),
      `pair = ${pairHash(`${this.value(key)}::text`, `${this.value(value)}::text`)}`,
      ...this.where('owner', 'owner_id = ?', ownerId),
    ];
    // The second join condition tells Postgres that the orders are in the list's order.
    return (most) =>
      `SELECT ${orderColumns} FROM (
         SELECT order_id AS pair_of, placed_at AS pair_at FROM order_metadata WHERE ${conditions.join(' AND ')}
         ORDER BY ${this.orderBy('placed_at', 'order_id')} LIMIT ${most}
       ) AS pairs JOIN orders ON orders.id = pair_of AND orders.placed_at = pair_at`;
  }

  private found({ text, orderId, ownerIds }: OrderSearch, ownerId: string | undefined): Reading['parts'] {
    const inCapitals = text.toUpperCase();
    this.names.push('search', orderId === undefined ? 'text' : 'number', inCapitals === text ? 'capitals' : 'any case');
    const own = this.where('owner', 'owner_id = ?', ownerId);
    const asText = this.value(text);
    const conditions = [
      ...(orderId === undefined ? [] : [`orders.id = ${this.value(orderId)}`, `basket_id = $${this.values.length}`]),
      `external_id = ${asText}`,
      `basket_id IN (${basketsWith(asText)})`,
      `carrier IS NOT NULL AND tracking_number = ${asText}`,
      // Carriers write them in capitals; people do not.
      ...(inCapitals === text ? [] : [`carrier IS NOT NULL AND tracking_number = ${this.value(inCapitals)}`]),
    ];
    const statuses = this.value(this.filter.status ?? orderStatuses);
    const wanted = [`status = ANY(${statuses}::text[])`];
    const owners = this.value(ownerId === undefined ? ownerIds : ownerIds.filter((one) => one === ownerId));
    return (most) => {
      const ofOwner = this.orders(['orders.owner_id = owner.id', 'orders.status = wanted.status'], most);
      return [
        ...conditions.map((one) => this.orders([one, ...own, ...wanted], most)),
        `SELECT listed.* FROM unnest(${owners}::uuid[]) AS owner (id) CROSS JOIN unnest(${statuses}::text[]) AS wanted (status) CROSS JOIN LATERAL ${ofOwner} AS listed`,
      ].join(' UNION ALL ');
    };
  }
}
