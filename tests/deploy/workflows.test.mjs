import assert from 'node:assert/strict';
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { parse } from 'yaml';
import { attempt, run } from '../../tools/start/command.mjs';
import { ROOT } from '../../tools/start/toolchain.mjs';
import { SERVICES, textOf, yamlOf } from './services.mjs';

// Runs the steps of the release workflow by bash in a temporary repository, without GitHub. docker, cosign and gh are fakes that
// record their arguments; git, node and the scripts are real.

const folder = mkdtempSync(join(tmpdir(), 'plant-shop-workflows-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const files = readdirSync(join(ROOT, '.github/workflows'));
const release = yamlOf('.github/workflows/release.yml');

test('workflows pin actions to commits, and only jobs grant write permissions', () => {
  for (const file of files) {
    const text = textOf(`.github/workflows/${file}`);
    const used = text.match(/uses: .*/g) ?? [];
    for (const line of used) assert.match(line, /^uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/, file);
    const { permissions } = yamlOf(`.github/workflows/${file}`);
    assert.ok(Object.entries(permissions).every(([name, level]) => name === 'contents' && level === 'read'), file);
  }
});

test('only a service tag starts a release', () => {
  assert.deepEqual(release.on, { push: { tags: SERVICES.map((service) => `${service}@*`) } });
});

test('CI runs everything on main, and the affected steps for a pull request', async () => {
  const { test: job } = yamlOf('.github/workflows/ci.yml').jobs;
  const [step] = job.steps.filter((/** @type {any} */ one) => one.run);
  assert.deepEqual(step.env, { BASE: '${{ github.event.pull_request.base.sha }}' });
  const place = join(folder, 'ci');
  mkdirSync(join(place, '.ci'), { recursive: true });
  writeFileSync(join(place, '.ci/run'), '#!/bin/sh\necho "$#:$*"\n', { mode: 0o755 });
  const given = (/** @type {string} */ base) => run('bash', ['-eo', 'pipefail', '-c', step.run], { what: 'ci', cwd: place, env: { ...process.env, BASE: base } });
  assert.equal(await given(''), '0:\n');
  assert.equal(await given('abc123'), '2:--since abc123\n');
});

const digest = `sha256:${'5'.repeat(64)}`;

/** A repository with an origin, in which the store was frozen as 3.2.1 and tagged. */
async function repository() {
  const origin = join(folder, 'origin.git');
  const work = join(folder, 'work');
  const git = (/** @type {string[]} */ ...args) => run('git', ['-c', 'user.name=t', '-c', 'user.email=t@example', ...args], { what: 'git', cwd: work, env: process.env });
  const parts = ['tools', 'releases', 'docs/api', 'libs/contracts/samples', 'deploy', ...SERVICES.flatMap((one) => ['package.json', 'CHANGELOG.md', 'migrations'].map((name) => `apps/${one}/${name}`))];
  for (const path of [...parts, 'package.json']) if (existsSync(join(ROOT, path))) cpSync(join(ROOT, path), join(work, path), { recursive: true });
  const changelog = join(work, 'apps/store/CHANGELOG.md');
  writeFileSync(changelog, readFileSync(changelog, 'utf8').replace('## Unreleased\n', '## Unreleased\n- More.\n'));
  const baseline = join(work, 'releases/store.json');
  writeFileSync(baseline, JSON.stringify({ ...JSON.parse(readFileSync(baseline, 'utf8')), release: '0533725' }));
  await run('git', ['init', '--quiet', '--bare', '--initial-branch', 'main', origin], { what: 'git', env: process.env });
  await git('init', '--quiet', '--initial-branch', 'main');
  await git('remote', 'add', 'origin', origin);
  await run(process.execPath, ['tools/release/main.mjs', 'freeze', 'store', '3.2.1'], { what: 'freeze', cwd: work, env: process.env });
  await git('add', '--all');
  await git('commit', '--quiet', '--message', 'Store 3.2.1');
  await git('tag', 'store@3.2.1');
  await git('push', '--quiet', 'origin', 'main', 'store@3.2.1');
  return { work, git, sha: (await git('rev-parse', 'HEAD')).trim() };
}

/** Fakes that record their calls; docker also writes the digest of the pushed image. */
function stands() {
  const bin = join(folder, 'bin');
  const calls = join(folder, 'calls');
  mkdirSync(bin, { recursive: true });
  const bodies = {
    docker: `if [ "$1" = login ]; then cat > /dev/null; fi
while [ $# -gt 0 ]; do if [ "$1" = --metadata-file ]; then echo '{"containerimage.digest":"${digest}"}' > "$2"; fi; shift; done`,
    cosign: '',
    gh: 'if [ "$1" = run ]; then echo "$CI_RUNS"; fi',
  };
  for (const [name, body] of Object.entries(bodies)) {
    writeFileSync(join(bin, name), `#!/bin/sh\necho "${name} $*" >> '${calls}'\n${body}\n`);
    chmodSync(join(bin, name), 0o755);
  }
  writeFileSync(calls, '');
  return { bin, calls: () => readFileSync(calls, 'utf8').trim().split('\n') };
}

/**
 * Runs the commands of a job's steps in order, up to the first that fails.
 * @param {any} job @param {Record<string, string>} known values of expressions, besides outputs of its own steps
 * @param {{ cwd: string, env: NodeJS.ProcessEnv }} place
 */
async function runJob(job, known, { cwd, env }) {
  /** @type {Record<string, string>} */
  const values = { ...known };
  const resolve = (/** @type {string} */ text) =>
    text.replaceAll(/\$\{\{ ([\w.-]+) \}\}/g, (_, name) => {
      assert.ok(name in values, `no value for ${name}`);
      return values[name] ?? '';
    });
  for (const step of job.steps) {
    for (const value of Object.values(step.with ?? {})) if (typeof value === 'string') resolve(value);
    if (step.run === undefined) continue;
    const output = join(folder, 'output');
    writeFileSync(output, '');
    const own = Object.fromEntries(Object.entries(step.env ?? {}).map(([name, value]) => [name, resolve(/** @type {string} */ (value))]));
    const result = await attempt('bash', ['-eo', 'pipefail', '-c', step.run], { cwd, env: { ...env, ...own, GITHUB_OUTPUT: output } });
    if (result.code !== 0) return { failed: step.name, output: result.output, outputs: {} };
    for (const line of readFileSync(output, 'utf8').trim().split('\n')) values[`steps.${step.id}.outputs.${line.split('=')[0]}`] = line.slice(line.indexOf('=') + 1);
  }
  return { failed: undefined, output: '', outputs: Object.fromEntries(Object.entries(job.outputs ?? {}).map(([name, value]) => [name, resolve(/** @type {string} */ (value))])) };
}

test('a release builds, pushes, signs and attests one image, and writes its digest only into the overlay of its service', async () => {
  const { work, git, sha } = await repository();
  const { bin, calls } = stands();
  const env = {
    ...process.env,
    PATH: `${bin}:${dirname(process.execPath)}:${process.env['PATH']}`,
    RUNNER_TEMP: folder,
    GITHUB_SHA: sha,
    GITHUB_REF_NAME: 'store@3.2.1',
    GITHUB_REPOSITORY: 'Plants/Shop',
    GITHUB_ACTOR: 'releaser',
    CI_RUNS: '1',
  };
  const known = { 'github.token': 'token' };

  assert.equal((await runJob(release.jobs.image, known, { cwd: work, env: { ...env, GITHUB_REF_NAME: 'store@3.2.2' } })).failed, 'The tag is on main, and is the commit that was frozen for it');
  assert.equal((await runJob(release.jobs.image, known, { cwd: work, env: { ...env, GITHUB_REF_NAME: 'catalog@3.2.1' } })).failed, 'The tag is on main, and is the commit that was frozen for it');
  assert.equal((await runJob(release.jobs.image, known, { cwd: work, env: { ...env, CI_RUNS: '0' } })).failed, 'Its tests have passed');
  assert.deepEqual(calls().filter((call) => !call.startsWith('gh run')), []);

  const image = await runJob(release.jobs.image, known, { cwd: work, env });
  assert.equal(image.failed, undefined, image.output);
  assert.deepEqual(image.outputs, { service: 'store', image: 'ghcr.io/plants/shop/store', digest });
  const build = calls().find((call) => call.startsWith('docker buildx build')) ?? '';
  for (const part of ['--file deploy/Dockerfile', '--build-arg SERVICE=store', '--build-arg VERSION=3.2.1', `--build-arg REVISION=${sha}`, '--tag ghcr.io/plants/shop/store:3.2.1', '--push', '--sbom=true']) {
    assert.ok(build.includes(part), `${part}: ${build}`);
  }
  assert.ok(calls().includes(`cosign sign --yes ghcr.io/plants/shop/store@${digest}`), calls().join('\n'));
  const attests = release.jobs.image.steps.find((/** @type {any} */ step) => step.uses?.startsWith('actions/attest-build-provenance@'));
  assert.deepEqual(attests.with, { 'subject-name': '${{ steps.build.outputs.image }}', 'subject-digest': '${{ steps.build.outputs.digest }}', 'push-to-registry': true });

  const needs = Object.fromEntries(Object.entries(image.outputs).map(([name, value]) => [`needs.image.outputs.${name}`, value]));
  const deploy = await runJob(release.jobs.deploy, { ...known, ...needs }, { cwd: work, env });
  assert.equal(deploy.failed, undefined, deploy.output);
  const branch = 'origin/deploy-store@3.2.1';
  await git('fetch', '--quiet', 'origin');
  assert.equal(await git('diff', '--name-only', 'origin/main', branch), 'deploy/store/overlays/production/kustomization.yaml\n');
  const overlay = parse(await git('show', `${branch}:deploy/store/overlays/production/kustomization.yaml`));
  assert.deepEqual(overlay.images, [{ name: 'plant-shop/store', newName: 'ghcr.io/plants/shop/store', digest }]);
  assert.ok(calls().includes('gh pr create --fill --base main --head deploy-store@3.2.1'));
});

test('a tag that is not on main is not released', async () => {
  const work = join(folder, 'work');
  const git = (/** @type {string[]} */ ...args) => run('git', ['-c', 'user.name=t', '-c', 'user.email=t@example', ...args], { what: 'git', cwd: work, env: process.env });
  await git('switch', '--quiet', '--detach', 'main');
  await git('commit', '--quiet', '--allow-empty', '--message', 'Beside main');
  const env = { ...process.env, GITHUB_SHA: (await git('rev-parse', 'HEAD')).trim(), GITHUB_REF_NAME: 'store@3.2.1', RUNNER_TEMP: folder };
  assert.equal((await runJob(release.jobs.image, { 'github.token': 'token' }, { cwd: work, env })).failed, 'The tag is on main, and is the commit that was frozen for it');
});

test('an overlay accepts only its own service\'s image, by digest', async () => {
  const { withImage } = await import('../../tools/release/publish.mjs');
  for (const service of SERVICES) {
    const text = textOf(`deploy/${service}/overlays/production/kustomization.yaml`);
    const overlay = withImage(text, service, 'ghcr.io/plants/shop', digest);
    assert.deepEqual(parse(overlay), { ...parse(text), images: [{ name: `plant-shop/${service}`, newName: 'ghcr.io/plants/shop', digest }] });
    for (const other of SERVICES.filter((one) => one !== service)) assert.throws(() => withImage(text, other, 'ghcr.io/plants/shop', digest));
    for (const [image, id] of [['ghcr.io/plants/shop:1', digest], ['ghcr.io/plants/shop', 'sha256:5'], ['$(id)', digest]]) assert.throws(() => withImage(text, service, image ?? '', id ?? ''));
  }
});
