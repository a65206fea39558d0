import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ROOT } from '../start/toolchain.mjs';

test('Nest and TypeORM exist once, so that a class of theirs is the same in all packages', () => {
  const lock = readFileSync(join(ROOT, 'pnpm-lock.yaml'), 'utf8');
  const snapshots = lock.slice(lock.indexOf('\nsnapshots:')).matchAll(/^ {2}'?(@nestjs\/[a-z-]+|typeorm)@/gm);
  const names = [...snapshots].map(([, name = '']) => name);
  assert.ok(names.includes('@nestjs/common') && names.includes('typeorm'));
  assert.deepEqual(names, [...new Set(names)]);
});
