import assert from 'node:assert/strict';
import { test } from 'node:test';
import { firstLoad, total } from './kit/first-load.mjs';

const LIMIT = 250 * 1_000;

test('the first load of the console is at most 250 kB, compressed', () => {
  const sizes = firstLoad();
  console.log(`First load: ${(total(sizes) / 1_000).toFixed(1)} kB`);
  assert.ok(total(sizes) <= LIMIT, JSON.stringify(sizes));
});
