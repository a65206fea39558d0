import { join } from 'node:path';
import { secret } from './credentials.mjs';
import { findNats } from './nats-binary.mjs';
import { natsReady, natsServer } from './nats.mjs';
import { freePort } from './ports.mjs';
import { SERVICES } from './services.mjs';
import { ROOT } from './toolchain.mjs';
import { lastLinesOf } from './watch.mjs';

/**
 * The NATS server that the services talk over.
 * @typedef {object} Broker
 * @property {string} url
 * @property {Partial<Record<import('./services.mjs').ServiceName, string>>} passwords of the users named as the services; none where NATS wants none
 */

/** @param {string} service */
const passwordVariable = (service) => `${service.toUpperCase()}_NATS_PASSWORD`;

/** The server that the user's environment names. @param {NodeJS.ProcessEnv} env @returns {Broker | undefined} */
export function givenBroker(env) {
  const url = env['NATS_URL'];
  if (!url) return undefined;
  const known = SERVICES.filter((service) => env[passwordVariable(service)]);
  return { url, passwords: Object.fromEntries(known.map((service) => [service, env[passwordVariable(service)]])) };
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
  const passwords = Object.fromEntries(SERVICES.map((service) => [service, secret()]));
  const logFile = join(dataDir.logs, 'nats.log');
  const server = natsServer(found, {
    port,
    config: join(ROOT, 'deploy', 'nats', 'nats.conf'),
    passwords: Object.fromEntries(SERVICES.map((service) => [passwordVariable(service), passwords[service] ?? ''])),
    logFile,
    onEnd: watch.over('nats', () => lastLinesOf(logFile)),
    onChange: () => runFile.update({ nats: { ...server.mark, url, users: passwords } }),
  });
  shutdown.add('NATS', () => server.stop());
  server.start();
  await natsReady(port, stop.signal);
  return { url, passwords };
}
