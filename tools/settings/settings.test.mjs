import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ROOT } from '../start/toolchain.mjs';
import { demoDefaults } from '../start/services.mjs';
import { reference } from './reference.mjs';

const page = await reference();

test('docs/settings.md is current: otherwise run `npm run settings`', () => {
  assert.equal(readFileSync(join(ROOT, 'docs', 'settings.md'), 'utf8'), page);
});

test('the page states for each setting whether it is required', () => {
  assert.match(page, /^\| `NATS_URL` \| \*\*needed\*\* \| /m);
  assert.match(page, /^\| `NATS_USER` \| empty \| /m);
  assert.match(page, /^\| `GATEWAY_PORT` \| `8080` \| /m);
  assert.match(page, /^\| `S3_BUCKET` \| \*\*needed\*\* with `IMAGE_STORE=s3` \| /m);
});

test('settings of every service, and of every service with a database, are documented once', () => {
  for (const variable of ['OPS_PORT', 'PGSSLROOTCERT', '<SERVICE>_DATABASE_POOL_SIZE']) {
    assert.equal(page.split(`\`${variable}\``).length, 2, variable);
  }
  assert.doesNotMatch(page, /STORE_DATABASE_POOL_SIZE/);
});

test('the list of what makes the demo laxer names each of its settings', () => {
  const [, list = ''] = readFileSync(join(ROOT, 'tools/start/README.md'), 'utf8').match(/## Laxer than production\n([^]*?)\n## /) ?? [];
  for (const variable of Object.values(demoDefaults).flatMap((settings) => Object.keys(settings))) assert.ok(list.includes(`\`${variable}\``), variable);
});
