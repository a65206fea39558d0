import { NoPayload, operationsOf } from '@plant-shop/platform/rpc/operation';
import type { Account } from './broker.js';
import type { ErrorCode } from './errors.js';
import {
  type HighestNumbers,
  type KnownCustomer,
  type KnownStock,
  ListAllStock,
  ListCustomers,
  type OrderFinding,
  type ReconciledPage,
  ReconcileOrders,
} from './reconcile.js';

const { read, write } = operationsOf<ErrorCode, Account>('store');

/** Operations by which the other services compare themselves with the store after a restore. */
export const reconcileOperations = {
  readHighestNumbers: read<HighestNumbers>()('readHighestNumbers', NoPayload, { callers: ['catalog', 'identity'] }),
  /** Answers a page by ascending plant id. A page of fewer than `limit` entries (default 500) is the last one. */
  listAllStock: read<KnownStock[]>()('listAllStock', ListAllStock, { callers: ['catalog'] }),
  /** Answers a page by ascending user id. A page of fewer than `limit` entries (default 500) is the last one. */
  listCustomers: read<KnownCustomer[]>()('listCustomers', ListCustomers, { callers: ['identity'] }),
  /** Retries the orders that are set aside, by ascending id. */
  reconcileOrders: write<ReconciledPage<OrderFinding, number>>()('reconcileOrders', ReconcileOrders, { callers: ['operator'] }),
};
