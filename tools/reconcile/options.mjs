import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { StartError } from '../start/errors.mjs';

export const usage = `Finds and repairs differences between the shop's databases after one was restored from a backup.

  npm run reconcile                  repairs differences, and lists what is left to do
  npm run reconcile -- --dry-run     only reports
  npm run reconcile -- --many        repairs even if that removes more than a backup usually explains
  npm run reconcile -- --json        prints a JSON line per finding, and one with the totals

Exit code: 0 nothing is left, 1 something is left to do, 2 it could not run or finish.
It finds the shop of npm start by RUN_FILE or DATA_DIR, any other shop by NATS_URL and OPERATOR_NATS_PASSWORD
(or OPERATOR_NATS_PASSWORD_FILE), and with TLS by NATS_CA. In a cluster it runs as a Job.
See docs/operations/reconcile.md`;

/**
 * @typedef {object} Options
 * @property {boolean} help
 * @property {boolean} dryRun
 * @property {boolean} many
 * @property {boolean} json
 */

/** @param {string[]} args @returns {Options} */
export function parseOptions(args) {
  const flag = /** @type {const} */ ({ type: 'boolean', default: false });
  try {
    const { values } = parseArgs({ args, options: { help: { ...flag, short: 'h' }, 'dry-run': flag, many: flag, json: flag } });
    return { help: values.help, dryRun: values['dry-run'], many: values.many, json: values.json };
  } catch (error) {
    throw new StartError(`${/** @type {Error} */ (error).message}\n\n${usage}`);
  }
}

/**
 * Returns the address of the shop's NATS and the password for it.
 * @param {NodeJS.ProcessEnv} env
 * @returns {Promise<{ url: string, password: string | undefined, ca?: string }>} no password: the server requires none
 */
export async function natsOf(env) {
  const { NATS_URL: given, NATS_CA: ca, OPERATOR_NATS_PASSWORD_FILE: file } = env;
  const password = file ? readFileSync(file, 'utf8').trim() : env['OPERATOR_NATS_PASSWORD'];
  if (given) return { url: given, password, ...(ca && { ca }) };
  // The image has no launcher.
  const { runningShop } = await import('../start/run-file.mjs');
  const { nats, path } = runningShop(env, 'set NATS_URL to its NATS server');
  if (!nats) throw new StartError(`The shop of ${path} uses your own NATS server: set NATS_URL and OPERATOR_NATS_PASSWORD.`);
  return { url: nats.url, password: nats.users['operator'] };
}
