import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { StartError } from './errors.mjs';
import { writePrivately } from './files.mjs';

/** Services with a database. */
export const DATABASES = /** @type {const} */ (['catalog', 'store', 'identity', 'notifications']);

/** @typedef {typeof DATABASES[number]} Database */

/**
 * Credentials that persist between starts.
 * @typedef {object} Credentials
 * @property {string} admin password of the Postgres superuser
 * @property {Record<Database, string>} databases passwords of the databases' owners, which migrate them
 * @property {Record<Database, string>} [services] passwords of the roles that the services run as; absent in data from older versions
 * @property {string} identitySecret
 * @property {string} notificationsSecret
 */

/**
 * Reads the credentials, or generates and saves them.
 * @param {string} path
 * @param {{ needed: boolean }} options needed: throws if there are none, because existing data depends on them
 * @returns {Credentials}
 */
export function loadCredentials(path, { needed }) {
  if (existsSync(path)) return JSON.parse(readFileSync(path, 'utf8'));
  if (needed) throw new StartError(`${path} is missing: without its passwords the data cannot be read. Delete the data and start again: npm start -- --fresh`);
  const credentials = {
    admin: secret(),
    databases: passwords(),
    services: passwords(),
    identitySecret: secret(),
    notificationsSecret: secret(),
  };
  saveCredentials(path, credentials);
  return credentials;
}

/** Generates a password for each database. @returns {Record<Database, string>} */
export const passwords = () => ({ catalog: secret(), store: secret(), identity: secret(), notifications: secret() });

/** @param {string} path @param {Credentials} credentials */
export const saveCredentials = (path, credentials) => writePrivately(path, JSON.stringify(credentials, null, 2));

/** Returns 256 random bits as text that needs no escaping in URLs, SQL and NATS configurations. */
export function secret() {
  return `s${randomBytes(32).toString('hex')}`;
}
