// What main.mjs runs on the pinned Node, when everything is built.
import { cpSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { explain, StartError } from '../../tools/start/errors.mjs';
import { Shutdown, stopOnSignals } from '../../tools/start/shutdown.mjs';
import { temporaryFolder } from '../../tools/test/folder.mjs';
import { goalNames, run } from './dist/run.js';
import { Stack } from './stack.mjs';

const usage = `Does to a shop of its own what can happen to one, and judges all that clients were told.

  npm run chaos                               ${goalNames.join(', ')}, 10 minutes
  npm run chaos -- --seed 7 --minutes 60      the plan of a seed is the same each time
  npm run chaos -- --only R2,R5
  npm run chaos -- --short                    as every build does, about 2 minutes
  npm run chaos -- --keep-logs <folder>       the services' logs afterwards`;

const stop = stopOnSignals();
process.exit(await main());

/** @returns {Promise<number>} the exit code */
async function main() {
  const shutdown = new Shutdown(/** @type {const} */ (['shop', 'temporary folder']), (step, error) => console.log(`Ending (${step}): ${explain(error)}`));
  let outcome = { passed: 0, failed: 1 };
  try {
    const options = optionsOf(process.argv.slice(2));
    if (!options) {
      console.log(usage);
      return 0;
    }
    console.log(`Seed ${options.seed}`);
    const folder = temporaryFolder(shutdown);
    const stack = await Stack.start(join(folder, 'shop'), { signal: stop.signal });
    shutdown.add('shop', async () => {
      if (options.keepLogs && existsSync(stack.logs)) cpSync(stack.logs, options.keepLogs, { recursive: true });
      await stack.end();
    });
    outcome = await Promise.race([run(stack, { ...options, say: console.log }), aborted(stack.signal)]);
  } catch (error) {
    console.log(`\n${explain(error)}`);
  }
  await shutdown.run();
  console.log(`\n${outcome.passed} passed, ${outcome.failed} failed`);
  return outcome.failed === 0 ? 0 : 1;
}

/** @param {AbortSignal} signal @returns {Promise<never>} */
function aborted(signal) {
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }));
}

/** @param {string[]} args */
function optionsOf(args) {
  const { values } = parseArgs({
    args,
    options: {
      seed: { type: 'string' },
      minutes: { type: 'string' },
      only: { type: 'string' },
      short: { type: 'boolean', default: false },
      'keep-logs': { type: 'string' },
      help: { type: 'boolean' },
    },
  });
  if (values.help) return undefined;
  const seed = Number(values.seed ?? (values.short ? 1 : Math.floor(Math.random() * 1e9)));
  const minutes = Number(values.minutes ?? (values.short ? 1 : 10));
  const only = values.only?.split(',') ?? [];
  const unknown = only.filter((name) => !goalNames.includes(name));
  if (unknown.length > 0) throw new StartError(`Not tried here: ${unknown.join(', ')}. There are ${goalNames.join(', ')}.`);
  if (!Number.isSafeInteger(seed) || !(minutes > 0)) throw new StartError(usage);
  return { seed, minutes, only, isShort: values.short, keepLogs: values['keep-logs'] };
}
