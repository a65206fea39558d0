import { spawn } from 'node:child_process';
import { cpSync, existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ownBroker, ownJetStream } from '../../tools/start/broker.mjs';
import { loadCredentials } from '../../tools/start/credentials.mjs';
import { DataDir } from '../../tools/start/data-dir.mjs';
import { ownDatabases } from '../../tools/start/databases.mjs';
import { HostClock } from '../../tools/start/host-clock.mjs';
import { freePort } from '../../tools/start/ports.mjs';
import { findNats } from '../../tools/start/nats-binary.mjs';
import { natsReady, natsVersion } from '../../tools/start/nats.mjs';
import { childrenOf, sendSignal, sleep } from '../../tools/start/processes.mjs';
import { answers } from '../../tools/start/readiness.mjs';
import { KeptProcess } from '../../tools/start/kept-process.mjs';
import { RunFile } from '../../tools/start/run-file.mjs';
import { serviceProcess } from '../../tools/start/service-process.mjs';
import { environmentOf, planInstances } from '../../tools/start/services.mjs';
import { migrate } from '../../tools/start/shop.mjs';
import { anyReceiver } from '../../tools/test/shop.mjs';
import { ORDER, Shutdown, together } from '../../tools/start/shutdown.mjs';
import { Watch } from '../../tools/start/watch.mjs';
import { Backup } from './backup.mjs';
import { Disk } from './disk.mjs';
import { Relays } from './relays.mjs';
import { addStandby, promote, requireStandby } from './standby.mjs';

/** From the start to the last service's 200 from /readyz; many processes start at once on few cores. */
const READY_LIMIT_MS = 180_000;

/**
 * External payments make every step of an order a call with a recorded answer. A webhook that fails is retried after 25 ms, 1.5, 9 and
 * 36 s, so that one that fails four times still arrives while a trial settles.
 */
const settings = {
  ...anyReceiver,
  DESTINATION_ALLOWED_TARGETS: '127.0.0.1:*',
  // All clients have one address, and many connect at once.
  SILENT_CONNECTIONS: '100000',
  PAYMENT_PROVIDER: 'external',
  INITIAL_STOCK: '0',
  ORDER_TTL_MS: `${24 * 3_600_000}`,
  WEBHOOK_TIME_SCALE: '0.005',
  WEBHOOK_RATE_PER_ENDPOINT: '100000',
  WEBHOOK_RATE_PER_HOST: '100000',
  STREAMS_PER_NETWORK: '100000',
  RATE_LIMIT_PER_MINUTE: '6000000',
  UNPAID_ORDERS: '1000000',
  UNPAID_UNITS: '1000000000',
  MAIL_PER_SECOND: '10000',
};

/** @typedef {import('./dist/stack.js').Stack} StackOfTrials */
/** @typedef {import('../../tools/start/databases.mjs').OwnDatabases} OwnDatabases */
/** @typedef {{ at: import('./standby.mjs').Standby, link: import('./dist/stack.js').Link }} LinkedStandby */

/**
 * A complete shop on free ports, with data that is deleted at the end. It is built from the parts of `npm start`: the same
 * processes, but with more replicas, and a relay between each process and each of its servers.
 * @implements {StackOfTrials}
 */
export class Stack {
  /** @type {import('./dist/stack.js').Instance[]} */
  instances = [];
  /** @type {Record<string, import('./dist/stack.js').Links>} */
  links = {};
  /** @type {Record<string, HostClock> | undefined} */
  clocks;

  #relays = new Relays();
  #stop = new AbortController();
  #shutdown = new Shutdown(ORDER, (step, error) => console.log(`Stopping failed (${step}): ${error}`));
  /** @type {Map<string, NodeJS.ProcessEnv>} */
  #envs = new Map();
  /** @type {OwnDatabases | undefined} */
  #databases;
  /** @type {Record<string, string> | undefined} */
  #postgresVariables;
  /** @type {Map<string, KeptProcess>} */
  #processes = new Map();
  /** @type {LinkedStandby | undefined} */
  #standby;
  #standbys = 0;
  /** @type {Disk[]} */
  #disks = [];
  /** @type {import('../../tools/start/broker.mjs').OwnServer[]} */
  #brokers = [];
  /** @type {import('../../tools/start/broker.mjs').OwnServer | undefined} */
  #jetstream;
  /** @type {KeptProcess | undefined} */
  #mailServer;
  /** @type {Watch | undefined} */
  #watch;

  /** @param {string} folder */
  constructor(folder) {
    this.dataDir = new DataDir(folder);
    this.runFile = new RunFile(this.dataDir.runFile);
    const failing = join(folder, 'failing-mails');
    this.mail = { journal: join(folder, 'mails'), failing, fail: (/** @type {number} */ share) => writeFileSync(failing, `${share}`) };
  }

