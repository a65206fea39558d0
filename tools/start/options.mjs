import { parseArgs } from 'node:util';
import { StartError } from './errors.mjs';
import { SERVICES } from './services.mjs';

export const usage = `Starts the whole plant shop on this machine.

  npm start                     keeps its data from last time
  npm start -- --fresh          throws the data of earlier runs away first
  npm start -- --quiet          shows only warnings and errors of the services (the log files hold everything)
  npm start -- --store 2        runs several replicas of a service (${SERVICES.join(', ')})

Variables: see tools/start/README.md`;

/**
 * @typedef {object} Options
 * @property {boolean} help
 * @property {boolean} fresh
 * @property {boolean} quiet
 * @property {Record<import('./services.mjs').ServiceName, number>} replicas
 */

/** @param {string[]} args @returns {Options} */
export function parseOptions(args) {
  const { help, fresh, quiet, ...counts } = parse(args);
  const replicas = Object.fromEntries(SERVICES.map((name) => [name, replicaCount(name, counts[name])]));
  return {
    help: help === true,
    fresh: fresh === true,
    quiet: quiet === true,
    replicas: /** @type {Options['replicas']} */ (replicas),
  };
}

/** @param {string[]} args @returns {Record<string, string | boolean | undefined>} */
function parse(args) {
  /** @type {Record<string, { type: 'boolean' | 'string', short?: string }>} */
  const known = { help: { type: 'boolean', short: 'h' }, fresh: { type: 'boolean' }, quiet: { type: 'boolean' } };
  for (const name of SERVICES) known[name] = { type: 'string' };
  try {
    return /** @type {Record<string, string | boolean | undefined>} */ (parseArgs({ args, options: known }).values);
  } catch (error) {
    throw new StartError(`${/** @type {Error} */ (error).message}\n\n${usage}`);
  }
}

/** @param {string} name @param {string | boolean | undefined} text */
function replicaCount(name, text) {
  const count = Number(text ?? 1);
  if (Number.isInteger(count) && count >= 1 && count <= 16) return count;
  throw new StartError(`--${name} ${text}: the number of replicas is 1 to 16.`);
}
