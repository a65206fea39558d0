import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cpuSeconds, Durations, tableOf } from './durations.mjs';

test('the table lists the steps in their order, and the 15 slowest files', () => {
  const durations = new Durations();
  durations.steps.push({ name: 'lint', ms: 84_500 }, { name: 'unit', ms: 436_300 });
  for (let n = 1; n <= 20; n++) durations.files.push({ name: `${n}.spec.ts`, ms: n * 1_000 });
  const [title, lint, unit, files, first, ...others] = tableOf(durations, { ms: 600_000, cpuSeconds: 1_080.4 });
  assert.equal(title, 'Where the time went (600 s, with 1080 s of processor time):');
  assert.deepEqual([lint, unit], ['    84.5 s  lint', '   436.3 s  unit']);
  assert.equal(files, 'The 15 slowest of 20 files:');
  assert.equal(first, '    20.0 s  20.spec.ts');
  assert.deepEqual([others.length, others.at(-1)], [14, '     6.0 s  6.spec.ts']);
});

test('without files and processor time the table has only the steps', () => {
  const durations = new Durations();
  durations.steps.push({ name: 'lint', ms: 1_000 });
  assert.deepEqual(tableOf(durations, { ms: 2_000, cpuSeconds: undefined }), ['Where the time went (2 s):', '     1.0 s  lint']);
});

test('processor time is counted where there is /proc', { skip: process.platform !== 'linux' }, () => {
  const before = cpuSeconds() ?? NaN;
  for (const end = performance.now() + 300; performance.now() < end; );
  assert.ok((cpuSeconds() ?? NaN) > before);
});