  /**
   * @param {string} folder must not exist yet
   * @param {{ signal: AbortSignal, replicas?: Partial<Record<string, number>>, natsServers?: number, ownClocks?: boolean }} options
   */
  static async start(folder, { signal, replicas = {}, natsServers = 1, ownClocks = false }) {
    const stack = new Stack(folder);
    const end = () => stack.#stop.abort(signal.reason);
    signal.addEventListener('abort', end, { once: true });
    try {
      signal.throwIfAborted();
      await stack.#start(replicas, natsServers, ownClocks);
      return stack;
    } catch (error) {
      await stack.end();
      throw error;
    }
  }

  /** @param {Partial<Record<string, number>>} replicas @param {number} natsServers @param {boolean} ownClocks */
  async #start(replicas, natsServers, ownClocks) {
    const { dataDir, runFile } = this;
    dataDir.create();
    const silent = /** @type {any} */ ({ say: () => {}, complain: () => {}, log: () => {} });
    const watch = (this.#watch = new Watch(this.#stop, silent));
    const credentials = loadCredentials(dataDir.credentials, { needed: false });
    /** @type {import('../../tools/start/shop.mjs').Site} */
    const site = { stop: this.#stop, shutdown: this.#shutdown, screen: silent, dataDir, runFile, watch, credentials };
    const nats = await findNats({ signal: this.#stop.signal, say: silent.say });
    dataDir.createPostgresPlace();
    const postgresClock = ownClocks ? await this.#clockAt(dirname(dataDir.postgres), 'postgres') : undefined;
    this.#postgresVariables = postgresClock?.environment;
    const [databases, broker] = await together(this.#stop, [ownDatabases(site, this.#postgresVariables), ownBroker(site, nats, natsServers)]);
    this.#databases = databases;
    this.#brokers = broker.servers;
    this.#jetstream = await ownJetStream(site, nats, await freePort());
    this.natsVersion = await natsVersion(Number(new URL(broker.url).port));
    const inherited = process.env;
    const two = { gateway: 2, catalog: 2, store: 2, identity: 2, notifications: 2 };
    const databaseUrls = databases.urls;
    this.instances = await planInstances({ ...two, ...replicas }, { GATEWAY_PORT: await freePort(), STREAM_PORT: await freePort() });
    const publicUrl = `http://127.0.0.1:${this.instances.find(({ service }) => service === 'gateway')?.port}`;
    const smtpUrl = await this.#startMailServer();
    const wiring = { instances: this.instances, databaseUrls, broker, credentials, publicUrl, smtpUrl };
    const direct = this.instances.map((instance) => ({ instance, env: environmentOf(instance, wiring, { ...inherited, ...settings }) }));
    await migrate(site, direct, databases);

    if (postgresClock) this.clocks = await this.#makeClocks(postgresClock);
    for (const instance of this.instances) {
      const { label, service } = instance;
      const nats = await this.#relays.to(...broker.servers.map(({ url }) => url));
      const url = databaseUrls[/** @type {keyof typeof databaseUrls} */ (service)];
      const postgres = url === undefined ? undefined : await this.#relays.to(url);
      this.links[label] = { nats, ...(postgres && { postgres }) };
      const relayed = {
        ...wiring,
        broker: { ...broker, url: through(broker.url, nats) },
        databaseUrls: postgres ? { ...databaseUrls, [service]: through(url, postgres) } : databaseUrls,
      };
      const env = environmentOf(instance, relayed, { ...inherited, ...settings, ...this.clocks?.[label]?.environment });
      this.#envs.set(label, env);
      const record = () => runFile.record(instance, supervised.mark);
      const supervised = serviceProcess(instance, { env, logs: dataDir.logs, screen: silent, watch, record });
      this.#processes.set(label, supervised);
    }
    this.#shutdown.add('services', () => this.stop(...this.#processes.keys()));
    for (const one of this.#processes.values()) one.start();
    const { signal } = this.#stop;
    await together(this.#stop, this.instances.map(({ opsPort }) => answers(`http://127.0.0.1:${opsPort}/readyz`, { limitMs: READY_LIMIT_MS, signal })));
    await answers(`${publicUrl}/readyz`, { limitMs: READY_LIMIT_MS, signal });
    watch.isOpen = true;
  }

  /** @param {...string} labels of instances */
  async stop(...labels) {
    await Promise.all([...this.#processes].flatMap(([label, one]) => (labels.includes(label) ? one.stop() : [])));
  }

  /** Starts stopped instances, until they are ready. @param {...string} labels */
  async start(...labels) {
    for (const label of labels) this.#processes.get(label)?.start();
    const { signal } = this.#stop;
    const started = this.instances.filter(({ label }) => labels.includes(label));
    await together(this.#stop, started.map(({ opsPort }) => answers(`http://127.0.0.1:${opsPort}/readyz`, { limitMs: READY_LIMIT_MS, signal })));
  }

  /** Archives the WAL of all databases from now on, and takes a base backup. */
  async backUp() {
    const { cluster, server } = /** @type {OwnDatabases} */ (this.#databases);
    const place = join(dirname(this.dataDir.postgres), 'backup');
    return Backup.take({ cluster, server, adminUrl: this.adminUrl }, place, { logs: this.logs, watch: /** @type {Watch} */ (this.#watch), signal: this.#stop.signal });
  }

  /**
   * Migrates a service's database on another server, which the service then uses.
   * @param {'store'} service
   * @param {string} adminUrl of that server
   */
  async moveDatabase(service, adminUrl) {
    const { urls, ownerUrls } = /** @type {OwnDatabases} */ (this.#databases);
    const there = (/** @type {string} */ url) => through(url, { port: Number(new URL(adminUrl).port) });
    const instance = /** @type {import('../../tools/start/services.mjs').Instance} */ (this.instances.find((one) => one.service === service));
    const env = { ...this.#envs.get(instance.label), [`${service.toUpperCase()}_DATABASE_URL`]: there(urls[service]) };
    await migrate({ stop: this.#stop }, [{ instance, env }], { ownerUrls: { [service]: there(ownerUrls[service] ?? '') } });
    const links = this.instances.flatMap((one) => (one.service === service ? (this.links[one.label]?.postgres ?? []) : []));
    await Promise.all(links.map((link) => link.retarget(adminUrl)));
  }

  /** @returns its address */
  async #startMailServer() {
    const port = await freePort();
    const { journal, failing, fail } = this.mail;
    fail(0);
    const program = fileURLToPath(new URL('mail-server.mjs', import.meta.url));
    const server = (this.#mailServer = new KeptProcess({
      name: 'mail',
      stopSteps: [],
      onEnd: /** @type {Watch} */ (this.#watch).over('mail', () => []),
      launch: () => spawn(process.execPath, [program, JSON.stringify({ port, journal, failing })], { detached: true, stdio: ['pipe', 'inherit', 'inherit'] }),
    }));
    server.start();
    this.#shutdown.add('mail', () => server.stop());
    while (!existsSync(journal)) {
      this.#stop.signal.throwIfAborted();
      await sleep(20);
    }
    return `smtp://127.0.0.1:${port}`;
  }

  /** Aborted, with the reason, when the run is stopped or a process fails during the start. */
  get signal() {
    return this.#stop.signal;
  }

  get logs() {
    return this.dataDir.logs;
  }

  get adminUrl() {
    return /** @type {string} */ (this.runFile.run.postgres?.adminUrl);
  }

  /** URL of the server with the streams of destinations. */
  get jetstreamUrl() {
    return /** @type {import('../../tools/start/broker.mjs').OwnServer} */ (this.#jetstream).url;
  }

  async rewindStreams() {
    const { url, server } = /** @type {import('../../tools/start/broker.mjs').OwnServer} */ (this.#jetstream);
    const { jetstream } = this.dataDir;
    const pid = server.mark?.pid;
    const ended = server.stop();
    if (pid !== undefined) sendSignal(pid, 'SIGKILL');
    await ended;
    const isFirst = !existsSync(this.#olderStreams);
    if (isFirst) cpSync(jetstream, this.#olderStreams, { recursive: true });
    rmSync(jetstream, { recursive: true });
    if (!isFirst) renameSync(this.#olderStreams, jetstream);
    server.start();
    await natsReady(Number(new URL(url).port), this.#stop.signal);
  }

  get #olderStreams() {
    return `${this.dataDir.jetstream}-older`;
  }

  natsVersion = '0';

  get natsServers() {
    return this.#brokers.map((_, n) => `nats-${n + 1}`);
  }

  /**
   * @param {string} part label of an instance, `nats` (the first of its servers), `nats-2`, `mail`, `jetstream` or `postgres`
   * @returns {number | undefined} undefined while the process is being restarted
   */
  pidOf(part) {
    const { postgres, services } = this.runFile.run;
    if (part === 'nats') return this.#brokers[0]?.server.mark?.pid;
    if (this.natsServers.includes(part)) return this.#brokers[this.natsServers.indexOf(part)]?.server.mark?.pid;
    if (part === 'postgres') return postgres?.pid;
    if (part === 'mail') return this.#mailServer?.mark?.pid;
    if (part === 'jetstream') return this.#jetstream?.server.mark?.pid;
    return Object.values(services).flat().find(({ label }) => label === part)?.pid;
  }

  /** @param {string} folder @param {string} part @returns undefined if libfaketime is not available */
  #clockAt(folder, part) {
    return HostClock.at(join(folder, `clock-${part}`), { signal: this.#stop.signal, say: console.log });
  }

  /** @param {HostClock} postgres one host has all four databases */
  async #makeClocks(postgres) {
    /** @type {Record<string, HostClock>} */
    const clocks = { postgres };
    for (const { label } of this.instances) {
      const clock = await this.#clockAt(this.dataDir.path, label);
      if (clock) clocks[label] = clock;
    }
    return clocks;
  }

  async addStandby() {
    const { cluster } = /** @type {OwnDatabases} */ (this.#databases);
    const disk = await Disk.make(this.dataDir.path, cluster.user);
    if (disk instanceof Disk) this.#disks.push(disk);
    await this.#addStandbyIn(disk instanceof Disk ? disk.folder : dirname(this.dataDir.postgres));
    return disk;
  }

  async addSynchronousStandby() {
    await this.#addStandbyIn(dirname(this.dataDir.postgres));
    await requireStandby(this.adminUrl);
  }

  /** @param {string} place */
  async #addStandbyIn(place) {
    const { cluster } = /** @type {OwnDatabases} */ (this.#databases);
    const { signal } = this.#stop;
    const link = await this.#relays.to(this.adminUrl);
    const name = `postgres-standby-${++this.#standbys}`;
    const logFile = join(this.logs, `${name}.log`);
    const folder = join(place, name);
    const onChange = () => {
      if (this.#standby && this.#databases?.server === this.#standby.at.server) this.#recordPostgres(this.#standby.at);
    };
    const onEnd = /** @type {Watch} */ (this.#watch).over(name, () => []);
    const at = await addStandby({ cluster, adminUrl: this.adminUrl }, folder, { link, logFile, onEnd, onChange, signal, variables: this.#postgresVariables });
    this.#standby = { at, link };
  }

  /** @param {number} lostMs */
  async failOver(lostMs) {
    const databases = /** @type {OwnDatabases} */ (this.#databases);
    const { at, link } = /** @type {LinkedStandby} */ (this.#standby);
    if (lostMs > 0) await link.cut();
    await sleep(lostMs);
    const links = Object.values(this.links).flatMap(({ postgres }) => postgres ?? []);
    const primary = databases.server;
    const pid = primary.mark?.pid;
    const ended = primary.stop();
    if (pid !== undefined) sendSignal(pid, 'SIGQUIT');
    await ended;
    await promote(at);
    this.#databases = { ...databases, cluster: at.cluster, server: at.server };
    this.#recordPostgres(at);
    await Promise.all(links.map((one) => one.retarget(at.adminUrl)));
  }

  /** @param {import('./standby.mjs').Standby} standby */
  #recordPostgres({ server, adminUrl }) {
    const { urls } = /** @type {OwnDatabases} */ (this.#databases);
    this.runFile.update({ postgres: { ...server.mark, adminUrl, urls } });
  }

  /** @param {string} part @returns {number[]} its process, followed by the child processes */
  pidsOf(part) {
    const pid = this.pidOf(part);
    return pid === undefined ? [] : [pid, ...childrenOf(pid)];
  }

  /** @param {readonly string[]} urls */
  networkTo(...urls) {
    return this.#relays.to(...urls);
  }

  /**
   * Changes settings of a service; they apply from the next start of each process.
   * @param {string} service @param {Record<string, string>} values
   */
  set(service, values) {
    for (const { label } of this.instances.filter((one) => one.service === service)) Object.assign(/** @type {object} */ (this.#envs.get(label)), values);
  }

  /** Kills the processes that still run and deletes the data. */
  async end() {
    this.#stop.abort(new Error('the stack has ended'));
    for (const { label } of this.instances) {
      const pid = this.pidOf(label);
      if (pid !== undefined) sendSignal(pid, 'SIGKILL');
    }
    const postgres = this.pidOf('postgres');
    if (postgres !== undefined) sendSignal(postgres, 'SIGQUIT');
    await this.#shutdown.run();
    await this.#standby?.at.server.stop();
    await this.#relays.end();
    for (const disk of this.#disks) await disk.end();
    rmSync(this.#olderStreams, { recursive: true, force: true });
    this.dataDir.empty();
  }
}

/** @param {string} url @param {{ port: number }} relay */
function through(url, { port }) {
  const relayed = new URL(url);
  relayed.port = `${port}`;
  return relayed.href;
}
