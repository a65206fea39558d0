import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { parseAllDocuments } from 'yaml';
import { gatewaySettings } from '../../apps/gateway/dist/config.js';
import { run } from '../../tools/start/command.mjs';
import { ROOT } from '../../tools/start/toolchain.mjs';
import { ofKind } from './policies.mjs';
import { renderers } from './render.mjs';
import { schemaFaults } from './schemas.mjs';
import { configMapOf, SERVICES, textOf, yamlOf } from './services.mjs';

// Overlays and examples for what a platform team may run: GitOps, Gateway API, KEDA, External Secrets, cert-manager.

const [program] = await renderers();
const skip = program ? false : 'no kubectl is installed, and none could be downloaded (Debian\'s kubernetes-client)';
/** @param {string} folder */
const render = async (folder) => (await program?.render(`deploy/${folder}`)) ?? [];
const documents = (/** @type {string} */ file) => parseAllDocuments(textOf(`deploy/${file}`)).map((document) => document.toJS());
/** @param {import('./render.mjs').Manifest[]} manifests */
const matchSchemas = (manifests) => {
  assert.ok(manifests.length > 0);
  for (const one of manifests) assert.deepEqual(schemaFaults(one), [], `${one.kind} ${one.metadata.name}`);
};

describe('GitOps', () => {
  test('the examples for Argo CD and Flux match their schemas and name existing folders', () => {
    const [set] = documents('gitops/argo-cd.yaml');
    const [source, kustomization] = documents('gitops/flux.yaml');
    matchSchemas([source, kustomization]);
    // Elements of a list may have any member.
    assert.deepEqual(schemaFaults(set).filter((fault) => !fault.startsWith('/spec/generators/0/list/elements/')), []);
    const names = set.spec.generators[0].list.elements.map((/** @type {{ name: string }} */ { name }) => name);
    assert.deepEqual([...names].sort(), ['shared', 'postgres', ...SERVICES].sort());
    for (const name of names) assert.ok(existsSync(join(ROOT, set.spec.template.spec.source.path.replace('{{ .name }}', name))), name);
    assert.ok(existsSync(join(ROOT, kustomization.spec.path)));
    // What a release no longer has is removed: its Job, and the ConfigMap of former settings.
    assert.deepEqual([set.spec.template.spec.syncPolicy.automated.prune, kustomization.spec.prune, kustomization.spec.wait], [true, true, true]);
  });
});

describe('Gateway API', () => {
  const FOLDER = 'gateway-api/overlays/production';
  const seconds = (/** @type {string} */ text) => Number(/^(\d+)s$/.exec(text)?.[1]);

  test('each host has TLS, its own certificate, and a route to the client port of its service', { skip }, async () => {
    const manifests = await render(FOLDER);
    const { listeners } = ofKind(manifests, 'Gateway')[0]?.['spec'] ?? {};
    for (const [service, setting] of /** @type {const} */ ([['gateway', 'PUBLIC_URL'], ['notifications', 'STREAM_PUBLIC_URL']])) {
      const { hostname } = new URL(configMapOf(service, 'production')[setting] ?? '');
      const listener = listeners.find((/** @type {any} */ one) => one.hostname === hostname);
      assert.deepEqual([listener.protocol, listener.port, listener.tls.certificateRefs.length], ['HTTPS', 443, 1]);
      const route = ofKind(manifests, 'HTTPRoute').find((one) => one.metadata.name === service);
      assert.deepEqual(route?.['spec'].hostnames, [hostname]);
      assert.deepEqual(route?.['spec'].parentRefs, [{ name: 'shop', sectionName: listener.name }]);
      const [{ backendRefs, ...rule }] = route?.['spec'].rules ?? [{}];
      const [port] = ofKind(await render(`${service}/overlays/production`), 'Service')[0]?.['spec'].ports ?? [];
      assert.deepEqual([backendRefs, port.name], [[{ name: service, port: port.port }], 'http']);
      assert.equal(rule.retry, undefined, 'what is not idempotent would be done twice');
    }
  });

  test('requests may take three budgets, and streams hours', { skip }, async () => {
    const timeoutOf = async (/** @type {string} */ name) => seconds(ofKind(await render(FOLDER), 'HTTPRoute').find((one) => one.metadata.name === name)?.['spec'].rules[0].timeouts.request);
    assert.ok(await timeoutOf('gateway') * 1_000 > 3 * Number(gatewaySettings.requestBudgetMs.defaultText));
    assert.equal(await timeoutOf('notifications'), 0, 'no limit');
  });

  test('http is only redirected', { skip }, async () => {
    const manifests = await render(FOLDER);
    const open = ofKind(manifests, 'Gateway')[0]?.['spec'].listeners.filter((/** @type {any} */ one) => one.protocol === 'HTTP').map((/** @type {any} */ one) => one.name);
    const routes = ofKind(manifests, 'HTTPRoute').filter(({ spec }) => spec.parentRefs.some((/** @type {any} */ { sectionName }) => sectionName === undefined || open.includes(sectionName)));
    assert.deepEqual(routes.map(({ spec }) => spec.rules), [[{ filters: [{ type: 'RequestRedirect', requestRedirect: { scheme: 'https', statusCode: 301 } }] }]]);
  });
});

