/**
 * The counts of a step, and the names of its failures as far as they are known.
 * @typedef {object} Tally
 * @property {number} passed
 * @property {number} failed
 * @property {number} skipped
 * @property {readonly string[]} failures
 * @property {readonly string[] | undefined} [files] of Jest that contain all failures
 * @property {readonly string[]} flaky tests that failed, then passed in a second run
 */

/** @type {Tally} */
export const NOTHING = { passed: 0, failed: 0, skipped: 0, failures: [], flaky: [] };

/** Returns the tally of a step with a single check, such as lint. @param {boolean} good @param {string} [what] failed @returns {Tally} */
export const check = (good, what) => (good ? { ...NOTHING, passed: 1 } : failure(NOTHING, what));

/** @param {Tally} tally @param {string} [what] @returns {Tally} */
const failure = (tally, what) => ({ ...tally, failed: tally.failed + 1, failures: what === undefined ? tally.failures : [...tally.failures, what] });

/** @param {readonly Tally[]} tallies @returns {Tally} */
export function sum(tallies) {
  return tallies.reduce(
    (total, one) => ({
      passed: total.passed + one.passed,
      failed: total.failed + one.failed,
      skipped: total.skipped + one.skipped,
      failures: [...total.failures, ...one.failures],
      flaky: [...total.flaky, ...one.flaky],
    }),
    NOTHING,
  );
}

/** Returns the tally of several Jest runs of one step. @param {readonly Tally[]} tallies @returns {Tally} */
export const together = (tallies) => ({ ...sum(tallies), ...(tallies.every(({ files }) => files) && { files: tallies.flatMap(({ files }) => files ?? []) }) });

/** Returns the last line of a run, which scripts parse. @param {Tally} tally */
export function summary({ passed, failed, skipped }) {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
}

/**
 * Returns a step's tally after a second run. Tests that pass only then are reported as flaky and do not fail the step.
 * @param {Tally} first @param {Tally} second run of the files of `first`, or of the whole step @returns {Tally}
 */
export function afterRerun(first, second) {
  if (!succeeded(second)) return first;
  const whole = first.files?.length ? { ...first, passed: first.passed + first.failed, failed: 0, failures: [], files: undefined } : second;
  return { ...whole, flaky: first.failures };
}

/** Returns whether all tests passed, and there was at least one. @param {Tally} tally */
export const succeeded = ({ passed, failed }) => failed === 0 && passed > 0;

/**
 * Returns the tally of a Jest run. A run that fails without a failed test (broken set-up, crash, time limit) counts as one more
 * failure.
 * @param {{ code: number, results: import('./jest-results.mjs').JestResults }} outcome
 * @returns {Tally}
 */
export function tallyOfJest({ code, results }) {
  const tally = sum([...results.begun.values()]);
  if (!results.ended) return failure(tally, 'Jest ended early');
  return code !== 0 && tally.failed === 0 ? failure(tally, `Jest ended with ${code}`) : tally;
}

/** Counts each goal that was tested. @param {{ code: number, report: string | undefined }} outcome @returns {Tally} */
export function tallyOfChaos({ code, report }) {
  if (report === undefined) return check(false, 'no report was written');
  const tally = { ...NOTHING, ...JSON.parse(report) };
  return code !== 0 && tally.failed === 0 ? failure(tally, `chaos ended with ${code}`) : tally;
}

/**
 * Returns the tally of a run of Node's test runner from the closing lines of its TAP report. A report without them is from a killed
 * run: its results are counted one by one, and the missing end counts as a failure. The same applies to an interrupted run: Node may still
 * write closing lines, which do not count the running tests.
 * @param {{ code: number, report: string | undefined, wasCut?: boolean }} outcome
 * @returns {Tally}
 */
export function tallyOfTap({ code, report, wasCut = false }) {
  if (report === undefined) return check(false, 'no report was written');
  const results = resultsOfTap(report);
  if (wasCut || !/^# pass \d+$/m.test(report)) return sum([check(false, 'the report is incomplete'), ...results]);
  const count = (/** @type {string} */ name) => Number(new RegExp(`^# ${name} (\\d+)$`, 'm').exec(report)?.[1] ?? 0);
  const counts = { passed: count('pass'), failed: count('fail') + count('cancelled'), skipped: count('skipped') + count('todo') };
  const tally = { ...NOTHING, ...counts, failures: sum(results).failures };
  return code !== 0 && tally.failed === 0 ? failure(tally, `the test runner ended with ${code}`) : tally;
}

/** @param {string} report @returns {Tally[]} one per test, none for suites */
function resultsOfTap(report) {
  const results = [...report.matchAll(/^ *(not ok|ok) \d+(?: - )?([^\n]*)\n(?: *---\n *duration_ms[^\n]*\n *type: '(\w+)')?/gm)];
  return results
    .filter(([, , , type]) => type !== 'suite')
    .map(([, result, name]) => (/ # (SKIP|TODO)\b/.test(name ?? '') ? { ...NOTHING, skipped: 1 } : check(result === 'ok', name)));
}
