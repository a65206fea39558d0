import assert from 'node:assert/strict';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { parseAllDocuments } from 'yaml';
import { createMetrics, operationDurations } from '../../libs/platform/dist/service/metrics.js';
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

test('the NATS chart mounts the accounts, and runs the server that docker-compose.yml does', () => {
  const { container, config, podTemplate } = yamlOf('deploy/nats/values.yaml');
  const [{ value: mount }, { value: volume }] = [container.patch[0], podTemplate.patch[0]];
  assert.deepEqual([mount.mountPath, mount.name, volume.secret], ['/etc/nats-accounts', volume.name, { secretName: 'nats-accounts' }]);
  assert.deepEqual(config.merge, { accounts$include: '../nats-accounts/accounts.conf' });
  assert.equal(container.env, undefined);
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
  const manifests = SERVICES.flatMap((service) => ['base/deployment', 'migration/job'].map((file) => `deploy/${service}/${file}.yaml`));
  const mounted = manifests.filter((file) => existsSync(join(ROOT, file))).flatMap((file) => {
    const { volumes } = yamlOf(file).spec.template.spec;
    const sources = volumes.flatMap((/** @type {any} */ volume) => volume.projected?.sources ?? []);
    const needed = sources.filter((/** @type {any} */ { secret }) => !secret.optional);
    return needed.flatMap((/** @type {any} */ { secret }) => secret.items.map((/** @type {any} */ { key }) => `${secret.name}/${key}`));
  });
  const byOperator = SERVICES.flatMap((service) => [`${service}-db-app/uri`, `${service}-db-ca/ca.crt`]);
  const wanted = new Set([...mounted, ...NATS_USERS.flatMap((user) => ['user', 'password'].map((key) => `nats-user-${user}/${key}`))]);
  assert.deepEqual([...wanted].filter((one) => !byOperator.includes(one)).sort(), [...keys].sort());
});

/** What a fake cluster answers to release.sh, as shell commands; `$turn` counts the questions after the migration or the rollout. */
const CLUSTER = {
  rendered: `cat <<'END'
kind: Job
metadata:
  name: store-migrate-0123456789ab
spec:
  - image: registry.example:5000/plant-shop/store@sha256:0123456789ab
  volumes:
      - secret:
          items:
          - key: password
            path: nats-password
          name: nats-user-store
      - secret:
          items:
          - key: ca.crt
          name: nats-ca
          optional: true
END`,
  dryRun: ':',
  secrets: '[ "$3" = nats-user-store ]',
  job: 'echo SuccessCriteriaMet Complete',
  pods: ':',
  events: ':',
  status: 'echo deployment "store" successfully rolled out',
  said: 'echo a line',
  // The revision of the Deployment. Another one: the release has new pods.
  revision: 'echo 9',
  // How many new pods are ready.
  ready: ':',
  // The last ends of new pods.
  ended: ':',
  // What a pod prints that runs the shell's arguments.
  counts: ':',
};

/**
 * Releases the store in a fake cluster that has its Deployment already.
 * @param {Partial<typeof CLUSTER>} answers
 * @param {[service: string, overlay: string]} [what]
 * @param {NodeJS.ProcessEnv} [env]
 */
