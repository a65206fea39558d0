import { operationsOf } from '@plant-shop/platform/rpc/operation';
import { IsOptional } from 'class-validator';
import { type AnswerOf, boolean, described, integer, listOf, objectOf, optional } from './answers.js';
import type { Account } from './broker.js';
import { forClientsUnder } from './client-operation.js';
import type { ErrorCode } from './errors.js';
import { DateTime, Flag, Id, ListOf, Metadata, OneOf, PageCursor, PageLimit, PageRequest, SomeOf, Text, Uuid } from './fields.js';
import { orderReader } from './permissions.js';
import { Description } from './schema.js';
import { Expand, type Order, orderAnswer, type OrderExpansion, type OrderStatus, orderStatus, orderStatuses, type RefundStatus, refundStatus, refundStatuses } from './store.orders.js';

// Lists of orders, and their numbers.

/** By time of placing: `-` is newest first. */
export const orderSorts = ['-placedAt', 'placedAt'] as const;
export type OrderSort = (typeof orderSorts)[number];

/** Which orders. */
export class CountOrders {
  @IsOptional()
  @ListOf(orderStatuses.length, 1)
  @SomeOf(orderStatuses, `must be one or more of ${orderStatuses.join(', ')}`)
  status?: OrderStatus[];

  @IsOptional()
  @Id()
  plantId?: number;

  @IsOptional()
  @Text()
  @Description('A username, or `*` for all users; requires `read:orders`. Default: the caller\'s own orders.')
  owner?: string;

  @IsOptional()
  @DateTime()
  @Description('Placed at this time or later.')
  placedFrom?: string;

  @IsOptional()
  @DateTime()
  @Description('Placed before this time.')
  placedBefore?: string;

  @IsOptional()
  @Text()
  externalId?: string;

  @IsOptional()
  // Above the rule, whose description it replaces.
  @Description('Pairs that the metadata has: `metadata[channel]=web`. Several must all be there.')
  @Metadata()
  metadata?: Readonly<Record<string, string>>;

  @IsOptional()
  @Flag()
  @Description('Whether staff reported a shipment.')
  shipped?: boolean;

  @IsOptional()
  @OneOf(refundStatuses)
  refund?: RefundStatus;

  @IsOptional()
  @Text()
  @Description(
    'The id or external id of an order or basket, a tracking number, or with `read:orders` the beginning of the username of the owner; with `write:users` ' +
      'also the e-mail address. At most 100 users are considered, and a page has at most 100 orders.',
  )
  q?: string;
}

export class ListOrders extends CountOrders {
  @IsOptional()
  @OneOf(orderSorts)
  @Description('Default: `-placedAt`, newest first.')
  sort?: OrderSort;

  @Expand()
  expand?: OrderExpansion[];

  @PageLimit()
  limit?: number;

  @PageCursor()
  cursor?: string;
}

/** Sent by identity for a user who downloads their own data. */
export class ListOrdersOf extends PageRequest {
  @Uuid()
  userId: string;
}

const orderCountsAnswer = objectOf('OrderCounts', 'Numbers of orders.')({
  complete: described(boolean, '`false`: there may be more.'),
  counts: described(
    listOf(
      objectOf('OrderCount')({
        status: orderStatus,
        shipped: described(boolean, 'Whether staff reported a shipment.'),
        refund: optional(described(refundStatus, 'Absent: no payment was ever due for refund.')),
        orders: integer(1),
      }),
      24,
    ),
    'Without combinations that no order has.',
  ),
});

export type OrderCounts = AnswerOf<typeof orderCountsAnswer>;

const orderFilters = ['status', 'plantId', 'owner', 'placedFrom', 'placedBefore', 'externalId', 'metadata', 'shipped', 'refund', 'q'] as const;

const { read } = operationsOf<ErrorCode, Account>('store');
const forClients = forClientsUnder('Store');

export const orderListOperations = {
  /** Answers a page. `forbidden`: orders of others without `read:orders`. */
  listOrders: forClients(
    read<Order[]>()('listOrders', ListOrders, { errors: ['invalid-cursor', 'forbidden', 'user-not-found'] }),
    {
      route: 'GET /v3/store/order',
      access: orderReader,
      summary: 'List orders',
      description:
        'Newest first by default. Returns your own orders, or with `read:orders` those of the given `owner`, or of all users (`*`). Orders that are ' +
        'placed at the same moment may become visible one after the other, in any order: to miss none, follow the events `order.placed`, ' +
        'or read again from a minute before the newest order that you know (`placedFrom`). A page can have fewer entries than `limit`, or none, ' +
        'although another follows: the header `Link` says so.',
      query: [...orderFilters, 'sort', 'expand', 'limit', 'cursor'],
      answer: listOf(orderAnswer, 1_000),
    },
  ),
  /** Answers a page, newest first. */
  listOrdersOf: read<Order[]>()('listOrdersOf', ListOrdersOf, { callers: ['identity'], errors: ['invalid-cursor'] }),
  /** `forbidden`: orders of others without `read:orders`. */
  countOrders: forClients(
    read<OrderCounts>()('countOrders', CountOrders, { errors: ['forbidden', 'user-not-found'] }),
    {
      route: 'GET /v3/store/order/counts',
      access: orderReader,
      summary: 'Count orders by status, shipment and refund',
      description:
        'Of the orders that the same filters list. By `owner` or `plantId`, `status`, `shipped` and `refund`, the numbers are exact. With other ' +
        'filters, or both `owner` and `plantId`, at most 10,000 orders are read.',
      query: [...orderFilters],
      answer: orderCountsAnswer,
    },
  ),
};
