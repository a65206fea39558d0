import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { parseAllDocuments } from 'yaml';
import { attempt, run } from '../../tools/start/command.mjs';
import { NATS_USERS } from '../../tools/start/services.mjs';
import { ROOT } from '../../tools/start/toolchain.mjs';
import { SERVICES, textOf, yamlOf } from './services.mjs';

const folder = mkdtempSync(join(tmpdir(), 'plant-shop-deploy-'));
after(() => rmSync(folder, { recursive: true }));

/** @param {string} script from the root @param {string[]} args @param {NodeJS.ProcessEnv} [env] */
const shell = (script, args, env = {}) => run('sh', [join(ROOT, script), ...args], { what: script, cwd: ROOT, env: { ...process.env, ...env } });

/** Puts a fake program, such as one that prints its arguments, at the front of PATH. @param {string} name @param {string} body */
function stand(name, body) {
  const bin = join(folder, `bin-${name}`);
  mkdirSync(bin, { recursive: true });
  writeFileSync(join(bin, name), `#!/bin/sh\n${body}\n`);
  chmodSync(join(bin, name), 0o755);
  return { PATH: `${bin}:${process.env['PATH']}` };
}

const passwordVariables = [...new Set(textOf('deploy/nats/nats.conf').match(/\$\w+_PASSWORD/g))].map((name) => name.slice(1)).sort();

test('every secret of docker-compose.yml is generated once and never replaced', async () => {
  const secrets = join(folder, 'secrets');
  await shell('deploy/compose/make-secrets.sh', [secrets]);
  assert.deepEqual(readdirSync(secrets).sort(), Object.keys(yamlOf('docker-compose.yml').secrets).sort());
  for (const [name, { file }] of Object.entries(/** @type {Record<string, any>} */ (yamlOf('docker-compose.yml').secrets))) {
    assert.equal(file, `deploy/compose/secrets/${name}`);
  }
  const all = readdirSync(secrets).map((name) => readFileSync(join(secrets, name), 'utf8'));
  assert.equal(new Set(all).size, all.length);
  for (const value of all) assert.match(value, /(^|:)s[0-9a-f]{64}(\n$|@postgres:5432\/\w+\n$)/);
  assert.equal(statSync(secrets).mode & 0o777, 0o700);
  await shell('deploy/compose/make-secrets.sh', [secrets]);
  assert.deepEqual(readdirSync(secrets).map((name) => readFileSync(join(secrets, name), 'utf8')), all);
});

test('NATS in a container gets every password that nats.conf needs', async () => {
  const secrets = join(folder, 'nats');
  await shell('deploy/compose/make-secrets.sh', [secrets]);
  const output = await shell('deploy/compose/nats.sh', ['--config', '/nats.conf'], { ...stand('nats-server', 'echo "$@"; env'), SECRETS: secrets });
  assert.equal(output.split('\n')[0], '--config /nats.conf');
  for (const user of NATS_USERS) {
    assert.ok(output.includes(`${user.toUpperCase()}_NATS_PASSWORD=${readFileSync(join(secrets, `nats-${user}`), 'utf8')}`), user);
  }
  assert.deepEqual([...output.matchAll(/^(\w+_NATS_PASSWORD)=/gm)].map(([, name]) => name).sort(), passwordVariables);
});

test('the NATS chart gets every password that nats.conf needs, from existing Secrets', async () => {
  const { container, config } = yamlOf('deploy/nats/values.yaml');
  assert.deepEqual(Object.keys(container.env).sort(), passwordVariables);
  for (const user of NATS_USERS) {
    assert.deepEqual(container.env[`${user.toUpperCase()}_NATS_PASSWORD`].valueFrom.secretKeyRef, { name: `nats-user-${user}`, key: 'password' });
  }
  assert.deepEqual(config.merge, { accounts$include: 'accounts.conf' });
  assert.equal(config.jetstream.enabled, false);
  const [version] = /\d+\.\d+\.\d+/.exec(container.image.tag) ?? [];
  assert.ok(yamlOf('docker-compose.yml').services.nats.image.includes(`:${version}-`), 'the same version everywhere');
});

test('every Secret that a pod or NATS mounts is created by secrets.sh or by the database operator', async () => {
  const drawn = parseAllDocuments(await shell('deploy/shared/secrets.sh', [])).map((document) => document.toJS());
  const values = drawn.map(({ stringData }) => stringData.password ?? stringData.secret);
  assert.equal(new Set(values).size, drawn.length);
  for (const value of values) assert.match(value, /^s[0-9a-f]{64}$/);
  // CloudNativePG creates the role from username and password; the service mounts the whole URI.
  const roles = drawn.filter(({ type }) => type === 'kubernetes.io/basic-auth');
  for (const { metadata, stringData } of roles) {
    const service = metadata.name.replace(/-db-service$/, '');
    const { username, password, uri } = stringData;
    const cluster = yamlOf(`deploy/postgres/base/${service}.yaml`);
    assert.deepEqual(cluster.spec.managed.roles, [
      { name: username, login: true, ensure: 'present', inherit: true, connectionLimit: -1, passwordSecret: { name: metadata.name } },
    ]);
    assert.equal(uri, `postgresql://${username}:${password}@${cluster.metadata.name}-rw:5432/${service}`);
  }
  const keys = drawn.flatMap(({ metadata, stringData }) =>
    Object.keys(stringData).map((key) => `${metadata.name}/${key}`).filter((key) => !/-db-service\/(username|password)$/.test(key)),
  );
  const manifests = SERVICES.flatMap((service) => ['deployment', 'migration'].map((kind) => `deploy/${service}/base/${kind}.yaml`));
  const mounted = manifests.filter((file) => existsSync(join(ROOT, file))).flatMap((file) => {
    const { volumes } = yamlOf(file).spec.template.spec;
    const sources = volumes.flatMap((/** @type {any} */ volume) => volume.projected?.sources ?? []);
    const needed = sources.filter((/** @type {any} */ { secret }) => !secret.optional);
    return needed.map((/** @type {any} */ { secret }) => `${secret.name}/${secret.items.map((/** @type {any} */ item) => item.key).join()}`);
  });
  const byOperator = SERVICES.flatMap((service) => [`${service}-db-app/uri`, `${service}-db-ca/ca.crt`]);
  const wanted = new Set([...mounted, ...NATS_USERS.map((user) => `nats-user-${user}/password`)]);
  assert.deepEqual([...wanted].filter((one) => !byOperator.includes(one)).sort(), [...keys].sort());
});

