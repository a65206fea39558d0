import { spawn } from 'node:child_process';
import { chownSync, closeSync, existsSync, mkdtempSync, openSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { run } from './command.mjs';
import { StartError } from './errors.mjs';
import { KeptProcess } from './kept-process.mjs';
import { commandLine, markOf, sleep, stopStranger } from './processes.mjs';

/**
 * A Postgres cluster of the launcher.
 * @typedef {object} Cluster
 * @property {string} folder of its data
 * @property {import('./postgres-binaries.mjs').Binaries} binaries
 * @property {import('./system-user.mjs').SystemUser | undefined} user who runs it, if other than the launcher's user
 */

/** Postgres' fast shutdown, which ends sessions and writes everything; then its immediate shutdown. */
/** @type {import('./processes.mjs').StopStep[]} */
const stopSteps = [
  { signal: 'SIGINT', limitMs: 15_000 },
  { signal: 'SIGQUIT', limitMs: 5_000 },
];

/** The server inherits no environment. Without the time zone, it would take the machine's. */
const environment = { PATH: process.env['PATH'] ?? '/usr/bin:/bin', LANG: 'C', TZ: 'UTC' };

/** @param {string} folder @returns {number | undefined} the major version that made it, if it exists */
export function majorOf(folder) {
  const file = join(folder, 'PG_VERSION');
  return existsSync(file) ? Number.parseInt(readFileSync(file, 'utf8'), 10) : undefined;
}

/**
 * Creates the cluster if it does not exist: in a temporary folder that is renamed at the end, so that an interrupted start
 * leaves no partial cluster.
 * @param {Cluster} cluster
 * @param {object} content
 * @param {string[]} content.statements SQL run once, one statement each, before clients can connect
 * @param {boolean} content.durable
 * @param {AbortSignal} content.signal
 */
export async function createCluster({ folder, binaries, user }, { statements, durable, signal }) {
  const major = majorOf(folder);
  if (major === binaries.major) return;
  if (major !== undefined) {
    throw new StartError(
      `The data in ${folder} was made by Postgres ${major}, but ${binaries.folder} holds Postgres ${binaries.major}.\n` +
        `Name the folder of the old binaries in POSTGRES_BIN_DIR, or delete the data: npm start -- --fresh`,
    );
  }
  removeDrafts(folder);
  const draft = mkdtempSync(`${folder}.new-`);
  if (user) chownSync(draft, user.uid, user.gid);
  try {
    await fill(draft, { binaries, user }, { statements, durable, signal });
    renameSync(draft, folder);
  } catch (error) {
    removeDrafts(folder);
    throw error;
  }
}

/**
 * @param {string} draft
 * @param {Omit<Cluster, 'folder'>} cluster
 * @param {Parameters<typeof createCluster>[1]} content
 */
async function fill(draft, { binaries, user }, { statements, durable, signal }) {
  /** @type {(command: string, args: string[]) => Promise<unknown>} */
  const asServer = (command, args) =>
    run(join(binaries.folder, command), args, { what: `Creating the Postgres cluster (${command})`, env: environment, cwd: '/', as: user, signal });
  // Locale C sorts and compares the same on every system, and is what the Kubernetes operators create.
  const locale = ['--encoding=UTF8', '--locale=C'];
  const sync = durable ? [] : ['--no-sync'];
  await asServer('initdb', ['-D', draft, '-U', 'postgres', ...locale, '--auth=reject', ...sync]);
  writeFileSync(join(draft, 'pg_hba.conf'), 'host all all 127.0.0.1/32 scram-sha-256\n');
  // Single-user mode needs no client, and passwords on standard input appear neither in `ps` nor in a log.
  const quiet = ['-c', 'exit_on_error=on', '-c', 'log_min_error_statement=panic'];
  const input = statements.map((sql) => `${sql}\n`).join('');
  const options = { what: 'Preparing the databases', env: environment, cwd: '/', as: user, input, signal };
  await run(join(binaries.folder, 'postgres'), ['--single', '-D', draft, ...quiet, 'postgres'], options);
}

/** Removes what interrupted starts left behind. @param {string} folder of the cluster */
export function removeDrafts(folder) {
  const parent = dirname(folder);
  if (!existsSync(parent)) return;
  for (const name of readdirSync(parent).filter((entry) => entry.startsWith(`${basename(folder)}.new-`))) {
    try {
      rmSync(join(parent, name), { recursive: true });
    } catch {
      // The initdb of a killed launcher may still write there; a later start removes it.
    }
  }
}

/**
 * @typedef {object} Serving
 * @property {number} port
 * @property {string} logFile
 * @property {Record<string, string | number>} settings
 * @property {import('./kept-process.mjs').Keeping['onEnd']} onEnd
 * @property {() => void} [onChange]
 * @property {Record<string, string> | undefined} [variables] environment variables in addition to its own
 */

/**
 * The server of a cluster, on loopback only, not started yet.
 * @param {Cluster} cluster
 * @param {Serving} serving
 */
export function serverOf({ folder, binaries, user }, { port, logFile, settings, onEnd, onChange, variables }) {
  const all = { listen_addresses: '127.0.0.1', port, unix_socket_directories: '', ...settings };
  const args = Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  return new KeptProcess({
    name: 'postgres',
    stopSteps,
    onEnd,
    onChange,
    launch: () => {
      const log = openSync(logFile, 'a', 0o600);
      try {
        return spawn(join(binaries.folder, 'postgres'), ['-D', folder, ...args], {
          // The launcher's folder may be inaccessible to the server's user.
          cwd: '/',
          env: { ...environment, ...variables },
          ...user,
          detached: true,
          stdio: ['ignore', log, log],
        });
      } finally {
        closeSync(log);
      }
    },
  });
}

/**
 * Waits until the server accepts connections, at least read-only. Reads its pid file, as `pg_ctl` does.
 * @param {string} folder
 * @param {KeptProcess} server
 * @param {AbortSignal} signal
 */
export async function serverReady(folder, server, signal) {
  while (!(server.mark && pidFile(folder)?.pid === server.mark.pid && pidFile(folder)?.ready)) {
    await sleep(20);
    signal.throwIfAborted();
  }
}

/** Stops a server that a killed launcher left running on this data. @param {string} folder */
export async function stopOrphan(folder) {
  const pid = pidFile(folder)?.pid;
  const mark = pid === undefined ? undefined : markOf(pid);
  if (mark && commandLine(mark.pid).includes(`-D ${folder} `)) await stopStranger(mark, stopSteps);
}

/** @param {string} folder */
function pidFile(folder) {
  try {
    const lines = readFileSync(join(folder, 'postmaster.pid'), 'utf8').split('\n');
    return { pid: Number(lines[0]), ready: ['ready', 'standby'].includes(lines[7]?.trim() ?? '') };
  } catch {
    return undefined;
  }
}
