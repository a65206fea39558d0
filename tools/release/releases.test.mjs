import assert from 'node:assert/strict';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { StartError } from '../start/errors.mjs';
import { SERVICES } from '../start/services.mjs';
import { filesBelow } from '../start/stamp.mjs';
import { ROOT } from '../start/toolchain.mjs';
import { deployImage } from './publish.mjs';
import { documentOf, freeze, readRelease, sectionOf } from './releases.mjs';

/** Copies the files that a freeze reads and writes. @param {import('node:test').TestContext} context */
function copyOfShop(context) {
  const root = mkdtempSync(join(tmpdir(), 'plant-shop-freeze-'));
  context.after(() => rmSync(root, { recursive: true }));
  const own = SERVICES.flatMap((service) => ['package.json', 'CHANGELOG.md', 'migrations'].map((name) => `apps/${service}/${name}`));
  for (const path of ['releases', 'docs/api', 'libs/contracts/samples', ...own]) {
    if (existsSync(join(ROOT, path))) cpSync(join(ROOT, path), join(root, path), { recursive: true });
  }
  for (const service of SERVICES) {
    const file = join(root, 'apps', service, 'CHANGELOG.md');
    writeFileSync(file, readFileSync(file, 'utf8').replace('## Unreleased\n', '## Unreleased\n- **Mended**: something.\n'));
  }
  return root;
}

/** @param {string} root */
const contentsOf = (root) => new Map(filesBelow(root, /./).map((file) => [file.slice(root.length + 1), readFileSync(file, 'utf8')]));

test('a freeze records the release of one service and touches no other', (context) => {
  for (const service of SERVICES) {
    const root = copyOfShop(context);
    if (service !== 'gateway') {
      writeFileSync(join(root, `apps/${service}/migrations/1799999999999-more.sql`), 'SELECT 1;\n');
      const samples = join(root, `libs/contracts/samples/${service}.json`);
      writeFileSync(samples, JSON.stringify({ ...JSON.parse(readFileSync(samples, 'utf8')), more: { request: {}, answer: {} } }));
    }
    const document = documentOf(service, root);
    if (document) writeFileSync(document.today, '{}');
    const before = contentsOf(root);

    assert.equal(freeze(service, '97.1.0', { root, date: '2026-12-01' }), `${service}@97.1.0`);

    const changed = [...contentsOf(root)].filter(([file, text]) => before.get(file) !== text).map(([file]) => file);
    const own = [`apps/${service}/CHANGELOG.md`, `apps/${service}/package.json`, `releases/${service}.json`];
    assert.deepEqual(changed.sort(), [...own, ...(document ? [`releases/${service}.${document.name}`] : [])].sort());
    const { release, wanted, migrations, samples } = readRelease(service, root);
    assert.equal(release, `${service}@97.1.0`);
    assert.deepEqual(wanted, {});
    assert.equal('1799999999999-more.sql' in migrations, service !== 'gateway');
    assert.equal('more' in samples, service !== 'gateway');
    assert.equal(JSON.parse(readFileSync(join(root, `apps/${service}/package.json`), 'utf8')).version, '97.1.0');
    const changelog = readFileSync(join(root, `apps/${service}/CHANGELOG.md`), 'utf8');
    assert.equal(sectionOf(changelog, 'Unreleased'), '');
    assert.match(sectionOf(changelog, '97.1.0') ?? '', /^- \*\*Mended\*\*: something\./);
  }
});

test('a freeze lists the operations that are new to clients', (context) => {
  const root = copyOfShop(context);
  const today = JSON.parse(readFileSync(join(root, 'libs/contracts/samples/store.json'), 'utf8'));
  const samples = Object.fromEntries(Object.entries(today).filter(([name]) => name !== 'getOrder' && name !== 'openStock'));
  mkdirSync(join(root, 'releases'), { recursive: true });
  writeFileSync(join(root, 'releases/store.json'), JSON.stringify({ ...readRelease('store'), release: 'store@1.0.0', samples }));
  freeze('store', '1.1.0', { root });
  const section = sectionOf(readFileSync(join(root, 'apps/store/CHANGELOG.md'), 'utf8'), '1.1.0') ?? '';
  assert.match(section, /^- \*\*Mended\*\*: something\.\n/);
  assert.match(section, /\n- New operations: .*`getOrder` \(Read an order\)[^\n]*\.$/);
  assert.doesNotMatch(section, /openStock/);
});

test('the version of a service must increase', (context) => {
  const root = copyOfShop(context);
  const again = (/** @type {string} */ version) => {
    const file = join(root, 'apps/store/CHANGELOG.md');
    writeFileSync(file, readFileSync(file, 'utf8').replace('## Unreleased\n', '## Unreleased\n- More.\n'));
    return freeze('store', version, { root });
  };
  again('90.9.0');
  for (const version of ['90.9.0', '90.8.9', '0.10.0', '90.10', 'v91.0.0', '91.0.0-rc.1']) assert.throws(() => again(version), StartError, version);
  assert.equal(again('90.10.0'), 'store@90.10.0');
  assert.equal(again('91.0.0'), 'store@91.0.0');
});

test('a freeze without changelog entries is refused and writes nothing', (context) => {
  const root = copyOfShop(context);
  freeze('catalog', '98.0.0', { root });
  const before = contentsOf(root);
  assert.throws(() => freeze('catalog', '99.0.0', { root }), /CHANGELOG/);
  assert.deepEqual(contentsOf(root), before);
});

test('every service has its own changelog with the section Unreleased', () => {
  for (const service of SERVICES) {
    assert.notEqual(sectionOf(readFileSync(join(ROOT, `apps/${service}/CHANGELOG.md`), 'utf8'), 'Unreleased'), undefined, service);
  }
});

test('a deployed image changes the overlay of its service or the console, its Jobs, and the name of its migration', (context) => {
  const root = mkdtempSync(join(tmpdir(), 'plant-shop-deploy-'));
  context.after(() => rmSync(root, { recursive: true }));
  for (const part of /** @type {const} */ ([...SERVICES, 'console'])) {
    cpSync(join(ROOT, 'deploy', part), join(root, 'deploy', part), { recursive: true });
    const before = contentsOf(root);
    deployImage(part, `ghcr.io/plants/${part}`, `sha256:0123456789ab${'c'.repeat(52)}`, root);
    const changed = [...contentsOf(root)].filter(([file, text]) => before.get(file) !== text).map(([file]) => file.replace(`deploy/${part}/`, '').replace('/kustomization.yaml', ''));
    const migrates = part !== 'gateway' && part !== 'console';
    assert.deepEqual(changed.sort(), [...(migrates ? ['migration'] : []), 'overlays/production', ...(part === 'store' ? ['reconcile'] : [])]);
    if (migrates) assert.match(readFileSync(join(root, `deploy/${part}/migration/kustomization.yaml`), 'utf8'), /^nameSuffix: '-0123456789ab'$/m);
  }
});
