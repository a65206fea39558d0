import { join } from 'node:path';
import { secret } from './credentials.mjs';
import { natsReady, natsServer } from './nats.mjs';
import { freePort } from './ports.mjs';
import { NATS_USERS } from './services.mjs';
import { ROOT } from './toolchain.mjs';
import { lastLinesOf } from './watch.mjs';

/**
 * The NATS server that the services use.
 * @typedef {object} Broker
 * @property {string} url
 * @property {Partial<Record<import('./services.mjs').NatsUser, string>>} passwords by user; none if the server has no accounts
 * @property {string} [ca] CA file of its certificate
 */

/** @param {string} user */
const passwordVariable = (user) => `${user.toUpperCase()}_NATS_PASSWORD`;

/** Returns the server that the environment names. @param {NodeJS.ProcessEnv} env @returns {Broker | undefined} */
export function givenBroker(env) {
  const url = env['NATS_URL'];
  if (!url) return undefined;
  const known = NATS_USERS.filter((user) => env[passwordVariable(user)]);
  return { url, passwords: Object.fromEntries(known.map((user) => [user, env[passwordVariable(user)]])), ...(env['NATS_CA'] && { ca: env['NATS_CA'] }) };
}

/**
 * A NATS server started by the launcher.
 * @typedef {{ url: string, server: import('./kept-process.mjs').KeptProcess }} OwnServer
 */

/**
 * Starts a NATS server, or a cluster, with the accounts of a deployment and new passwords.
 * @param {Pick<import('./shop.mjs').Site, 'dataDir' | 'runFile' | 'shutdown' | 'stop' | 'watch'>} site
 * @param {import('./nats-binary.mjs').NatsServer} found
 * @param {number} [count] of the servers; `url` is the first one's
 * @returns {Promise<Broker & { servers: OwnServer[] }>}
 */
export async function ownBroker({ dataDir, runFile, shutdown, stop, watch }, found, count = 1) {
  const passwords = Object.fromEntries(NATS_USERS.map((user) => [user, secret()]));
  const ports = await freePorts(count);
  const clusterPorts = count > 1 ? await freePorts(count) : [];
  const servers = ports.map((port, n) => {
    const name = count > 1 ? `nats-${n + 1}` : 'nats';
    const url = `nats://127.0.0.1:${port}`;
    const logFile = join(dataDir.logs, `${name}.log`);
    const clusterPort = clusterPorts[n];
    const server = natsServer(found, {
      port,
      config: join(ROOT, 'deploy', 'nats', 'nats.conf'),
      passwords: Object.fromEntries(NATS_USERS.map((user) => [passwordVariable(user), passwords[user] ?? ''])),
      logFile,
      onEnd: watch.over(name, () => lastLinesOf(logFile)),
      onChange: () => {
        if (n === 0) runFile.update({ nats: { ...server.mark, url, users: passwords } });
      },
      ...(clusterPort !== undefined && { cluster: { port: clusterPort, others: clusterPorts.filter((other) => other !== clusterPort) } }),
    });
    return { url, server };
  });
  shutdown.add('NATS', () => Promise.all(servers.map(({ server }) => server.stop())));
  for (const { server } of servers) server.start();
  await Promise.all(ports.map((port) => natsReady(port, stop.signal)));
  return { url: /** @type {OwnServer} */ (servers[0]).url, passwords, servers };
}

/**
 * Starts a NATS server with JetStream for destinations, without accounts. Its streams stay in the data folder.
 * @param {Pick<import('./shop.mjs').Site, 'dataDir' | 'runFile' | 'shutdown' | 'stop' | 'watch'>} site
 * @param {import('./nats-binary.mjs').NatsServer} found
 * @param {number} port
 * @returns {Promise<OwnServer>}
 */
export async function ownJetStream({ dataDir, runFile, shutdown, stop, watch }, found, port) {
  const logFile = join(dataDir.logs, 'jetstream.log');
  const server = natsServer(found, {
    port,
    storeDir: dataDir.jetstream,
    logFile,
    onEnd: watch.over('jetstream', () => lastLinesOf(logFile)),
    onChange: () => runFile.update({ jetstream: { ...server.mark } }),
  });
  shutdown.add('NATS', () => server.stop());
  server.start();
  await natsReady(port, stop.signal);
  return { url: `nats://127.0.0.1:${port}`, server };
}

/** @param {number} count */
async function freePorts(count) {
  /** @type {Set<number>} */
  const ports = new Set();
  while (ports.size < count) ports.add(await freePort());
  return [...ports];
}
