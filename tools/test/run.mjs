import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { attempt } from '../start/command.mjs';
import { pinnedNode, ROOT } from '../start/toolchain.mjs';
import { failedFiles, readResults, RESULTS_FILE, whatWasCut } from './jest-results.mjs';
import { durationsOfFiles } from './node-reporter.mjs';
import { tallyOfJest, tallyOfTap } from './results.mjs';

/** A step that takes longer hangs, even on a busy machine. */
const LONGEST_MS = 25 * 60_000;

/** @typedef {Pick<import('./steps.mjs').StepContext, 'folder' | 'env' | 'stop' | 'durations' | 'duration'> & { fd?: number }} Place fd: of the commands' output, by default the terminal */

/**
 * Runs Jest and returns its tally, even if it is interrupted.
 * @param {Place} place
 * @param {string} name of the step
 * @param {string[]} args
 * @param {Record<string, string>} env
 * @param {AbortSignal} [limit] ends it
 * @returns {Promise<import('./results.mjs').Tally>}
 */
export async function jest(place, name, args, env, limit) {
  const file = join(place.folder, `${name}.jsonl`);
  const command = ['--enable-source-maps', 'node_modules/jest/bin/jest.js'];
  // `--reporters` takes all following words up to the next option.
  const reporters = ['--reporters=default', `--reporters=${fileURLToPath(new URL('jest-reporter.mjs', import.meta.url))}`, '--ci'];
  const code = await node(place, [...command, ...reporters, ...args], { env: { ...env, [RESULTS_FILE]: file }, limit });
  const results = readResults(contentOf(file) ?? '');
  for (const line of whatWasCut(results)) console.log(line);
  for (const [name, { ms }] of results.begun) place.durations.files.push({ name, ms });
  return { ...tallyOfJest({ code, results }), ...(results.ended && { files: failedFiles(results) }) };
}

/**
 * Runs Node's test runner and returns its tally, even if it is interrupted.
 * @param {Place} place
 * @param {string} name of the step
 * @param {string} files
 * @param {{ limit?: AbortSignal, env?: Record<string, string>, concurrency?: number, without?: string }} [options] `limit` ends it; `without`: names of tests to skip; `concurrency`: files at a time. Most
 *   files wait for servers more than they compute; on two cores Node would run one at a time
 */
export async function nodeTests(place, name, files, { limit = AbortSignal.timeout(LONGEST_MS), env = {}, concurrency = 3, without } = {}) {
  const file = join(place.folder, `${name}.tap`);
  const ours = new URL('node-reporter.mjs', import.meta.url).href;
  const reporters = ['--test-reporter=spec', '--test-reporter-destination=stdout', `--test-reporter=${ours}`, `--test-reporter-destination=${file}`];
  const code = await node(place, ['--test', `--test-concurrency=${concurrency}`, ...(without === undefined ? [] : [`--test-skip-pattern=${without}`]), ...reporters, files], { limit, env });
  const report = contentOf(file);
  place.durations.files.push(...durationsOfFiles(report ?? ''));
  return tallyOfTap({ code, report, wasCut: limit.aborted });
}

/**
 * Runs a command on the pinned Node, for 25 minutes at most.
 * @param {Omit<Place, 'folder'>} place
 * @param {string[]} args
 * @param {{ env?: Record<string, string>, endLimitMs?: number, limit?: AbortSignal | undefined }} [options]
 * @returns {Promise<number>} its exit code; 1 on timeout
 */
export async function node({ env: base, stop, durations, duration, fd = process.stdout.fd }, args, { env = {}, limit = AbortSignal.timeout(LONGEST_MS), ...more } = {}) {
  try {
    const signal = AbortSignal.any([stop.signal, limit]);
    return (await attempt(pinnedNode(), args, { cwd: ROOT, env: { ...base, ...env }, show: fd, signal, ...more })).code;
  } catch (error) {
    if (stop.signal.aborted || !limit.aborted) throw error;
    console.log('The time limit was exceeded.');
    return 1;
  } finally {
    durations.charge(duration);
  }
}

/** @param {string} file */
export const contentOf = (file) => (existsSync(file) ? readFileSync(file, 'utf8') : undefined);
