import { existsSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DATABASES } from './credentials.mjs';
import { StartError } from './errors.mjs';
import { freePort } from './ports.mjs';
import { findPostgres } from './postgres-binaries.mjs';
import { createCluster, majorOf, serverOf, serverReady } from './postgres.mjs';
import { postgresUser } from './system-user.mjs';
import { lastLinesOf } from './watch.mjs';

/** @typedef {import('./credentials.mjs').Database} Database */

/**
 * Addresses of the databases.
 * @typedef {object} Databases
 * @property {Record<Database, string>} urls for the services' roles
 * @property {Partial<Record<Database, string>>} ownerUrls for the owners of the tables, if they are other roles
 * @property {string} [ca] CA file of the server's certificate
 */

/**
 * Databases of a Postgres started by the launcher.
 * @typedef {Databases & { cluster: import('./postgres.mjs').Cluster, server: import('./kept-process.mjs').KeptProcess }} OwnDatabases
 */

/** Returns the role that a service runs as. The owner of its database is another role, named like the service. @param {Database} name */
const serviceRole = (name) => `${name}_service`;

export const serverSettings = {
  max_connections: 200,
  shared_buffers: '256MB',
  max_wal_size: '2GB',
  // By default Postgres syncs all files of all databases one by one after a crash, which takes seconds on a busy machine.
  ...(process.platform === 'linux' && { recovery_init_sync_method: 'syncfs' }),
  log_checkpoints: 'off',
  log_line_prefix: '%m [%p] %u@%d ',
};

/**
 * The four databases named in the environment: all or none, since a mixture is a mistake.
 * @param {NodeJS.ProcessEnv} env
 * @returns {Databases | undefined}
 */
export function givenDatabases(env) {
  const variables = DATABASES.map((name) => /** @type {const} */ ([name, `${name.toUpperCase()}_DATABASE_URL`]));
  const missing = variables.map(([, variable]) => variable).filter((variable) => !env[variable]);
  if (missing.length === variables.length) return undefined;
  if (missing.length > 0) throw new StartError(`Databases are given for some services only; missing: ${missing.join(', ')}.`);
  const owners = DATABASES.flatMap((name) => {
    const url = env[ownerVariable(name)];
    return url ? [[name, url]] : [];
  });
  const ca = env['PGSSLROOTCERT'];
  return { urls: byDatabase((name) => env[`${name.toUpperCase()}_DATABASE_URL`] ?? ''), ownerUrls: Object.fromEntries(owners), ...(ca && { ca }) };
}

/** @param {string} service */
export const ownerVariable = (service) => `${service.toUpperCase()}_MIGRATION_DATABASE_URL`;

/**
 * Starts Postgres with a database and two roles for each service.
 * @param {import('./shop.mjs').Site} site
 * @param {Record<string, string>} [variables] environment variables of the server
 * @returns {Promise<OwnDatabases>}
 */
export async function ownDatabases({ dataDir, credentials, runFile, screen, shutdown, stop, watch }, variables) {
  const { signal } = stop;
  const say = (/** @type {string} */ message) => screen.say(message);
  const user = postgresUser();
  dataDir.createPostgresPlace();
  const folder = dataDir.postgres;
  const binaries = await findPostgres({ user, major: majorOf(folder), signal, say });
  if (majorOf(folder) === undefined) say(`Creating a Postgres ${binaries.major} cluster in ${folder}`);
  const cluster = { folder, binaries, user };
  await createCluster(cluster, { statements: provisioning(credentials), durable: true, signal });
  const port = await freePort();
  const url = (/** @type {string} */ role, /** @type {string} */ password, database = role) => `postgresql://${role}:${password}@127.0.0.1:${port}/${database}`;
  const urls = byDatabase((name) => url(serviceRole(name), credentials.services[name], name));
  const ownerUrls = byDatabase((name) => url(name, credentials.databases[name]));
  const adminUrl = url('postgres', credentials.admin);
  const logFile = boundedLog(dataDir);
  const server = serverOf(
    cluster,
    {
      port,
      logFile,
      settings: serverSettings,
      variables,
      onEnd: watch.over('postgres', () => lastLinesOf(logFile)),
      onChange: () => runFile.update({ postgres: { ...server.mark, port, adminUrl, urls, ownerUrls } }),
    },
  );
  shutdown.add('Postgres', () => server.stop());
  server.start();
  await serverReady(folder, server, signal);
  return { urls, ownerUrls, cluster, server };
}

/**
 * Creates a database per service, to which no other service can connect. Its owner migrates it, and grants the service's
 * role the necessary rights.
 * @param {Pick<import('./credentials.mjs').Credentials, 'admin' | 'databases' | 'services'>} credentials
 */
export function provisioning(credentials) {
  return [
    `ALTER ROLE postgres PASSWORD '${credentials.admin}'`,
    'REVOKE ALL ON DATABASE postgres FROM PUBLIC',
    'REVOKE ALL ON DATABASE template1 FROM PUBLIC',
    ...DATABASES.flatMap((name) => [
      `CREATE ROLE ${name} LOGIN PASSWORD '${credentials.databases[name]}'`,
      `CREATE DATABASE ${name} OWNER ${name}`,
      `REVOKE ALL ON DATABASE ${name} FROM PUBLIC`,
    ]),
    ...DATABASES.flatMap((name) => [
      `CREATE ROLE ${serviceRole(name)} LOGIN PASSWORD '${credentials.services[name]}'`,
      `GRANT CONNECT ON DATABASE ${name} TO ${serviceRole(name)}`,
    ]),
  ];
}

/** Returns the log file. Rotates a large one, which is possible only between runs, since Postgres writes to it directly. @param {import('./data-dir.mjs').DataDir} dataDir */
function boundedLog(dataDir) {
  const log = join(dataDir.logs, 'postgres.log');
  if (existsSync(log) && statSync(log).size > 10_000_000) {
    rmSync(`${log}.1`, { force: true });
    renameSync(log, `${log}.1`);
  }
  return log;
}

/** @param {(name: Database) => string} value @returns {Record<Database, string>} */
function byDatabase(value) {
  return /** @type {Record<Database, string>} */ (Object.fromEntries(DATABASES.map((name) => [name, value(name)])));
}
