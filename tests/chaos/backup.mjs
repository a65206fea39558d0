import { chownSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { run } from '../../tools/start/command.mjs';
import { serverSettings } from '../../tools/start/databases.mjs';
import { freePort } from '../../tools/start/ports.mjs';
import { serverOf, serverReady } from '../../tools/start/postgres.mjs';
import { sendSignal, sleep } from '../../tools/start/processes.mjs';
import { copyCluster, write } from './standby.mjs';

const RESTORE_LIMIT_MS = 120_000;

/** @typedef {{ logs: string, watch: import('../../tools/start/watch.mjs').Watch, signal: AbortSignal }} Means */
/** @typedef {{ cluster: import('../../tools/start/postgres.mjs').Cluster, server: import('../../tools/start/kept-process.mjs').KeptProcess, adminUrl: string }} Primary */

/** A base backup and the WAL since it began, in a folder, as the operator of production keeps them in an object store. */
export class Backup {
  /** @type {import('../../tools/start/kept-process.mjs').KeptProcess | undefined} */
  #restored;

  /** @param {Primary} primary @param {string} folder @param {Means} means */
  constructor(primary, folder, means) {
    this.primary = primary;
    this.folder = folder;
    this.archive = join(folder, 'wal');
    this.means = means;
  }

  /** @param {Primary} primary @param {string} folder must not exist yet, but its parent @param {Means} means */
  static async take(primary, folder, means) {
    const backup = new this(primary, folder, means);
    const { cluster, server, adminUrl } = primary;
    for (const one of [folder, backup.archive]) {
      mkdirSync(one, { mode: 0o700 });
      if (cluster.user) chownSync(one, cluster.user.uid, cluster.user.gid);
    }
    await asAdmin(adminUrl, async (client) => {
      await client.query('ALTER SYSTEM SET archive_mode = on');
      await client.query(`ALTER SYSTEM SET archive_command = 'cp %p ${backup.archive}/%f.new && mv ${backup.archive}/%f.new ${backup.archive}/%f'`);
    });
    const former = server.mark;
    if (former) sendSignal(former.pid, 'SIGINT');
    while (server.mark?.pid === former?.pid || server.mark === undefined) await sleep(20);
    await serverReady(cluster.folder, server, means.signal);
    await asAdmin(adminUrl, (client) => copyCluster(client, cluster, join(folder, 'base'), means.signal));
    return backup;
  }

  /** Archives the WAL of everything that was committed until now. */
  async complete() {
    await asAdmin(this.primary.adminUrl, async (client) => {
      const { rows } = await client.query('SELECT pg_walfile_name(pg_current_wal_lsn()) AS last, pg_switch_wal()');
      const isArchived = async () => (await client.query('SELECT last_archived_wal >= $1 AS done FROM pg_stat_archiver', [rows[0].last])).rows[0].done === true;
      while (!(await isArchived())) {
        this.means.signal.throwIfAborted();
        await sleep(100);
      }
    });
  }

  /**
   * Starts a server with the databases as they were at a time.
   * @param {Date} at
   * @returns {Promise<string>} its address for the superuser
   */
  async restore(at) {
    const { cluster, adminUrl } = this.primary;
    const { logs, watch } = this.means;
    const signal = AbortSignal.any([this.means.signal, AbortSignal.timeout(RESTORE_LIMIT_MS)]);
    const folder = join(this.folder, 'restored');
    await run('cp', ['-a', join(this.folder, 'base'), folder], { what: 'Copying the base backup', signal });
    const settings = [`restore_command = 'cp ${this.archive}/%f %p'`, `recovery_target_time = '${at.toISOString().replace('Z', '+00')}'`, `recovery_target_action = 'promote'`];
    write(folder, cluster.user, { 'recovery.signal': '', 'postgresql.auto.conf': `${settings.join('\n')}\n` });
    const port = await freePort();
    const name = 'postgres-restored';
    const server = serverOf({ ...cluster, folder }, { port, logFile: join(logs, `${name}.log`), settings: serverSettings, onEnd: watch.over(name, () => []), variables: undefined });
    this.#restored = server;
    server.start();
    await serverReady(folder, server, signal);
    const url = new URL(adminUrl);
    url.port = `${port}`;
    await asAdmin(url.href, async (client) => {
      while ((await client.query('SELECT pg_is_in_recovery() AS so')).rows[0].so) {
        signal.throwIfAborted();
        await sleep(100);
      }
    });
    return url.href;
  }

  async end() {
    await this.#restored?.stop();
  }
}

/**
 * @template T
 * @param {string} adminUrl
 * @param {(client: pg.Client) => Promise<T>} work
 */
export async function asAdmin(adminUrl, work) {
  const client = new pg.Client({ connectionString: adminUrl });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
