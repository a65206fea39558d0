import { randomUUID } from 'node:crypto';
import { permissions } from '../../../libs/contracts/dist/permissions.js';
import { store } from '../../../libs/contracts/dist/store.js';
import { createLogger } from '../../../libs/platform/dist/logging.js';
import { Database } from '../../../libs/platform/dist/postgres/database.js';
import { RpcClient } from '../../../libs/platform/dist/rpc/client.js';
import { decodeBatch, encodeEntry, encodeBatch, batchKinds } from '../../../libs/platform/dist/rpc/batch.js';
import { processNow } from '../../../libs/platform/dist/rpc/context.js';
import { createMetrics } from '../../../libs/platform/dist/service/metrics.js';
import { Readiness } from '../../../libs/platform/dist/service/readiness.js';
import { Service } from '../../../libs/platform/dist/service/service.js';
import { startStore } from '../../../apps/store/dist/store.module.js';
import { requests, withFastify } from './bare.mjs';
import { requestOf } from './connection.mjs';
import { costsOf } from './cost.mjs';
import { elementsOf, replacePostgres, types } from './postgres.mjs';

const { bigint, text, timestamptz, uuid } = types;

/** What Postgres answers while orders are placed. @type {Record<string, import('./postgres.mjs').Answer>} */
const answers = {
  'share-customers': ([users]) => ({ columns: [['userId', uuid], ['closed', 16]], values: elementsOf(users).map((one) => [one, 'f']) }),
  'lock-stock': ([plants]) => ({
    columns: [['plantId', bigint], ['incarnation', bigint], ['listing', text], ['listingVersion', bigint], ['refusedAttempt', bigint], ['lowStockAt', bigint], ['writtenOff', bigint], ['free', bigint], ['reserved', bigint], ['sold', bigint], ['version', bigint]],
    values: elementsOf(plants).map((plantId) => [plantId, 1, 'available', 1, 0, 10, 0, 1_000_000, 0, 0, 1]),
  }),
  'placing-times': () => ({ columns: [['now', timestamptz], ['at', timestamptz]], values: [['2026-11-23 19:00:00.123456+00', '2026-11-23 19:00:00.123456+00']] }),
  'SELECT extract(epoch FROM clock)': () => ({ columns: [['now', 701], ['inMs', 701], ['aheadMs', 701]], values: [[1_795_000_000_000, 1_000_000, 0]] }),
  'write-placed-orders': () => ({ columns: [['epoch', uuid], ['head', bigint]], values: [[randomUUID(), 5_000_000]] }),
  'find-event-before-numbered': () => ({ columns: [['id', uuid]], values: [[randomUUID()]] }),
  // As if another replica compacted.
  'lock-inventory': () => ({ columns: [['isMine', 16]], values: [['f']] }),
  // Nothing to count.
  'lock-order-counts': () => ({ columns: [['counted', bigint]], values: [] }),
  // The feed's retention looks for events without a number.
  'SELECT count(*) AS count': () => ({ columns: [['count', bigint]], values: [[0]] }),
  // The same ids each time: what matters is that those of a batch differ.
  'WITH drawn AS': () => ({ columns: [['id', bigint]], values: Array.from({ length: 1_000 }, (_, n) => [1_000_000_000 + n]) }),
};

/** @typedef {{ subject?: string, data: Uint8Array, reply: string }} Message */

/** Replaces NATS and the gateway: delivers batches of calls, and counts the answers. */
class Bus {
  isUp = true;
  atEndOfTurn = setImmediate;
  batchesReceived = 0;
  /** @type {Map<string, (message: Message) => void>} */
  #listeners = new Map();
  #reply = 'reply.gateway.bench.store.1';
  /** Answers that are still awaited. */
  #missing = 0;
  /** @type {() => void} */
  #answered = () => undefined;
  /** The last batch of answers. @type {Uint8Array} */
  last = new Uint8Array();

