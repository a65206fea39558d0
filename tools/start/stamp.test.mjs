import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, test } from 'node:test';
import { changeStamp, contentStamp, filesBelow } from './stamp.mjs';

let folder = '';
beforeEach((t) => {
  folder = mkdtempSync(join(tmpdir(), 'stamp-'));
  /** @type {import('node:test').TestContext} */ (t).after(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'a.ts'), 'a');
  mkdirSync(join(folder, 'dist'));
  writeFileSync(join(folder, 'dist', 'a.ts'), 'built');
});

const sources = () => filesBelow(folder, /\.ts$/);

test('build output is not a source', () => {
  assert.deepEqual(sources(), [join(folder, 'a.ts')]);
});

test('the change stamp changes when a file is written, added or removed', () => {
  const before = changeStamp(sources());
  assert.equal(changeStamp(sources()), before);
  utimesSync(join(folder, 'a.ts'), new Date(0), new Date(0));
  const touched = changeStamp(sources());
  writeFileSync(join(folder, 'b.ts'), 'b');
  const added = changeStamp(sources());
  rmSync(join(folder, 'a.ts'));
  assert.equal(new Set([before, touched, added, changeStamp(sources())]).size, 4);
});

test('the content stamp ignores modification times and detects a missing file', () => {
  const before = contentStamp(sources());
  utimesSync(join(folder, 'a.ts'), new Date(0), new Date(0));
  assert.equal(contentStamp(sources()), before);
  assert.notEqual(contentStamp([...sources(), join(folder, 'missing')]), before);
});
