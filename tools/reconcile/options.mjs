import { parseArgs } from 'node:util';
import { StartError } from '../start/errors.mjs';
import { runningShop } from '../start/run-file.mjs';

export const usage = `Finds and mends what no longer fits together after one of the shop's databases was set back to a backup.

  npm run reconcile                  mends, and says what is left to you
  npm run reconcile -- --dry-run     only looks
  npm run reconcile -- --many        mends also where more would go than a backup usually explains
  npm run reconcile -- --json        one JSON line for each finding, and a last one with the totals

Exit code: 0 nothing is left, 1 something is left to you, 2 it could not run.
It finds the shop of npm start by RUN_FILE or DATA_DIR, any other by NATS_URL and OPERATOR_NATS_PASSWORD,
and with TLS by NATS_CA.
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
 * Where the shop's NATS is, and what lets us in.
 * @param {NodeJS.ProcessEnv} env
 * @returns {{ url: string, password: string | undefined, ca?: string }} no password: a server that wants none
 */
export function natsOf(env) {
  const { NATS_URL: given, NATS_CA: ca } = env;
  if (given) return { url: given, password: env['OPERATOR_NATS_PASSWORD'], ...(ca && { ca }) };
  const { nats, path } = runningShop(env, 'its NATS server by NATS_URL');
  if (!nats) throw new StartError(`The shop of ${path} uses a NATS server of yours: name it by NATS_URL and OPERATOR_NATS_PASSWORD.`);
  return { url: nats.url, password: nats.users['operator'] };
}
