import { createHash, randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { StartError } from './errors.mjs';
import { writePrivately } from './files.mjs';
import { ROOT } from './toolchain.mjs';

/** Services with a database. */
export const DATABASES = /** @type {const} */ (['catalog', 'store', 'identity', 'notifications']);

/** @typedef {typeof DATABASES[number]} Database */

/**
 * Credentials that persist between starts.
 * @typedef {object} Credentials
 * @property {string} admin password of the Postgres superuser
 * @property {Record<Database, string>} databases passwords of the databases' owners, which migrate them
 * @property {Record<Database, string>} services passwords of the roles that the services run as
 * @property {string} identitySecret
 * @property {string} notificationsSecret
 * @property {string} schemas identifies the schemas that the data began with
 */

/**
 * Reads the credentials, or generates and saves them.
 * @param {string} path
 * @param {{ needed: boolean, schemas?: string }} options needed: throws unless they are those of data that this version can use
 * @returns {Credentials}
 */
export function loadCredentials(path, { needed, schemas = firstSchemas() }) {
  /** @type {Credentials | undefined} */
  const saved = existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : undefined;
  if (saved?.schemas === schemas) return saved;
  if (needed) {
    const cause = saved ? 'comes from a version of the shop whose data this one cannot use' : 'cannot be read without its passwords, and they are missing';
    throw new StartError(`The data in ${dirname(path)} ${cause}. Delete it and start again: npm start -- --fresh`);
  }
  const credentials = {
    admin: secret(),
    databases: passwords(),
    services: passwords(),
    identitySecret: secret(),
    notificationsSecret: secret(),
    ...saved,
    schemas,
  };
  writePrivately(path, JSON.stringify(credentials, null, 2));
  return credentials;
}

/** Returns a digest of each service's first migration. Those never change once released, and later migrations continue from them. */
function firstSchemas() {
  const digest = createHash('sha256');
  for (const name of DATABASES) {
    const folder = join(ROOT, 'apps', name, 'migrations');
    const [first = ''] = readdirSync(folder).sort();
    digest.update(readFileSync(join(folder, first)));
  }
  return digest.digest('hex');
}

/** Generates a password for each database. @returns {Record<Database, string>} */
const passwords = () => ({ catalog: secret(), store: secret(), identity: secret(), notifications: secret() });

/** Returns 256 random bits as text that needs no escaping in URLs, SQL and NATS configurations. */
export function secret() {
  return `s${randomBytes(32).toString('hex')}`;
}
