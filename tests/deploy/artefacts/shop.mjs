import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, chmodSync, closeSync, constants, copyFileSync, existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../../../tools/start/command.mjs';
import { DATABASES, secret } from '../../../tools/start/credentials.mjs';
import { provisioning } from '../../../tools/start/databases.mjs';
import { findNats } from '../../../tools/start/nats-binary.mjs';
import { natsReady, natsServer } from '../../../tools/start/nats.mjs';
import { NODE_FLAGS } from '../../../tools/start/node-flags.mjs';
import { freePort } from '../../../tools/start/ports.mjs';
import { findPostgres } from '../../../tools/start/postgres-binaries.mjs';
import { createCluster, serverOf, serverReady } from '../../../tools/start/postgres.mjs';
import { answers } from '../../../tools/start/readiness.mjs';
import { NATS_USERS } from '../../../tools/start/services.mjs';
import { canReach, postgresUser } from '../../../tools/start/system-user.mjs';
import { pinnedNode, ROOT } from '../../../tools/start/toolchain.mjs';
import { Authority } from '../authority.mjs';
import { environmentOf } from '../dockerfile.mjs';
import { configMapOf, SERVICES, yamlOf } from '../services.mjs';

/** @typedef {import('../services.mjs').ServiceName} ServiceName */

/** The user of images and manifests; only root can start a process as another user. */
const USER = process.getuid?.() === 0 ? { uid: 10_001, gid: 10_001 } : undefined;

const MOUNTED = '/run/secrets/shop';

/**
 * An additional process of a service.
 * @typedef {object} Replica
 * @property {string} name
 * @property {{ ops: number, http?: number }} ports
 * @property {() => Promise<number | null>} stop SIGTERM; resolves with the exit code
 */

/**
 * Runs the five artefacts as a cluster would: only the variables of image and production overlay, secrets in files, NATS with its
 * accounts, databases over TLS only, an unprivileged user. Only addresses differ, since everything runs on this machine.
 */
export class ProductionShop {
  /** By service, or by the name of an additional replica. @type {Map<string, import('node:child_process').ChildProcess>} */
  processes = new Map();
  /** @type {Record<string, { ops: number, http?: number }>} */
  ports = {};
  /** @type {(() => Promise<unknown>)[]} */
  #servers = [];
  #natsPort = 0;
  #postgresPort = 0;
  #operatorPassword = '';

  /**
   * @param {string} artefacts folder with a subfolder per service
   * @param {string} folder temporary
   * @param {AbortSignal} signal
   */
  constructor(artefacts, folder, signal) {
    this.artefacts = artefacts;
    this.folder = folder;
    this.signal = signal;
    this.node = nodeFor(folder);
    this.authority = new Authority(folder, 'authority');
  }