async function released(answers, what = ['store', 'production'], env = {}) {
  const { rendered, dryRun, secrets, job, pods, events, status, said, revision, ready, ended, counts } = { ...CLUSTER, ...answers };
  const notes = mkdtempSync(join(folder, 'release-'));
  const kubectl = stand('kubectl', `
    [ "$1" = --namespace ] && shift 2
    notes=${notes} turns=${notes}/turns
    turn() { echo x >> "$turns"; turn=$(wc -l < "$turns" | tr -d ' '); }
    case "$*" in
      # As kubectl does where there is none.
      *'[-1'*) echo 'array index out of bounds: index -1, length 0' >&2; exit 1 ;;
      kustomize*) ${rendered}
        ;;
      *--dry-run=server) ${dryRun} ;;
      'get secrets'*) ${secrets} ;;
      'get --filename'*name) echo deployment.apps/store; [ ! -s ${notes}/changes ] || echo job.batch/store-migrate-0123456789ab ;;
      'get --filename'*) printf '{"kind":"Deployment"}\\n---\\n\\n---\\n{"kind":"Job"}\\n---\\n' ;;
      'get job/'*) turn; ${job} ;;
      'get deployment'*/revision}) ${revision} ;;
      'get deployment'*progressDeadlineSeconds*) echo 2 ;;
      'get deployment'*) printf 'app.kubernetes.io/name=store,' ;;
      'get replicasets'*readyReplicas*) ${ready} ;;
      'get replicasets'*) printf '9 older\\n10 newer\\n' ;;
      'get pods'*restartCount*) ${ended} ;;
      'get pods'*status.phase=Running*) echo pod/old ;;
      exec*takeMost*) echo "$2 $6" | sed "s/ .*seconds=/ /; s/', .*//" >> ${notes}/shares ;;
      'get pods'*'!=newer --output name') echo pod/old ;;
      'get pods'*'=gateway --output name') echo pod/gateway ;;
      'get pods'*'=newer --output name') echo pod/new ;;
      'get pods'*) turn=$(wc -l < "$turns" | tr -d ' '); ${pods} ;;
      'get events'*) ${events} ;;
      'rollout status'*--watch=false) turn; ${status} ;;
      exec*--input-type=module*) ${counts} ;;
      logs*|exec*) ${said} ;;
      *before.yaml) echo "apply $(tr '\\n' ' ' < "$3")" >> ${notes}/changes ;;
      *) echo "$*" | sed 's, /[^ ]*/, ,' >> ${notes}/changes ;;
    esac`);
  const command = ['-c', 'RELEASE=$$ exec sh "$@"', 'sh', join(ROOT, 'deploy/release.sh'), ...what];
  const { code, output } = await attempt('sh', command, { env: { ...process.env, ...kubectl, ...env } });
  const linesOf = (/** @type {string} */ name) => existsSync(join(notes, name)) ? readFileSync(join(notes, name), 'utf8').trimEnd().split('\n') : [];
  return { code, lines: output.trimEnd().split('\n').filter(Boolean), changes: linesOf('changes'), shares: linesOf('shares') };
}

const REVISED = 'grep -qx "apply --filename manifests.yaml" "$notes/changes" && echo 10 || echo 9';

const REMOVED = 'delete pods --selector app.kubernetes.io/name=store,pod-template-hash=newer --grace-period=1 --wait=false';
const UNDONE = ['apply {"kind":"Deployment"} --- --- --- ', 'delete --ignore-not-found --wait=false job.batch/store-migrate-0123456789ab', 'rollout status deployment/store --timeout=3m'];

test('a release migrates before it starts new pods, and then removes the Job of the former one', async () => {
  assert.deepEqual(await released({}), {
    shares: ['pod/old 300', 'pod/old 0'],
    code: 0,
    lines: [],
    changes: [
      'delete job store-migrate-0123456789ab --ignore-not-found',
      'apply --filename manifests.yaml --selector release-phase=prepare',
      'apply --filename manifests.yaml',
      'delete jobs --selector app.kubernetes.io/name=store-migrate,!app.kubernetes.io/component --field-selector metadata.name!=store-migrate-0123456789ab',
    ],
  });
  const rendered = CLUSTER.rendered.replaceAll('plant-shop/store', 'plant-shop/notifications').replace(/store-migrate-\w+/, 'notifications-migrate-0123456789ab-stream');
  const ofRole = await released({ rendered }, ['notifications', 'production-stream']);
  assert.match(ofRole.changes.at(-1) ?? '', /name=notifications-migrate,app\.kubernetes\.io\/component=stream --field-selector metadata\.name!=notifications-migrate-0123456789ab-stream$/);
  const ofGateway = await released({ rendered: 'echo "  - image: plant-shop/gateway:1"', secrets: ':' }, ['gateway', 'production']);
  assert.deepEqual([ofGateway.changes, ofGateway.shares], [['apply --filename manifests.yaml'], []]);
});

/** @type {[what: string, answers: Partial<typeof CLUSTER>, line: RegExp][]} */
const REFUSED = [
  ['the image of another service', { rendered: 'echo "    image: registry.example:5000/plant-shop/catalog@sha256:0"' }, /registry.example:5000\/plant-shop\/catalog@sha256:0 is the image of another service$/],
  ['a missing Secret', { secrets: 'echo "Error from server (NotFound): secrets \\"nats-user-store\\" not found" >&2; false' }, /secrets "nats-user-store" not found$/],
  ['manifests that the cluster does not know', { dryRun: 'echo "no matches for kind HorizontalPodAutoscaler" >&2; false' }, /no matches for kind HorizontalPodAutoscaler$/],
  ['an overlay that cannot be rendered', { rendered: 'echo no such file >&2; false' }, /overlays\/production is not valid: no such file$/],
];

for (const [what, answers, line] of REFUSED) {
  test(`a release with ${what} is refused before it changes anything`, async () => {
    const { code, lines, changes } = await released(answers);
    assert.deepEqual([code, lines.length, changes], [1, 1, []], lines.join('\n'));
    assert.match(lines[0] ?? '', line);
  });
}

