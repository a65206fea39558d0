import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ingressPolicies } from './ingress.mjs';
import { databaseFaults, natsFaults, ofKind, overlaps, policies } from './policies.mjs';
import { renderers } from './render.mjs';
import { schemaFaults } from './schemas.mjs';
import { yamlOf } from './services.mjs';

// Guards against policies that accept everything: each must reject manifests that are broken on purpose.

const [program] = await renderers();
const skip = program ? false : 'no kubectl is installed, and none could be downloaded (Debian\'s kubernetes-client)';
const about = { service: 'notifications', overlay: 'production', migrates: true };
const databases = program ? await program.render('deploy/postgres/overlays/production') : [];
const good = program ? await program.render('deploy/notifications/overlays/production') : [];

/** @template T @param {T} manifests @returns {T} */
const copyOf = (manifests) => JSON.parse(JSON.stringify(manifests));

/** @typedef {Record<string, any>} Manifests by kind, and shortcuts to the service's network policy, pod and container */

const SPREAD = 'pods of a revision are spread over zones and nodes, and soon replaced when their node is lost';

/** @type {[keyof typeof policies, (broken: Manifests) => void][]} */
const breakages = [
  ['a service has each of its manifests exactly once', ({ PodDisruptionBudget }) => void (PodDisruptionBudget.kind = 'Lost')],
  ['pods meet the restricted profile and write only to /tmp', ({ pod }) => void (pod.securityContext.runAsUser = 0)],
  ['pods meet the restricted profile and write only to /tmp', ({ container }) => void delete container.resources.limits.memory],
  ['pods meet the restricted profile and write only to /tmp', ({ container }) => void (container.securityContext.readOnlyRootFilesystem = false)],
  ['pods meet the restricted profile and write only to /tmp', ({ pod }) => void delete pod.enableServiceLinks],
  ['pods meet the restricted profile and write only to /tmp', ({ pod }) => void delete pod.priorityClassName],
  ['pods meet the restricted profile and write only to /tmp', ({ pod }) => void pod.volumes.push({ name: 'host', hostPath: { path: '/' } })],
  ['production images are pinned by digest, and no image is tagged latest', ({ container }) => void (container.image = 'plant-shop/notifications:1.2.3')],
  ['production images are pinned by digest, and no image is tagged latest', ({ container }) => void (container.image = container.image.replace('notifications', 'store'))],
  ['a Job is named by its release, and stays until the next', ({ Job }) => void (Job.metadata.name = 'notifications-migrate')],
  ['a Job is named by its release, and stays until the next', ({ Job }) => void (Job.spec.ttlSecondsAfterFinished = 600)],
  ['a Job is named by its release, and stays until the next', ({ Job }) => void delete Job.spec.podFailurePolicy],
  ['a failed migration ends a sync of Argo CD before the pods are replaced', ({ Deployment }) => void delete Deployment.metadata.annotations],
  ['pods are probed on the operations port and shut down gracefully', ({ Deployment }) => void delete Deployment.spec.progressDeadlineSeconds],
  ['pods are probed on the operations port and shut down gracefully', ({ container }) => void (container.readinessProbe.httpGet.path = '/livez')],
  ['pods are probed on the operations port and shut down gracefully', ({ container }) => void delete container.lifecycle],
  ['pods are probed on the operations port and shut down gracefully', ({ pod }) => void (pod.terminationGracePeriodSeconds = 15)],
  [SPREAD, ({ pod }) => void delete pod.topologySpreadConstraints[0].matchLabelKeys],
  [SPREAD, ({ pod }) => void delete pod.topologySpreadConstraints[1].matchLabelKeys],
  [SPREAD, ({ pod }) => void (pod.topologySpreadConstraints[0].labelSelector.matchLabels = { app: 'another' })],
  [SPREAD, ({ pod }) => void pod.topologySpreadConstraints.pop()],
  [SPREAD, ({ pod }) => void (pod.topologySpreadConstraints[1].whenUnsatisfiable = 'ScheduleAnyway')],
  [SPREAD, ({ pod }) => void delete pod.topologySpreadConstraints[1].nodeTaintsPolicy],
  [SPREAD, ({ pod }) => void delete pod.tolerations],
  [SPREAD, ({ pod }) => void (pod.tolerations[1].tolerationSeconds = 300)],
  ['selectors match the service\'s pods but not its migration pods', ({ Service }) => void (Service.spec.selector = { 'app.kubernetes.io/part-of': 'plant-shop' })],
  ['selectors match the service\'s pods but not its migration pods', ({ HorizontalPodAutoscaler }) => void (HorizontalPodAutoscaler.spec.scaleTargetRef.name = 'store')],
  ['selectors match the service\'s pods but not its migration pods', ({ PodDisruptionBudget }) => void (PodDisruptionBudget.spec.selector.matchLabels = { app: 'notifications' })],
  ['in production, a service survives the loss of a pod', ({ HorizontalPodAutoscaler }) => void (HorizontalPodAutoscaler.spec.minReplicas = 1)],
  ['each pod has exactly one network policy', ({ network }) => void (network.spec.podSelector.matchLabels = { app: 'another' })],
  ['each pod has exactly one network policy', ({ network }) => void network.spec.egress.push({ to: [{ namespaceSelector: {} }], ports: [{ port: 80 }] })],
  ['each pod has exactly one network policy', ({ network }) => void delete network.spec.egress[0].ports],
  ['only notifications reaches outside the cluster, and no internal address', ({ network }) => void network.spec.egress.at(-1).to[0].ipBlock.except.splice(1, 1)],
  ['only notifications reaches outside the cluster, and no internal address', ({ network }) => void (network.spec.egress.at(-1).to[1].ipBlock.cidr = '::/0')],
  ['only notifications reaches outside the cluster, and no internal address', ({ network }) => void (network.metadata.name = 'store')],
  ['only notifications reaches outside the cluster, and no internal address', ({ network }) => void (network.metadata.name = 'notifications-webhooks')],
  ['each file named by a variable is mounted', ({ container }) => void (container.env[0].value = '/run/secrets/shop/elsewhere')],
  ['manifests are labelled with their release phase', ({ Job }) => void (Job.metadata.labels['release-phase'] = 'rollout')],
  ['no ConfigMap contains a secret', ({ ConfigMap }) => void (ConfigMap.data.NATS_PASSWORD = 'x')],
  ['no ConfigMap contains a secret', ({ ConfigMap }) => void (ConfigMap.data.NATS_URL = 'nats://user:password@nats:4222')],
];

