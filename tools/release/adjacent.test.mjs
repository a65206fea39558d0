import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { StartError } from '../start/errors.mjs';
import { SERVICES } from '../start/services.mjs';
import { ROOT } from '../start/toolchain.mjs';
import { commitOf, mix, namesOfTests, parseMixes } from './adjacent.mjs';
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

test('tests of a release run, but for those that expect what was changed on purpose', () => {
  const pattern = new RegExp(namesOfTests(['acceptance: orders are shown (all of them)', '#/a: gone', 'acceptance: a.b']), 'i');
  for (const name of ['orders', 'orders are shown (all of them) by page', 'a-b', '#/a: gone']) assert.match(name, pattern);
  for (const name of ['orders are shown (all of them)', 'a.b']) assert.doesNotMatch(name, pattern);
  assert.match('orders', new RegExp(namesOfTests([])));
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

test('a release is its tag, or without tags the commit that wrote it', async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'plant-shop-history-'));
  context.after(() => rmSync(folder, { recursive: true }));
  const git = (/** @type {string[]} */ ...args) => execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args], { cwd: folder, encoding: 'utf8' }).trim();
  git('init', '--quiet');
  mkdirSync(join(folder, 'releases'));
  const commits = ['', 'store@1.0.0', 'store@1.0.0', 'store@1.1.0'].map((release, n) => {
    writeFileSync(join(folder, 'releases/store.json'), JSON.stringify({ release, n }, null, 2));
    git('add', '.');
    git('commit', '--quiet', '-m', `${n}`);
    return git('rev-parse', 'HEAD');
  });
  assert.equal(await commitOf('store@1.0.0', folder), commits[1]);
  assert.equal(await commitOf('store@1.1.0', folder), commits[3]);
  assert.equal(await commitOf('HEAD~1', folder), commits[2]);
  git('tag', 'store@1.0.0', 'HEAD~1');
  assert.equal(await commitOf('store@1.0.0', folder), commits[2]);
  await assert.rejects(commitOf('store@9.0.0', folder), StartError);
});
