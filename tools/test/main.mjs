// `npm test`: builds, then runs every check on servers of its own, and ends with one line that says how many passed.
import { explain } from '../start/errors.mjs';
import { Shutdown, stopOnSignals } from '../start/shutdown.mjs';
import { checkPlatform, compile, readyPackages } from '../start/toolchain.mjs';
import { temporaryFolder } from './folder.mjs';
import { parseOptions, usage } from './options.mjs';
import { check, succeeded, sum, summary } from './results.mjs';
import { steps } from './steps.mjs';

const ORDER = /** @type {const} */ (['shop', 'NATS', 'Postgres', 'temporary folder']);

const stop = stopOnSignals();
process.exit(await main());

/** @returns {Promise<number>} the exit code */
async function main() {
  const shutdown = new Shutdown(ORDER, (step, error) => console.log(`Ending (${step}): ${explain(error)}`));
  /** @type {import('./results.mjs').Tally[]} */
  const tallies = [];
  try {
    const options = parseOptions(process.argv.slice(2));
    if (options.help) {
      console.log(usage);
      return 0;
    }
    checkPlatform();
    const env = await readyPackages({ signal: stop.signal, say: console.log });
    const build = await step('types', async () => check(await compile({ signal: stop.signal, say: console.log, env })));
    tallies.push(build);
    if (succeeded(build)) {
      const bench = { folder: temporaryFolder(shutdown), env, jestArgs: options.jestArgs, stop, shutdown };
      for (const name of options.steps) tallies.push(await step(name, () => steps[name](bench)));
    }
  } catch (error) {
    console.log(`\n${explain(error)}`);
    tallies.push(check(false));
    stop.abort(error);
  }
  await shutdown.run();
  const total = sum(tallies);
  console.log(`\n${summary(total)}`);
  return succeeded(total) ? 0 : 1;
}

/**
 * Runs one step under a heading. A step that breaks is a failure of its own and does not keep the next from running.
 * @param {string} name
 * @param {() => Promise<import('./results.mjs').Tally>} run
 */
async function step(name, run) {
  console.log(`\n=== ${name} ===`);
  const begun = performance.now();
  const tally = await run().catch((error) => {
    if (stop.signal.aborted) throw error;
    console.log(explain(error));
    return check(false);
  });
  console.log(`--- ${name}: ${summary(tally)} (${((performance.now() - begun) / 1000).toFixed(1)} s)`);
  return tally;
}