for (const [promise, spoil] of breakages) {
  test(`"${promise}" rejects ${String(spoil).replace(/^.*?=> /, '')}`, { skip }, () => {
    const broken = copyOf(good);
    const kinds = Object.fromEntries(broken.map((one) => [one.kind, one]));
    const pod = kinds['Deployment']?.['spec'].template.spec;
    const network = broken.find((one) => one.kind === 'NetworkPolicy' && one.metadata.name === 'notifications');
    spoil({ ...kinds, pod, container: pod.containers[0], network });
    assert.deepEqual(policies[promise]?.(good, about), []);
    assert.notDeepEqual(policies[promise]?.(broken, about), []);
  });
}

test('every policy has a manifest that it rejects', () => {
  assert.deepEqual(Object.keys(policies).filter((promise) => !breakages.some(([name]) => name === promise)), []);
});

/** @type {((cluster: any) => void)[]} */
const databaseBreakages = [
  ({ spec }) => void delete spec.priorityClassName,
  ({ spec }) => void (spec.affinity.podAntiAffinityType = 'preferred'),
  ({ spec }) => void (spec.affinity.topologyKey = 'topology.kubernetes.io/zone'),
  ({ spec }) => void delete spec.topologySpreadConstraints,
  ({ spec }) => void (spec.topologySpreadConstraints[0].labelSelector.matchLabels['cnpg.io/cluster'] = 'catalog-db'),
];

