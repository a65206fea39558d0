import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { passed, reasonOf, unknown, withoutCredentials, wrong } from './finding.mjs';

/** @typedef {import('./finding.mjs').Finding} Finding */

const LIMIT_MS = 3_000;

/**
 * Checks that the server accepts each user whose password is known. Permissions to subscribe are checked by the services' readiness.
 * @param {string} root
 * @param {{ url: string, users: Record<string, string>, ca?: string | undefined } | undefined} server ca: file of the CA certificates
 * @returns {Promise<Finding[]>}
 */
export async function checkNats(root, server) {
  if (!server) return [unknown('NATS', 'not checked: no server is known', 'start the shop, or set NATS_URL and <USER>_NATS_PASSWORD')];
  const connect = clientOf(root);
  if (!connect) return [unknown('NATS', 'not checked: the client is not installed', 'npm start installs it')];
  const logins = Object.entries(server.users).map(([user, pass]) => ({ user, pass }));
  const findings = await Promise.all((logins.length > 0 ? logins : [{}]).map((login) => checkLogin(server, login, connect)));
  const [first] = findings;
  // If the server is down, one user's failure is enough.
  const isAway = first?.state === 'wrong' && findings.length > 1 && findings.every(({ message }) => message === first.message);
  return isAway ? [{ ...first, about: 'NATS' }] : findings;
}

/** Returns the services' NATS client, or undefined if it is not installed. @param {string} root @returns {typeof import('@nats-io/transport-node').connect | undefined} */
function clientOf(root) {
  if (!existsSync(join(root, 'libs', 'platform', 'node_modules', '@nats-io', 'transport-node'))) return undefined;
  return createRequire(join(root, 'libs', 'platform', 'package.json'))('@nats-io/transport-node').connect;
}

/**
 * @param {{ url: string, ca?: string | undefined }} server
 * @param {{ user?: string, pass?: string }} login
 * @param {typeof import('@nats-io/transport-node').connect} connect
 * @returns {Promise<Finding>}
 */
async function checkLogin({ url, ca }, login, connect) {
  const tls = url.startsWith('tls:') || ca ? { tls: ca ? { caFile: ca } : {} } : {};
  const about = `NATS ${login.user ?? 'without a password'}`;
  try {
    const connection = await connect({ servers: url, name: 'doctor', timeout: LIMIT_MS, reconnect: false, ...tls, ...login });
    await connection.flush();
    await connection.close();
    return passed(about, `accepted by ${withoutCredentials(url)}`);
  } catch (error) {
    return wrong(about, `${withoutCredentials(url)}: ${reasonOf(error)}`, 'check that the server runs and that its accounts are those of deploy/nats/nats.conf with these passwords');
  }
}
