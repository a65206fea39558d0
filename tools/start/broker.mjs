import { join } from 'node:path';
import { secret } from './credentials.mjs';
import { findNats } from './nats-binary.mjs';
import { natsReady, natsServer } from './nats.mjs';
import { freePort } from './ports.mjs';
import { NATS_USERS } from './services.mjs';
import { ROOT } from './toolchain.mjs';
import { lastLinesOf } from './watch.mjs';

/**
 * The NATS server that the services talk over.
 * @typedef {object} Broker
 * @property {string} url
 * @property {Partial<Record<import('./services.mjs').NatsUser, string>>} passwords of the users that NATS knows; none where NATS wants none
 * @property {string} [ca] file with the authorities of its certificate
 */

/** @param {string} user */
const passwordVariable = (user) => `${user.toUpperCase()}_NATS_PASSWORD`;

/** The server that the user's environment names. @param {NodeJS.ProcessEnv} env @returns {Broker | undefined} */
export function givenBroker(env) {
  const url = env['NATS_URL'];
  if (!url) return undefined;
  const known = NATS_USERS.filter((user) => env[passwordVariable(user)]);
  return { url, passwords: Object.fromEntries(known.map((user) => [user, env[passwordVariable(user)]])), ...(env['NATS_CA'] && { ca: env['NATS_CA'] }) };
}

/**
 * Starts our own NATS server with the accounts of a deployment and passwords for this run.
 * @param {import('./shop.mjs').Site} site
 * @returns {Promise<Broker>}
 */
export async function ownBroker({ dataDir, runFile, screen, shutdown, stop, watch }) {
  const found = await findNats({ signal: stop.signal, say: (message) => screen.say(message) });
  const port = await freePort();
  const url = `nats://127.0.0.1:${port}`;
  const passwords = Object.fromEntries(NATS_USERS.map((user) => [user, secret()]));
  const logFile = join(dataDir.logs, 'nats.log');
  const server = natsServer(found, {
    port,
    config: join(ROOT, 'deploy', 'nats', 'nats.conf'),
    passwords: Object.fromEntries(NATS_USERS.map((user) => [passwordVariable(user), passwords[user] ?? ''])),
    logFile,
    onEnd: watch.over('nats', () => lastLinesOf(logFile)),
    onChange: () => runFile.update({ nats: { ...server.mark, url, users: passwords } }),
  });
  shutdown.add('NATS', () => server.stop());
  server.start();
  await natsReady(port, stop.signal);
  return { url, passwords };
}
