import { join } from 'node:path';
import { secret } from '../start/credentials.mjs';
import { StartError } from '../start/errors.mjs';
import { findNats, versionOf } from '../start/nats-binary.mjs';
import { natsReady, natsServer } from '../start/nats.mjs';
import { freePort } from '../start/ports.mjs';
import { findPostgres } from '../start/postgres-binaries.mjs';
import { createCluster, serverOf, serverReady } from '../start/postgres.mjs';
import { postgresUser } from '../start/system-user.mjs';
import { lastLinesOf } from '../start/watch.mjs';

/**
 * Databases last until the server is discarded, so nothing is synced to disk or vacuumed. Each test file opens its own connections.
 * Dropping databases costs unit tests 7 % of their processor time, because ext4 searches for inodes that were not freed recently.
 */
const settings = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', max_connections: 400, autovacuum: 'off', shared_buffers: '256MB' };

/** @typedef {Pick<import('./steps.mjs').StepContext, 'folder' | 'stop' | 'shutdown'>} Need */

/**
 * Starts a Postgres and a NATS server for tests.
 * @param {Need} need
 * @returns {Promise<Record<string, string>>} the variables by which tests find them
 */
export async function startServers(need) {
  return { ...(await startPostgres(need)), ...(await startNats(need)) };
}

/** @param {Need} need */
async function startPostgres({ folder, stop, shutdown }) {
  const user = postgresUser();
  const { signal } = stop;
  const binaries = await findPostgres({ user, signal, say: console.log });
  const cluster = { folder: join(folder, 'postgres'), binaries, user };
  const password = secret();
  await createCluster(cluster, { statements: [`ALTER ROLE postgres PASSWORD '${password}'`], durable: false, signal });
  const port = await freePort();
  const logFile = join(folder, 'postgres.log');
  const server = serverOf(cluster, { port, logFile, settings, onEnd: fatal('Postgres', logFile, stop) });
  shutdown.add('Postgres', () => server.stop());
  server.start();
  await serverReady(cluster.folder, server, signal);
  return { TEST_POSTGRES_URL: `postgresql://postgres:${password}@127.0.0.1:${port}/postgres` };
}

/** @param {Need} need */
async function startNats({ folder, stop, shutdown }) {
  const { binary } = await natsForTests(stop.signal);
  const port = await freePort();
  const logFile = join(folder, 'nats.log');
  const server = natsServer({ binary }, { port, logFile, onEnd: fatal('NATS', logFile, stop) });
  shutdown.add('NATS', () => server.stop());
  server.start();
  await natsReady(port, stop.signal);
  return { TEST_NATS_URL: `nats://127.0.0.1:${port}`, TEST_NATS_SERVER_BINARY: binary };
}

/** Returns the NATS server that all steps use. @param {AbortSignal} signal @returns {Promise<{ binary: string, version: string }>} */
export async function natsForTests(signal) {
  const found = await findNats({ signal, say: console.log });
  if ('binary' in found) return { binary: found.binary, version: await versionOf(found.binary, signal) };
  throw new StartError('The tests start their own NATS servers: install nats-server, so that it is on the PATH.');
}

/**
 * Stops the run when a server ends: all tests would fail without showing that as the reason.
 * @param {string} name @param {string} logFile @param {AbortController} stop
 */
function fatal(name, logFile, stop) {
  return () => {
    stop.abort(new StartError(`${name} ended during the tests. Its last log lines:\n${lastLinesOf(logFile).join('\n')}`));
    return false;
  };
}
