import assert from 'node:assert/strict';
import { test } from 'node:test';
import { median } from './in-turns.mjs';
import { statusOf, tableOf } from './table.mjs';

/** @param {Partial<import('./bench.mjs').Row>} row */
const row = (row) => ({ goal: 'P6', what: 'memory of a socket', wanted: 12, ratio: 5, atMost: true, detail: {}, ...row });

/** @param {import('./bench.mjs').Row[]} rows */
const verdicts = (...rows) => tableOf(rows).split('\n').slice(1).map((line) => line.trim().split(/  +/).at(-1));

test('the exit status says whether all goals hold', () => {
  assert.equal(statusOf([row({}), row({ wanted: 1, atMost: false })]), 0);
  assert.equal(statusOf([row({}), row({ ratio: 13 })]), 1);
  assert.equal(statusOf([row({}), row({ ratio: 0.9, wanted: 1, atMost: false })]), 1);
});

test('a value that cannot be is not a goal reached', () => {
  for (const one of [{ ratio: -5.8 }, { ratio: 0 }, { ratio: NaN }, { ratio: Infinity, atMost: false }, { ratio: 2.4, wanted: 1.8, atMost: false, possible: /** @type {[number, number]} */ ([0, 2.2]) }]) {
    assert.deepEqual([verdicts(row(one)), statusOf([row(one)])], [['IMPOSSIBLE'], 1]);
  }
  // Such as a count of errors.
  assert.deepEqual(verdicts(row({ ratio: 0, possible: [0, 1] })), ['reached']);
});

test('a measurement that is too short makes no claim, and shows no goal', () => {
  const short = row(median([{ kB: 5 }], ({ kB }) => kB));
  assert.deepEqual([verdicts(short), statusOf([row({}), short])], [['no claim: 1 of 3 rounds'], 2]);
  assert.deepEqual([verdicts(row({ ...short, ratio: -1 })), statusOf([short, row({ ratio: 13 })])], [['IMPOSSIBLE'], 1]);
  assert.deepEqual(verdicts(row(median([{ kB: 5 }, { kB: 6 }, { kB: 4 }], ({ kB }) => kB))), ['reached']);
});
