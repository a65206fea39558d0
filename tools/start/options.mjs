import { parseArgs } from 'node:util';
import { StartError } from './errors.mjs';
import { SERVICES } from './services.mjs';

export const usage = `Starts the whole plant shop on this machine.

  npm start                     keeps the data of earlier runs
  npm start -- --fresh          deletes the data of earlier runs first, and adds the demo data again
  npm start -- --sandbox        runs a sandbox, with data of its own in .data/sandbox
  npm start -- --jetstream      also runs a NATS server with JetStream, for destinations
  npm start -- --quiet          shows only warnings and errors of the services (the log files hold everything)
  npm start -- --store 2        runs several replicas of a service (${SERVICES.join(', ')})
  npm start -- --without store  leaves services out (several: store,catalog) and prints how to run your own instead

Variables: see tools/start/README.md`;

/**
 * @typedef {object} Options
 * @property {boolean} help
 * @property {boolean} fresh
 * @property {boolean} sandbox
 * @property {boolean} quiet
 * @property {boolean} jetstream
 * @property {boolean} demo fills a new data folder with demo data
 * @property {Record<import('./services.mjs').ServiceName, number>} replicas
 * @property {import('./services.mjs').ServiceName[]} without services that the user runs
 */

/** @param {string[]} args @returns {Options} */
export function parseOptions(args) {
  const { help, fresh, sandbox, quiet, jetstream, demo, without, ...counts } = parse(args);
  const leftOut = servicesIn(/** @type {string[] | undefined} */ (without) ?? []);
  for (const name of leftOut) {
    if (counts[name] !== undefined) throw new StartError(`--${name} and --without ${name} exclude each other.`);
  }
  const replicas = Object.fromEntries(SERVICES.map((name) => [name, replicaCount(name, counts[name])]));
  return {
    help: help === true,
    fresh: fresh === true,
    sandbox: sandbox === true,
    quiet: quiet === true,
    jetstream: jetstream === true,
    demo: demo === true,
    replicas: /** @type {Options['replicas']} */ (replicas),
    without: leftOut,
  };
}

/** @typedef {string | boolean | (string | boolean)[] | undefined} Value */

/** @param {string[]} args @returns {Record<string, Value>} */
function parse(args) {
  /** @type {Record<string, { type: 'boolean' | 'string', short?: string, multiple?: boolean }>} */
  const known = {
    help: { type: 'boolean', short: 'h' },
    fresh: { type: 'boolean' },
    sandbox: { type: 'boolean' },
    quiet: { type: 'boolean' },
    jetstream: { type: 'boolean' },
    demo: { type: 'boolean' },
    without: { type: 'string', multiple: true },
  };
  for (const name of SERVICES) known[name] = { type: 'string' };
  try {
    return parseArgs({ args, options: known }).values;
  } catch (error) {
    throw new StartError(`${/** @type {Error} */ (error).message}\n\n${usage}`);
  }
}

/** @param {string[]} lists each of names separated by commas */
function servicesIn(lists) {
  const names = lists.flatMap((list) => list.split(',')).map((name) => name.trim());
  const unknown = names.filter((name) => !SERVICES.some((service) => service === name));
  if (unknown.length > 0) throw new StartError(`--without ${unknown.join(',')}: the services are ${SERVICES.join(', ')}.`);
  return SERVICES.filter((service) => names.includes(service));
}

/** @param {string} name @param {Value} text */
function replicaCount(name, text) {
  const count = Number(text ?? 1);
  if (Number.isInteger(count) && count >= 1 && count <= 16) return count;
  throw new StartError(`--${name} ${text}: the number of replicas is 1 to 16.`);
}
