import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readResults } from './jest-results.mjs';
import { afterRerun, check, succeeded, sum, summary, tallyOfChaos, tallyOfJest, tallyOfTap, together } from './results.mjs';

const file = (/** @type {object} */ counts = {}) => ({ passed: 5, failed: 0, skipped: 0, failures: [], flaky: [], over: true, ms: 1, ...counts });
/** @param {ReturnType<typeof file>[]} files */
const jestResults = (...files) => ({ files: files.length, ended: true, begun: new Map(files.map((one, n) => [`${n}.spec.ts`, one])) });

test('totals are the sum of all steps', () => {
  const total = sum([check(true), tallyOfJest({ code: 0, results: jestResults(file({ skipped: 1 })) }), check(false)]);
  assert.equal(summary(total), '6 passed, 1 failed, 1 skipped');
  assert.equal(summary(check(true)), '1 passed, 0 failed');
});

test('several Jest runs of a step are rerun by their failed files, or as a whole if one of them has not ended', () => {
  const one = { ...check(false, 'a'), files: ['a.spec.ts'] };
  const other = { ...check(true), files: [] };
  assert.deepEqual(together([one, other]), { passed: 1, failed: 1, skipped: 0, failures: ['a'], flaky: [], files: ['a.spec.ts'] });
  assert.equal(together([one, check(false, 'Jest ended early')]).files, undefined);
});

test('a run that failed without a failed test is a failure', () => {
  assert.equal(tallyOfJest({ code: 1, results: jestResults(file()) }).failed, 1);
  assert.equal(tallyOfJest({ code: 134, results: readResults('') }).failed, 1);
  assert.equal(tallyOfTap({ code: 1, report: '# pass 3\n# fail 0\n' }).failed, 1);
  assert.equal(tallyOfChaos({ code: 1, report: '{"passed":9,"failed":0}' }).failed, 1);
  assert.equal(tallyOfChaos({ code: 1, report: undefined }).failed, 1);
});

test('an incomplete Jest run fails, and its results are counted', () => {
  const results = { ...jestResults(file(), file({ failed: 1, failures: ['a test'] }), file({ passed: 2, skipped: 1, over: false })), ended: false };
  assert.deepEqual(tallyOfJest({ code: 1, results }), { passed: 12, failed: 2, skipped: 1, failures: ['a test', 'Jest ended early'], flaky: [] });
});

test('an incomplete TAP report is counted line by line', () => {
  const line = (/** @type {string} */ text, /** @type {string} */ type) => `${text}\n  ---\n  duration_ms: 1.5\n  type: '${type}'\n  ...\n`;
  const report = [
    line('ok 1 - passes', 'test'),
    line('    not ok 1 - fails', 'test'),
    line('not ok 2 - a suite', 'suite'),
    line('ok 3 - is skipped # SKIP', 'test'),
  ].join('# Subtest: next\n');
  const tally = { passed: 1, failed: 2, skipped: 1, failures: ['the report is incomplete', 'fails'], flaky: [] };
  assert.deepEqual(tallyOfTap({ code: 1, report }), tally);
  // A run that is cut may write its closing lines.
  assert.deepEqual(tallyOfTap({ code: 1, report: `${report}# pass 1\n# fail 1\n`, wasCut: true }), tally);
});

test('the counts come from the closing lines of a TAP report', () => {
  const report = 'ok 1 - passes\nnot ok 2 - fails\n# pass 3 is no count\n# tests 6\n# pass 3\n# fail 1\n# cancelled 1\n# skipped 1\n# todo 0\n';
  assert.deepEqual(tallyOfTap({ code: 1, report }), { passed: 3, failed: 2, skipped: 1, failures: ['fails'], flaky: [] });
});

test('each goal that chaos tested is counted', () => {
  const report = '{"passed":9,"failed":1,"failures":["R5: events"]}';
  assert.deepEqual(tallyOfChaos({ code: 1, report }), { passed: 9, failed: 1, skipped: 0, failures: ['R5: events'], flaky: [] });
});

test('a run without tests fails', () => {
  assert.equal(succeeded(sum([])), false);
  assert.equal(succeeded(check(true)), true);
  assert.equal(succeeded(sum([check(true), check(false)])), false);
});

test('a test that passes only in a second run is flaky, one that fails again is a failure', () => {
  const first = { passed: 7, failed: 2, skipped: 1, failures: ['a', 'b'], flaky: [], files: ['a.spec.ts'] };
  const flaky = afterRerun(first, { passed: 3, failed: 0, skipped: 0, failures: [], flaky: [] });
  assert.equal(summary(flaky), '9 passed, 0 failed, 1 skipped');
  assert.deepEqual(sum([flaky, check(true)]).flaky, ['a', 'b']);
  assert.equal(afterRerun(first, { passed: 2, failed: 1, skipped: 0, failures: ['b'], flaky: [] }), first);
  assert.equal(afterRerun(first, { passed: 0, failed: 0, skipped: 0, failures: [], flaky: [] }), first);
  // The whole step ran again: Jest ended early, or the step does not use Jest.
  assert.equal(summary(afterRerun({ ...first, files: undefined }, { passed: 12, failed: 0, skipped: 0, failures: [], flaky: [] })), '12 passed, 0 failed');
});
