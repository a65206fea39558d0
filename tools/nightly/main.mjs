// `npm run nightly`: the checks that take too long for every build, each with the day's seed.
import { attempt } from '../start/command.mjs';
import { explain } from '../start/errors.mjs';
import { stopOnSignals } from '../start/shutdown.mjs';
import { checkPlatform, ROOT } from '../start/toolchain.mjs';
import { check, succeeded, sum, summary } from '../test/results.mjs';
import { parseOptions, usage } from './options.mjs';

/** Chaos shuts its shop down before it exits. */
const END_LIMIT_MS = 60_000;

const stop = stopOnSignals();
process.exit(await main());

/** @returns {Promise<number>} the exit code */
async function main() {
  /** @type {import('../test/results.mjs').Tally[]} */
  const tallies = [];
  try {
    const options = parseOptions(process.argv.slice(2), new Date());
    if (options.help) {
      console.log(usage);
      return 0;
    }
    checkPlatform();
    console.log(`Seed ${options.seed}`);
    for (const [name, command] of options.parts) tallies.push(await part(name, command, options.seed));
  } catch (error) {
    console.log(`\n${explain(error)}`);
    tallies.push(check(false));
  }
  const total = sum(tallies);
  console.log(`\n${summary(total)}`);
  return succeeded(total) ? 0 : 1;
}

/** @param {string} name @param {import('./options.mjs').Command} command @param {number} seed */
async function part(name, { args }, seed) {
  console.log(`\n=== ${name} ===`);
  const begun = performance.now();
  const { code } = await attempt(process.execPath, args, { cwd: ROOT, env: process.env, show: true, signal: stop.signal, endLimitMs: END_LIMIT_MS });
  const again = code === 0 ? '' : `; to repeat: npm run nightly -- --seed ${seed} --only ${name}`;
  console.log(`--- ${name}: ${code === 0 ? 'passed' : 'failed'} (${((performance.now() - begun) / 1000).toFixed(0)} s)${again}`);
  return check(code === 0);
}
