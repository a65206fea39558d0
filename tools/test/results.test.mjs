import assert from 'node:assert/strict';
import { test } from 'node:test';
import { check, succeeded, sum, summary, tallyOfChaos, tallyOfJest, tallyOfTap } from './results.mjs';

const jestReport = (changes = {}) =>
  JSON.stringify({ numPassedTests: 5, numFailedTests: 0, numPendingTests: 0, numTodoTests: 0, numRuntimeErrorTestSuites: 0, ...changes });

test('the sum is what really ran', () => {
  const total = sum([check(true), tallyOfJest({ code: 0, report: jestReport({ numPendingTests: 1 }) }), check(false)]);
  assert.equal(summary(total), '6 passed, 1 failed, 1 skipped');
  assert.equal(summary(check(true)), '1 passed, 0 failed');
});

test('a test file that cannot be loaded is a failure', () => {
  assert.equal(tallyOfJest({ code: 1, report: jestReport({ numRuntimeErrorTestSuites: 2 }) }).failed, 2);
});

test('a run that failed without a failed test is a failure', () => {
  assert.equal(tallyOfJest({ code: 1, report: jestReport() }).failed, 1);
  assert.equal(tallyOfJest({ code: 134, report: undefined }).failed, 1);
  assert.equal(tallyOfTap({ code: 1, report: '# pass 3\n# fail 0\n' }).failed, 1);
  assert.equal(tallyOfChaos({ code: 1, report: '{"passed":9,"failed":0}' }).failed, 1);
  assert.equal(tallyOfChaos({ code: 1, report: undefined }).failed, 1);
});

test('the closing lines of a TAP report are its counts', () => {
  const report = '# pass 3 is no count\n# tests 6\n# pass 3\n# fail 1\n# cancelled 1\n# skipped 1\n# todo 0\n';
  assert.deepEqual(tallyOfTap({ code: 1, report }), { passed: 3, failed: 2, skipped: 1 });
});

test('each goal that chaos tried is counted', () => {
  assert.deepEqual(tallyOfChaos({ code: 1, report: '{"passed":9,"failed":2}' }), { passed: 9, failed: 2, skipped: 0 });
});

test('a run in which nothing was tested has not succeeded', () => {
  assert.equal(succeeded(sum([])), false);
  assert.equal(succeeded(check(true)), true);
  assert.equal(succeeded(sum([check(true), check(false)])), false);
});
