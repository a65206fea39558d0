import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { attempt, run } from './command.mjs';
import { consoleIsBuilt, consoleSources, viteArguments } from './console-build.mjs';
import { fetchBinary } from './debian-package.mjs';
import { StartError } from './errors.mjs';
import { makePassage } from './files.mjs';
import { awaitLock } from './lock.mjs';
import { nodePackage } from './node-packages.mjs';
import { contentStamp, filesBelow, packageFolders, changeStamp } from './stamp.mjs';
import { cacheFolder } from './system-user.mjs';

/** The repository. */
export const ROOT = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '');

const OLDEST_NODE = [20, 19];

/**
 * @typedef {object} Need
 * @property {AbortSignal} signal
 * @property {(message: string) => void} say
 */

/** Throws if the platform or the Node version is not supported, before anything is changed. @param {string} [platform] @param {string} [arch] */
export function checkPlatform(platform = process.platform, arch = process.arch) {
  if (platform === 'win32') throw new StartError('Windows itself is not supported; inside WSL everything works.');
  nodePackage(platform, arch);
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const [oldestMajor = 0, oldestMinor = 0] = OLDEST_NODE;
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return;
  throw new StartError(`Node ${OLDEST_NODE.join('.')} or newer is needed; this is ${process.versions.node}.`);
}

/**
 * Installs and builds what changed since the last time.
 * @param {Need} need
 * @returns {Promise<NodeJS.ProcessEnv>} the environment in which `node` is the pinned runtime
 */
export async function readyToolchain({ signal, say }) {
  const release = await toolchainLock({ signal, say });
  try {
    await install({ signal, say });
    await readyNode({ signal, say });
    await build({ signal, say });
    return pinnedEnvironment();
  } finally {
    release();
  }
}

/**
 * Installs without building: `npm test` builds in a separate step.
 * @param {Need} need
 */
export async function readyPackages({ signal, say }) {
  const release = await toolchainLock({ signal, say });
  try {
    await install({ signal, say });
    await readyNode({ signal, say });
    return pinnedEnvironment();
  } finally {
    release();
  }
}

/** Builds everything that is out of date. @param {Need & { env: NodeJS.ProcessEnv }} need @returns {Promise<boolean>} whether it compiles */
export async function compile({ signal, say, env }) {
  const release = await toolchainLock({ signal, say });
  try {
    const stamp = sourceStamp();
    const { code } = await attempt(pinnedNode(), tsc('-b'), { cwd: ROOT, env, show: true, signal });
    if (code !== 0) return false;
    saveStamp('build', stamp);
    return await bundleConsole({ signal, say, env });
  } finally {
    release();
  }
}

/**
 * Checks the types of plain JavaScript in tools and tests. They depend on the declarations that `compile` writes, and `npm start` does
 * not wait for this check.
 * @param {Omit<Need, 'say'> & { env: NodeJS.ProcessEnv }} need
 * @returns {Promise<boolean>} whether they are consistent
 */
export async function checkScripts({ signal, env }) {
  const { code } = await attempt(pinnedNode(), tsc('-p', 'tsconfig.scripts.json'), { cwd: ROOT, env, show: true, signal });
  return code === 0;
}

/** Returns the binary of the pinned Node for this machine. */
export function pinnedNode() {
  const binary = join(ROOT, 'node_modules', nodePackage(), 'bin', 'node');
  if (existsSync(binary)) return binary;
  throw new StartError(`The package ${nodePackage()} is not installed. Remove node_modules, then npm start.`);
}

/** Node's compile cache, which makes services start noticeably sooner. */
const compileCache = join(ROOT, 'node_modules', '.cache', 'compiled');

/** @returns {NodeJS.ProcessEnv} */
function pinnedEnvironment() {
  return { ...process.env, PATH: `${dirname(pinnedNode())}:${process.env['PATH'] ?? ''}`, NODE_COMPILE_CACHE: compileCache };
}

/** @param {Need} need */
async function install({ signal, say }) {
  const manifests = packageFolders(ROOT).map((folder) => join(folder, 'package.json'));
  const inputs = ['pnpm-lock.yaml', 'pnpm-workspace.yaml', 'package.json'].map((file) => join(ROOT, file));
  const stamp = contentStamp([...inputs, ...manifests], [process.platform, process.arch]);
  if (savedStamp('install') === stamp) return;
  const manager = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).packageManager;
  say(`Installing packages (${manager})`);
  // CI: never prompt, even with a terminal.
  const env = { ...process.env, CI: 'true' };
  await run('npx', ['--yes', manager, 'install', '--frozen-lockfile'], { what: 'Installing packages', cwd: ROOT, env, show: true, signal });
  saveStamp('install', stamp);
}

