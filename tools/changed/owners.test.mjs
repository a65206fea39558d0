import assert from 'node:assert/strict';
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { SERVICES } from '../start/services.mjs';
import { ROOT } from '../start/toolchain.mjs';

const lines = readFileSync(join(ROOT, 'CODEOWNERS'), 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line) => line.split(/\s+/))
  .map(([pattern = '', ...owners]) => ({ pattern, owners: owners.map((owner) => owner.replace('@plant-shop/', '')) }));

/** Returns the owners of a file: the last matching line counts. @param {string} path of a file, from the root */
const ownersOf = (path) => lines.findLast(({ pattern }) => fits(pattern, path))?.owners ?? [];

/** @param {string} pattern @param {string} path */
function fits(pattern, path) {
  if (pattern === '*') return true;
  const rooted = pattern.slice(1);
  if (rooted.endsWith('/')) return path.startsWith(rooted);
  const parts = rooted.split('*').map((part) => part.replaceAll(/[.]/g, '\\.'));
  return new RegExp(`^${parts.join('[^/]*')}$`).test(path);
}

test('a service is owned by its team: code, manifests, database, last release, contract and samples', () => {
  for (const service of SERVICES) {
    const own = [
      `apps/${service}/src/main.ts`,
      `apps/${service}/CHANGELOG.md`,
      `deploy/${service}/overlays/production/kustomization.yaml`,
      ...globSync([`releases/${service}.*`, `libs/contracts/samples/${service}.json`, `libs/contracts/src/${service}*`, `deploy/postgres/base/${service}.yaml`], { cwd: ROOT }),
    ];
    assert.ok(own.length >= (service === 'gateway' ? 3 : 7), service);
    for (const path of own) assert.deepEqual(ownersOf(path), [service], path);
  }
});

test('each part of the gateway is owned by the team of the service that it exposes', () => {
  const parts = { transfer: 'catalog', images: 'catalog', users: 'identity', oauth: 'identity' };
  for (const [part, service] of Object.entries(parts)) {
    assert.deepEqual(ownersOf(`apps/gateway/src/${part}/any.ts`), [service, 'gateway']);
  }
  // A new folder with a controller belongs to one of these, or to the gateway.
  const own = ['agents', 'audit', 'docs', 'health', 'openapi', 'sandbox'];
  const folders = readdirSync(join(ROOT, 'apps/gateway/src'), { withFileTypes: true }).filter((entry) => entry.isDirectory()).map(({ name }) => name);
  const withControllers = folders.filter((name) => readdirSync(join(ROOT, 'apps/gateway/src', name)).some((file) => !file.includes('spec') && readFileSync(join(ROOT, 'apps/gateway/src', name, file), 'utf8').includes('\n@Controller(')));
  assert.deepEqual(withControllers.sort(), [...Object.keys(parts).filter((part) => withControllers.includes(part)), ...own].sort());
});

test('the platform team owns everything else', () => {
  for (const path of ['package.json', 'libs/platform/src/nats.ts', 'deploy/nats/values.yaml', 'tools/start/main.mjs']) assert.deepEqual(ownersOf(path), ['platform'], path);
});

test('every line of CODEOWNERS matches a file', () => {
  const released = existsSync(join(ROOT, 'releases'));
  for (const { pattern } of lines) {
    // The folder begins with the first release.
    if (!released && pattern.startsWith('/releases/')) continue;
    assert.notEqual(globSync(pattern.replace(/^\//, ''), { cwd: ROOT }).length, 0, pattern);
  }
});
