import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isProblem, isSurelyNoProblem, readable } from './log.mjs';

test('a line shows time, service, level, message and its own fields', () => {
  const shown = { msg: 'order placed', orderId: 7, tags: ['a'] };
  const line = JSON.stringify({ level: 30, time: Date.UTC(2030, 0, 1, 12, 0, 1, 5), pid: 1, hostname: 'h', service: 'store', ...shown });
  const text = '12:00:01.005 store           info  order placed orderId=7 tags=["a"]';
  assert.deepEqual(readable('store', line, false), { level: 'info', text });
});

test('an error shows its stack below the line', () => {
  const line = JSON.stringify({ level: 50, time: 0, msg: 'failed', err: { message: 'no', stack: 'Error: no\n    at x' } });
  assert.match(readable('store', line, false).text, /error failed\n {4}Error: no\n {8}at x$/);
});

test('levels may be names, and text that is not JSON is shown unchanged', () => {
  assert.equal(readable('store', '{"level":"warn","msg":"slow"}', false).level, 'warn');
  assert.match(readable('store', 'Segmentation fault', false).text, /store +Segmentation fault$/);
});

test('the pre-filter drops only lines that parsing would drop', () => {
  for (const level of ['"info"', '"debug"', '30', '"warn"', '"fatal"', '40', '60', '"strange"', '35']) {
    const line = `{"level":${level},"time":0,"msg":"x"}`;
    if (isSurelyNoProblem(line)) assert.equal(isProblem(readable('store', line, false).level), false, line);
  }
  assert.ok(isSurelyNoProblem('{"level":"info","time":0}'));
  assert.equal(isSurelyNoProblem('panic: out of memory'), false);
});
