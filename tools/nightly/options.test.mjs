import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ROOT } from '../start/toolchain.mjs';
import { PART_NAMES, parseOptions } from './options.mjs';

const now = new Date('2026-05-01T23:30:00Z');

test('the seed is the date, and the same for every check that takes one', () => {
  const { seed, parts } = parseOptions([], now);
  assert.equal(seed, 20260501);
  assert.deepEqual(parts.map(([name]) => name), PART_NAMES);
  const seeds = parts.flatMap(([, { args }]) => (args.includes('--seed') ? [args[args.indexOf('--seed') + 1]] : []));
  assert.deepEqual(seeds, ['20260501', '20260501', '20260501']);
});

test('single checks of a night can be repeated with its seed', () => {
  const { parts } = parseOptions(['--seed', '7', '--only', 'chaos', '--minutes', '4'], now);
  assert.deepEqual(parts, [['chaos', { args: ['tests/chaos/main.mjs', '--seed', '7', '--minutes', '4'] }]]);
  assert.throws(() => parseOptions(['--only', 'chaos,nothing'], now), /Not a nightly check: nothing/);
  assert.throws(() => parseOptions(['--seed', 'x'], now));
});

test('every check is an existing command, and CI runs each', () => {
  for (const [, { args: [file = ''] }] of parseOptions([], now).parts) assert.ok(existsSync(join(ROOT, file)), file);
  const workflow = readFileSync(join(ROOT, '.github/workflows/nightly.yml'), 'utf8');
  assert.deepEqual(/^ +part: \[(.*)\]$/m.exec(workflow)?.[1]?.split(', '), PART_NAMES);
});
