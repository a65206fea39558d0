import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { loadCredentials } from './credentials.mjs';

test('credentials stay with the data, and data of other schemas is refused with the way out', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'credentials-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'credentials.json');
  assert.throws(() => loadCredentials(path, { needed: true }), { message: /passwords[^]*missing[^]*npm start -- --fresh/ });
  const made = loadCredentials(path, { needed: false });
  assert.deepEqual(loadCredentials(path, { needed: true }), made);
  assert.throws(() => loadCredentials(path, { needed: true, schemas: 'of a later version' }), { message: /cannot use[^]*npm start -- --fresh/ });
  // Without data of ours they serve new data.
  assert.deepEqual(loadCredentials(path, { needed: false, schemas: 'of a later version' }), { ...made, schemas: 'of a later version' });
});
