// `npm test`: builds, runs every check on its own servers, and ends with a line of totals.
import { join } from 'node:path';
import { explain } from '../start/errors.mjs';
import { Shutdown, stopOnSignals, together } from '../start/shutdown.mjs';
import { checkPlatform, compile, readyPackages } from '../start/toolchain.mjs';
import { cpuSeconds, Durations, tableOf } from './durations.mjs';
import { subfolder, temporaryFolder } from './folder.mjs';
import { parseOptions, usage } from './options.mjs';
import { bufferedIn, terminal } from './output.mjs';
import { afterRerun, check, succeeded, sum, summary } from './results.mjs';
import { natsForTests } from './servers.mjs';
import { steps } from './steps.mjs';

/** CI sets it, so that a flaky test does not block an unrelated change. */
const RERUNS_FAILURES = process.env['RERUN_FAILURES'] === 'true';
/** More failures than this are not flakiness. */
const MOST_RERUN = 10;

/** Services need NATS and Postgres until they end. */
const ORDER = /** @type {const} */ (['shop', 'NATS', 'Postgres']);

/** @typedef {Pick<import('./steps.mjs').StepContext, 'output' | 'shutdown' | 'duration'>} OwnOfStep */
/** @typedef {Omit<import('./steps.mjs').StepContext, keyof OwnOfStep>} RunContext what all steps share */

const durations = new Durations();
const stop = stopOnSignals();
process.exit(await main());

/** @returns {Promise<number>} the exit code */
async function main() {
  const shutdown = new Shutdown(/** @type {const} */ (['temporary folder']), (step, error) => console.log(`Stopping (${step}): ${explain(error)}`));
  /** @type {import('./results.mjs').Tally[]} */
  const tallies = [];
  try {
    const options = parseOptions(process.argv.slice(2));
    if (options.help) {
      console.log(usage);
      return 0;
    }
    checkPlatform();
    // Before the installation, so that a machine without a NATS server fails at once.
    const nats = await natsForTests(stop.signal);
    console.log(`Tests run on NATS ${nats.version} (${nats.binary}).`);
    const env = await durations.measure('installation', () => readyPackages({ signal: stop.signal, say: console.log }));
    const build = await step('types', terminal, async () => check(await compile({ signal: stop.signal, say: console.log, env }), 'the build'));
    tallies.push(build);
    if (succeeded(build)) {
      const context = { folder: temporaryFolder(shutdown), env, durations, jestArgs: options.jestArgs, packages: options.packages, stop };
      await runAll(options, context, (tally) => tallies.push(tally));
    }
  } catch (error) {
    console.log(`\n${explain(error)}`);
    tallies.push(check(false));
    stop.abort(error);
  }
  await shutdown.run();
  if (durations.steps.length > 0) console.log(`\n${tableOf(durations, { ms: performance.now(), cpuSeconds: cpuSeconds()?.total }).join('\n')}`);
  const total = sum(tallies);
  if (total.flaky.length > 0) console.log(`\nFlaky (failed, then passed when run again):\n${total.flaky.map((one) => `  ${one}`).join('\n')}`);
  if (total.failures.length > 0) console.log(`\nFailed:\n${total.failures.map((one) => `  ${one}`).join('\n')}`);
  console.log(`\n${summary(total)}`);
  return succeeded(total) ? 0 : 1;
}

/**
 * Runs the stages one after another, and beside them the background step, whose output follows theirs.
 * @param {Pick<import('./options.mjs').Options, 'stages' | 'background'>} options
 * @param {RunContext} context
 * @param {(tally: import('./results.mjs').Tally) => void} add receives the result of each step
 */
async function runAll({ stages, background }, context, add) {
  const inTurn = async () => {
    for (const stage of stages) for (const tally of await runStage(stage, context)) add(tally);
  };
  if (background === undefined) return inTurn();
  console.log(`\nBeside all other steps: ${background}`);
  const output = bufferedIn(join(context.folder, `${background}.log`));
  try {
    await together(stop, [inTurn(), step(background, output, (own) => steps[background]({ ...context, ...own })).then(add)]);
  } finally {
    output.show();
  }
}

/**
 * Runs steps concurrently. The first prints as it runs, the others when all have ended.
 * @param {readonly import('./options.mjs').StepName[]} names
 * @param {RunContext} context
 * @returns {Promise<import('./results.mjs').Tally[]>}
 */
async function runStage([first, ...others], context) {
  if (first === undefined) return [];
  if (others.length > 0) console.log(`\nConcurrently with ${first}: ${others.join(', ')}`);
  const buffered = others.map((name) => ({ name, output: bufferedIn(join(context.folder, `${name}.log`)) }));
  const runs = [{ name: first, output: terminal }, ...buffered].map(({ name, output }) =>
    step(name, output, (own) => steps[name]({ ...context, ...own })),
  );
  // Wait for all of them: each must stop what it started.
  const outcomes = await Promise.allSettled(runs);
  for (const { output } of buffered) output.show();
  /** @type {import('./results.mjs').Tally[]} */
  const tallies = [];
  for (const [index, outcome] of outcomes.entries()) {
    if (outcome.status === 'rejected') throw outcome.reason;
    const name = /** @type {import('./options.mjs').StepName} */ ([first, ...others][index]);
    tallies.push(await withRerun(name, outcome.value, context));
  }
  return tallies;
}

/**
 * @param {import('./options.mjs').StepName} name
 * @param {import('./results.mjs').Tally} tally
 * @param {RunContext} context
 */
async function withRerun(name, tally, context) {
  if (!RERUNS_FAILURES || tally.failed === 0 || tally.failed > MOST_RERUN) return tally;
  console.log(`\nFailed; running once more, alone:\n${tally.failures.map((one) => `  ${one}`).join('\n')}`);
  const folder = subfolder(context.folder, name);
  return afterRerun(tally, await step(name, terminal, (own) => steps[name]({ ...context, ...own, folder, files: tally.files })));
}

/**
 * Runs one step under a heading, then stops the servers that it started. A step that throws counts as a failure and does not stop later steps.
 * @param {string} name
 * @param {import('./output.mjs').Output} output
 * @param {(own: OwnOfStep) => Promise<import('./results.mjs').Tally>} run
 */
async function step(name, output, run) {
  output.say(`\n=== ${name} ===`);
  const shutdown = new Shutdown(ORDER, (server, error) => output.say(`Stopping (${server}): ${explain(error)}`));
  const begun = performance.now();
  const tally = await durations.measure(name, (duration) =>
    run({ output, shutdown, duration })
      .catch((error) => {
        if (stop.signal.aborted) throw error;
        output.say(explain(error));
        return check(false, explain(error));
      })
      .finally(() => shutdown.run()),
  );
  output.say(`--- ${name}: ${summary(tally)} (${((performance.now() - begun) / 1000).toFixed(1)} s)`);
  return { ...tally, failures: tally.failures.map((one) => `${name}: ${one}`) };
}
