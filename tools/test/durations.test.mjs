import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { cpuSeconds, Durations, tableOf } from './durations.mjs';

test('the table lists the steps in their order, and the 15 slowest files', () => {
  const durations = new Durations();
  durations.steps.push({ name: 'lint', ms: 84_500, cpuSeconds: 91.26 }, { name: 'unit', ms: 436_300, cpuSeconds: 612 });
  for (let n = 1; n <= 20; n++) durations.files.push({ name: `${n}.spec.ts`, ms: n * 1_000 });
  const [title, columns, lint, unit, files, first, ...others] = tableOf(durations, { ms: 600_000, cpuSeconds: 1_080.4 });
  assert.equal(title, 'Where the time went (600 s, with 1080 s of processor time):');
  assert.deepEqual([columns, lint, unit], [' elapsed   processor', '    84.5 s      91.3 s  lint', '   436.3 s     612.0 s  unit']);
  assert.equal(files, 'The 15 slowest of 20 files:');
  assert.equal(first, '    20.0 s  20.spec.ts');
  assert.deepEqual([others.length, others.at(-1)], [14, '     6.0 s  6.spec.ts']);
});

test('without files and processor time the table has only the steps', () => {
  const durations = new Durations();
  durations.steps.push({ name: 'lint', ms: 1_000, cpuSeconds: undefined });
  assert.deepEqual(tableOf(durations, { ms: 2_000, cpuSeconds: undefined }), ['Where the time went (2 s):', '     1.0 s  lint']);
});

test('a step is charged with the processor time of its own command', { skip: process.platform !== 'linux' }, () => {
  const run = (/** @type {number} */ ms) => execFileSync(process.execPath, ['--eval', `while (process.cpuUsage().user < ${ms * 1_000});`]);
  const durations = new Durations();
  /** @type {import('./durations.mjs').StepDuration[]} */
  const steps = [300, 0].map((ms) => ({ name: `${ms}`, ms, cpuSeconds: undefined }));
  const before = cpuSeconds()?.total ?? NaN;
  for (const step of steps) {
    run(step.ms);
    durations.charge(step);
  }
  const [busy = NaN, idle = NaN] = steps.map((step) => step.cpuSeconds ?? NaN);
  assert.ok(busy > idle && idle > 0, `${busy}, ${idle}`);
  assert.ok((cpuSeconds()?.total ?? NaN) - before >= busy + idle - 0.02);
});