/** Each is told by the line that the release prints, at the latest ten seconds after the cluster knows. @type {[what: string, answers: Partial<typeof CLUSTER>, line: string][]} */
const BAD = [
  ['whose migration fails', { job: 'if [ $turn -lt 2 ]; then :; else echo FailureTarget; fi', said: 'echo column exists' }, 'its migration failed. Its last line: column exists'],
  ['whose image is missing', { job: ':', pods: 'echo "ErrImagePull: store:1 not found"' }, 'ErrImagePull: store:1 not found'],
  ['whose registry does not answer', { job: ':', pods: 'if [ $turn -lt 3 ]; then echo "ErrImagePull: timeout"; else echo "ImagePullBackOff: timeout"; fi' }, 'ImagePullBackOff: timeout'],
  ['whose pods exit at once', { status: 'echo Waiting', pods: 'if [ $turn -lt 4 ]; then echo ": "; else echo "CrashLoopBackOff: back-off 10s"; fi', said: 'case "$*" in *pod-template-hash=newer*) echo PUBLIC_URL is missing ;; esac' }, 'a new pod exits. Its last line: PUBLIC_URL is missing'],
  ['whose first pods are not ready in time', { status: 'echo Waiting', revision: REVISED, said: 'echo "nats: not connected"' }, 'its new pods are not ready in time:  nats: not connected'],
  ['whose pods are not ready in time', { status: 'echo "exceeded its progress deadline"', said: 'echo "database: refused"' }, 'its new pods are not ready in time:  database: refused'],
];

for (const [what, answers, line] of BAD) {
  test(`a release ${what} says so in one line and is undone`, { timeout: 20_000 }, async () => {
    const { code, lines, changes } = await released(answers);
    assert.equal(code, 1);
    assert.deepEqual(lines.map((one) => one.trimEnd()), [`store is not released: ${line}`, 'Undone: all is as before.']);
    assert.deepEqual(changes.slice(-3), UNDONE);
    assert.equal(changes.includes('apply --filename manifests.yaml'), 'status' in answers, 'the pods');
  });
}

/**
 * Three pods that are asked for their real metrics while they answer requests.
 * @param {import('node:test').TestContext} context
 * @param {Partial<Record<'old' | 'new' | 'gateway', { seconds?: number, failures?: number, requests?: number }>>} [traits] of a pod's answers; failures: of ten; requests: between two readings
 */
async function observable(context, traits = {}) {
  const ports = await Promise.all(
    /** @type {const} */ (['old', 'new', 'gateway']).map(async (pod) => {
      const registry = createMetrics('store');
      const durations = operationDurations(registry);
      const { seconds = 0.01, failures = 0, requests = 100 } = traits[pod] ?? {};
      const answer = () => Array.from({ length: requests }, (_, n) => durations.observe({ operation: 'store.place', code: n % 10 < failures ? 'internal' : 'ok' }, seconds));
      // The gateway has answered as many requests as before the release, of which none failed.
      if (pod === 'gateway') Array.from({ length: 10_000 }, () => durations.observe({ operation: 'store.place', code: 'ok' }, 0.01));
      const server = createServer((_, response) => {
        answer();
        registry.metrics().then((text) => response.end(text), (error) => response.destroy(error));
      });
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      context.after(() => server.close());
      const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
      return `pod/${pod}) port=${port} ;;`;
    }),
  );
  // exec <pod> -- node --input-type=module --eval <program>
  const counts = `case $2 in ${ports.join(' ')} esac; ${process.execPath} "$5" "$6" "$(printf %s "$7" | sed "s/9090/$port/")"`;
  return { counts, revision: REVISED, ready: 'echo 1', status: 'if [ $turn -lt 4 ]; then echo Waiting; else echo successfully rolled out; fi' };
}

test('the first new pods of a release are compared with the old ones, then the others follow', { timeout: 60_000 }, async (context) => {
  const { code, lines, changes, shares } = await released(await observable(context), undefined, { OBSERVE_SECONDS: '8', PROBE: 'exit 0' });
  assert.equal(code, 0, lines.join('\n'));
  assert.match(lines.join('\n'), /^store: its first new pods answered [1-9]\d+ requests as well as the old ones$/);
  // Until half of the time is over, the new pods get little.
  assert.deepEqual(shares, ['pod/old 300', 'pod/old 0']);
  assert.deepEqual(changes.slice(2, 5), ['apply --filename manifests.yaml', 'rollout pause deployment/store', 'rollout resume deployment/store']);
});

