import { applyDecorators } from '@nestjs/common';
import { IsOptional } from 'class-validator';
import type { PlantStatus } from './catalog.js';
import { Flag, Integer, Uuid } from './fields.js';

// What is asked to find and mend drift between databases after one of them was set back to an older backup
// (docs/operations/reconcile.md). Pages are by key, ascending: `after` is the last key of the page before.

const DryRun = (): PropertyDecorator =>
  applyDecorators(IsOptional(), Flag());

class PlantPage {
  /** Absent: from the beginning. */
  @IsOptional()
  @Integer(0, Number.MAX_SAFE_INTEGER)
  after?: number;

  @IsOptional()
  @Integer(1, 1_000)
  limit?: number;
}

class OrderPage {
  /** Absent: from the beginning. */
  @IsOptional()
  @Integer(0, Number.MAX_SAFE_INTEGER)
  after?: number;

  @IsOptional()
  @Integer(1, 1_000)
  limit?: number;
}

class UserPage {
  /** Absent: from the beginning. */
  @IsOptional()
  @Uuid()
  after?: string;

  @IsOptional()
  @Integer(1, 1_000)
  limit?: number;
}

export class ListAllStock extends PlantPage {}

export class ListCustomers extends UserPage {}

export class RaiseNumbers {
  /** Only says what would be raised. */
  @DryRun()
  dryRun?: boolean;
}

export class ReconcilePlants extends PlantPage {
  /** Only says what would be mended. */
  @DryRun()
  dryRun?: boolean;
}

export class ReconcileOrders extends OrderPage {
  /** Only says which orders are set aside. */
  @DryRun()
  dryRun?: boolean;
}

export class ReconcileUsers extends UserPage {
  /** Only says what would be mended. */
  @DryRun()
  dryRun?: boolean;
}

/** The highest numbers that the store was ever given. Their owners must draw higher ones only. */
export interface HighestNumbers {
  /** Of incarnations and versions of plants. */
  readonly plantVersion: number;
  /** Of the plant ids that the catalog assigns; ids that clients chose far away from them do not count. */
  readonly assignedPlantId: number;
  /** Of attempts to retire a plant that were refused. */
  readonly retireAttempt: number;
  /** Of attempts to close a customer that were refused. */
  readonly closeAttempt: number;
}

/** What the store knows of a plant, tombstones included. */
export interface KnownStock {
  readonly plantId: number;
  readonly incarnation: number;
  readonly listing: PlantStatus | 'retired';
  /** The plant's version that `listing` belongs to. */
  readonly listingVersion: number;
}

export interface KnownCustomer {
  readonly userId: string;
  readonly closed: boolean;
}

/** A sequence that was behind what the store knows. */
export interface RaisedNumber {
  readonly sequence: string;
  readonly from: number;
  readonly to: number;
}

/**
 * What became of a difference: only looked at (`found`), mended, left to a person because orders are open (`left`), or begun
 * and not ended because a service was away or busy (`unfinished`: run again).
 */
export type DriftOutcome = 'found' | 'mended' | 'left' | 'unfinished';

/**
 * - `stock-missing`: the store does not know the plant, or only an earlier one of its id. Opened with 0 units.
 * - `listing-differs`: the store lists it under another status. Told again what the catalog says.
 * - `plant-deleted`: the store knows that it was deleted. Deleted again.
 * - `plant-missing`: the store has stock of a plant that the catalog does not have. Retired, unless orders are open.
 */
export type PlantDrift = 'stock-missing' | 'listing-differs' | 'plant-deleted' | 'plant-missing';

/**
 * - `user-deleted`: the store knows that the user was deleted. Deleted again.
 * - `user-missing`: the store takes orders for a user who does not exist. Closed, unless orders are open.
 */
export type UserDrift = 'user-deleted' | 'user-missing';

/** An order that is due and that Postgres refused to move for what its rows hold. */
export interface OrderFinding {
  readonly orderId: number;
  readonly drift: 'order-set-aside';
  /** `mended`: it has moved now. `left`: it is refused still. */
  readonly outcome: Exclude<DriftOutcome, 'unfinished'>;
  readonly move: 'approve' | 'deliver' | 'expire';
  /** Postgres' code of the error. */
  readonly sqlState: string;
  /** The constraint that is broken; absent: the error names none. */
  readonly constraint?: string;
}

interface Finding {
  readonly outcome: DriftOutcome;
  /** Ids, at most 100, where they keep it from being mended. */
  readonly openOrders?: readonly number[];
}

export interface PlantFinding extends Finding {
  readonly plantId: number;
  readonly drift: PlantDrift;
}

export interface UserFinding extends Finding {
  readonly userId: string;
  /** Absent: there is no such user. */
  readonly username?: string;
  readonly drift: UserDrift;
}

/** One page of a comparison. */
export interface ReconciledPage<Found, Key> {
  /** How many were compared. */
  readonly checked: number;
  /** Where the next page begins (`after`); absent: this was the last one. */
  readonly next?: Key;
  readonly findings: readonly Found[];
}