test('a release migrates before it starts new pods, and stops at the first failure', async () => {
  const kubectl = stand('kubectl', 'case "$1 $2" in "get job/"*) echo "SuccessCriteriaMet Complete" ;; *) echo "kubectl $@" ;; esac');
  const said = async (/** @type {string} */ service) => (await shell('deploy/release.sh', [service, 'production'], kubectl)).trimEnd().split('\n');
  const overlay = `${join(ROOT, 'deploy')}/store/overlays/production`;
  assert.deepEqual(await said('store'), [
    'kubectl delete job store-migrate --namespace plant-shop --ignore-not-found',
    `kubectl apply --kustomize ${overlay} --selector release-phase=prepare`,
    `kubectl apply --kustomize ${overlay}`,
    'kubectl rollout status deployment/store --namespace plant-shop --timeout=10m',
  ]);
  const ofRole = (await shell('deploy/release.sh', ['notifications', 'production-stream'], kubectl)).trimEnd().split('\n');
  assert.deepEqual([0, 3].map((n) => ofRole[n]?.split(' ').slice(0, 4).join(' ')), [
    'kubectl delete job notifications-migrate-stream',
    'kubectl rollout status deployment/notifications-stream',
  ]);
  assert.deepEqual((await said('gateway')).map((line) => line.split(' ')[1]), ['apply', 'rollout']);
  const failing = stand('kubectl', 'echo "$1"; [ "$1" != get ]');
  const { code, output } = await attempt('sh', [join(ROOT, 'deploy/release.sh'), 'store', 'production'], { env: { ...process.env, ...failing } });
  assert.notEqual(code, 0);
  assert.deepEqual(output.trimEnd().split('\n'), ['delete', 'apply']);
});

test('a release whose migration fails prints its log and ends soon after', { timeout: 20_000 }, async () => {
  // The fake Job first runs, then ends its pods, then has failed.
  const asked = join(folder, 'asked');
  const kubectl = stand('kubectl', `
    case "$1 $2" in
      'get pods'|'get events') ;;
      get*) echo x >> "${asked}"; case "$(wc -l < "${asked}" | tr -d ' ')" in 1) ;; 2) echo FailureTarget ;; *) echo FailureTarget Failed ;; esac ;;
      logs*) echo "cannot migrate: connect ECONNREFUSED" ;;
      *) echo "$1" ;;
    esac`);
  const { code, output } = await attempt('sh', [join(ROOT, 'deploy/release.sh'), 'store', 'production'], { env: { ...process.env, ...kubectl } });
  assert.equal(code, 1);
  assert.deepEqual(output.trimEnd().split('\n'), [
    'delete',
    'apply',
    'The migration of store failed; nothing was rolled out. Its last lines:',
    'cannot migrate: connect ECONNREFUSED',
  ]);
});

test('a release prints each reason why a migration waits once', { timeout: 20_000 }, async () => {
  // First no pod is created; then its image cannot be pulled; then its container starts, runs and completes.
  const asked = join(folder, 'asked-of-pods');
  const image = 'ImagePullBackOff: Back-off pulling image "plant-shop/store:1"';
  const kubectl = stand('kubectl', `
    turn() { wc -l < "${asked}" | tr -d ' '; }
    case "$1 $2" in
      'get pods') case "$(turn)" in 1|2) ;; 3|4) echo '${image}' ;; 5) echo 'ContainerCreating: ' ;; *) echo ': ' ;; esac ;;
      'get events') echo 'pods "store-migrate-x" is forbidden: exceeded quota' ;;
      get*) echo x >> "${asked}"; [ "$(turn)" -lt 7 ] || echo Complete ;;
      *) echo "$1" ;;
    esac`);
  const { code, output } = await attempt('sh', [join(ROOT, 'deploy/release.sh'), 'store', 'production'], { env: { ...process.env, ...kubectl } });
  assert.equal(code, 0);
  assert.deepEqual(output.trimEnd().split('\n'), [
    'delete',
    'apply',
    'The migration of store has not started: pods "store-migrate-x" is forbidden: exceeded quota',
    `The migration of store has not started: ${image}`,
    'apply',
    'rollout',
  ]);
});

test('the commands for containers and clusters start: without --check they print their usage', async () => {
  for (const [command, code] of /** @type {const} */ ([['containers/main.mjs', 2], ['cluster/check.mjs', 64]])) {
    const answer = await attempt(process.execPath, [join(ROOT, 'tests/deploy', command)]);
    assert.deepEqual([answer.code, answer.output.includes('-- --check')], [code, true], answer.output);
  }
});
