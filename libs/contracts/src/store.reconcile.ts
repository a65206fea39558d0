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

/** What others compare themselves with after a restore. */
export const reconcileOperations = {
  readHighestNumbers: read<HighestNumbers>()('readHighestNumbers', NoPayload),
  /** By ascending plant id. A page of fewer than `limit` (1,000 when absent) is the last one. */
  listAllStock: read<KnownStock[]>()('listAllStock', ListAllStock),
  /** By ascending user id. A page of fewer than `limit` (1,000 when absent) is the last one. */
  listCustomers: read<KnownCustomer[]>()('listCustomers', ListCustomers),
  /** Orders that are set aside, by ascending id; tries each again. */
  reconcileOrders: write<ReconciledPage<OrderFinding, number>>()('reconcileOrders', ReconcileOrders),
};
