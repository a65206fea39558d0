import { operationsOf } from '@plant-shop/platform/rpc/operation';
import { IsOptional } from 'class-validator';
import type { Account } from './broker.js';
import { type PlantStatus, plantStatuses } from './catalog.plants.js';
import type { ErrorCode } from './errors.js';
import { Id, Integer, ObjectsOf, OneOf, Uuid } from './fields.js';

// Calls of the catalog and of identity, which tell the store when plants and users come and go.

/** Sent by the catalog. The highest incarnation of a plant id wins, so late and repeated calls change nothing. */
export class OpenStock {
  @Id()
  plantId: number;

  @Id()
  incarnation: number;

  @OneOf(plantStatuses)
  status: PlantStatus;

  /** The plant's version that `status` belongs to. */
  @Id()
  version: number;

  /** Default: `INITIAL_STOCK`. */
  @IsOptional()
  @Integer(0, 1_000_000_000)
  units?: number;
}

/** Opens stock for several plants of an import. The rule of `OpenStock` applies to each. */
export class OpenStocks {
  @ObjectsOf(() => OpenStock, { size: 256, min: 1 })
  plants: OpenStock[];
}

/** Sent by the catalog when staff change a plant's status. Within one incarnation, the highest version wins. */
export class ListStock {
  @Id()
  plantId: number;

  @Id()
  incarnation: number;

  @Id()
  version: number;

  @OneOf(plantStatuses)
  status: PlantStatus;
}

/** Sent by the catalog before it deletes a plant. Leaves a tombstone, even of an unknown plant, unless orders are open. */
export class RetirePlant {
  @Id()
  plantId: number;

  @Id()
  incarnation: number;

  /**
   * Increases with each attempt for a plant. Once the store has answered an attempt with open orders, older attempts have no
   * effect: the catalog has abandoned them, and they might arrive after those orders were closed. Absent: 0, older than
   * every other.
   */
  @IsOptional()
  @Id()
  attempt?: number;
}

/** Sent by identity before it deletes a user, who may not place orders any more. */
export class CloseCustomer {
  @Uuid()
  userId: string;

  /**
   * Increases with each attempt for a user. Once the store has answered an attempt with open orders, older attempts have no
   * effect: identity has abandoned them, and they might arrive after those orders were closed. Absent: 0, older than
   * every other.
   */
  @IsOptional()
  @Id()
  attempt?: number;
}

// Answers

/** The result of retiring a plant or closing a customer. */
export interface OpenOrders {
  /**
   * Ids of open orders, ascending and at most 100. Empty: the plant is retired, the customer closed. Otherwise neither, and the attempt
   * counts as refused.
   */
  readonly openOrders: readonly number[];
}

const { write } = operationsOf<ErrorCode, Account>('store');

export const lifecycleOperations = {
  openStock: write<{ plantId: number }>()('openStock', OpenStock, { callers: ['catalog'] }),
  /** `openStock` for several plants in one transaction. */
  openStocks: write<{ plants: number }>()('openStocks', OpenStocks, { callers: ['catalog'] }),
  listStock: write<{ plantId: number }>()('listStock', ListStock, { callers: ['catalog'] }),
  /** Retires the plant if `openOrders` is empty. */
  retirePlant: write<OpenOrders>()('retirePlant', RetirePlant, { callers: ['catalog'] }),
  /** Closes the customer if `openOrders` is empty. */
  closeCustomer: write<OpenOrders>()('closeCustomer', CloseCustomer, { callers: ['identity'] }),
};
