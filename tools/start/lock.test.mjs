import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, test } from 'node:test';
import { Held, takeLock } from './lock.mjs';
import { markOf } from './processes.mjs';

let folder = '';
let path = '';
beforeEach((t) => {
  folder = mkdtempSync(join(tmpdir(), 'lock-'));
  path = join(folder, 'lock');
  /** @type {import('node:test').TestContext} */ (t).after(() => rmSync(folder, { recursive: true }));
});

test('a lock is held until it is released', () => {
  const release = takeLock(path);
  assert.throws(() => takeLock(path), (error) => error instanceof Held && error.pid === process.pid);
  release();
  takeLock(path)();
  assert.deepEqual(readdirSync(folder), []);
});

test('the lock of a dead process is taken over', () => {
  const { pid } = spawnSync(process.execPath, ['--version']);
  writeFileSync(path, JSON.stringify({ pid, began: 'long ago' }));
  takeLock(path)();
});

test('the lock of a dead process is taken over even if another process now has its pid', () => {
  writeFileSync(path, JSON.stringify({ pid: process.pid, began: 'before the last boot' }));
  takeLock(path)();
});

test('an incomplete lock file is taken over', () => {
  writeFileSync(path, '{"pid":');
  takeLock(path)();
});

test('releasing a lock does not remove that of another process', () => {
  const release = takeLock(path);
  writeFileSync(path, JSON.stringify({ ...markOf(process.ppid) }));
  release();
  assert.ok(existsSync(path));
});
