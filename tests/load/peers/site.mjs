import { spawn } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../../../tools/start/command.mjs';
import { serverSettings } from '../../../tools/start/databases.mjs';
import { StartError } from '../../../tools/start/errors.mjs';
import { KeptProcess } from '../../../tools/start/kept-process.mjs';
import { freePort } from '../../../tools/start/ports.mjs';
import { findPostgres } from '../../../tools/start/postgres-binaries.mjs';
import { createCluster, serverOf, serverReady } from '../../../tools/start/postgres.mjs';
import { answers } from '../../../tools/start/readiness.mjs';
import { cacheFolder, postgresUser } from '../../../tools/start/system-user.mjs';
import { pinnedNode } from '../../../tools/start/toolchain.mjs';
import { lastLinesOf } from '../../../tools/start/watch.mjs';
import { binary } from '../anchors/pgbench.mjs';
import { findProgram } from '../debian.mjs';

const PASSWORD = 'peers';

/** Redis, and its dependencies that few machines have. */
const REDIS = ['redis-server', 'redis-tools', 'libjemalloc2', 'liblzf1'];

/** @typedef {{ signal: AbortSignal, say: (message: string) => void, atEnd: (end: () => Promise<void>) => void }} Need */

/**
 * Another shop's place: its packages in the cache, a Postgres with the settings of ours, a Redis, and its processes, on free ports.
 */
export class Site {
  /** @type {KeptProcess[]} */
  #servers = [];
  /** @type {Map<string, KeptProcess>} */
  #own = new Map();

  /** @param {string} folder @param {string} home @param {Need} need */
  constructor(folder, home, need) {
    this.folder = folder;
    /** Where its packages are. */
    this.home = home;
    this.need = need;
    this.logFile = join(folder, 'peer.log');
    this.ports = { http: 0, second: 0, postgres: 0, redis: 0 };
  }

  /**
   * @param {string} folder that the user of Postgres may enter
   * @param {{ name: string, packages: Record<string, string> } & Need} what exact versions
   */
  static async open(folder, { name, packages, ...need }) {
    const site = new Site(folder, await installed(name, packages, need), need);
    need.atEnd(() => site.end());
    site.ports = { http: await freePort(), second: await freePort(), postgres: await freePort(), redis: await freePort() };
    await site.#startPostgres();
    await site.#startRedis();
    return site;
  }

  get url() {
    return `http://127.0.0.1:${this.ports.http}`;
  }

  get databaseUrl() {
    return `postgresql://postgres:${PASSWORD}@127.0.0.1:${this.ports.postgres}/peer`;
  }