for (const spoil of databaseBreakages) {
  test(`a database's policy rejects ${String(spoil).replace(/^.*?=> /, '')}`, { skip }, () => {
    const cluster = ofKind(databases, 'Cluster').find(({ metadata }) => metadata.name === 'store-db');
    assert.ok(cluster);
    const broken = copyOf(cluster);
    spoil(broken);
    assert.deepEqual(databaseFaults(cluster), []);
    assert.notDeepEqual(databaseFaults(broken), []);
  });
}

/** @type {((spreads: any) => void)[]} */
const natsBreakages = [
  (spreads) => void (spreads['kubernetes.io/hostname'].whenUnsatisfiable = 'ScheduleAnyway'),
  (spreads) => void delete spreads['kubernetes.io/hostname'].nodeTaintsPolicy,
  (spreads) => void delete spreads['topology.kubernetes.io/zone'],
];

for (const spoil of natsBreakages) {
  test(`NATS's policy rejects ${String(spoil).replace(/^.*?=> /, '')}`, () => {
    const broken = yamlOf('deploy/nats/values.yaml');
    spoil(broken.podTemplate.topologySpreadConstraints);
    assert.notDeepEqual(natsFaults(broken), []);
  });
}

/** @type {((broken: Record<'combined' | 'stream', Manifests>) => void)[]} */
const overlapping = [
  ({ combined }) => void delete combined['Deployment'].spec.selector.matchLabels['app.kubernetes.io/component'],
  ({ stream }) => void (stream['HorizontalPodAutoscaler'].spec.scaleTargetRef.name = 'notifications'),
  ({ combined }) => void delete combined['Service'].spec.selector['app.kubernetes.io/component'],
  ({ combined }) => void delete combined['PodDisruptionBudget'].spec.selector.matchLabels['app.kubernetes.io/component'],
  ({ stream }) => void delete stream['network'].spec.podSelector.matchLabels['app.kubernetes.io/component'],
  ({ stream }) => void (stream['Job'].spec.template.metadata.labels = stream['pod'].labels),
  ({ stream }) => void (stream['pod'].labels['app.kubernetes.io/component'] = 'both'),
];

for (const spoil of overlapping) {
  test(`"overlaps" finds ${String(spoil).replace(/^.*?=> /, '')}`, { skip }, async () => {
    const role = (await program?.render('deploy/notifications/overlays/production-stream')) ?? [];
    const broken = { combined: copyOf(good), stream: copyOf(role) };
    const byKind = (/** @type {import('./render.mjs').Manifest[]} */ manifests) => {
      const kinds = Object.fromEntries(manifests.map((one) => [one.kind, one]));
      return { ...kinds, network: manifests.find(({ kind, metadata }) => kind === 'NetworkPolicy' && !metadata.name.includes('migrate')), pod: kinds['Deployment']?.['spec'].template.metadata };
    };
    spoil({ combined: byKind(broken.combined), stream: byKind(broken.stream) });
    assert.deepEqual(overlaps([...good, ...role]), []);
    assert.notDeepEqual(overlaps([...broken.combined, ...broken.stream]), []);
  });
}

test('the schemas reject unknown fields and invalid values', { skip }, () => {
  const deployment = copyOf(good.find(({ kind }) => kind === 'Deployment'));
  assert.ok(deployment);
  deployment['spec'].template.spec.containers[0].readynessProbe = {};
  assert.deepEqual(schemaFaults(deployment), ['/spec/template/spec/containers/0/readynessProbe is not a field']);
  deployment['spec'].replicas = 'two';
  assert.notDeepEqual(schemaFaults(deployment), []);
});

const entrances = program ? await program.render('deploy/ingress/overlays/production') : [];
const behind = new Map(program ? await Promise.all(['gateway', 'notifications'].map(async (service) => /** @type {const} */ ([service, await program.render(`deploy/${service}/overlays/production`)]))) : []);

