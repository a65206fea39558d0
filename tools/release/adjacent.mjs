// The release before and this one side by side, as during a deployment: its processes on today's schema, and mixed with today's.
import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../start/command.mjs';
import { SERVICES } from '../start/services.mjs';
import { pinnedNode, ROOT } from '../start/toolchain.mjs';

/** @typedef {import('../start/services.mjs').ServiceName} ServiceName */

/** Who is of the release before. Every service meets every neighbour of the other release. @type {readonly (readonly ServiceName[])[]} */
export const mixes = [SERVICES, ['gateway', 'store'], ['catalog', 'identity', 'notifications']];

/** What clients do, as the release before knows it: nothing that kills services or sets databases back. */
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
 * Builds of services as the launcher takes them from ARTEFACTS_DIR. Whoever is of the release before finds the schema of today:
 * migrations run before new processes start, and beside the old ones.
 * @param {string} folder @param {string} release where that was built @param {readonly ServiceName[]} before who is of it
 */
export function mix(folder, release, before) {
  for (const service of SERVICES) {
    const today = join(ROOT, 'apps', service, 'dist');
    const own = before.includes(service) ? join(release, 'apps', service, 'dist') : today;
    mkdirSync(join(folder, service, 'dist'), { recursive: true });
    // Node finds what they import beside the files that these lead to.
    symlinkSync(join(own, 'main.js'), join(folder, service, 'dist', 'main.js'));
    symlinkSync(join(today, 'migrate.js'), join(folder, service, 'dist', 'migrate.js'));
  }
}
