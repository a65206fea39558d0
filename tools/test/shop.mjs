import { spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DATABASES } from '../start/credentials.mjs';
import { DataDir } from '../start/data-dir.mjs';
import { StartError } from '../start/errors.mjs';
import { KeptProcess } from '../start/kept-process.mjs';
import { freePort } from '../start/ports.mjs';
import { answers } from '../start/readiness.mjs';
import { ROOT } from '../start/toolchain.mjs';
import { lastLinesOf } from '../start/watch.mjs';

/** Receivers of tests have free ports. */
export const anyReceiver = { WEBHOOK_ALLOWED_TARGETS: '127.0.0.1:*,localhost:*,[::1]:*' };

/** Short, but long enough to act on an order while it is placed, even on a busy machine. */
const fastSimulation = { SIMULATED_APPROVAL_DELAY_MS: '1500', SIMULATED_DELIVERY_DELAY_MS: '300' };

/** A whole shop, started by `npm start` on its own ports and data. */
export class TestShop {
  #logFile;
  #process;

  /** @param {string} folder that the user of Postgres may enter @param {string[]} args @param {Record<string, string | undefined>} env @param {{ gateway: number, stream: number }} ports @param {string} host */
  constructor(folder, args, env, ports, host) {
    this.dataDir = new DataDir(join(folder, 'shop'));
    this.gatewayUrl = `http://${host}:${ports.gateway}`;
    this.streamUrl = `ws://127.0.0.1:${ports.stream}`;
    /** Time from the command until /readyz responds with 200. */
    this.readyMs = NaN;
    this.ended = new AbortController();
    this.#logFile = join(folder, 'shop.log');
    const place = { DATA_DIR: this.dataDir.path, GATEWAY_PORT: `${ports.gateway}`, STREAM_PORT: `${ports.stream}`, PUBLIC_URL: this.gatewayUrl };
    this.#process = new KeptProcess({
      name: 'shop',
      stopSteps: [{ signal: 'SIGTERM', limitMs: 45_000 }],
      onEnd: () => {
        this.ended.abort(new StartError(`The shop has ended:\n${this.lastLogLines().join('\n')}`));
        return false;
      },
      launch: () => {
        const log = openSync(this.#logFile, 'a', 0o600);
        try {
          const main = join(ROOT, 'tools', 'start', 'main.mjs');
          return spawn(process.execPath, [main, '--quiet', ...args], {
            cwd: ROOT,
            env: { ...ownServersOnly(process.env), ...anyReceiver, ...env, ...place },
            detached: true,
            stdio: ['ignore', log, log],
          });
        } finally {
          closeSync(log);
        }
      },
    });
  }

  /**
   * @param {string} folder that the user of Postgres may enter
   * @param {{ signal?: AbortSignal, args?: string[], env?: Record<string, string>, host?: string, limitMs?: number }} [options] additional arguments and variables for `npm start`, and this machine's name
   */
  static async start(folder, { signal, args = [], env = {}, host = '127.0.0.1', limitMs = 120_000 } = {}) {
    const shop = new this(folder, args, env, { gateway: await freePort(), stream: await freePort() }, host);
    const begun = performance.now();
    shop.#process.start();
    try {
      await answers(`${shop.gatewayUrl}/readyz`, { limitMs, signal: AbortSignal.any([shop.ended.signal, ...(signal ? [signal] : [])]) });
    } catch (error) {
      await shop.end();
      throw error;
    }
    shop.readyMs = performance.now() - begun;
    return shop;
  }

  /** The variables by which tests find it. */
  get env() {
    return { GATEWAY_URL: this.gatewayUrl, STREAM_URL: this.streamUrl, RUN_FILE: this.dataDir.runFile };
  }

  /** @returns {any} the run file (tools/start/run-file.mjs) */
  get run() {
    return JSON.parse(readFileSync(this.dataDir.runFile, 'utf8'));
  }

  /** The log of a service so far. @param {string} service */
  logOf(service) {
    return readFileSync(join(this.dataDir.logs, `${service}.log`), 'utf8');
  }

  lastLogLines() {
    return lastLinesOf(this.#logFile, 60);
  }

  async stop() {
    await this.#process.stop();
  }

  /** Stops it and deletes its data; the Postgres cluster may be outside of the folder. */
  async end() {
    await this.stop();
    this.dataDir.empty();
  }
}

/**
 * Starts a shop with fast simulations, until the shutdown.
 * @param {Pick<import('./steps.mjs').StepContext, 'folder' | 'stop'> & { shutdown: Pick<import('../start/shutdown.mjs').Shutdown<'shop'>, 'add'> }} need
 * @param {Record<string, string>} [variables] additional ones for `npm start`
 * @param {string} [host] this machine's name in addresses
 */
export async function startShop({ folder, stop, shutdown }, variables = {}, host = '127.0.0.1') {
  const shop = await TestShop.start(folder, { signal: stop.signal, env: { ...fastSimulation, ...variables }, host });
  shutdown.add('shop', () => shop.end());
  return shop;
}

/** Removes variables that name existing servers: tests must not touch them. @param {NodeJS.ProcessEnv} env */
function ownServersOnly(env) {
  const given = ['NATS_URL', 'PUBLIC_URL', ...DATABASES.map((name) => `${name.toUpperCase()}_DATABASE_URL`)];
  return Object.fromEntries(Object.entries(env).filter(([name]) => !given.includes(name)));
}
