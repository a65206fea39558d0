import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { StartError } from './errors.mjs';
import { writePrivately } from './files.mjs';
import { ROOT } from './toolchain.mjs';

/**
 * Running processes and their ports, for tests that stop or inspect single parts, and for the next start if this one dies
 * without cleaning up.
 * @typedef {object} Run
 * @property {number} pid of the launcher
 * @property {string} [gatewayUrl]
 * @property {string} [streamUrl]
 * @property {string} [mailUrl] shows the mails that end on this machine
 * @property {Record<string, (Partial<import('./processes.mjs').Mark> & { label: string, opsPort: number, port?: number })[]>} services
 * @property {Record<string, { environment: string, opsPort: number }>} [leftOut] services that the user runs: the file with the environment
 *   for it, and the operations port in it
 * @property {Partial<import('./processes.mjs').Mark> & { port?: number, adminUrl?: string, urls: Record<string, string>, ownerUrls?: Record<string, string> }} [postgres]
 * @property {Partial<import('./processes.mjs').Mark>} [jetstream]
 * @property {Partial<import('./processes.mjs').Mark> & { url: string, users: Record<string, string> }} [nats]
 */

export class RunFile {
  /** @type {Run} */
  run = { pid: process.pid, services: {} };

  /** @param {string} path */
  constructor(path) {
    this.path = path;
  }

  /** @param {Partial<Run>} change */
  update(change) {
    this.run = { ...this.run, ...change };
    writePrivately(this.path, JSON.stringify(this.run, null, 2));
  }

  /**
   * Records that an instance of a service has started, or, without a mark, ended.
   * @param {import('./services.mjs').Instance} instance
   * @param {import('./processes.mjs').Mark | undefined} mark
   */
  record({ service, label, opsPort, port }, mark) {
    const entries = this.run.services[service] ?? [];
    const at = entries.findIndex((entry) => entry.label === label);
    const entry = { label, ...mark, opsPort, ...(port !== undefined && { port }) };
    const replicas = at === -1 ? [...entries, entry] : entries.with(at, entry);
    this.update({ services: { ...this.run.services, [service]: replicas } });
  }

  remove() {
    rmSync(this.path, { force: true });
  }
}

/** Reads the run file that a killed launcher left behind. @param {string} path @returns {Run | undefined} */
export function readRun(path) {
  if (!existsSync(path)) return undefined;
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return undefined;
  }
}

/**
 * Returns the running shop for other tools: that of RUN_FILE or DATA_DIR, else that of a plain `npm start`.
 * @param {NodeJS.ProcessEnv} env
 * @param {string} otherwise what else the user can do, for the error
 * @returns {Run & { path: string }}
 */
export function runningShop(env, otherwise) {
  const path = env['RUN_FILE'] || join(env['DATA_DIR'] || join(ROOT, '.data'), 'run.json');
  if (existsSync(path)) return { ...JSON.parse(readFileSync(path, 'utf8')), path };
  throw new StartError(`No shop runs here: ${path} does not exist. Start one, set DATA_DIR to its folder, or ${otherwise}.`);
}
