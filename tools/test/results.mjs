/**
 * What a step found, and the names of what failed in it, as far as they are known.
 * @typedef {object} Tally
 * @property {number} passed
 * @property {number} failed
 * @property {number} skipped
 * @property {readonly string[]} failures
 * @property {readonly string[]} [files] of Jest that hold all the failures
 * @property {readonly string[]} flaky what failed, and passed in a second run
 */

/** @type {Tally} */
export const NOTHING = { passed: 0, failed: 0, skipped: 0, failures: [], flaky: [] };

/** A step that is one check, as lint is. @param {boolean} good @param {string} [what] failed @returns {Tally} */
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

/** The last line of a run; others read it. @param {Tally} tally */
export function summary({ passed, failed, skipped }) {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
}

/**
 * What a step counts after a second run. What passes only then does not fail the step, and is named.
 * @param {Tally} first @param {Tally} second of the files of `first`, or of the whole step @returns {Tally}
 */
export function afterRerun(first, second) {
  if (!succeeded(second)) return first;
  const whole = first.files?.length ? { ...first, passed: first.passed + first.failed, failed: 0, failures: [], files: undefined } : second;
  return { ...whole, flaky: first.failures };
}

/** A run in which nothing was tested has not succeeded. @param {Tally} tally */
export const succeeded = ({ passed, failed }) => failed === 0 && passed > 0;

/**
 * Counts what Jest ran. A run that fails for a reason that no test shows (a broken set-up, a crash, its time limit) is one
 * failure more.
 * @param {{ code: number, results: import('./jest-results.mjs').JestResults }} outcome
 * @returns {Tally}
 */
export function tallyOfJest({ code, results }) {
  const tally = sum([...results.begun.values()]);
  if (!results.ended) return failure(tally, 'Jest ended early');
  return code !== 0 && tally.failed === 0 ? failure(tally, `Jest ended with ${code}`) : tally;
}

/** Each goal that was tried is one. @param {{ code: number, report: string | undefined }} outcome @returns {Tally} */
export function tallyOfChaos({ code, report }) {
  if (report === undefined) return check(false, 'no report was written');
  const tally = { ...NOTHING, ...JSON.parse(report) };
  return code !== 0 && tally.failed === 0 ? failure(tally, `chaos ended with ${code}`) : tally;
}

/**
 * Counts what Node's own test runner ran, by the closing lines of its TAP report. A report without them is of a run that was
 * killed: its results are counted one by one, and the end that is missing is a failure.
 * @param {{ code: number, report: string | undefined }} outcome
 * @returns {Tally}
 */
export function tallyOfTap({ code, report }) {
  if (report === undefined) return check(false, 'no report was written');
  const results = resultsOfTap(report);
  if (!/^# pass \d+$/m.test(report)) return sum([check(false, 'the report has no end'), ...results]);
  const count = (/** @type {string} */ name) => Number(new RegExp(`^# ${name} (\\d+)$`, 'm').exec(report)?.[1] ?? 0);
  const counts = { passed: count('pass'), failed: count('fail') + count('cancelled'), skipped: count('skipped') + count('todo') };
  const tally = { ...NOTHING, ...counts, failures: sum(results).failures };
  return code !== 0 && tally.failed === 0 ? failure(tally, `the test runner ended with ${code}`) : tally;
}

/** @param {string} report @returns {Tally[]} one for each test, none for suites */
function resultsOfTap(report) {
  const results = [...report.matchAll(/^ *(not ok|ok) \d+(?: - )?([^\n]*)\n(?: *---\n *duration_ms[^\n]*\n *type: '(\w+)')?/gm)];
  return results
    .filter(([, , , type]) => type !== 'suite')
    .map(([, result, name]) => (/ # (SKIP|TODO)\b/.test(name ?? '') ? { ...NOTHING, skipped: 1 } : check(result === 'ok', name)));
}
