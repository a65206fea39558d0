import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { test } from 'node:test';
import { SERVICES } from '../start/services.mjs';
import { filesBelow, packageFolders } from '../start/stamp.mjs';
import { ROOT } from '../start/toolchain.mjs';
import { parseOptions } from '../test/options.mjs';
import { affected, changedServices } from './changed.mjs';

const changed = (/** @type {string[]} */ ...files) => changedServices(ROOT, files);

test('a file in the folder of a service changes that service; the Dockerfile changes all', () => {
  assert.deepEqual(changed('apps/store/src/main.ts'), ['store']);
  assert.deepEqual(changed('apps/store/migrations/1764000000001-a.sql', 'apps/catalog/package.json'), ['catalog', 'store']);
  assert.deepEqual(changed('deploy/Dockerfile'), SERVICES);
});

test('a library changes only the services that depend on it', () => {
  assert.deepEqual(changed('libs/events/src/feed.ts'), ['store', 'notifications']);
  assert.deepEqual(changed('libs/credentials/src/authentication.ts'), ['gateway', 'notifications']);
  assert.deepEqual(changed('libs/platform/src/nats.ts'), SERVICES);
  assert.deepEqual(changed('libs/testing/src/nats.ts', 'libs/service-testing/src/service.ts'), []);
});

test('files outside the images change no service', () => {
  assert.deepEqual(changed('README.md', 'apps/store/README.md', 'apps/store/src/orders/a.spec.ts', 'libs/events/src/b.int-spec.ts', 'docs/a/b.md', 'releases/store.json', 'tests/acceptance/src/a.spec.ts', 'examples/warehouse/main.mjs', 'tools/start/main.mjs', 'deploy/store/base/service.yaml'), []);
});

test('files used by all image builds, and unknown files, change all services', () => {
  for (const file of ['pnpm-lock.yaml', 'package.json', 'tsconfig.base.json', '.dockerignore', 'tools/plants/csv.mjs', 'tools/reconcile/main.mjs', 'libs/gone/src/a.ts', 'patches/a.patch']) {
    assert.deepEqual(changed(file), SERVICES, file);
  }
});

test('all services have changed since an unknown commit, none since the current one', () => {
  const since = (/** @type {string} */ commit) => JSON.parse(execFileSync(process.execPath, [join(ROOT, 'tools/changed/main.mjs'), commit], { encoding: 'utf8', cwd: ROOT }));
  assert.deepEqual(since('0'.repeat(40)), SERVICES);
  assert.deepEqual(since('HEAD'), []);
});

const everything = ['lint', 'tools', 'unit', 'acceptance', 'chaos', 'artefacts', 'deploy', 'console'];
const always = ['deploy', 'lint', 'tools'];

/** @param {string[]} files */
function run(...files) {
  const found = affected(ROOT, files);
  return found && { steps: found.steps.toSorted(), packages: found.packages };
}

test('CI runs the unit tests of changed packages and their dependents, and the whole-shop steps if a service is among them', () => {
  assert.deepEqual(run('apps/store/src/main.ts'), { steps: everything.toSorted(), packages: ['apps/store'] });
  assert.deepEqual(run('libs/events/src/feed.ts'), { steps: everything.toSorted(), packages: ['apps/notifications', 'apps/store', 'libs/events'] });
  assert.deepEqual(run('libs/credentials/src/authentication.ts')?.packages, ['apps/gateway', 'apps/notifications', 'libs/credentials']);
  assert.deepEqual(run('libs/platform/src/nats.ts')?.packages.length, SERVICES.length + 5);
});

test('a changed file outside all packages runs the steps that read it', () => {
  assert.deepEqual(run('docs/api/openapi.json'), { steps: [...always, 'acceptance', 'unit'].sort(), packages: ['apps/gateway', 'libs/client'] });
  assert.deepEqual(run('docs/api/asyncapi.json'), { steps: [...always, 'unit'].sort(), packages: ['apps/notifications', 'libs/client'] });
  assert.deepEqual(run('releases/store.json'), { steps: [...always, 'unit'].sort(), packages: ['libs/contracts'] });
  assert.deepEqual(run('deploy/store/base/service.yaml'), { steps: [...always, 'artefacts'].sort(), packages: [] });
  assert.deepEqual(run('tests/acceptance/src/orders.spec.ts'), { steps: [...always, 'acceptance'].sort(), packages: [] });
  assert.deepEqual(run('tests/console/orders.test.mjs'), { steps: [...always, 'console'].sort(), packages: [] });
  assert.deepEqual(run('examples/warehouse/ship.mjs'), { steps: [...always, 'acceptance'].sort(), packages: [] });
  assert.deepEqual(run('examples/storefront/src/app.tsx'), { steps: [...always, 'console'].sort(), packages: [] });
  assert.deepEqual(run('tests/chaos/src/plan.ts'), { steps: [...always, 'chaos', 'unit'].sort(), packages: ['tests/chaos'] });
});

test('a changed document runs few steps, an unknown file runs all', () => {
  assert.deepEqual(run('docs/operations.md', 'CODEOWNERS', 'README.md', '.github/workflows/ci.yml'), { steps: always, packages: [] });
  assert.deepEqual(run('apps/store/README.md'), { steps: [...always, 'unit'], packages: ['apps/store'] });
  for (const file of ['pnpm-lock.yaml', 'package.json', 'tsconfig.base.json', 'jest.base.js', 'tools/start/main.mjs', '.ci/run', 'libs/gone/src/a.ts']) assert.equal(run(file), undefined, file);
});

test('every file that a unit test reads outside its package is registered', () => {
  for (const folder of packageFolders(ROOT).filter((one) => !/tests\/(deploy|load)$/.test(one))) {
    for (const file of filesBelow(folder, /\.ts$/)) {
      for (const [, path = ''] of readFileSync(file, 'utf8').matchAll(/new URL\(\s*[`'](\.\.\/[^`'$]*)/g)) {
        const target = relative(ROOT, resolve(dirname(file), path));
        const own = relative(ROOT, folder);
        if (target.startsWith(`${own}/`) || target === own || target === '') continue;
        const found = affected(ROOT, [target]);
        const step = own === 'tests/acceptance' ? 'acceptance' : 'unit';
        assert.ok(found === undefined || (step === 'unit' ? found.packages.includes(own) : found.steps.includes(step)), `${relative(ROOT, file)} reads ${target}`);
      }
    }
  }
});

test('npm test -- --since runs the affected steps, or all since an unknown commit', () => {
  assert.deepEqual([...parseOptions(['--since', 'HEAD']).steps].toSorted(), always);
  assert.deepEqual(parseOptions(['--since', '0'.repeat(40)]), parseOptions(['--all']));
});
