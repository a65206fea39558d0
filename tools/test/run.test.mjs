import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { ROOT } from '../start/toolchain.mjs';
import { Durations } from './durations.mjs';
import { readResults, whatWasCut } from './jest-results.mjs';
import { jest, nodeTests } from './run.mjs';

/** @type {string} */
let folder;
/** @type {import('./run.mjs').Place} */
let place;

before(() => {
  folder = mkdtempSync(join(tmpdir(), 'plant-shop-cut-'));
  // A test runner that finds this variable assumes that it is a test file of the outer runner.
  const env = { ...process.env, NODE_TEST_CONTEXT: undefined };
  // Not to the terminal, where these intended failures would look like real ones.
  place = { folder, env, stop: new AbortController(), fd: openSync(join(folder, 'output.log'), 'w'), durations: new Durations(), duration: { name: 'cut', ms: NaN, cpuSeconds: undefined } };
});
after(() => rmSync(folder, { recursive: true, force: true }));

/**
 * Returns a limit that aborts as soon as the file contains the text.
 * @param {string} file @param {RegExp} text
 */
function whenWritten(file, text) {
  const limit = new AbortController();
  const look = async () => {
    while (!existsSync(file) || !text.test(readFileSync(file, 'utf8'))) await pause(20);
    limit.abort(new Error('the limit of this test'));
  };
  void look();
  return limit.signal;
}

test('an interrupted Jest run counts its results and names the files that were running', async () => {
  // Jest starts with the largest file.
  const lines = (/** @type {number} */ count) => '\n// of its size'.repeat(count);
  const files = {
    'one.test.cjs': `it('passes', () => {}); it.skip('is skipped', () => {}); ${lines(300)}`,
    'two.test.cjs': `it('passes', () => {}); it('fails', () => { throw new Error('as it should'); }); ${lines(200)}`,
    'three.test.cjs': `it('passes', () => {}); it('hangs', () => new Promise(() => setInterval(() => {}, 1_000)), 1e9); ${lines(100)}`,
    'four.test.cjs': `it('is never begun', () => {});`,
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const report = join(folder, 'cut.jsonl');
  const config = JSON.stringify({ rootDir: folder, testMatch: ['**/*.test.cjs'], cacheDirectory: join(folder, 'cache') });

  const tally = await jest(place, 'cut', ['--config', config, '--runInBand'], {}, whenWritten(report, /three\.test\.cjs","test":"passes"/));
  const failing = relative(ROOT, join(folder, 'two.test.cjs'));
  assert.deepEqual(tally, { passed: 3, failed: 2, skipped: 1, failures: [`${failing}: fails`, 'Jest ended early'], flaky: [] });
  const [first, underWay, failed, ...others] = whatWasCut(readResults(readFileSync(report, 'utf8')));
  assert.equal(first, 'Jest ended early: 2 of 4 files had finished, 1 were running, 1 had not started.');
  assert.match(underWay ?? '', /^ {2}running: .*three\.test\.cjs \(1 passed, 0 failed so far\)$/);
  assert.match(failed ?? '', /^ {2}failed: .*two\.test\.cjs \(1 passed, 1 failed\)$/);
  assert.deepEqual(others, []);
});

test('an interrupted run of Node\'s test runner counts its results', async () => {
  const text = `
    import { describe, test } from 'node:test';
    test('passes', () => {});
    test('fails', () => { throw new Error('as it should'); });
    describe('a suite, which is no test', () => { test('passes', () => {}); });
    test('is skipped', { skip: true }, () => {});
    test('hangs', () => new Promise(() => setInterval(() => {}, 1_000)));`;
  const file = join(folder, 'cut.test.mjs');
  writeFileSync(file, text);
  const tally = await nodeTests(place, 'tap', file, { limit: whenWritten(join(folder, 'tap.tap'), /is skipped # SKIP/) });
  assert.deepEqual(tally, { passed: 2, failed: 2, skipped: 1, failures: ['the report is incomplete', 'fails'], flaky: [] });
});

test('the report of Node\'s test runner has the duration of each file', async () => {
  const names = ['quick', 'slow'].map((name) => join(folder, `${name}.duration.test.mjs`));
  for (const [n, name] of names.entries()) writeFileSync(name, `import { test } from 'node:test'; test('waits', () => new Promise((resolve) => setTimeout(resolve, ${n * 300})));`);
  const durations = new Durations();
  const tally = await nodeTests({ ...place, durations }, 'durations', join(folder, '*.duration.test.mjs'));
  assert.deepEqual(tally, { passed: 2, failed: 0, skipped: 0, failures: [], flaky: [] });
  assert.deepEqual(durations.files.map(({ name }) => name).sort(), names.map((name) => relative(ROOT, name)));
  assert.ok(durations.files.some(({ name, ms }) => name.includes('slow') && ms >= 290));
});