  connection = {
    publish: (/** @type {string} */ subject, /** @type {Uint8Array} */ data, /** @type {{ reply: string } | undefined} */ options) => {
      if (subject === this.#reply) this.#take(data);
      else if (subject.endsWith('.clock') && options) this.#sendClock(options.reply);
    },
    flush: async () => undefined,
  };

  /** No follower listens. */
  announce() {}

  /** @param {string} subject @param {(message: Message) => void} onMessage */
  listen(subject, onMessage) {
    this.#listeners.set(subject, onMessage);
    return { stop: () => undefined, drain: async () => undefined };
  }

  /** Sends a batch of calls in the next turn of the event loop. @param {Uint8Array} data @param {number} calls @returns {Promise<void>} once all are answered */
  ask(data, calls) {
    return new Promise((resolve) => {
      this.#missing = calls;
      this.#answered = resolve;
      setImmediate(() => this.#listeners.get('rpc.store.*')?.({ subject: 'rpc.store.gateway', data, reply: this.#reply }));
    });
  }

  /** @param {Uint8Array} batch */
  #take(batch) {
    const { byteOffset, byteLength, buffer } = batch;
    const header = new DataView(buffer, byteOffset, byteLength);
    if (header.getUint8(3) !== batchKinds.answers) throw new Error('The store refused the batch.');
    this.batchesReceived++;
    this.last = batch;
    this.#missing -= header.getUint32(4);
    if (this.#missing === 0) this.#answered();
  }

  /** @param {string} reply */
  #sendClock(reply) {
    const data = encodeBatch(batchKinds.clockReading, [encodeEntry({ clock: processNow(), wall: Date.now() })]);
    const subject = `${reply.split('.').slice(0, 3).join('.')}.*.*`;
    setImmediate(() => this.#listeners.get(subject)?.({ subject: reply, data, reply: '' }));
  }
}

const dayMs = 86_400_000;

/** A batch of orders as the gateway sends it, each of another plant. @param {number} orders */
function batchOf(orders) {
  const principal = { subject: randomUUID(), permissions, shown: ['api-key'] };
  const entries = Array.from({ length: orders }, (_, n) => {
    const meta = { id: n + 1, op: store.placeOrder.name, request: randomUUID(), budgetMs: dayMs, deadline: Math.floor(processNow() + dayMs), principal };
    return encodeEntry(meta, Buffer.from(JSON.stringify({ order: { plantId: n + 1, quantity: 1 } })));
  });
  return encodeBatch(batchKinds.calls, entries);
}

/**
 * Starts the real store over prepared answers of Postgres and without NATS.
 * @returns {Promise<(perBatch: number) => Promise<{ work: import('./cost.mjs').Work, traffic: string }>>} a function that
 *   returns the work of placing one batch, and what a batch sends
 */
async function startStoreAlone() {
  const traffic = replacePostgres(answers);
  const logger = createLogger('store', 'warn', { write: failed });
  const bus = new Bus();
  const nats = /** @type {any} */ (bus);
  /** @type {any} */
  const service = Object.assign(Object.create(Service.prototype), {
    name: 'store',
    logger,
    nats,
    rpc: new RpcClient(nats, 'store', logger),
    metrics: createMetrics('store'),
    readiness: new Readiness(),
    commands: new Map(),
    beforeClosePhases: [],
    closePhases: [],
    async useDatabase(/** @type {import('../../../libs/platform/dist/postgres/database.js').DatabaseSettings} */ settings) {
      service.database = await Database.connect(settings, logger);
    },
  });
  await startStore(service, {
    databaseUrl: 'postgres://store@127.0.0.1:9/store',
    databaseCa: '',
    sandbox: false,
    databasePoolSize: 16,
    initialStock: 0,
    orderTtlMs: 900_000,
    paymentProvider: 'external',
    simulatedApprovalDelayMs: 5_000,
    simulatedDeliveryDelayMs: 15_000,
    unpaidOrders: 1_000_000,
    unpaidUnits: 1_000_000_000,
    availabilityShownUpTo: 10,
    feedRetentionDays: 7,
    feedAbsenceDays: 30,
    archiveAfterDays: 0,
    placingLanes: 1,
    maxInFlight: 5_000,
  });

  return async (perBatch) => {
    const batch = batchOf(perBatch);
    const place = () => bus.ask(batch, perBatch);
    // The first batches open a connection, prepare the statements and draw ids.
    for (let n = 0; n < 5; n++) await place();
    const before = { batches: bus.batchesReceived, ...traffic };
    await place();
    const sent = `${traffic.statements - before.statements} statements in ${traffic.roundTrips - before.roundTrips} round trips, ${bus.batchesReceived - before.batches} batch of answers`;
    for (const { meta } of decodeBatch(bus.last).entries) {
      const { error } = /** @type {{ error?: object }} */ (meta);
      if (error) throw new Error(`An order was refused: ${JSON.stringify(error)}`);
    }
    const work = async (/** @type {number} */ times) => {
      for (let n = 0; n < times; n++) await place();
    };
    return { work: Object.assign(work, { size: perBatch }), traffic: sent };
  };
}

/** Ends the measurement when a part of the store fails. @param {string} line of the log */
function failed(line) {
  setImmediate(() => {
    throw new Error(`The store logged: ${line}`);
  });
}

/**
 * Measures orders in the store, with the Postgres driver, but without Postgres, NATS and sockets.
 * @param {(text: string) => void} say
 * @returns {Promise<{ bare: import('./cost.mjs').Cost, whole: import('./layers.mjs').Layer[], parts: import('./layers.mjs').Layer[] }>}
 */
export async function measureStore(say) {
  say('orders in the store …');
  const orders = await startStoreAlone();
  const [few, many] = [await orders(64), await orders(256)];
  const plain = await withFastify();
  const costs = await costsOf({ bare: requests(plain.server, requestOf('GET /v3/plant/7')), few: few.work, many: many.work });
  await plain.end();
  const whole = [
    { what: `store, an order in batches of 64 (${few.traffic})`, cost: costs.few },
    { what: `store, an order in batches of 256 (${many.traffic})`, cost: costs.many },
  ];
  return { bare: costs.bare, whole, parts: [] };
}
