import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { provisioning } from '../start/databases.mjs';
import { findNats } from '../start/nats-binary.mjs';
import { natsReady, natsServer } from '../start/nats.mjs';
import { freePort } from '../start/ports.mjs';
import { findPostgres } from '../start/postgres-binaries.mjs';
import { createCluster, serverOf, serverReady } from '../start/postgres.mjs';
import { NATS_USERS } from '../start/services.mjs';
import { postgresUser } from '../start/system-user.mjs';
import { ROOT } from '../start/toolchain.mjs';

const signal = AbortSignal.timeout(60_000);
const say = () => {};
const onEnd = () => false;

/** Real servers as `npm start` has them: four databases, accounts, passwords. */
export async function startServers() {
  const folder = mkdtempSync('/tmp/plant-shop-doctor-');
  chmodSync(folder, 0o711);
  const [postgres, nats] = await Promise.all([startPostgres(folder), startNats(folder)]);
  const stop = async () => {
    await Promise.all([postgres.server.stop(), nats.server.stop()]);
    rmSync(folder, { recursive: true });
  };
  return { folder, urls: postgres.urls, nats: { url: nats.url, users: nats.users }, postgres: postgres.server, stop };
}

/** @param {string} folder */
async function startPostgres(folder) {
  const user = postgresUser();
  const cluster = { folder: join(folder, 'postgres'), binaries: await findPostgres({ user, signal, say }), user };
  const databases = { catalog: 'c', store: 's', identity: 'i', notifications: 'n' };
  const credentials = { admin: 'a', databases, identitySecret: '', notificationsSecret: '' };
  await createCluster(cluster, { statements: provisioning(credentials), durable: false, signal });
  const port = await freePort();
  const server = serverOf(cluster, { port, logFile: join(folder, 'postgres.log'), settings: { fsync: 'off' }, onEnd });
  server.start();
  await serverReady(cluster.folder, server, signal);
  const urls = Object.fromEntries(Object.entries(databases).map(([name, password]) => [name, `postgresql://${name}:${password}@127.0.0.1:${port}/${name}`]));
  return { server, urls };
}

/** @param {string} folder */
async function startNats(folder) {
  const port = await freePort();
  const users = Object.fromEntries(NATS_USERS.map((user) => [user, `p${user}`]));
  const passwords = Object.fromEntries(NATS_USERS.map((user) => [`${user.toUpperCase()}_NATS_PASSWORD`, `p${user}`]));
  const config = join(ROOT, 'deploy', 'nats', 'nats.conf');
  const server = natsServer(await findNats({ signal, say }), { port, config, passwords, logFile: join(folder, 'nats.log'), onEnd });
  server.start();
  await natsReady(port, signal);
  return { server, url: `nats://127.0.0.1:${port}`, users };
}