/** @type {[what: string, traits: Parameters<typeof observable>[1], answers: Partial<typeof CLUSTER>, probe: string, line: RegExp][]} */
const HURTING = [
  ['fail', { new: { failures: 3 } }, {}, '', /its new pods failed \d+ of \d+ requests \(before: 0\.0 %\)$/],
  ['are slow', { new: { seconds: 0.3 } }, {}, '', /its new pods took 300 ms a request \(before: 10 ms\)$/],
  ['are slow and asked little', { new: { seconds: 0.3, requests: 5 } }, {}, '', /its new pods took 300 ms a request \(before: 10 ms\)$/],
  ['do not answer, so that the gateway fails', { gateway: { failures: 3 } }, {}, '', /the gateway failed \d+ of \d+ requests \(before: 0\.3 %\)$/],
  ['take more and more memory', {}, { counts: 'case $2 in *new) echo memory 400000000 0 0 ;; *) echo memory 100000000 0 0 ;; esac' }, '', /a new pod uses 381 MiB \(before: 95 MiB\)$/],
  ['end', {}, { ended: 'echo OOMKilled' }, '', /a new pod ended \(OOMKilled\)\. Its last line: a line$/],
  ['answer with wrong content', {}, {}, 'echo not a Monstera; exit 1', /its probe failed: not a Monstera$/],
  ['end while they are asked', {}, { counts: 'echo exit code 137 >&2; false', ended: '[ ! -e $notes/asked ] || echo Error; : > $notes/asked' }, '', /a new pod ended \(Error\)\. Its last line: a line$/],
  ['cannot be asked', {}, { counts: 'echo no node >&2; false' }, '', /its new pods cannot be observed: no node$/],
];

for (const [what, traits, answers, probe, line] of HURTING) {
  test(`a release whose first new pods ${what} is undone`, { timeout: 60_000 }, async (context) => {
    const { code, lines, changes, shares } = await released({ ...(await observable(context, traits)), ...answers }, undefined, { OBSERVE_SECONDS: '12', PROBE: probe });
    assert.deepEqual(shares, ['pod/old 300', 'pod/old 0']);
    assert.deepEqual([code, lines.length, changes.includes('rollout resume deployment/store')], [1, 2, false], lines.join('\n'));
    assert.match(lines[0]?.trimEnd() ?? '', line);
    assert.deepEqual(changes.slice(-4), [REMOVED, ...UNDONE]);
  });
}

for (const signal of ['TERM', 'HUP']) {
  test(`a release that is interrupted by SIG${signal} is undone`, { timeout: 60_000 }, async (context) => {
    const { code, lines, changes } = await released(await observable(context), undefined, { OBSERVE_SECONDS: '30', PROBE: `kill -${signal} $RELEASE` });
    assert.deepEqual([code, lines[0]?.trimEnd()], [1, 'store is not released: it was interrupted']);
    assert.deepEqual(changes.slice(-4), [REMOVED, ...UNDONE]);
  });
}

test('a release is undone if the cluster does not answer while its new pods are observed', { timeout: 60_000 }, async (context) => {
  const { code, lines, changes } = await released({ ...(await observable(context)), ended: 'echo connection refused >&2; false' }, undefined, { OBSERVE_SECONDS: '30' });
  assert.deepEqual([code, lines.slice(0, 2).map((one) => one.trimEnd())], [1, ['connection refused', 'store is not released: a command of kubectl failed']]);
  assert.deepEqual(changes.slice(-4), [REMOVED, ...UNDONE]);
});

test('a release prints each reason why a migration waits once', { timeout: 20_000 }, async () => {
  // First no pod is created; then it has no node; then its container starts, runs and completes.
  const { code, lines } = await released({
    job: '[ $turn -lt 6 ] || echo Complete',
    pods: 'case $turn in 1|2) ;; 3|4) echo "0/3 nodes are available" ;; *) echo ": " ;; esac',
    events: 'turn=$(wc -l < "$turns" | tr -d " "); [ $turn -gt 2 ] || echo exceeded quota',
  });
  assert.equal(code, 0);
  assert.deepEqual(lines, ['store waits: exceeded quota', 'store waits: 0/3 nodes are available']);
});

test('the commands for containers and clusters start: without --check they print their usage', async () => {
  for (const [command, code] of /** @type {const} */ ([['containers/main.mjs', 2], ['cluster/check.mjs', 64]])) {
    const answer = await attempt(process.execPath, [join(ROOT, 'tests/deploy', command)]);
    assert.deepEqual([answer.code, answer.output.includes('-- --check')], [code, true], answer.output);
  }
});
