import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ROOT } from '../start/toolchain.mjs';
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

test('settings of every service are documented once', () => {
  assert.equal(page.match(/`OPS_PORT`/g)?.length, 1);
});
