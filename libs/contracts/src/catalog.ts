import { operationsOf } from '@plant-shop/platform/rpc/operation';
import { readAuditOf } from './audit.js';
import type { Account } from './broker.js';
import { changeOperations } from './catalog.changes.js';
import { imageOperations } from './catalog.images.js';
import { plantOperations } from './catalog.plants.js';
import { searchOperations } from './catalog.searches.js';
import { transferOperations } from './catalog.transfers.js';
import type { ErrorCode } from './errors.js';
import { type PlantFinding, type RaisedNumber, RaiseNumbers, type ReconciledPage, ReconcilePlants } from './reconcile.js';

const { write } = operationsOf<ErrorCode, Account>('catalog');

export const catalog = {
  ...plantOperations,
  ...searchOperations,
  ...changeOperations,
  ...transferOperations,
  ...imageOperations,

  /** Advances the catalog's sequences beyond the numbers that the store knows. */
  raiseNumbers: write<{ raised: RaisedNumber[] }>()('raiseNumbers', RaiseNumbers, { callers: ['operator'] }),
  /** Compares a page of plants with the store's stock and repairs differences. Safe to repeat. */
  reconcilePlants: write<ReconciledPage<PlantFinding, number>>()('reconcilePlants', ReconcilePlants, { callers: ['operator'] }),
  readAudit: readAuditOf('catalog'),
};

export * from './catalog.changes.js';
export * from './catalog.images.js';
export * from './catalog.plants.js';
export * from './catalog.searches.js';
export * from './catalog.transfers.js';
