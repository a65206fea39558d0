import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { readRun, RunFile, runningShop } from './run-file.mjs';

/** @param {import('node:test').TestContext} t */
function folder(t) {
  const path = mkdtempSync(join(tmpdir(), 'run-file-'));
  t.after(() => rmSync(path, { recursive: true }));
  return path;
}

test('a restarted replica keeps its place and its ports', (t) => {
  const path = join(folder(t), 'run.json');
  const file = new RunFile(path);
  /** @type {import('./services.mjs').Instance[]} */
  const replicas = [1, 2].map((n) => ({ service: 'notifications', label: `notifications-${n}`, opsPort: 100 + n, port: 8080 + n }));
  const [first] = replicas;
  assert.ok(first);
  for (const one of replicas) file.record(one, { pid: one.opsPort, began: 'then' });
  file.record(first, undefined);
  assert.deepEqual(readRun(path)?.services['notifications']?.map(({ label, pid }) => [label, pid]), [['notifications-1', undefined], ['notifications-2', 102]]);
  file.record(first, { pid: 7, began: 'now' });
  assert.deepEqual(readRun(path)?.services['notifications']?.map(({ pid, port }) => [pid, port]), [[7, 8081], [102, 8082]]);
});

test('the running shop is found by its folder or its run file; the error says how else to name one', (t) => {
  const path = folder(t);
  assert.throws(() => runningShop({ DATA_DIR: path }, 'its stream by --url'), /No shop runs here.*its stream by --url/);
  const file = new RunFile(join(path, 'run.json'));
  file.update({ gatewayUrl: 'http://here' });
  assert.equal(runningShop({ DATA_DIR: path }, '').gatewayUrl, 'http://here');
  assert.equal(runningShop({ RUN_FILE: file.path }, '').path, file.path);
});
