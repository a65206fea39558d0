import { NoPayload, operationsOf } from '@plant-shop/platform/rpc/operation';
import { IsOptional } from 'class-validator';
import { anyKeyOr, openLimitedByUser, permission, readingStock } from './permissions.js';
import { type AnswerOf, described, id, instant, integer, listOf, objectOf, oneOf, optional, text, uuid } from './answers.js';
import type { PlantStatus } from './catalog.plants.js';
import { forClientsUnder, jsonObject } from './client-operation.js';
import type { ErrorCode } from './errors.js';
import { Clearable, ExpectedVersion, Id, Ids, Integer, ObjectOf, PageRequest, VisibleText } from './fields.js';
import { Description } from './schema.js';

// The units of each plant, as staff count them and as customers may know them.

const maxUnits = 1_000_000_000;

// Sent by clients

export class StockChange {
  @IsOptional()
  @Integer(0, maxUnits)
  @Description('As counted. Absent: they stay the same.')
  free?: number;

  @Clearable()
  @Integer(0, maxUnits)
  @Description('From this number of free units down the plant is low on stock. Absent: it stays the same. Null: 10 counts.')
  lowStockAt?: number | null;
}

export class StockAdjustment {
  @Integer(-maxUnits, maxUnits)
  @Description('Units to add to the free ones; below zero: to remove.')
  by: number;

  @VisibleText({ max: 500 })
  @Description('Why, for the history: a delivery, a loss, a count.')
  reason: string;
}

// Requests

export class GetStock {
  @Id()
  plantId: number;
}

export class GetAvailability {
  @Id()
  plantId: number;
}

export const maxAvailabilities = 100;

export class ListAvailability {
  @Ids(maxAvailabilities)
  @Description('Ids of plants, at most 100. The answer is in their order, without those that there are not.')
  ids: number[];
}

export class AdjustStock {
  @Id()
  plantId: number;

  @ObjectOf(() => StockAdjustment)
  adjustment: StockAdjustment;

  @ExpectedVersion()
  ifVersion?: number;
}

export class ListStockChanges extends PageRequest {
  @Id()
  plantId: number;
}

export class ListUncounted extends PageRequest {}

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
  writtenOff: optional(described(units, 'Units of orders that staff cancelled and that cannot be sold again. Absent: none.')),
  lowStockAt: optional(described(units, 'From this number of free units down the plant is low on stock. Absent: 10 counts.')),
});

export type Stock = AnswerOf<typeof stockAnswer>;

export const availabilityStates = ['in-stock', 'low-stock', 'out-of-stock', 'not-for-sale'] as const;

const availabilityAnswer = objectOf('Availability', 'Whether a plant can be ordered.')({
  plantId: id,
  state: described(
    oneOf(availabilityStates),
    '`low-stock`: few units are left. `not-for-sale`: the status of the plant is not available.',
  ),
  units: optional(described(units, 'Units that can be ordered. Absent if there are more than the shop shows, and if the plant is not for sale.')),
});

export type Availability = AnswerOf<typeof availabilityAnswer>;

const stockChangeAnswer = objectOf('StockEntry', 'A change of units by staff.')({
  id,
  at: instant,
  by: described(integer(-Number.MAX_SAFE_INTEGER), 'Units added; below zero: removed.'),
  free: described(units, 'Free units after the change.'),
  reason: optional(described(text(500), 'Absent: the free units were set.')),
  orderId: optional(described(id, 'The order that was cancelled.')),
  writtenOff: optional(described(units, 'Its units, which were written off.')),
  actor: optional(described(uuid, 'The id of the user who made it.')),
  username: optional(described(text(), 'Absent if the user was deleted.')),
});

export type StockEntry = AnswerOf<typeof stockChangeAnswer>;

const uncountedAnswer = objectOf('UncountedStock', 'A plant that began without units, which nobody has counted since.')({
  plantId: id,
  since: instant,
});

export type UncountedStock = AnswerOf<typeof uncountedAnswer>;

const { read, write } = operationsOf<ErrorCode>('store');
const forClients = forClientsUnder('Store');

export const stockOperations = {
  readInventory: forClients(
    read<Inventory>()('readInventory', NoPayload),
    {
      route: 'GET /v3/store/inventory',
      access: anyKeyOr('write:orders', 'read:orders', ...readingStock.anyOf),
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
      access: permission(...readingStock.anyOf),
      summary: 'Read the stock of a plant',
      answer: stockAnswer,
    },
  ),
  getAvailability: forClients(
    read<Availability>()('getAvailability', GetAvailability, { errors: ['plant-not-found'] }),
    {
      route: 'GET /v3/plant/:plantId/availability',
      batched: true,
      access: openLimitedByUser,
      summary: 'Read whether a plant can be ordered',
      answer: availabilityAnswer,
    },
  ),
  listAvailability: forClients(
    read<Availability[]>()('listAvailability', ListAvailability),
    {
      route: 'GET /v3/plant/availability',
      access: openLimitedByUser,
      summary: 'Read whether several plants can be ordered',
      description: 'In the order of the ids, each once.',
      query: ['ids'],
      required: { ids: 'must be ids of plants, separated by commas' },
      answer: listOf(availabilityAnswer, maxAvailabilities),
    },
  ),
  adjustStock: forClients(
    write<Stock>()('adjustStock', AdjustStock, {
      errors: ['plant-not-found', 'insufficient-stock', 'precondition-failed', 'idempotency-key-reused'],
      versioned: true,
    }),
    {
      route: 'POST /v3/store/inventory/:plantId/adjustment',
      access: permission('write:stock'),
      summary: 'Add or remove free units of a plant',
      problemMembers: { 'insufficient-stock': ['available'] },
      description:
        'For a delivery, a loss or a count. Orders placed in the meantime are not overlooked. Refused if there would be less than no free unit. ' +
        'Send an Idempotency-Key to repeat the request safely.',
      body: jsonObject('adjustment'),
      answer: stockAnswer,
    },
  ),
  listStockChanges: forClients(
    read<StockEntry[]>()('listStockChanges', ListStockChanges, { errors: ['plant-not-found', 'invalid-cursor'] }),
    {
      route: 'GET /v3/store/inventory/:plantId/changes',
      access: permission(...readingStock.anyOf),
      summary: "List the changes of a plant's stock by staff",
      description: 'Newest first: by id, which increases. Orders change free units, too, and are not among them.',
      query: ['limit', 'cursor'],
      answer: listOf(stockChangeAnswer, 1_000),
    },
  ),
  listUncounted: forClients(
    read<UncountedStock[]>()('listUncounted', ListUncounted, { errors: ['invalid-cursor'] }),
    {
      route: 'GET /v3/store/uncounted',
      access: permission(...readingStock.anyOf),
      summary: 'List plants whose units nobody has counted',
      description:
        'New plants without units, and plants whose units were lost with a restored database. The highest id comes first. Setting or adjusting the units ' +
        'of a plant removes it from the list.',
      query: ['limit', 'cursor'],
      answer: listOf(uncountedAnswer, 1_000),
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
