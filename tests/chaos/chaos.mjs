// Entry point for main.mjs and tools/test. Expects the pinned Node, its environment, and a finished build.
import { cpSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { explain, StartError } from '../../tools/start/errors.mjs';
import { Shutdown, stopOnSignals } from '../../tools/start/shutdown.mjs';
import { ROOT } from '../../tools/start/toolchain.mjs';
import { temporaryFolder } from '../../tools/test/folder.mjs';
import { findChromium } from '../console/kit/chromium-binary.mjs';
import { BuildCopy } from './dist/prove/build-copy.js';
import { proofNames, prove } from './dist/prove/prove.js';
import { goalNames, run } from './dist/run.js';
import { drill } from './drill.mjs';
import { Stack } from './stack.mjs';

const usage = `Starts a private shop, injects faults, and checks every response against the guarantees.

  npm run chaos                               ${goalNames.join(', ')}, 10 minutes
  npm run chaos -- --seed 7 --minutes 60      the plan of a seed is the same each time
  npm run chaos -- --only R2,R5
  npm run chaos -- --short                    what every build runs: 2.3 minutes, seed 1
  npm run chaos -- --keep-logs <folder>       copies the services' logs there at the end
  npm run chaos -- --report <file>            writes the numbers of passed and failed goals as JSON
  npm run chaos -- --prove                    seeds bugs, one at a time, and checks that each is detected
  npm run chaos -- --prove early-expiry       only these bugs, of ${proofNames.join(', ')}
  npm run drill                               restores the store's database instead, by the runbook's commands`;

const stop = stopOnSignals();
process.exit(await main());

/** @returns {Promise<number>} the exit code */
async function main() {
  const shutdown = new Shutdown(/** @type {const} */ (['shop', 'temporary folder']), (step, error) => console.log(`Stopping failed (${step}): ${explain(error)}`));
  let outcome = { passed: 0, failed: 1 };
  try {
    const options = optionsOf(process.argv.slice(2));
    if (!options) {
      console.log(usage);
      return 0;
    }
    if (!options.drills) console.log(`Seed ${options.seed}`);
    const folder = temporaryFolder(shutdown);
    outcome = await (options.drills ? restore(folder, options, shutdown) : options.proves ? proof(folder, options) : trial(folder, options, shutdown));
    if (options.report) writeFileSync(options.report, JSON.stringify(outcome));
  } catch (error) {
    console.log(`\n${explain(error)}`);
  }
  await shutdown.run();
  console.log(`\n${outcome.passed} passed, ${outcome.failed} failed`);
  return outcome.failed === 0 ? 0 : 1;
}

/**
 * @param {string} folder
 * @param {NonNullable<ReturnType<typeof optionsOf>>} options
 * @param {Shutdown<'shop' | 'temporary folder'>} shutdown
 */
async function trial(folder, options, shutdown) {
  // A NATS cluster, as in production; a build on few cores has no time for three servers.
  const natsServers = options.isShort ? 1 : 3;
  const stack = await Stack.start(join(folder, 'shop'), { signal: stop.signal, natsServers, ownClocks: !options.isShort });
  shutdown.add('shop', async () => {
    if (options.keepLogs && existsSync(stack.logs)) cpSync(stack.logs, options.keepLogs, { recursive: true });
    await stack.end();
  });
  const browser = await findBrowser(options.only);
  return Promise.race([run(stack, { ...options, browser, say: console.log }), aborted(stack.signal)]);
}

/** @param {string} folder @param {NonNullable<ReturnType<typeof optionsOf>>} options @param {Shutdown<'shop' | 'temporary folder'>} shutdown */
async function restore(folder, { isShort }, shutdown) {
  const stack = await Stack.start(join(folder, 'shop'), { signal: stop.signal, replicas: { gateway: 1, catalog: 1, store: 1, identity: 1, notifications: 1 } });
  shutdown.add('shop', () => stack.end());
  const isExplained = await Promise.race([drill(stack, { seconds: isShort ? 3 : 15, say: console.log }), aborted(stack.signal)]);
  return isExplained ? { passed: 1, failed: 0 } : { passed: 0, failed: 1 };
}

/** @param {readonly string[]} only */
async function findBrowser(only) {
  if (only.length > 0 && !only.includes('R15')) return undefined;
  try {
    return await findChromium({ signal: stop.signal, say: console.log });
  } catch (error) {
    console.log(`R15 is not tested in a browser: ${explain(error)}`);
    return undefined;
  }
}

/** @param {string} folder @param {NonNullable<ReturnType<typeof optionsOf>>} options */
async function proof(folder, { seed, bugs }) {
  const copy = new BuildCopy(join(folder, 'build'), ROOT);
  // tools/start runs the services from this build.
  process.env['ARTEFACTS_DIR'] = copy.apps;
  const replicas = { gateway: 1, catalog: 1, identity: 1 };
  let shops = 0;
  const openStack = () => Stack.start(join(folder, `shop-${++shops}`), { signal: stop.signal, replicas });
  return prove({ copy, openStack, seed, only: bugs, say: console.log });
}

/** @param {AbortSignal} signal @returns {Promise<never>} */
function aborted(signal) {
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }));
}

/** @param {string[]} args */
function optionsOf(args) {
  const { values, positionals: bugs } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      seed: { type: 'string' },
      minutes: { type: 'string' },
      only: { type: 'string' },
      short: { type: 'boolean', default: false },
      'keep-logs': { type: 'string' },
      prove: { type: 'boolean', default: false },
      report: { type: 'string' },
      drill: { type: 'boolean', default: false },
      help: { type: 'boolean' },
    },
  });
  if (values.help) return undefined;
  const seed = Number(values.seed ?? (values.short ? 1 : Math.floor(Math.random() * 1e9)));
  const minutes = Number(values.minutes ?? (values.short ? 2.3 : 10));
  const only = values.only?.split(',') ?? [];
  const unknown = only.filter((name) => !goalNames.includes(name));
  if (unknown.length > 0) throw new StartError(`No such goal: ${unknown.join(', ')}. The goals are ${goalNames.join(', ')}.`);
  if (bugs.length > 0 && !values.prove) throw new StartError(usage);
  const unknownBugs = bugs.filter((name) => !proofNames.includes(name));
  if (unknownBugs.length > 0) throw new StartError(`No such bug: ${unknownBugs.join(', ')}. The bugs are ${proofNames.join(', ')}.`);
  if (!Number.isSafeInteger(seed) || !(minutes > 0)) throw new StartError(usage);
  return { seed, minutes, only, isShort: values.short, keepLogs: values['keep-logs'], proves: values.prove, drills: values.drill, bugs, report: values.report };
}
