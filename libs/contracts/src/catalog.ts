import { operationsOf } from '@plant-shop/platform/rpc/operation';
import { readAuditOf } from './audit.js';
import type { Account } from './broker.js';
import { changeOperations } from './catalog.changes.js';
import { imageOperations } from './catalog.images.js';
import { type Plant, plantOperations } from './catalog.plants.js';
import { searchOperations } from './catalog.searches.js';
import { transferOperations } from './catalog.transfers.js';
import type { ErrorCode } from './errors.js';
import { Ids } from './fields.js';
import { type PlantFinding, type RaisedNumber, RaiseNumbers, type ReconciledPage, ReconcilePlants } from './reconcile.js';

/** Reads what orders show of their plants. */
export class ResolvePlants {
  @Ids(1_000)
  plantIds: number[];
}

/** Omits deleted plants. */
export interface ResolvedPlants {
  readonly plants: readonly Pick<Plant, 'id' | 'name' | 'photoUrls'>[];
  /** Ids that did not fit into the answer, the last of those asked for. */
  readonly left: readonly number[];
}

const { read, write } = operationsOf<ErrorCode, Account>('catalog');

export const catalog = {
  ...plantOperations,
  ...searchOperations,
  ...changeOperations,
  ...transferOperations,
  ...imageOperations,

  /** Answers at least one of the plants that there are, and about 400 KiB. */
  resolvePlants: read<ResolvedPlants>()('resolvePlants', ResolvePlants, { callers: ['store'] }),

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