describe('KEDA', () => {
  test('it scales notifications by the metrics and to the targets of the autoscaler, which it replaces', { skip }, async () => {
    const [manifests, before] = [await render('notifications/overlays/keda'), await render('notifications/overlays/production')];
    matchSchemas(manifests);
    const [[scaler], [autoscaler]] = [ofKind(manifests, 'ScaledObject'), ofKind(before, 'HorizontalPodAutoscaler')];
    assert.deepEqual(ofKind(manifests, 'HorizontalPodAutoscaler'), []);
    const others = (/** @type {import('./render.mjs').Manifest[]} */ all) => all.filter(({ kind }) => kind !== 'ScaledObject' && kind !== 'HorizontalPodAutoscaler');
    assert.deepEqual(others(manifests), others(before));
    const { minReplicaCount, maxReplicaCount, scaleTargetRef, triggers, advanced } = scaler?.['spec'] ?? {};
    const { minReplicas, maxReplicas, metrics, behavior } = autoscaler?.['spec'] ?? {};
    assert.deepEqual([minReplicaCount, maxReplicaCount, scaleTargetRef.name], [minReplicas, maxReplicas, 'notifications']);
    assert.deepEqual(advanced.horizontalPodAutoscalerConfig.behavior, behavior);
    const targets = metrics.map((/** @type {any} */ { pods, object, resource }) => {
      const [name, target] = resource ? ['cpu', resource.target.averageValue] : [(pods ?? object).metric.name, (pods ?? object).target.averageValue];
      return [name.replace(/_p95$/, ''), `${target}`.replace('5k', '5000')];
    });
    assert.deepEqual(triggers.map((/** @type {any} */ { type, metadata }) => (type === 'cpu' ? ['cpu', metadata.value] : [/[a-z]+_[a-z_]+?(?=_bucket\{|\{)/.exec(metadata.query.replace('histogram_quantile', ''))?.[0], metadata.threshold])), targets);
  });
});

describe('secrets and certificates', () => {
  test('External Secrets creates what secrets.sh does, and the keys of the backups', async () => {
    const external = documents('shared/external-secrets.yaml');
    matchSchemas(external);
    const drawn = parseAllDocuments(await run('sh', [join(ROOT, 'deploy/shared/secrets.sh')], { what: 'secrets.sh', cwd: ROOT })).map((document) => document.toJS());
    const keysOf = (/** @type {any[]} */ all, /** @type {(one: any) => string[]} */ keys) => Object.fromEntries(all.map((one) => [one.metadata.name, [one.type ?? one.spec?.target?.template.type, ...keys(one)]]));
    const { s3Credentials } = documents('postgres/backup/backup.yaml')[0].spec.configuration;
    const backups = { 'backup-store': [undefined, ...Object.values(s3Credentials).map(({ key }) => key)] };
    assert.deepEqual(
      keysOf(external, ({ spec }) => spec.data.map((/** @type {any} */ { secretKey }) => secretKey)),
      { ...keysOf(drawn, ({ stringData }) => Object.keys(stringData)), ...backups },
    );
  });

  test('the certificate of NATS has the names and usages that its servers need', () => {
    const [certificate] = documents('nats/certificate.yaml');
    matchSchemas([certificate]);
    assert.equal(certificate.spec.secretName, yamlOf('deploy/nats/tls-values.yaml').config.nats.tls.secretName);
    assert.deepEqual(certificate.spec.usages, ['server auth', 'client auth']);
    assert.deepEqual(certificate.spec.dnsNames, ['nats', '*.nats-headless', 'localhost']);
  });
});
