import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ROOT } from '../start/toolchain.mjs';
import { namedTests } from './table.mjs';

test('every test that the threat table names exists', () => {
  const named = namedTests();
  assert.ok(named.length > 20);
  assert.deepEqual(named.filter((file) => !existsSync(join(ROOT, file))), []);
});