  /** Of all its processes. @returns {number[]} */
  get pids() {
    return [...this.#servers, ...this.#own.values()].flatMap(({ mark }) => (mark ? [mark.pid] : []));
  }

  /** Runs a script to its end, such as one that fills the database. @param {string[]} args @param {NodeJS.ProcessEnv} env */
  async run(args, env) {
    await run(pinnedNode(), args, { what: args.join(' '), cwd: this.home, env: { ...this.environment, ...env }, signal: this.need.signal });
  }

  /** Starts processes and waits until one answers. @param {Record<string, { args: string[], env: NodeJS.ProcessEnv }>} processes @param {string} path @returns {Promise<number>} milliseconds */
  async start(processes, path) {
    const begun = performance.now();
    for (const [name, { args, env }] of Object.entries(processes)) {
      const one = this.#kept(name, pinnedNode(), args, { ...this.environment, ...env });
      this.#own.set(name, one);
      one.start();
    }
    await answers(`${this.url}${path}`, { limitMs: 180_000, signal: this.need.signal }).catch((error) => {
      throw new StartError(`${error.message}\n${lastLinesOf(this.logFile, 40).join('\n')}`);
    });
    return performance.now() - begun;
  }

  /**
   * What a shop does with its processes, and how its plants are found.
   * @param {Parameters<Site['start']>[0]} processes
   * @param {number} plants how many are not scarce
   */
  async shop(processes, plants) {
    const variants = (await this.ask('SELECT id FROM product_variant ORDER BY substr(sku, 5)::int')).split('\n');
    const start = () => this.start(processes, '/health');
    return {
      plants: variants.slice(0, plants),
      scarce: variants.slice(plants),
      restart: async () => {
        await this.stop();
        return start();
      },
      crash: async () => {
        await this.stop(true);
        await start();
      },
      stop: () => this.end(),
      pids: () => this.pids,
      ask: (/** @type {string} */ sql) => this.ask(sql),
    };
  }

  /** Stops its own processes, or kills them. @param {boolean} [isCrash] */
  async stop(isCrash = false) {
    const all = [...this.#own.values()];
    if (isCrash) for (const { mark } of all) if (mark) process.kill(-mark.pid, 'SIGKILL');
    this.#own.clear();
    await Promise.all(all.map((one) => one.stop()));
  }

  async end() {
    await this.stop();
    for (const server of this.#servers.reverse()) await server.stop();
    this.#servers = [];
  }

  /** @param {string} sql @returns {Promise<string>} */
  async ask(sql) {
    return (await run(binary('psql'), ['-X', '-q', '-t', '-A', '-v', 'ON_ERROR_STOP=1', '-d', this.databaseUrl, '-c', sql], { what: 'psql', signal: this.need.signal })).trim();
  }

  /** Their environment: nothing of this machine's but what Node needs. */
  get environment() {
    return { PATH: process.env['PATH'], HOME: this.folder, TMPDIR: this.folder, NODE_ENV: 'production', TZ: 'UTC' };
  }

  async #startPostgres() {
    const user = postgresUser();
    const folder = join(this.folder, 'postgres');
    const cluster = { folder, binaries: await findPostgres({ user, ...this.need }), user };
    const statements = [`ALTER ROLE postgres PASSWORD '${PASSWORD}'`, 'CREATE DATABASE peer'];
    await createCluster(cluster, { statements, durable: true, signal: this.need.signal });
    const server = serverOf(cluster, { port: this.ports.postgres, logFile: join(this.folder, 'postgres.log'), settings: serverSettings, variables: {}, onEnd: () => false });
    this.#servers.push(server);
    server.start();
    await serverReady(folder, server, this.need.signal);
  }

  async #startRedis() {
    const redis = await findProgram('redis-server', REDIS);
    if (!redis) throw new StartError('The other shops need Redis: install redis-server.');
    const args = ['--bind', '127.0.0.1', '--port', `${this.ports.redis}`, '--save', '', '--dir', this.folder];
    const server = this.#kept('redis', redis.command, args, redis.env);
    this.#servers.push(server);
    server.start();
  }

  /** @param {string} name @param {string} command @param {string[]} args @param {NodeJS.ProcessEnv} env */
  #kept(name, command, args, env) {
    return new KeptProcess({
      name,
      stopSteps: [{ signal: 'SIGTERM', limitMs: 15_000 }],
      onEnd: () => false,
      launch: () => {
        const log = openSync(this.logFile, 'a', 0o600);
        try {
          return spawn(command, args, { cwd: this.home, env, detached: true, stdio: ['ignore', log, log] });
        } finally {
          closeSync(log);
        }
      },
    });
  }
}

/** Installs packages into a folder of the cache, without their install scripts. @param {string} name @param {Record<string, string>} dependencies @param {Need} need */
async function installed(name, dependencies, { signal, say }) {
  const home = join(cacheFolder(undefined), 'peers', name);
  if (existsSync(home)) return home;
  say(`Installing ${Object.entries(dependencies).map((pair) => pair.join(' ')).join(', ')} from npm; this takes minutes`);
  const draft = `${home}.${process.pid}`;
  mkdirSync(draft, { recursive: true });
  try {
    writeFileSync(join(draft, 'package.json'), JSON.stringify({ private: true, dependencies }));
    await run('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund'], { what: `Installing ${name}`, cwd: draft, signal });
    renameSync(draft, home);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
  return home;
}
