import { NoPayload, operationsOf } from '@plant-shop/platform/rpc/operation';
import type { ErrorCode } from './errors.js';
import { type HighestNumbers, type KnownCustomer, type KnownStock, ListAllStock, ListCustomers } from './reconcile.js';

const { read } = operationsOf<ErrorCode>('store');

/** What others compare themselves with after a restore. */
export const reconcileOperations = {
  readHighestNumbers: read<HighestNumbers>()('readHighestNumbers', NoPayload),
  /** By ascending plant id. A page of fewer than `limit` (1,000 when absent) is the last one. */
  listAllStock: read<KnownStock[]>()('listAllStock', ListAllStock),
  /** By ascending user id. A page of fewer than `limit` (1,000 when absent) is the last one. */
  listCustomers: read<KnownCustomer[]>()('listCustomers', ListCustomers),
};
