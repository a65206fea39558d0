import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { attempt, run } from './command.mjs';
import { newerSuiteOf, sourcesOfSuite } from './debian-suites.mjs';
import { onPath } from './path.mjs';
import { cacheFolder } from './system-user.mjs';

/** @typedef {(...args: string[]) => Promise<{ code: number, output: string }>} Apt */

/**
 * Downloads a package of Debian or Ubuntu without root and extracts one file; installs nothing. apt verifies the
 * signatures.
 * @param {object} wanted
 * @param {string} wanted.name of the package
 * @param {string} wanted.binary name of the program or library in it
 * @param {boolean} [wanted.newest] prefers the package of the distribution's next release, if that program runs here
 * @param {string} target path of the extracted file
 * @param {{ signal: AbortSignal, say: (message: string) => void }} options
 * @returns {Promise<boolean>} whether it was fetched; false on other systems and without a network
 */
export async function fetchBinary({ name, binary, newest = false }, target, { signal, say }) {
  if (!onPath('apt-get') || !onPath('dpkg-deb')) return false;
  say(`Fetching ${binary} from the package ${name}`);
  const cache = cacheFolder(undefined);
  mkdirSync(cache, { recursive: true });
  const work = mkdtempSync(join(cache, `${name}-`));
  // As root, apt would download as its own user, which cannot write to this folder.
  const options = ['-q', '-o', 'APT::Sandbox::User=root', '-o', 'Acquire::http::Timeout=15', '-o', 'Acquire::https::Timeout=15'];
  /** @type {Apt} */
  const apt = (...args) => attempt('apt-get', [...options, ...args], { cwd: work, signal });
  try {
    for (const fetch of newest ? [fromNewerSuite, fromOwnSuite] : [fromOwnSuite]) {
      if (!(await fetch(apt, name, work))) continue;
      const file = await unpack({ name, binary, work, signal });
      if (!file || (newest && !(await runsHere(file, signal)))) continue;
      // Libraries are symbolic links to a versioned file.
      renameSync(realpathSync(file), target);
      return true;
    }
    return false;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** @param {Apt} apt @param {string} name @param {string} work @returns {Promise<boolean>} */
async function fromOwnSuite(apt, name, work) {
  if ((await apt('download', name)).code === 0) return true;
  // The machine's package lists are missing or outdated: use temporary ones.
  return fromFreshLists(apt, name, privateLists(join(work, 'own')));
}

/** @param {Apt} apt @param {string} name @param {string} work @returns {Promise<boolean>} */
async function fromNewerSuite(apt, name, work) {
  const newer = newerSuiteOf(readFileSync('/etc/os-release', 'utf8'));
  if (!newer) return false;
  const parts = join(work, 'newer', 'sources');
  mkdirSync(parts, { recursive: true });
  for (const file of sourceFiles()) {
    const sources = sourcesOfSuite(file, readFileSync(file, 'utf8'), newer);
    if (sources !== '') writeFileSync(join(parts, basename(file)), sources);
  }
  if (readdirSync(parts).length === 0) return false;
  const onlyThese = ['-o', 'Dir::Etc::sourcelist=/dev/null', '-o', `Dir::Etc::sourceparts=${parts}`];
  return fromFreshLists(apt, name, [...privateLists(join(work, 'newer')), ...onlyThese]);
}

/** @param {Apt} apt @param {string} name @param {string[]} lists */
async function fromFreshLists(apt, name, lists) {
  await apt(...lists, 'update');
  return (await apt(...lists, 'download', name)).code === 0;
}

/** @param {string} folder @returns {string[]} */
function privateLists(folder) {
  mkdirSync(join(folder, 'lists', 'partial'), { recursive: true });
  mkdirSync(join(folder, 'cache', 'archives', 'partial'), { recursive: true });
  return ['-o', `Dir::State::lists=${join(folder, 'lists')}`, '-o', `Dir::Cache=${join(folder, 'cache')}`];
}

/** The machine's package sources. */
function sourceFiles() {
  const parts = '/etc/apt/sources.list.d';
  const files = existsSync(parts) ? readdirSync(parts).map((file) => join(parts, file)) : [];
  return ['/etc/apt/sources.list', ...files].filter((file) => /\.(list|sources)$/.test(file) && existsSync(file));
}

/** @param {{ name: string, binary: string, work: string, signal: AbortSignal }} what @returns {Promise<string | undefined>} the file */
async function unpack({ name, binary, work, signal }) {
  const archive = readdirSync(work).find((file) => file.endsWith('.deb')) ?? '';
  const unpacked = join(work, 'unpacked');
  rmSync(unpacked, { recursive: true, force: true });
  await run('dpkg-deb', ['-x', archive, unpacked], { what: `Unpacking ${name}`, cwd: work, signal });
  rmSync(join(work, archive));
  const found = readdirSync(unpacked, { recursive: true, encoding: 'utf8' }).find((path) => isProgramOrLibrary(path, binary));
  return found && join(unpacked, found);
}

/** A program of a newer release may need a newer libc than this machine has. @param {string} program @param {AbortSignal} signal */
const runsHere = async (program, signal) => (await attempt(program, ['--version'], { signal })).code === 0;

/** @param {string} path within the package @param {string} name */
const isProgramOrLibrary = (path, name) => /^usr\/(bin|sbin|lib)\//.test(path) && basename(path) === name;
