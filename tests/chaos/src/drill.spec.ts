import { expect, test } from '@jest/globals';
import { type DrillFacts, unexplained } from './drill.js';

const explained: DrillFacts = {
  kept: new Set([1, 2]),
  gone: new Set([3]),
  restored: new Set([1, 2]),
  stock: { supplied: 10, free: 7, reserved: 1, sold: 2, paid: 2, open: 1 },
  findings: ['stock-missing 7'],
  findingsAfterRepair: [],
  expectedFindings: ['stock-missing 7'],
  sold: new Set([3]),
  followed: new Set([1, 2, 3]),
  failures: [],
  gaps: ['cursor-ahead'],
  disconnections: 0,
};

test('a restore explains that orders of after its time are gone, and one gap', () => {
  expect(unexplained(explained)).toEqual([]);
});

test.each<[what: string, facts: Partial<DrillFacts>, line: RegExp]>([
  ['a missing order', { restored: new Set([1]) }, /^1 orders of before that time are missing: 2$/],
  ['an order of later', { restored: new Set([1, 2, 3]) }, /^1 orders of after that time exist: 3$/],
  ['an order that nobody placed', { restored: new Set([1, 2, 9]) }, /^1 paid orders were never acknowledged: 9$/],
  ['missing units', { stock: { ...explained.stock, free: 6 } }, /^there are 9 of 10 units$/],
  ['units sold without an order', { stock: { ...explained.stock, paid: 1 } }, /but orders hold 1 and 1$/],
  ['a difference without a cause', { findings: ['stock-missing 7', 'user-missing 4'] }, /^1 findings of reconcile have no cause: user-missing 4$/],
  ['a difference that is not found', { findings: [] }, /^1 changes were not found by reconcile: stock-missing 7$/],
  ['a difference that is not repaired', { findingsAfterRepair: ['user-missing 4'] }, /^1 findings are left after the repair: user-missing 4$/],
  ['a lost event', { followed: new Set([1]) }, /^1 events of orders after the restore did not arrive: 3$/],
  ['a failed request', { failures: ['GET /v3/plant/7: 503'] }, /^1 requests failed after the restore: GET/],
  ['a second gap', { gaps: ['a', 'b'] }, /^the stream told of 2 gaps: a, b$/],
  ['a disconnected client', { disconnections: 1 }, /^the stream disconnected its client 1 times$/],
])('it does not explain %s', (_, facts, line) => {
  expect(unexplained({ ...explained, ...facts })).toEqual([expect.stringMatching(line)]);
});