/** @type {[keyof typeof ingressPolicies, (broken: Record<'gateway' | 'stream', any> & { behind: Record<string, any> }) => void][]} */
const ingressBreakages = [
  ['each host is served only over TLS, with its own certificate', ({ gateway }) => void delete gateway.spec.tls],
  ['each host is served only over TLS, with its own certificate', ({ gateway }) => void delete gateway.spec.tls[0].secretName],
  ['each host is served only over TLS, with its own certificate', ({ stream }) => void (stream.spec.tls[0].hosts = ['shop.example'])],
  ['each host is served only over TLS, with its own certificate', ({ gateway }) => void delete gateway.spec.rules[0].host],
  ['each host is served only over TLS, with its own certificate', ({ gateway }) => void (gateway.metadata.annotations['nginx.org/redirect-to-https'] = 'False')],
  ['hosts match the public addresses in the settings', ({ behind: { gateway } }) => void (gateway.ConfigMap.data.PUBLIC_URL = 'https://another.example')],
  ['hosts match the public addresses in the settings', ({ behind: { notifications } }) => void (notifications.ConfigMap.data.STREAM_PUBLIC_URL = 'ws://events.shop.example')],
  ['the console can read the stream', ({ behind: { gateway } }) => void delete gateway.ConfigMap.data.STREAM_PUBLIC_URL],
  ['the console can read the stream', ({ behind: { notifications } }) => void delete notifications.ConfigMap.data.CORS_ORIGINS],
  ['backends are client ports of existing Services, never operations ports', ({ gateway }) => void (gateway.spec.rules[0].http.paths[0].backend.service.port.name = 'ops')],
  ['backends are client ports of existing Services, never operations ports', ({ gateway }) => void (gateway.spec.rules[0].http.paths[0].backend.service.name = 'identity')],
  ['network policies admit the controller to the backends', ({ behind: { notifications } }) => void notifications.NetworkPolicy.spec.ingress.shift()],
  ['network policies admit the controller to the backends', ({ behind: { gateway } }) => void gateway.NetworkPolicy.spec.ingress[0].ports.push({ port: 9090 })],
  ['the gateway trusts the controller\'s X-Forwarded-For', ({ behind: { gateway } }) => void delete gateway.ConfigMap.data.TRUSTED_PROXIES],
  ['a pod of a lost node delays a request by at most 2 s', ({ gateway }) => void delete gateway.metadata.annotations['nginx.org/proxy-connect-timeout']],
  ['a pod of a lost node delays a request by at most 2 s', ({ stream }) => void (stream.metadata.annotations['nginx.org/proxy-connect-timeout'] = '60s')],
  ['timeouts and body limits are no stricter than the services\'', ({ gateway }) => void delete gateway.metadata.annotations['nginx.org/client-max-body-size']],
  ['timeouts and body limits are no stricter than the services\'', ({ gateway }) => void (gateway.metadata.annotations['nginx.org/proxy-read-timeout'] = '30s')],
  ['timeouts and body limits are no stricter than the services\'', ({ stream }) => void delete stream.metadata.annotations['nginx.org/websocket-services']],
  ['timeouts and body limits are no stricter than the services\'', ({ stream }) => void (stream.metadata.annotations['nginx.org/proxy-read-timeout'] = '60s')],
];

for (const [promise, spoil] of ingressBreakages) {
  test(`"${promise}" rejects ${String(spoil).replace(/^.*?=> /, '')}`, { skip }, () => {
    const [broken, parts] = [copyOf(entrances), new Map([...behind].map(([service, manifests]) => [service, copyOf(manifests)]))];
    const [gateway, stream] = ['gateway', 'notifications'].map((name) => broken.find(({ metadata }) => metadata.name === name));
    const byKind = Object.fromEntries([...parts].map(([service, manifests]) => [service, Object.fromEntries(manifests.filter(({ metadata }) => !metadata.name.endsWith('-migrate')).map((one) => [one.kind, one]))]));
    spoil({ gateway, stream, behind: byKind });
    assert.deepEqual(ingressPolicies[promise]?.(entrances, (service) => behind.get(service) ?? []), []);
    assert.notDeepEqual(ingressPolicies[promise]?.(broken, (service) => parts.get(service) ?? []), []);
  });
}

test('every ingress policy has a manifest that it rejects', () => {
  assert.deepEqual(Object.keys(ingressPolicies).filter((promise) => !ingressBreakages.some(([name]) => name === promise)), []);
});
