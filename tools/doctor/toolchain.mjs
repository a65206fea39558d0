import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { attempt } from '../start/command.mjs';
import { nodePackage } from '../start/node-packages.mjs';
import { checkPlatform, pinnedNode } from '../start/toolchain.mjs';
import { passed, reasonOf, unknown, wrong } from './finding.mjs';

/** @typedef {import('./finding.mjs').Finding} Finding */

const START = 'npm start installs and builds it';

/** Checks versions, packages and build, which everything else needs. @param {string} root @returns {Promise<Finding[]>} */
export async function checkToolchain(root) {
  const packages = checkPackages(root);
  const isInstalled = packages.state === 'passed';
  return [
    checkNode(),
    packages,
    isInstalled ? await checkRuntime(root) : unknown('runtime', 'not checked: it is one of the packages', START),
    isInstalled ? await checkBuild(root) : unknown('build', 'not checked: the compiler is one of the packages', START),
  ];
}

/** Checks the Node that runs the tools. */
export function checkNode() {
  try {
    checkPlatform();
    return passed('Node', process.versions.node);
  } catch (error) {
    return wrong('Node', reasonOf(error), 'install a newer Node');
  }
}

/** Checks that the installed packages match the lock file and were installed by the pinned pnpm. @param {string} root */
export function checkPackages(root) {
  const read = (/** @type {string} */ file) => (existsSync(join(root, file)) ? readFileSync(join(root, file), 'utf8') : undefined);
  // pnpm leaves a copy of the lock file that it installed.
  const followed = read('node_modules/.pnpm/lock.yaml');
  if (followed === undefined) return wrong('packages', 'not installed', START);
  if (followed !== read('pnpm-lock.yaml')) return wrong('packages', 'the installed packages differ from pnpm-lock.yaml', START);
  const pinned = JSON.parse(read('package.json') ?? '{}').packageManager;
  const used = /"?packageManager"?: "?(pnpm@[^",\s]+)/.exec(read('node_modules/.modules.yaml') ?? '')?.[1];
  if (used !== pinned) return wrong('packages', `installed by ${used ?? 'an unknown program'}, not ${pinned}`, 'remove node_modules, then npm start');
  return passed('packages', `match pnpm-lock.yaml, installed by ${used}`);
}

/** Checks the Node that runs the services. @param {string} root @returns {Promise<Finding>} */
async function checkRuntime(root) {
  const { optionalDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const wanted = optionalDependencies[nodePackage()];
  try {
    const { code, output } = await attempt(pinnedNode(), ['--version'], { cwd: root });
    const version = output.trim();
    if (code === 0 && version === `v${wanted}`) return passed('runtime', `Node ${wanted} for the services`);
    return wrong('runtime', `the services' Node is ${version}, not ${wanted}`, 'remove node_modules, then npm start');
  } catch (error) {
    return wrong('runtime', reasonOf(error), 'remove node_modules, then npm start');
  }
}

/** Asks the compiler whether the build is current. @param {string} root @returns {Promise<Finding>} */
async function checkBuild(root) {
  const { code, output } = await attempt(pinnedNode(), ['node_modules/typescript-7/bin/tsc', '-b', '--dry'], { cwd: root });
  if (code !== 0) return wrong('build', `compiler: ${output.trim()}`, 'npm run build');
  const stale = staleProjects(output, root);
  return stale.length === 0 ? passed('build', 'up to date') : wrong('build', `older than its sources: ${stale.join(', ')}`, 'npm run build, or npm start');
}

/** @param {string} output of `tsc -b --dry` @param {string} root */
export const staleProjects = (output, root) =>
  [...output.matchAll(/would (?:build|update)[^']*'([^']+)\/tsconfig\.json'/g)].map(([, path = '']) => path.replace(`${root}/`, ''));
