/**
 * What a step found.
 * @typedef {{ passed: number, failed: number, skipped: number }} Tally
 */

/** @type {Tally} */
export const NOTHING = { passed: 0, failed: 0, skipped: 0 };

/** A step that is one check, as lint is. @param {boolean} good @returns {Tally} */
export const check = (good) => ({ ...NOTHING, passed: good ? 1 : 0, failed: good ? 0 : 1 });

/** @param {Tally[]} tallies @returns {Tally} */
export function sum(tallies) {
  return tallies.reduce(
    (total, one) => ({ passed: total.passed + one.passed, failed: total.failed + one.failed, skipped: total.skipped + one.skipped }),
    NOTHING,
  );
}

/** The last line of a run; others read it. @param {Tally} tally */
export function summary({ passed, failed, skipped }) {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
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
  return !results.ended || (code !== 0 && tally.failed === 0) ? { ...tally, failed: tally.failed + 1 } : tally;
}

/** Each goal that was tried is one. @param {{ code: number, report: string | undefined }} outcome @returns {Tally} */
export function tallyOfChaos({ code, report }) {
  if (report === undefined) return check(false);
  const tally = { ...NOTHING, ...JSON.parse(report) };
  return code !== 0 && tally.failed === 0 ? { ...tally, failed: 1 } : tally;
}

/**
 * Counts what Node's own test runner ran, by the closing lines of its TAP report. A report without them is of a run that was
 * killed: its results are counted one by one, and the end that is missing is a failure.
 * @param {{ code: number, report: string | undefined }} outcome
 * @returns {Tally}
 */
export function tallyOfTap({ code, report }) {
  if (report === undefined) return check(false);
  if (!/^# pass \d+$/m.test(report)) return sum([check(false), ...resultsOfTap(report)]);
  const count = (/** @type {string} */ name) => Number(new RegExp(`^# ${name} (\\d+)$`, 'm').exec(report)?.[1] ?? 0);
  const tally = { passed: count('pass'), failed: count('fail') + count('cancelled'), skipped: count('skipped') + count('todo') };
  return code !== 0 && tally.failed === 0 ? { ...tally, failed: 1 } : tally;
}

/** @param {string} report @returns {Tally[]} one for each test, none for suites */
function resultsOfTap(report) {
  const results = [...report.matchAll(/^ *(not ok|ok) \d+[^\n]*\n(?: *---\n *duration_ms[^\n]*\n *type: '(\w+)')?/gm)];
  return results
    .filter(([, , type]) => type !== 'suite')
    .map(([line, result]) => (/ # (SKIP|TODO)\b/.test(line) ? { ...NOTHING, skipped: 1 } : check(result === 'ok')));
}
