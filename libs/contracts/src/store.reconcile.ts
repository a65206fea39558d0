import { NoPayload, operationsOf } from '@plant-shop/platform/rpc/operation';
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

const { read, write } = operationsOf<ErrorCode>('store');

/** Operations by which the other services compare themselves with the store after a restore. */
export const reconcileOperations = {
  readHighestNumbers: read<HighestNumbers>()('readHighestNumbers', NoPayload),
  /** Answers a page by ascending plant id. A page of fewer than `limit` entries (default 1,000) is the last one. */
  listAllStock: read<KnownStock[]>()('listAllStock', ListAllStock),
  /** Answers a page by ascending user id. A page of fewer than `limit` entries (default 1,000) is the last one. */
  listCustomers: read<KnownCustomer[]>()('listCustomers', ListCustomers),
  /** Retries the orders that are set aside, by ascending id. */
  reconcileOrders: write<ReconciledPage<OrderFinding, number>>()('reconcileOrders', ReconcileOrders),
};