  /** Starts the servers, runs the migration Jobs' command, and starts the services. */
  async start() {
    const draw = () => Object.fromEntries(DATABASES.map((name) => [name, secret()]));
    const [owners, passwords] = [draw(), draw()];
    const natsPasswords = Object.fromEntries(NATS_USERS.map((name) => [name, secret()]));
    await Promise.all([this.#startPostgres(owners, passwords), this.#startNats(natsPasswords)]);
    for (const service of SERVICES) {
      const withHttp = ['gateway', 'identity', 'notifications'].includes(service);
      this.ports[service] = { ops: await freePort(), ...(withHttp && { http: await freePort() }) };
      const database = (/** @type {string} */ role, /** @type {string | undefined} */ password) => `postgresql://${role}:${password}@localhost:${this.#postgresPort}/${service}`;
      const all = {
        'nats-user': service,
        'nats-password': natsPasswords[service] ?? '',
        'database-url': database(`${service}_service`, passwords[service]),
        'owner-database-url': database(service, owners[service]),
        'database-ca': readFileSync(this.authority.file, 'utf8'),
        'identity-secret': secret(),
        'notifications-secret': secret(),
      };
      mkdirSync(this.#secrets(service), { recursive: true });
      for (const [name, value] of Object.entries(all)) writeFileSync(join(this.#secrets(service), name), `${value}\n`);
    }
    this.#operatorPassword = natsPasswords['operator'] ?? '';
    await Promise.all(SERVICES.filter((service) => this.#hasMigration(service)).map((service) => this.command(service, ['dist/migrate.js'], this.#migrationEnvironment(service))));
    for (const service of SERVICES) this.#startService(service);
    for (const service of SERVICES) await answers(`http://127.0.0.1:${this.ports[service]?.ops}/readyz`, { limitMs: 60_000, signal: this.signal });
    await answers(`${this.url}/readyz`, { limitMs: 30_000, signal: this.signal });
  }

  get url() {
    return `http://127.0.0.1:${this.ports['gateway']?.http}`;
  }

  /**
   * Runs a command of a service's artefact to its end, as an operator would in a container.
   * @param {ServiceName} service @param {string[]} args @param {Record<string, string>} [env]
   */
  command(service, args, env = this.environment(service)) {
    return run(this.node, args, { what: `${service}: node ${args.join(' ')}`, cwd: join(this.artefacts, service), env, as: USER, signal: this.signal });
  }

  /** Compares the databases, as the Job does. @returns {Promise<string>} what it says */
  reconcile() {
    const { args } = yamlOf('deploy/store/reconcile/job.yaml').spec.template.spec.containers[0];
    const file = join(this.#secrets('store'), 'operator-nats-password');
    writeFileSync(file, `${this.#operatorPassword}\n`);
    return this.command('store', args, { NATS_URL: `nats://127.0.0.1:${this.#natsPort}`, OPERATOR_NATS_PASSWORD_FILE: file });
  }

  /**
   * Starts an additional process of a service and waits until it is ready.
   * @param {ServiceName} service @returns {Promise<Replica>}
   */
  async addReplica(service) {
    const ports = { ops: await freePort(), ...(this.ports[service]?.http !== undefined && { http: await freePort() }) };
    const name = `${service}-${ports.ops}`;
    const child = this.#spawn(service, name, ports);
    await answers(`http://127.0.0.1:${ports.ops}/readyz`, { limitMs: 120_000, signal: this.signal });
    return { name, ports, stop: () => this.#end(name, child) };
  }

  /** Returns the initial process of a service. @param {ServiceName} service @returns {Replica} */
  first(service) {
    const child = this.processes.get(service);
    if (!child) throw new Error(`${service} is not running`);
    return { name: service, ports: this.ports[service] ?? { ops: 0 }, stop: () => this.#end(service, child) };
  }

  /** @param {ServiceName} service @param {{ ops: number, http?: number }} [ports] @returns {Record<string, string>} */
  environment(service, ports = this.ports[service] ?? { ops: 0 }) {
    const { ops, http } = ports;
    /** @type {Partial<Record<ServiceName, Record<string, string>>>} */
    const own = {
      gateway: { GATEWAY_HOST: '127.0.0.1', GATEWAY_PORT: `${http}`, IDENTITY_HTTP_URL: `http://127.0.0.1:${this.ports['identity']?.http}` },
      identity: { IDENTITY_HTTP_HOST: '127.0.0.1', IDENTITY_HTTP_PORT: `${http}` },
      notifications: { STREAM_HOST: '127.0.0.1', STREAM_PORT: `${http}` },
    };
    return {
      ...environmentOf(service),
      ...configMapOf(service, 'production'),
      ...this.#mounted(service, 'base/deployment.yaml'),
      NATS_URL: `nats://127.0.0.1:${this.#natsPort}`,
      OPS_HOST: '127.0.0.1',
      OPS_PORT: `${ops}`,
      ...own[service],
    };
  }

  /**
   * Sends SIGTERM to all processes at once.
   * @returns {Promise<Record<string, number | null>>} exit codes by service
   */
  async stopServices() {
    const ends = [...this.processes].map(async ([name, child]) => [name, await this.#end(name, child)]);
    return Object.fromEntries(await Promise.all(ends));
  }

  async stop() {
    await this.stopServices();
    for (const end of this.#servers) await end();
  }

  /** @param {string} service */
  log(service) {
    return readFileSync(join(this.folder, `${service}.log`), 'utf8');
  }

  /** @param {ServiceName} service */
  #startService(service) {
    this.#spawn(service, service, this.ports[service] ?? { ops: 0 });
  }

  /** @param {ServiceName} service @param {string} name @param {{ ops: number, http?: number }} ports */
  #spawn(service, name, ports) {
    const log = openSync(join(this.folder, `${name}.log`), 'w', 0o600);
    const child = spawn(this.node, [...NODE_FLAGS, 'dist/main.js'], { cwd: join(this.artefacts, service), env: this.environment(service, ports), ...USER, stdio: ['ignore', log, log] });
    closeSync(log);
    this.processes.set(name, child);
    return child;
  }

  /** @param {string} name @param {import('node:child_process').ChildProcess} child */
  async #end(name, child) {
    if (child.exitCode === null && child.signalCode === null) {
      const gone = once(child, 'exit');
      child.kill('SIGTERM');
      const overdue = setTimeout(() => child.kill('SIGKILL'), 20_000);
      await gone;
      clearTimeout(overdue);
    }
    this.processes.delete(name);
    return child.exitCode;
  }

  /** @param {ServiceName} service */
  #secrets(service) {
    return join(this.folder, 'secrets', service);
  }

  /** @param {ServiceName} service */
  #hasMigration(service) {
    return existsSync(join(ROOT, 'deploy', service, 'migration'));
  }

  /** @param {ServiceName} service */
  #migrationEnvironment(service) {
    return { ...environmentOf(service), ...this.#mounted(service, 'migration/job.yaml') };
  }

  /** Returns the variables of a manifest, with the paths of mounted files replaced. @param {ServiceName} service @param {string} file */
  #mounted(service, file) {
    const { env } = yamlOf(`deploy/${service}/${file}`).spec.template.spec.containers[0];
    return Object.fromEntries(env.map((/** @type {any} */ { name, value }) => [name, value.replace(MOUNTED, this.#secrets(service))]));
  }

  /** @param {Record<string, string>} owners @param {Record<string, string>} passwords */
  async #startPostgres(owners, passwords) {
    const user = postgresUser();
    const binaries = await findPostgres({ user, signal: this.signal, say: console.log });
    const cluster = { folder: join(this.folder, 'postgres'), binaries, user };
    const credentials = { admin: secret(), databases: /** @type {any} */ (owners), services: /** @type {any} */ (passwords) };
    await createCluster(cluster, { statements: provisioning(credentials), durable: false, signal: this.signal });
    writeFileSync(join(cluster.folder, 'pg_hba.conf'), 'hostssl all all 127.0.0.1/32 scram-sha-256\n');
    const certificate = { crt: join(this.folder, 'server.crt'), key: join(this.folder, 'server.key') };
    this.authority.certify(certificate, 'localhost', user);
    this.#postgresPort = await freePort();
    const settings = { fsync: 'off', max_connections: 200, ssl: 'on', ssl_cert_file: certificate.crt, ssl_key_file: certificate.key };
    const server = serverOf(cluster, { port: this.#postgresPort, logFile: join(this.folder, 'postgres.log'), settings, onEnd: () => false });
    this.#servers.push(() => server.stop());
    server.start();
    await serverReady(cluster.folder, server, this.signal);
  }

  /** @param {Record<string, string>} passwords */
  async #startNats(passwords) {
    const found = await findNats({ signal: this.signal, say: console.log });
    this.#natsPort = await freePort();
    const server = natsServer(found, {
      port: this.#natsPort,
      config: join(ROOT, 'deploy', 'nats', 'nats.conf'),
      passwords: Object.fromEntries(NATS_USERS.map((name) => [`${name.toUpperCase()}_NATS_PASSWORD`, passwords[name] ?? ''])),
      logFile: join(this.folder, 'nats.log'),
      onEnd: () => false,
    });
    this.#servers.push(() => server.stop());
    server.start();
    await natsReady(this.#natsPort, this.signal);
  }
}

/** Returns the pinned Node, copied if the services' user cannot read it (in root's home). @param {string} folder */
function nodeFor(folder) {
  const node = pinnedNode();
  accessSync(node, constants.X_OK);
  if (canReach(join(node, '..'), USER)) return node;
  copyFileSync(node, join(folder, 'node'));
  chmodSync(join(folder, 'node'), 0o755);
  return join(folder, 'node');
}
