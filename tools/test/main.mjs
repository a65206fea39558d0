// `npm test`: builds, runs checks on its own servers, and ends with a line of totals.
import { openSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { explain } from '../start/errors.mjs';
import { Shutdown, stopOnSignals } from '../start/shutdown.mjs';
import { checkPlatform, checkScripts, compile, readyPackages } from '../start/toolchain.mjs';
import { cpuSeconds, Durations, tableOf } from './durations.mjs';
import { subfolder, temporaryFolder } from './folder.mjs';
import { LEFT_OUT, parseOptions, sideBySide, usage } from './options.mjs';
import { afterRerun, check, succeeded, sum, summary } from './results.mjs';
import { natsForTests } from './servers.mjs';
import { steps } from './steps.mjs';

/** CI sets it, so that a flaky test does not block an unrelated change. */
const RERUNS_FAILURES = process.env['RERUN_FAILURES'] === 'true';
/** More failures than this are not flakiness. */
const MOST_RERUN = 10;

/** Services need NATS and Postgres until they end. */
const ORDER = /** @type {const} */ (['shop', 'NATS', 'Postgres']);

/** @typedef {Pick<import('./steps.mjs').StepContext, 'shutdown' | 'duration'>} OwnOfStep */
/** @typedef {Omit<import('./steps.mjs').StepContext, keyof OwnOfStep>} RunContext what all steps share */
/** @typedef {{ name?: import('./options.mjs').StepName, tally: import('./results.mjs').Tally }} Ran without a name: cannot be run again */

const durations = new Durations();
const stop = stopOnSignals();
process.exit(await main());

/** @returns {Promise<number>} the exit code */
async function main() {
  const shutdown = new Shutdown(/** @type {const} */ (['temporary folder']), (step, error) => console.log(`Stopping failed (${step}): ${explain(error)}`));
  /** @type {Ran[]} */
  const ran = [];
  /** @type {string | undefined} */
  let leftOut;
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
    const build = await step('types', () => checkTypes(env));
    ran.push({ tally: build });
    if (succeeded(build)) {
      const { isQuick = false, jestArgs, packages } = options;
      const context = { folder: temporaryFolder(shutdown), env, durations, isQuick, jestArgs, packages, stop };
      if (isQuick) leftOut = LEFT_OUT;
      for (const names of sideBySide(options)) ran.push(...(await runTogether(names, context)));
      for (const one of ran) one.tally = await withRerun(one, context);
    }
  } catch (error) {
    console.log(`\n${explain(error)}`);
    ran.push({ tally: check(false) });
    stop.abort(error);
  }
  await shutdown.run();
  if (durations.steps.length > 0) console.log(`\n${tableOf(durations, { ms: performance.now(), cpuSeconds: cpuSeconds()?.total }).join('\n')}`);
  const total = sum(ran.map(({ tally }) => tally));
  if (total.flaky.length > 0) console.log(`\nFlaky (failed, then passed when run again):\n${total.flaky.map((one) => `  ${one}`).join('\n')}`);
  if (total.failures.length > 0) console.log(`\nFailed:\n${total.failures.map((one) => `  ${one}`).join('\n')}`);
  if (leftOut !== undefined) console.log(`\n${leftOut}`);
  console.log(`\n${summary(total)}`);
  return succeeded(total) ? 0 : 1;
}

/** Builds all packages, then checks the scripts, which use them. @param {NodeJS.ProcessEnv} env */
async function checkTypes(env) {
  const { signal } = stop;
  const isBuilt = await compile({ signal, say: console.log, env });
  return isBuilt ? check(await checkScripts({ signal, env }), 'the types of scripts') : check(false, 'the build');
}

/**
 * Runs the files with failures once more.
 * @param {Ran} ran
 * @param {RunContext} context
 */
async function withRerun({ name, tally }, context) {
  if (!RERUNS_FAILURES || name === undefined || tally.failed === 0 || tally.failed > MOST_RERUN) return tally;
  console.log(`\nFailed; running once more:\n${tally.failures.map((one) => `  ${one}`).join('\n')}`);
  return afterRerun(tally, await runStep(name, { ...context, files: tally.files }));
}

/**
 * Runs steps at a time. What the commands of the second write follows the first's.
 * @param {readonly import('./options.mjs').StepName[]} names @param {RunContext} context @returns {Promise<Ran[]>}
 */
async function runTogether([first, ...others], context) {
  const run = async (/** @type {import('./options.mjs').StepName} */ name, /** @type {number} */ fd) => ({ name, tally: await runStep(name, { ...context, fd }) });
  const files = others.map((name) => join(context.folder, `${name}.out`));
  const ran = await Promise.all([...(first ? [run(first, process.stdout.fd)] : []), ...others.map((name, n) => run(name, openSync(files[n] ?? '', 'w')))]);
  for (const file of files) process.stdout.write(readFileSync(file));
  return ran;
}

/**
 * Runs a step in a folder of its own, and removes it: the databases of the unit tests are 80,000 files.
 * @param {import('./options.mjs').StepName} name
 * @param {RunContext} context
 */
function runStep(name, context) {
  const folder = subfolder(context.folder, name);
  return step(name, (own) => steps[name]({ ...context, ...own, folder })).finally(() => rm(folder, { recursive: true, force: true, maxRetries: 3 }));
}

/**
 * Runs one step under a heading, then stops the servers that it started. A step that throws counts as a failure and does not stop later steps.
 * @param {string} name
 * @param {(own: OwnOfStep) => Promise<import('./results.mjs').Tally>} run
 */
async function step(name, run) {
  console.log(`\n=== ${name} ===`);
  const shutdown = new Shutdown(ORDER, (server, error) => console.log(`Stopping failed (${server}): ${explain(error)}`));
  const begun = performance.now();
  const tally = await durations.measure(name, (duration) =>
    run({ shutdown, duration })
      .catch((error) => {
        if (stop.signal.aborted) throw error;
        console.log(explain(error));
        return check(false, explain(error));
      })
      .finally(() => shutdown.run()),
  );
  console.log(`--- ${name}: ${summary(tally)} (${((performance.now() - begun) / 1000).toFixed(1)} s)`);
  return { ...tally, failures: tally.failures.map((one) => `${name}: ${one}`) };
}
