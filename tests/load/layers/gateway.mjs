import { randomUUID } from 'node:crypto';
import { catalog } from '../../../libs/contracts/dist/catalog.js';
import { identity } from '../../../libs/contracts/dist/identity.js';
import { permissions } from '../../../libs/contracts/dist/permissions.js';
import { store } from '../../../libs/contracts/dist/store.js';
import { createLogger } from '../../../libs/platform/dist/logging.js';
import { RpcClient } from '../../../libs/platform/dist/rpc/client.js';
import { decodeBatch, encodeEntry, encodeBatch, batchKinds } from '../../../libs/platform/dist/rpc/batch.js';
import { createMetrics } from '../../../libs/platform/dist/service/metrics.js';
import { Readiness } from '../../../libs/platform/dist/service/readiness.js';
import { RevocationLog } from '../../../libs/credentials/dist/revocation-log.js';
import { createGateway } from '../../../apps/gateway/dist/start.js';

const json = (/** @type {unknown} */ value) => Buffer.from(JSON.stringify(value));

/** The services' answers, as bytes. @type {Record<string, { payload: () => Buffer, meta?: object }>} */
const answers = {
  [catalog.getPlant.pattern]: constant({ id: 7, name: 'Monstera', photoUrls: [], tags: [], status: 'available' }, { version: 1, stamp: 'current' }),
  [catalog.readStamps.pattern]: constant(['current']),
  [store.readInventory.pattern]: constant({ available: 98, pending: 2, sold: 0 }),
  [store.placeOrder.pattern]: constant({ id: 1_000_000_001, plantId: 7, quantity: 2, status: 'placed', complete: false, placedAt: '2026-01-01T00:00:00.000Z' }, { version: 1 }),
  [identity.checkCredential.pattern]: constant({ kind: 'api-key', id: randomUUID(), userId: randomUUID(), permissions, position: 0 }),
  [identity.readRevocations.pattern]: { payload: () => json({ head: 0, entries: [], time: Date.now() }) },
};

/** @param {unknown} value @param {object} [meta] */
function constant(value, meta) {
  const payload = json(value);
  return { payload: () => payload, ...(meta && { meta }) };
}

/** Replaces NATS and the services: answers each batch of calls in the next turn of the event loop. Drops other messages. */
export class Bus {
  isUp = true;
  atEndOfTurn = setImmediate;
  /** @type {((message: { subject: string, data: Uint8Array }) => void) | undefined} */
  #inbox;
  connection = {
    publish: (/** @type {string} */ subject, /** @type {Uint8Array} */ batch, /** @type {{ reply: string } | undefined} */ options) => {
      if (!options) return;
      const { reply } = options;
      const [, service = ''] = subject.split('.');
      setImmediate(() => this.#inbox?.({ subject: reply, data: answered(service, batch) }));
    },
  };

  /** @param {string} subject @param {(message: { subject: string, data: Uint8Array }) => void} onMessage */
  listen(subject, onMessage) {
    if (subject.endsWith('.*')) this.#inbox = onMessage;
    return { stop: () => undefined, drain: async () => undefined };
  }
}

/** @param {string} service @param {Uint8Array} batch of calls @returns {Uint8Array} batch of their answers */
export function answered(service, batch) {
  const { entries } = decodeBatch(batch);
  return encodeBatch(
    batchKinds.answers,
    entries.map(({ meta }) => {
      const { id, op } = /** @type {{ id: number, op: string }} */ (meta);
      const answer = answers[`${service}.${op}`];
      if (!answer) throw new Error(`${service}.${op} has no prepared answer`);
      return encodeEntry({ id, ...answer.meta }, answer.payload());
    }),
  );
}

/** Starts the real gateway without listening. @returns {Promise<{ server: import('node:http').Server, end: () => Promise<void> }>} */
export async function startGateway() {
  const logger = createLogger('gateway', 'info', { write: () => undefined });
  const metrics = createMetrics('gateway');
  const nats = /** @type {any} */ (new Bus());
  const rpc = new RpcClient(nats, 'gateway', logger);
  const { app } = await createGateway(
    { name: 'gateway', logger, nats, rpc, metrics, readiness: new Readiness(), database: undefined },
    {
      host: '127.0.0.1',
      port: 0,
      publicUrl: 'https://plants.example',
      streamPublicUrl: '',
      identityHttpUrl: 'http://127.0.0.1:9',
      rateLimitPerMinute: 1_000_000_000,
      trustedProxies: [],
      corsOrigins: [],
      sandbox: false,
      docsOAuthClient: '',
      consoleOAuthClient: '',
      maxInFlight: 5_000,
      clientInFlightShare: 50,
      silentConnections: 100_000,
      maxBodyMib: 128,
      readCacheMib: 64,
      requestTimeoutMs: 120_000,
      requestBudgetMs: 2_000,
    },
  );
  await app.getHttpAdapter().getInstance().ready();
  await app.get(RevocationLog).waitUntilFresh(3_000);
  return {
    server: app.getHttpServer(),
    end: async () => {
      await app.close();
      rpc.close();
    },
  };
}
