import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
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

/** @typedef {{ crt: string, key: string }} Certificate files */

/**
 * Starts real servers as `npm start` does: four databases, NATS accounts, passwords.
 * @param {(folder: string, user: import('../start/system-user.mjs').SystemUser | undefined) => Certificate} [certify] makes their
 * certificates; with them, the servers refuse connections without TLS
 */
export async function startServers(certify) {
  const folder = mkdtempSync('/tmp/plant-shop-doctor-');
  chmodSync(folder, 0o711);
  const certificate = certify?.(folder, postgresUser());
  const [postgres, nats] = await Promise.all([startPostgres(folder, certificate), startNats(folder, certificate)]);
  const stop = async () => {
    await Promise.all([postgres.server.stop(), nats.server.stop()]);
    rmSync(folder, { recursive: true });
  };
  return { folder, urls: postgres.urls, nats: { url: nats.url, users: nats.users }, postgres: postgres.server, broker: nats.server, stop };
}

/** @param {string} folder @param {Certificate} [certificate] */
async function startPostgres(folder, certificate) {
  const user = postgresUser();
  const cluster = { folder: join(folder, 'postgres'), binaries: await findPostgres({ user, signal, say }), user };
  const databases = { catalog: 'c', store: 's', identity: 'i', notifications: 'n' };
  await createCluster(cluster, { statements: provisioning({ admin: 'a', databases, services: databases }), durable: false, signal });
  if (certificate) writeFileSync(join(cluster.folder, 'pg_hba.conf'), 'hostssl all all 127.0.0.1/32 scram-sha-256\n');
  const port = await freePort();
  const tls = certificate ? { ssl: 'on', ssl_cert_file: certificate.crt, ssl_key_file: certificate.key } : {};
  const server = serverOf(cluster, { port, logFile: join(folder, 'postgres.log'), settings: { fsync: 'off', ...tls }, onEnd });
  server.start();
  await serverReady(cluster.folder, server, signal);
  const urls = Object.fromEntries(Object.entries(databases).map(([name, password]) => [name, `postgresql://${name}:${password}@127.0.0.1:${port}/${name}`]));
  return { server, urls };
}

/** @param {string} folder @param {Certificate} [certificate] */
async function startNats(folder, certificate) {
  const port = await freePort();
  const users = Object.fromEntries(NATS_USERS.map((user) => [user, `p${user}`]));
  const passwords = Object.fromEntries(NATS_USERS.map((user) => [`${user.toUpperCase()}_NATS_PASSWORD`, `p${user}`]));
  const accounts = join(ROOT, 'deploy', 'nats', 'nats.conf');
  const config = certificate ? join(folder, 'nats.conf') : accounts;
  if (certificate) {
    writeFileSync(config, `${readFileSync(accounts, 'utf8')}\ntls { cert_file: "${certificate.crt}", key_file: "${certificate.key}" }\n`);
  }
  const server = natsServer(await findNats({ signal, say }), { port, config, passwords, logFile: join(folder, 'nats.log'), onEnd });
  server.start();
  await natsReady(port, signal);
  return { server, url: `nats://127.0.0.1:${port}`, users };
}
