import { TestShop } from '../../tools/test/shop.mjs';
import { useOf } from './processes.mjs';

/**
 * Settings as in production: durable commits, log level info, metrics and validation on. Payments are external and orders wait a day
 * for them, so that nothing else happens during a measurement. Limits per endpoint and per login address are raised, since one
 * endpoint gets all webhooks, and one address makes all logins and connections. Clients may say from which network they ask for mail.
 */
const settings = {
  PAYMENT_PROVIDER: 'external',
  ORDER_TTL_MS: '86400000',
  INITIAL_STOCK: '1000000000',
  WEBHOOK_RATE_PER_ENDPOINT: '1000000',
  WEBHOOK_RATE_PER_HOST: '1000000',
  STREAMS_PER_NETWORK: '100000',
  WEBHOOK_IN_FLIGHT_PER_ENDPOINT: '10000',
  LOGIN_LIMIT_PER_ADDRESS: '1000000',
  TRUSTED_PROXIES: '127.0.0.1',
  SILENT_CONNECTIONS: '100000',
  STREAMS_PER_USER: '10000',
  UNPAID_ORDERS: '1000000',
  UNPAID_UNITS: '1000000000',
};

/** @typedef {'gateway' | 'catalog' | 'store' | 'identity' | 'notifications' | 'postgres' | 'nats'} Part */

/** A whole shop on free ports, with temporary data, whose parts are measured. */
export class Stack extends TestShop {
  /**
   * @override
   * @param {string} folder
   * @param {{ signal: AbortSignal, args?: string[], env?: Record<string, string> }} options
   */
  static start(folder, { env = {}, ...options }) {
    return /** @type {Promise<Stack>} */ (super.start(folder, { ...options, env: { ...settings, ...env }, limitMs: 180_000 }));
  }

  /** @returns {string[]} one for each replica of notifications */
  get streamUrls() {
    return this.run.services.notifications.map((/** @type {{ port: number }} */ { port }) => `ws://127.0.0.1:${port}`);
  }

  /** Returns each part's usage so far, with a service's replicas added up. @returns {Record<Part, import('./processes.mjs').Use>} */
  use() {
    const { services, postgres, nats } = this.run;
    const parts = Object.entries(services).map(([name, replicas]) => [
      name,
      sum(/** @type {{ pid: number }[]} */ (replicas).map(({ pid }) => useOf(pid))),
    ]);
    return Object.fromEntries([...parts, ['postgres', useOf(postgres.pid)], ['nats', useOf(nats.pid)]]);
  }
}

/** @param {import('./processes.mjs').Use[]} uses */
const sum = (uses) => ({
  seconds: uses.reduce((total, { seconds }) => total + seconds, 0),
  rss: uses.reduce((total, { rss }) => total + rss, 0),
  files: uses.reduce((total, { files }) => total + files, 0),
});

/**
 * Returns the CPU seconds of each part between two readings.
 * @param {Record<string, import('./processes.mjs').Use>} before
 * @param {Record<string, import('./processes.mjs').Use>} after
 */
export function spent(before, after) {
  const parts = Object.fromEntries(
    Object.entries(after).map(([part, { seconds }]) => [part, seconds - (before[part]?.seconds ?? 0)]),
  );
  return { parts, total: Object.values(parts).reduce((total, one) => total + one, 0) };
}
