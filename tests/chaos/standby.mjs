import { appendFileSync, chownSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { run } from '../../tools/start/command.mjs';
import { serverSettings } from '../../tools/start/databases.mjs';
import { freePort } from '../../tools/start/ports.mjs';
import { serverOf, serverReady } from '../../tools/start/postgres.mjs';
import { sleep } from '../../tools/start/processes.mjs';

const SLOT = 'standby';
const FOLLOW_LIMIT_MS = 30_000;

/** Files may change or vanish during a base backup, so the exit code of the first tar is ignored. The WAL comes by streaming. */
const copy = `tar -C "$1" --exclude='./pg_wal/[0-9A-F]*' --exclude=./postmaster.pid -cf - . | tar -C "$2" -xpf -`;

/**
 * @typedef {object} Standby a server that follows the primary and has no clients yet
 * @property {import('../../tools/start/postgres.mjs').Cluster} cluster
 * @property {import('../../tools/start/kept-process.mjs').KeptProcess} server
 * @property {string} adminUrl
 */

/**
 * Copies a running Postgres and starts the copy as an asynchronous streaming replica. Needs only the server's own
 * program, since not every machine has pg_basebackup.
 * @param {object} primary
 * @param {import('../../tools/start/postgres.mjs').Cluster} primary.cluster
 * @param {string} primary.adminUrl
 * @param {string} folder where the copy goes; its parent exists
 * @param {object} options
 * @param {import('./dist/stack.js').Link} options.link a relay to the primary, which can be cut
 * @param {string} options.logFile
 * @param {import('../../tools/start/kept-process.mjs').Keeping['onEnd']} options.onEnd
 * @param {() => void} options.onChange
 * @param {AbortSignal} options.signal
 * @param {Record<string, string> | undefined} options.variables environment variables of the server
 * @returns {Promise<Standby>}
 */
export async function addStandby({ cluster, adminUrl }, folder, { link, logFile, onEnd, onChange, signal, variables }) {
  const { user } = cluster;
  appendFileSync(join(cluster.folder, 'pg_hba.conf'), 'host replication postgres 127.0.0.1/32 scram-sha-256\n');
  const client = new pg.Client({ connectionString: adminUrl });
  await client.connect();
  try {
    await client.query('SELECT pg_reload_conf()');
    // A server that was a standby itself has a copy of the slot that it followed.
    await client.query(`SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = '${SLOT}'`);
    await client.query(`SELECT pg_create_physical_replication_slot('${SLOT}', true)`);
    await copyCluster(client, cluster, folder, signal);
    const { password } = new URL(adminUrl);
    const conninfo = `host=127.0.0.1 port=${link.port} user=postgres password=${password} application_name=${SLOT}`;
    write(folder, user, { 'standby.signal': '', 'postgresql.auto.conf': `primary_conninfo = '${conninfo}'\nprimary_slot_name = '${SLOT}'\n` });
    const port = await freePort();
    const copied = { ...cluster, folder };
    const server = serverOf(copied, { port, logFile, settings: serverSettings, onEnd, onChange, variables });
    server.start();
    await serverReady(folder, server, signal);
    await caughtUp(client, signal);
    const url = new URL(adminUrl);
    url.port = `${port}`;
    return { cluster: copied, server, adminUrl: url.href };
  } finally {
    await client.end();
  }
}

/**
 * Copies a running Postgres without its WAL: a base backup.
 * @param {pg.Client} client of its superuser
 * @param {import('../../tools/start/postgres.mjs').Cluster} cluster
 * @param {string} folder where the copy goes; its parent exists
 * @param {AbortSignal} signal
 */
export async function copyCluster(client, { folder: from, user }, folder, signal) {
  await client.query(`SELECT pg_backup_start('copy', true)`);
  mkdirSync(folder, { mode: 0o700 });
  if (user) chownSync(folder, user.uid, user.gid);
  await run('sh', ['-c', copy, 'sh', from, folder], { what: 'Copying the databases', signal });
  const { rows } = await client.query('SELECT labelfile FROM pg_backup_stop(true)');
  write(folder, user, { backup_label: rows[0].labelfile });
}

/** @param {string} folder of a cluster @param {import('../../tools/start/system-user.mjs').SystemUser | undefined} user @param {Record<string, string>} files */
export function write(folder, user, files) {
  for (const [name, text] of Object.entries(files)) {
    writeFileSync(join(folder, name), text, { mode: 0o600 });
    if (user) chownSync(join(folder, name), user.uid, user.gid);
  }
}

/** Waits until the standby has all that was written so far; more may follow. @param {pg.Client} primary @param {AbortSignal} signal */
async function caughtUp(primary, signal) {
  const end = performance.now() + FOLLOW_LIMIT_MS;
  const { rows: [so] } = await primary.query('SELECT pg_current_wal_lsn() AS far');
  for (;;) {
    signal.throwIfAborted();
    const { rows } = await primary.query(`SELECT 1 FROM pg_stat_replication WHERE application_name = '${SLOT}' AND state = 'streaming' AND replay_lsn >= $1`, [so.far]);
    if (rows.length > 0) return;
    if (performance.now() > end) throw new Error('The standby did not catch up with the primary.');
    await sleep(50);
  }
}

/** Has a primary acknowledge only what its standby has, too. @param {string} adminUrl */
export async function requireStandby(adminUrl) {
  const client = new pg.Client({ connectionString: adminUrl });
  await client.connect();
  try {
    await client.query(`ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (${SLOT})'`);
    await client.query('SELECT pg_reload_conf()');
    const end = performance.now() + FOLLOW_LIMIT_MS;
    for (;;) {
      const { rows } = await client.query(`SELECT 1 FROM pg_stat_replication WHERE sync_state = 'quorum'`);
      if (rows.length > 0) return;
      if (performance.now() > end) throw new Error('The standby did not become synchronous.');
      await sleep(50);
    }
  } finally {
    await client.end();
  }
}

/** Promotes a standby to primary. @param {Standby} standby */
export async function promote({ adminUrl }) {
  const client = new pg.Client({ connectionString: adminUrl });
  await client.connect();
  try {
    const { rows } = await client.query('SELECT pg_promote(true, 30) AS done');
    if (!rows[0].done) throw new Error('The standby was not promoted.');
  } finally {
    await client.end();
  }
}