/** Node 26 needs it, and small systems lack it. */
const LIBATOMIC = 'libatomic.so.1';

/**
 * Makes the pinned Node run: if its library is missing, extracts Debian's into the cache, without installing it, and adds it to
 * the environment of later processes.
 * @param {Need} need
 */
async function readyNode({ signal, say }) {
  const { code, output } = await attempt(pinnedNode(), ['--version'], { signal });
  if (code === 0) return;
  if (!output.includes(LIBATOMIC)) throw new StartError(`The pinned Node does not run on this machine:\n${output.trimEnd()}`);
  const folder = join(cacheFolder(undefined), 'lib');
  const library = join(folder, LIBATOMIC);
  mkdirSync(folder, { recursive: true });
  if (!existsSync(library) && !(await fetchBinary({ name: 'libatomic1', binary: LIBATOMIC }, library, { signal, say }))) {
    throw new StartError(`The pinned Node needs the library ${LIBATOMIC}: install it (Debian, Ubuntu: libatomic1; Fedora: libatomic), and run this again.`);
  }
  // npm would run its next command with this Node, without the library's path.
  rmSync(join(ROOT, 'node_modules', '.bin', 'node'), { force: true });
  process.env['LD_LIBRARY_PATH'] = [folder, process.env['LD_LIBRARY_PATH'] ?? []].flat().join(':');
}

/** @param {Need} need */
async function build({ signal, say }) {
  const stamp = sourceStamp();
  const unbuilt = packageFolders(ROOT).some((folder) => existsSync(join(folder, 'src')) && !existsSync(join(folder, 'dist')));
  if (savedStamp('build') !== stamp || unbuilt) {
    say('Building');
    // tsc does not notice deleted output.
    await run(pinnedNode(), [...tsc('-b'), ...(unbuilt ? ['--force'] : [])], { what: 'Building', cwd: ROOT, env: pinnedEnvironment(), show: true, signal });
    saveStamp('build', stamp);
  }
  if (!(await bundleConsole({ signal, say, env: pinnedEnvironment() }))) throw new StartError('The console could not be built.');
}

/** Builds the console's bundle; tsc checks its types. @param {Need & { env: NodeJS.ProcessEnv }} need @returns {Promise<boolean>} whether it succeeded */
async function bundleConsole({ signal, say, env }) {
  const stamp = changeStamp(consoleSources(ROOT));
  if (savedStamp('console') === stamp && consoleIsBuilt(ROOT)) return true;
  say('Building the console');
  const { code } = await attempt(pinnedNode(), viteArguments, { cwd: join(ROOT, 'apps', 'console'), env, show: true, signal });
  if (code === 0) saveStamp('console', stamp);
  return code === 0;
}

const tsc = (/** @type {string[]} */ ...args) => [join(ROOT, 'node_modules/typescript-7/bin/tsc'), ...args];

function sourceStamp() {
  const sources = packageFolders(ROOT).flatMap((folder) => filesBelow(folder, /\.(tsx?|json|sql)$/));
  return changeStamp([...sources, join(ROOT, 'tsconfig.json'), join(ROOT, 'tsconfig.base.json')]);
}

/** Concurrent starts in one checkout would overwrite each other's packages and output. @param {Need} need */
function toolchainLock({ signal, say }) {
  const folder = join(ROOT, '.data');
  makePassage(folder);
  return awaitLock(join(folder, 'toolchain.lock'), { signal, onWait: (pid) => say(`Waiting for process ${pid}, which installs or builds here`) });
}

/** Stamps are in node_modules, so deleting node_modules also invalidates them. @param {string} name */
const stampFile = (name) => join(ROOT, 'node_modules', '.cache', `${name}-stamp`);

/** @param {string} name */
function savedStamp(name) {
  return existsSync(stampFile(name)) ? readFileSync(stampFile(name), 'utf8') : undefined;
}

/** @param {string} name @param {string} stamp */
function saveStamp(name, stamp) {
  mkdirSync(dirname(stampFile(name)), { recursive: true });
  writeFileSync(stampFile(name), stamp);
}
