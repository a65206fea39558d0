import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { LogFile } from './log-file.mjs';

test('a log file is readable only by its owner, is appended to, and has a bounded size', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'log-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'store.log');
  new LogFile(path).append('yesterday\n');
  const file = new LogFile(path);
  file.append('today\n');
  assert.equal(readFileSync(path, 'utf8'), 'yesterday\ntoday\n');
  assert.equal(statSync(path).mode & 0o777, 0o600);
  const megabyte = 'x'.repeat(1_000_000);
  for (let written = 0; written < 50; written += 1) file.append(megabyte);
  assert.ok(statSync(path).size + statSync(`${path}.1`).size < 45_000_000);
});
