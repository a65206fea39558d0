import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { reasonOf, unknown, well, withoutCredentials, wrong } from './finding.mjs';

/** @typedef {import('./finding.mjs').Finding} Finding */

const LIMIT_MS = 3_000;

/**
 * Whether the server lets in everybody whose password is known. What a service may hear, its readiness says.
 * @param {string} root
 * @param {{ url: string, users: Record<string, string>, ca?: string | undefined } | undefined} server ca: file with the authorities of its certificate
 * @returns {Promise<Finding[]>}
 */
export async function checkNats(root, server) {
  if (!server) return [unknown('NATS', 'not looked at, no server is known', 'start the shop, or name it by NATS_URL and <USER>_NATS_PASSWORD')];
  const connect = clientOf(root);
  if (!connect) return [unknown('NATS', 'not looked at, the client is not installed', 'npm start installs it')];
  const logins = Object.entries(server.users).map(([user, pass]) => ({ user, pass }));
  const findings = await Promise.all((logins.length > 0 ? logins : [{}]).map((login) => checkLogin(server, login, connect)));
  const [first] = findings;
  // A server that is away is away for all of them.
  const isAway = first?.state === 'wrong' && findings.length > 1 && findings.every(({ says }) => says === first.says);
  return isAway ? [{ ...first, about: 'NATS' }] : findings;
}

/** The client that the services use. @param {string} root @returns {typeof import('@nats-io/transport-node').connect | undefined} */
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
    return well(about, `let in at ${withoutCredentials(url)}`);
  } catch (error) {
    return wrong(about, `${withoutCredentials(url)} says: ${reasonOf(error)}`, 'is the server there, and are its accounts those of deploy/nats/nats.conf with these passwords?');
  }
}
