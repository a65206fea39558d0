import { existsSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { DATABASES } from '../start/credentials.mjs';
import { passed, reasonOf, unknown, wrong } from './finding.mjs';

/** @typedef {import('./finding.mjs').Finding} Finding */

const LIMIT_MS = 5_000;

/** Clients see times and expiries from both databases and services, so their clocks must agree. */
const CLOCK_LIMIT_MS = 1_000;

/**
 * Checks that each service's database responds, has this checkout's schema, and agrees with this machine's clock.
 * @param {string} root
 * @param {Partial<Record<string, string>>} urls by service
 * @param {string} [ca] file of the CA certificates, as in the services' PGSSLROOTCERT
 * @returns {Promise<Finding[]>}
 */
export async function checkDatabases(root, urls, ca) {
  const named = DATABASES.filter((name) => urls[name]);
  if (named.length === 0) return [unknown('databases', 'not checked: no database is known', 'start the shop, or set <SERVICE>_DATABASE_URL')];
  const Client = clientOf(root);
  if (!Client) return [unknown('databases', 'not checked: the driver is not installed', 'npm start installs it')];
  return (await Promise.all(named.map((name) => checkDatabase(root, name, addressOf(urls[name] ?? '', ca), Client)))).flat();
}

/** Duplicates libs/platform/src/postgres/address.ts, which may not be built. @param {string} url @param {string | undefined} ca */
function addressOf(url, ca) {
  if (!ca) return url;
  const address = new URL(url);
  address.searchParams.set('sslmode', 'verify-full');
  address.searchParams.set('sslrootcert', ca);
  return address.href;
}

/** Returns the services' driver, or undefined if it is not installed. @param {string} root @returns {typeof import('pg').Client | undefined} */
function clientOf(root) {
  const platform = join(root, 'libs', 'platform', 'package.json');
  if (!existsSync(join(root, 'libs', 'platform', 'node_modules', 'pg'))) return undefined;
  return createRequire(platform)('pg').Client;
}

/** @param {string} root @param {string} name @param {string} url @param {typeof import('pg').Client} Client @returns {Promise<Finding[]>} */
async function checkDatabase(root, name, url, Client) {
  const about = `database ${name}`;
  const client = new Client({ connectionString: url, connectionTimeoutMillis: LIMIT_MS, query_timeout: LIMIT_MS, application_name: 'doctor' });
  // Without a listener, a connection error would end the process.
  client.on('error', () => {});
  try {
    await client.connect();
    return [passed(about, 'answers'), await checkMigrations(root, name, client), await checkClock(name, client)];
  } catch (error) {
    return [wrong(about, reasonOf(error), 'check that the server runs and knows this role, password and database')];
  } finally {
    await client.end().catch(() => {}); // the connection may have failed
  }
}

/** @param {string} root @param {string} name @param {import('pg').Client} client @returns {Promise<Finding>} */
async function checkMigrations(root, name, client) {
  const about = `schema ${name}`;
  const table = (await client.query(`SELECT to_regclass('migrations') IS NOT NULL AS there`)).rows[0];
  const done = table.there ? (await client.query('SELECT name FROM migrations')).rows.map((row) => row.name) : [];
  const wanted = migrationNames(readdirSync(join(root, 'apps', name, 'migrations')));
  const pending = wanted.filter((one) => !done.includes(one));
  if (pending.length > 0) return wrong(about, `${pending.length} migrations are pending: ${pending.join(', ')}`, `npm start, or node apps/${name}/dist/migrate.js`);
  const newer = done.length - wanted.length;
  return passed(about, `${wanted.length} migrations, none pending${newer > 0 ? `; ${newer} more belong to another release` : ''}`);
}

/** Names migrations as libs/platform/src/postgres/migrations.ts does. @param {string[]} files */
export const migrationNames = (files) =>
  files.sort().flatMap((file) => {
    const [, digits, what] = /^(\d{13})-([a-z0-9-]+)\.sql$/.exec(file) ?? [];
    return digits ? [`${what}${digits}`] : [];
  });

/** @param {string} name @param {import('pg').Client} client @returns {Promise<Finding>} */
async function checkClock(name, client) {
  const before = Date.now();
  const { rows } = await client.query('SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS now');
  return clockFinding(`clock ${name}`, { before, after: Date.now(), theirs: rows[0].now });
}

/**
 * @param {string} about
 * @param {{ before: number, after: number, theirs: number }} times in milliseconds: the database's, and this machine's before and after the query
 */
export function clockFinding(about, { before, after, theirs }) {
  // The database read its clock somewhere in between.
  const off = theirs < before ? theirs - before : Math.max(0, theirs - after);
  if (Math.abs(off) <= CLOCK_LIMIT_MS) return passed(about, 'agrees with this machine');
  return wrong(about, `${Math.abs(off / 1000).toFixed(1)} s ${off > 0 ? 'ahead of' : 'behind'} this machine`, 'synchronise both by NTP (docs/operations.md#clocks-differ)');
}
