import { NoPayload, operationsOf } from '@plant-shop/platform/rpc/operation';
import { anyKeyOr, permission } from './permissions.js';
import { type AnswerOf, described, id, integer, objectOf } from './answers.js';
import type { PlantStatus } from './catalog.plants.js';
import { forClientsUnder, jsonObject } from './client-operation.js';
import type { ErrorCode } from './errors.js';
import { ExpectedVersion, Id, Integer, ObjectOf } from './fields.js';

// The units of each plant.

// Sent by clients

export class StockChange {
  @Integer(0, 1_000_000_000)
  free: number;
}

// Requests

export class GetStock {
  @Id()
  plantId: number;
}

export class SetStock {
  @Id()
  plantId: number;

  @ObjectOf(() => StockChange)
  stock: StockChange;

  @ExpectedVersion()
  ifVersion?: number;
}

// Answers

/** Units per status, summed over all plants. Always has all three members. */
export type Inventory = Readonly<Record<PlantStatus, number>>;

const units = integer(0);

const inventoryAnswer = objectOf('Inventory', 'Units per plant status, summed over all plants. Always has all three members.')({
  available: units,
  pending: units,
  sold: units,
});

const stockAnswer = objectOf('Stock', 'Units of one plant.')({
  plantId: id,
  free: described(units, 'Units that can be ordered.'),
  reserved: described(units, 'Units in placed orders.'),
  sold: described(units, 'Units in approved or delivered orders.'),
});

export type Stock = AnswerOf<typeof stockAnswer>;

const { read, write } = operationsOf<ErrorCode>('store');
const forClients = forClientsUnder('Store');

export const stockOperations = {
  readInventory: forClients(
    read<Inventory>()('readInventory', NoPayload),
    {
      route: 'GET /v3/store/inventory',
      access: anyKeyOr('write:orders', 'read:orders', 'write:stock'),
      summary: 'Read the units per status',
      description:
        'The sums over all plants. `available`: free units of plants with the status available. `pending`: units in placed orders, and ' +
        'free units of plants with the status pending. `sold`: units in approved and delivered orders, and free units of plants with the ' +
        'status sold.',
      shared: 'coalesced',
      answer: inventoryAnswer,
    },
  ),
  getStock: forClients(
    read<Stock>()('getStock', GetStock, { errors: ['plant-not-found'], versioned: true }),
    {
      route: 'GET /v3/store/inventory/:plantId',
      access: permission('write:stock'),
      summary: 'Read the stock of a plant',
      answer: stockAnswer,
    },
  ),
  /** Sets the free units. */
  setStock: forClients(
    write<Stock>()('setStock', SetStock, {
      errors: ['plant-not-found', 'precondition-failed'],
      versioned: true,
    }),
    {
      route: 'PUT /v3/store/inventory/:plantId',
      access: permission('write:stock'),
      summary: 'Set the free units of a plant',
      description:
        'Units in orders are not affected. Send the `ETag` of the stock that you read as `If-Match`, so that orders placed in the ' +
        'meantime are not overlooked.',
      body: jsonObject('stock'),
      answer: stockAnswer,
    },
  ),
};
