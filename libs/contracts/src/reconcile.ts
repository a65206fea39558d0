import { applyDecorators } from '@nestjs/common';
import { IsOptional } from 'class-validator';
import type { PlantStatus } from './catalog.js';
import { Flag, Integer, Uuid } from './fields.js';

// Operations that find and repair drift between databases after one of them was restored from an older backup
// (docs/operations/reconcile.md). Pages are in ascending order of keys; `after` is the last key of the previous page.

const DryRun = (): PropertyDecorator =>
  applyDecorators(IsOptional(), Flag());

/** A page of plants or orders. */
class IdPage {
  /** Absent: the first page. */
  @IsOptional()
  @Integer(0, Number.MAX_SAFE_INTEGER)
  after?: number;

  /** So that the answer fits an RPC message, though each finding may name 100 orders. */
  @IsOptional()
  @Integer(1, 500)
  limit?: number;
}

class UserPage {
  /** Absent: the first page. */
  @IsOptional()
  @Uuid()
  after?: string;

  /** So that the answer fits an RPC message, though each finding may name 100 orders. */
  @IsOptional()
  @Integer(1, 500)
  limit?: number;
}

export class ListAllStock extends IdPage {}

export class ListCustomers extends UserPage {}

export class RaiseNumbers {
  /** Reports what would be raised, without changing anything. */
  @DryRun()
  dryRun?: boolean;
}

export class ReconcilePlants extends IdPage {
  /** Reports what would be repaired, without changing anything. */
  @DryRun()
  dryRun?: boolean;
}

export class ReconcileOrders extends IdPage {
  /** Reports which orders are set aside, without changing anything. */
  @DryRun()
  dryRun?: boolean;
}

export class ReconcileUsers extends UserPage {
  /** Reports what would be repaired, without changing anything. */
  @DryRun()
  dryRun?: boolean;
}

/** The highest numbers that the store has received. Their owners must only assign higher ones. */
export interface HighestNumbers {
  /** The highest incarnation or version of a plant. */
  readonly plantVersion: number;
  /** The highest plant id assigned by the catalog. Ignores ids that clients chose far away from those. */
  readonly assignedPlantId: number;
  /** The highest refused attempt to retire a plant. */
  readonly retireAttempt: number;
  /** The highest refused attempt to close a customer. */
  readonly closeAttempt: number;
}

/** What the store knows about a plant, including tombstones. */
export interface KnownStock {
  readonly plantId: number;
  readonly incarnation: number;
  readonly listing: PlantStatus | 'retired';
  /** The version of the plant that `listing` belongs to. */
  readonly listingVersion: number;
}

export interface KnownCustomer {
  readonly userId: string;
  readonly closed: boolean;
}

/** A sequence that was behind the numbers that the store knows. */
export interface RaisedNumber {
  readonly sequence: string;
  readonly from: number;
  readonly to: number;
}

/**
 * What was done about a difference:
 * - `found`: only reported.
 * - `mended`: repaired.
 * - `left`: left to the operator, because orders are open.
 * - `unfinished`: begun, but a service was down or busy; run again.
 */
export type DriftOutcome = 'found' | 'mended' | 'left' | 'unfinished';

/**
 * - `stock-missing`: the store does not know the plant, or only an earlier one with its id. Repair: opens stock with 0 units.
 * - `listing-differs`: the store lists it under another status. Repair: sends the catalog's status again.
 * - `plant-deleted`: the store knows that it was deleted. Repair: deletes it again.
 * - `plant-missing`: the store has stock of a plant that the catalog lacks. Repair: retires it, unless orders are open.
 */
export type PlantDrift = 'stock-missing' | 'listing-differs' | 'plant-deleted' | 'plant-missing';

/**
 * - `user-deleted`: the store knows that the user was deleted. Repair: deletes the user again.
 * - `user-missing`: the store accepts orders for a user who does not exist. Repair: closes the customer, unless orders are open.
 */
export type UserDrift = 'user-deleted' | 'user-missing';

/** A due order whose transition Postgres refused because of the data in its rows. */
export interface OrderFinding {
  readonly orderId: number;
  readonly drift: 'order-set-aside';
  /** `mended`: the transition succeeded now. `left`: it was refused again. */
  readonly outcome: Exclude<DriftOutcome, 'unfinished'>;
  readonly move: 'approve' | 'deliver' | 'expire';
  /** SQLSTATE of the error. */
  readonly sqlState: string;
  /** The violated constraint; absent if the error names none. */
  readonly constraint?: string;
}

interface Finding {
  readonly outcome: DriftOutcome;
  /** Ids of at most 100 open orders that prevent the repair. */
  readonly openOrders?: readonly number[];
}

/** What a repair reports about itself. */
export type RepairResult = Pick<Finding, 'outcome' | 'openOrders'>;

/** Returns the result of a repair that the store refuses while orders are open. */
export const mendedUnless = (openOrders: readonly number[] = []): RepairResult =>
  openOrders.length > 0 ? { outcome: 'left', openOrders } : { outcome: 'mended' };

export interface PlantFinding extends Finding {
  readonly plantId: number;
  readonly drift: PlantDrift;
}

export interface UserFinding extends Finding {
  readonly userId: string;
  /** Absent if there is no such user. */
  readonly username?: string;
  readonly drift: UserDrift;
}

/** One page of a comparison. */
export interface ReconciledPage<Found, Key> {
  /** Number of entries compared. */
  readonly checked: number;
  /** `after` of the next page; absent on the last one. */
  readonly next?: Key;
  readonly findings: readonly Found[];
}
