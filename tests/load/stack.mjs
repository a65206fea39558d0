import { spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DataDir } from '../../tools/start/data-dir.mjs';
import { StartError } from '../../tools/start/errors.mjs';
import { KeptProcess } from '../../tools/start/kept-process.mjs';
import { freePort } from '../../tools/start/ports.mjs';
import { answers } from '../../tools/start/readiness.mjs';
import { ROOT } from '../../tools/start/toolchain.mjs';
import { lastLinesOf } from '../../tools/start/watch.mjs';
import { useOf } from './processes.mjs';

/**
 * Settings as in production: durable commits, log level info, metrics and validation on. Payments are external and orders wait a day
 * for them, so that nothing else happens during a measurement. Limits per endpoint and per login address are raised, since one
 * endpoint gets all webhooks and one address makes all logins.
 */
const settings = {
  PAYMENT_PROVIDER: 'external',
  ORDER_TTL_MS: '86400000',
  INITIAL_STOCK: '1000000000',
  WEBHOOK_RATE_PER_ENDPOINT: '1000000',
  WEBHOOK_IN_FLIGHT_PER_ENDPOINT: '10000',
  LOGIN_LIMIT_PER_ADDRESS: '1000000',
};

/** @typedef {'gateway' | 'catalog' | 'store' | 'identity' | 'notifications' | 'postgres' | 'nats'} Part */

/** A whole shop on free ports, with temporary data. */
export class Stack {
  /** @param {{ process: KeptProcess, gatewayUrl: string, streamUrls: string[], dataDir: DataDir, readyMs: number }} parts */
  constructor({ process, gatewayUrl, streamUrls, dataDir, readyMs }) {
    this.process = process;
    this.gatewayUrl = gatewayUrl;
    this.streamUrls = streamUrls;
    this.dataDir = dataDir;
    /** Time from the command until /readyz responds with 200. */
    this.readyMs = readyMs;
  }

  /**
   * @param {string} folder
   * @param {{ signal: AbortSignal, args?: string[], env?: Record<string, string> }} options
   */
  static async start(folder, { signal, args = [], env = {} }) {
    const dataDir = new DataDir(join(folder, 'shop'));
    const logFile = join(folder, 'shop.log');
    const [gatewayPort, streamPort] = [await freePort(), await freePort()];
    const place = { DATA_DIR: dataDir.path, GATEWAY_PORT: `${gatewayPort}`, STREAM_PORT: `${streamPort}` };
    const ended = new AbortController();
    const begun = performance.now();
    const shop = new KeptProcess({
      name: 'shop',
      stopSteps: [{ signal: 'SIGTERM', limitMs: 45_000 }],
      onEnd: () => {
        ended.abort(new StartError(`The shop has ended:\n${lastLinesOf(logFile, 60).join('\n')}`));
        return false;
      },
      launch: () => {
        const log = openSync(logFile, 'a', 0o600);
        try {
          return spawn(process.execPath, [join(ROOT, 'tools', 'start', 'main.mjs'), '--quiet', ...args], {
            cwd: ROOT,
            env: { ...process.env, ...settings, ...env, ...place },
            detached: true,
            stdio: ['ignore', log, log],
          });
        } finally {
          closeSync(log);
        }
      },
    });
    shop.start();
    const gatewayUrl = `http://127.0.0.1:${gatewayPort}`;
    try {
      await answers(`${gatewayUrl}/readyz`, { limitMs: 180_000, signal: AbortSignal.any([signal, ended.signal]) });
    } catch (error) {
      await shop.stop();
      throw error;
    }
    const readyMs = performance.now() - begun;
    const run = JSON.parse(readFileSync(dataDir.runFile, 'utf8'));
    const streamUrls = run.services.notifications.map((/** @type {{ port: number }} */ { port }) => `ws://127.0.0.1:${port}`);
    return new Stack({ process: shop, gatewayUrl, streamUrls, dataDir, readyMs });
  }

  /** @returns {any} the run file (tools/start/run-file.mjs) */
  get run() {
    return JSON.parse(readFileSync(this.dataDir.runFile, 'utf8'));
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

  async stop() {
    await this.process.stop();
  }

  async end() {
    await this.stop();
    this.dataDir.empty();
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
