// The last release of one service beside today's others, as while its next release is rolled out: on today's schema, called by
// today's callers, calling today's services.
import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../start/command.mjs';
import { StartError } from '../start/errors.mjs';
import { SERVICES } from '../start/services.mjs';
import { pinnedNode, ROOT } from '../start/toolchain.mjs';
import { readRelease } from './releases.mjs';

/** @typedef {import('../start/services.mjs').ServiceName} ServiceName */

export const usage = `npm run adjacent                       the last release of each service beside today's others, one after the other
npm run adjacent -- store              the store's
npm run adjacent -- store <commit>     the store of that commit`;

/**
 * @param {readonly string[]} args
 * @returns {{ service: ServiceName, ref: string }[]} which service is of which release; all others are of today
 */
export function parseMixes([name, commit, ...more]) {
  const services = name === undefined ? SERVICES : SERVICES.filter((one) => one === name);
  if (services.length === 0 || more.length > 0) throw new StartError(usage);
  return services.map((service) => ({ service, ref: commit ?? readRelease(service).release }));
}

/** What clients do, as the last release knows it: nothing that kills services or sets databases back. */
export const tour = '/(petstore|plants|images|orders|users|oauth|stream|webhooks)\\.spec\\.ts$';

/**
 * Builds a commit in a folder of its own.
 * @param {string} ref @param {string} folder @param {{ env: NodeJS.ProcessEnv, signal: AbortSignal }} means
 */
export async function buildRelease(ref, folder, { env, signal }) {
  const what = `Building ${ref}`;
  await run('git', ['clone', '--quiet', '--no-checkout', '--shared', ROOT, folder], { what, cwd: ROOT, env, signal });
  await run('git', ['checkout', '--quiet', '--detach', ref], { what, cwd: folder, env, signal });
  const { default: manifest } = await import(join(folder, 'package.json'), { with: { type: 'json' } });
  await run('npx', ['--yes', manifest.packageManager, 'install', '--frozen-lockfile'], { what, cwd: folder, env: { ...env, CI: 'true' }, signal });
  await run(pinnedNode(), ['node_modules/typescript/bin/tsc', '-b', '.'], { what, cwd: folder, env, signal });
}

/**
 * Builds of services as the launcher takes them from ARTEFACTS_DIR. The last release finds today's schema: migrations run before new
 * processes start, and beside the old ones.
 * @param {string} folder @param {string} release where the release was built @param {ServiceName} service that is of it
 */
export function mix(folder, release, service) {
  for (const one of SERVICES) {
    const today = join(ROOT, 'apps', one, 'dist');
    const own = one === service ? join(release, 'apps', one, 'dist') : today;
    mkdirSync(join(folder, one, 'dist'), { recursive: true });
    // Node finds what they import beside the files that these lead to.
    symlinkSync(join(own, 'main.js'), join(folder, one, 'dist', 'main.js'));
    symlinkSync(join(today, 'migrate.js'), join(folder, one, 'dist', 'migrate.js'));
  }
}
