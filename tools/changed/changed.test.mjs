import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { SERVICES } from '../start/services.mjs';
import { ROOT } from '../start/toolchain.mjs';
import { changedServices } from './changed.mjs';

const changed = (/** @type {string[]} */ ...files) => changedServices(ROOT, files);

test('a service changes with its own folder and its own Dockerfile', () => {
  assert.deepEqual(changed('apps/store/src/main.ts'), ['store']);
  assert.deepEqual(changed('apps/store/migrations/1764000000001-a.sql', 'apps/catalog/package.json'), ['catalog', 'store']);
  assert.deepEqual(changed('deploy/identity/Dockerfile'), ['identity']);
});

test('a lib changes the services that run with it, and no others', () => {
  assert.deepEqual(changed('libs/events/src/feed.ts'), ['store', 'notifications']);
  assert.deepEqual(changed('libs/credentials/src/caller.ts'), ['gateway', 'notifications']);
  assert.deepEqual(changed('libs/platform/src/nats.ts'), SERVICES);
  assert.deepEqual(changed('libs/testing/src/nats.ts'), []);
});

test('what no image holds changes nothing', () => {
  assert.deepEqual(changed('README.md', 'apps/store/README.md', 'docs/a/b.md', 'releases/store.json', 'tests/acceptance/src/a.spec.ts', 'tools/start/main.mjs', 'deploy/store/base/service.yaml'), []);
});

test('what all images are built with changes all, and so does what is new to us', () => {
  for (const file of ['pnpm-lock.yaml', 'package.json', 'tsconfig.base.json', '.dockerignore', 'libs/gone/src/a.ts', 'patches/a.patch']) {
    assert.deepEqual(changed(file), SERVICES, file);
  }
});

test('since a commit that nobody knows all have changed; since this one none', () => {
  const since = (/** @type {string} */ commit) => JSON.parse(execFileSync(process.execPath, [join(ROOT, 'tools/changed/main.mjs'), commit], { encoding: 'utf8', cwd: ROOT }));
  assert.deepEqual(since('0'.repeat(40)), SERVICES);
  assert.deepEqual(since('HEAD'), []);
});
