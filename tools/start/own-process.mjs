import { relative } from 'node:path';
import { run } from './command.mjs';
import { DATABASES } from './credentials.mjs';
import { ownerVariable } from './databases.mjs';
import { StartError } from './errors.mjs';
import { writePrivately } from './files.mjs';
import { nextFreePort } from './ports.mjs';
import { pinnedNode, ROOT } from './toolchain.mjs';

/** Node's default, which editors and browsers try first. */
const FIRST_INSPECTOR_PORT = 9229;

/**
 * A service that a developer runs instead of the launcher's.
 * @typedef {object} LeftOut
 * @property {import('./services.mjs').ServiceName} service
 * @property {NodeJS.ProcessEnv} env the environment that `npm start` would use
 * @property {string} file with the environment, for the developer's process
 * @property {string | undefined} ownerUrl of its database, for migrations
 */

/**
 * Writes the environment of a developer's own process.
 * @param {LeftOut} leftOut
 * @param {NodeJS.ProcessEnv} inherited variables that every process on this machine has
 * @param {AbortSignal} signal
 */
export async function writeEnvironment({ service, env, file, ownerUrl }, inherited, signal) {
  const names = await settingsOf(service, signal);
  const needed = Object.entries(env).filter(([name, value]) => names.includes(name) || value !== inherited[name]);
  writePrivately(file, environmentFile(Object.fromEntries(needed), migrationHint({ service, file, ownerUrl })));
}

/** The variables that a service reads. @param {string} service @param {AbortSignal} signal @returns {Promise<string[]>} */
async function settingsOf(service, signal) {
  const what = `Reading the settings of ${service}`;
  return JSON.parse(await run(pinnedNode(), ['tools/settings/variables.mjs', service], { what, cwd: ROOT, signal }));
}

/**
 * Returns lines that `node --env-file` and shells read alike.
 * @param {NodeJS.ProcessEnv} env
 * @param {string[]} comments
 */
export function environmentFile(env, comments = []) {
  const lines = Object.entries(env).map(([name, value = '']) => `${name}=${quoted(name, value)}`);
  return [...comments.map((comment) => `# ${comment}`), ...lines, ''].join('\n');
}

/** @param {string} name @param {string} value */
function quoted(name, value) {
  if (!value.includes("'")) return `'${value}'`;
  if (!/["$`\\]/.test(value)) return `"${value}"`;
  throw new StartError(`${name} holds both kinds of quotes, or a quote and one of $ \` \\: it cannot be written to a file that Node and a shell read alike.`);
}

/** @param {Pick<LeftOut, 'service' | 'file' | 'ownerUrl'>} leftOut @returns {string[]} */
function migrationHint({ service, file, ownerUrl }) {
  if (!DATABASES.some((name) => name === service)) return [];
  const owner = ownerUrl ? `${ownerVariable(service)}='${ownerUrl}' ` : '';
  return [`The database is migrated. After a new migration: ${owner}${node()} --env-file=${fromRoot(file)} apps/${service}/dist/migrate.js`];
}

/** Returns how to run each of them. @param {Pick<LeftOut, 'service' | 'file'>[]} leftOut */
export async function instructions(leftOut) {
  const parts = [];
  for (const { service, file } of leftOut) {
    const port = await nextFreePort(FIRST_INSPECTOR_PORT);
    const env = fromRoot(file);
    parts.push(`
  Run ${service} yourself, in ${ROOT}:

    ${node()} --env-file=${env} --watch --inspect=127.0.0.1:${port} apps/${service}/dist/main.js

  build as you save   node_modules/.bin/tsc -b --watch apps/${service}    (--watch above restarts it)
  debugger            attach to 127.0.0.1:${port}
  in a shell          set -a; . ${env.startsWith('/') ? env : `./${env}`}; set +a
`);
  }
  return parts.join('');
}

const node = () => relative(ROOT, pinnedNode());

/** @param {string} file a path to type in the checkout */
function fromRoot(file) {
  const path = relative(ROOT, file);
  return path.startsWith('..') ? file : path;
}
