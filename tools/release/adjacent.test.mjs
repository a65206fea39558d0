import assert from 'node:assert/strict';
import { mkdtempSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { StartError } from '../start/errors.mjs';
import { SERVICES } from '../start/services.mjs';
import { ROOT } from '../start/toolchain.mjs';
import { mix, parseMixes } from './adjacent.mjs';
import { readRelease } from './releases.mjs';

test('a service is tested with its own last release; by default each service in turn', () => {
  const released = SERVICES.map((service) => ({ service, ref: readRelease(service).release })).filter(({ ref }) => ref !== '');
  const without = SERVICES.filter((service) => !released.some((one) => one.service === service));
  for (const mix of released) assert.deepEqual(parseMixes([mix.service]), [mix]);
  for (const service of without) assert.throws(() => parseMixes([service]), /released yet/);
  if (released.length > 0) assert.deepEqual(parseMixes([]), released);
  assert.deepEqual(parseMixes(['store', 'v1']), [{ service: 'store', ref: 'v1' }]);
  for (const args of [['shop'], ['0533725'], ['store', 'v1', 'more']]) assert.throws(() => parseMixes(args), StartError);
});

test('one service comes from the release, the others and all schemas from today', (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'plant-shop-mix-'));
  context.after(() => rmSync(folder, { recursive: true }));
  mix(folder, '/release', 'store');
  for (const service of SERVICES) {
    const of = (/** @type {string} */ name) => readlinkSync(join(folder, service, 'dist', name));
    assert.equal(of('main.js'), join(service === 'store' ? '/release' : ROOT, 'apps', service, 'dist/main.js'));
    assert.equal(of('migrate.js'), join(ROOT, 'apps', service, 'dist/migrate.js'));
  }
});
