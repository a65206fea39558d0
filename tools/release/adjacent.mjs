// Runs the last release of one service with today's others, as during the rollout of its next release: on today's schema, with
// today's callers and callees.
import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { attempt, run } from '../start/command.mjs';
import { StartError } from '../start/errors.mjs';
import { SERVICES } from '../start/services.mjs';
import { ROOT } from '../start/toolchain.mjs';
import { readRelease } from './releases.mjs';

/** @typedef {import('../start/services.mjs').ServiceName} ServiceName */

export const usage = `npm run adjacent                       the last release of each service beside today's others, one after the other
npm run adjacent -- store              only the store's
npm run adjacent -- store <commit>     the store of that commit`;

/**
 * @param {readonly string[]} args
 * @returns {{ service: ServiceName, ref: string }[]} which service runs which release; all others are today's
 */
export function parseMixes([name, commit, ...more]) {
  const services = name === undefined ? SERVICES : SERVICES.filter((one) => one === name);
  if (services.length === 0 || more.length > 0) throw new StartError(usage);
  const mixes = services.map((service) => ({ service, ref: commit ?? readRelease(service).release })).filter(({ ref }) => ref !== '');
  if (mixes.length === 0) throw new StartError(`${name ?? 'No service'} ${name ? 'has not been' : 'was'} released yet. Name a commit: npm run adjacent -- store <commit>`);
  return mixes;
}

/** The last release's tests of client behaviour, without those that kill services or restore databases. */
export const tour = '/(petstore|plants|images|orders|users|oauth|stream|webhooks)\\.spec\\.ts$';

/** Begins the entry of a test of the last release under `wanted`: it expects what was changed on purpose since. */
export const testOfRelease = 'acceptance: ';

/** Returns the pattern of the names of the tests that hold: all but those under `wanted`. @param {readonly string[]} wanted */
export function namesOfTests(wanted) {
  const names = wanted.filter((one) => one.startsWith(testOfRelease)).map((one) => one.slice(testOfRelease.length));
  return `^(?!(${names.map((name) => name.replace(/[^\w ]/g, '\\$&')).join('|')})$)`;
}

/**
 * Returns the commit that a name means. A clone without tags still has the commits that wrote the releases.
 * @param {string} ref @param {string} [root] @returns {Promise<string>} @throws StartError
 */
export async function commitOf(ref, root = ROOT) {
  const git = (/** @type {string[]} */ ...args) => attempt('git', args, { cwd: root });
  const named = await git('rev-parse', '--quiet', '--verify', `${ref}^{commit}`);
  if (named.code === 0) return named.output.trim();
  const written = await git('log', '--reverse', '--format=%H', `-S"release": "${ref}"`, '--', 'releases');
  const [first = ''] = written.output.split('\n');
  if (first === '') throw new StartError(`${ref} is neither a commit nor a tag of this clone, and no commit of it wrote the release.`);
  return first;
}

/**
 * Builds a commit in a separate folder.
 * @param {string} commit @param {string} folder @param {{ env: NodeJS.ProcessEnv, signal: AbortSignal }} means
 */
export async function buildRelease(commit, folder, { env, signal }) {
  const what = `Building ${commit}`;
  await run('git', ['clone', '--quiet', '--no-checkout', '--shared', ROOT, folder], { what, cwd: ROOT, env, signal });
  await run('git', ['checkout', '--quiet', '--detach', commit], { what, cwd: folder, env, signal });
  const { default: manifest } = await import(join(folder, 'package.json'), { with: { type: 'json' } });
  await run('npx', ['--yes', manifest.packageManager, 'install', '--frozen-lockfile'], { what, cwd: folder, env: { ...env, CI: 'true' }, signal });
  await run(join(folder, 'node_modules/.bin/tsc'), ['-b', '.'], { what, cwd: folder, env, signal });
}

/**
 * Arranges builds of services for the launcher's ARTEFACTS_DIR. The last release gets today's schema, because migrations run before
 * new processes start, while old ones still serve.
 * @param {string} folder @param {string} release folder of the release's build @param {ServiceName} service that the release provides
 */
export function mix(folder, release, service) {
  for (const one of SERVICES) {
    const today = join(ROOT, 'apps', one, 'dist');
    const own = one === service ? join(release, 'apps', one, 'dist') : today;
    mkdirSync(join(folder, one, 'dist'), { recursive: true });
    // Node resolves imports from the targets of the links.
    symlinkSync(join(own, 'main.js'), join(folder, one, 'dist', 'main.js'));
    symlinkSync(join(today, 'migrate.js'), join(folder, one, 'dist', 'migrate.js'));
  }
}
