import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ingressPolicies } from './ingress.mjs';
import { policies } from './policies.mjs';
import { renderers } from './render.mjs';
import { schemaFaults } from './schemas.mjs';

// A policy that lets everything pass would never be noticed: each must object to manifests that are broken on purpose.

const [program] = await renderers();
const skip = program ? false : 'there is no kubectl to render with, and none could be fetched (Debian\'s kubernetes-client)';
const about = { service: 'notifications', overlay: 'production', migrates: true };
const good = program ? await program.render('deploy/notifications/overlays/production') : [];

/** @template T @param {T} manifests @returns {T} */
const copyOf = (manifests) => JSON.parse(JSON.stringify(manifests));

/** @typedef {Record<string, any>} Manifests by kind; the policy and the pod of the service itself under short names */

/** @type {[keyof typeof policies, (broken: Manifests) => void][]} */
const breakages = [
  ['a service has all its parts, once', ({ PodDisruptionBudget }) => void (PodDisruptionBudget.kind = 'Lost')],
  ['pods keep to the restricted profile, and write nowhere but in /tmp', ({ pod }) => void (pod.securityContext.runAsUser = 0)],
  ['pods keep to the restricted profile, and write nowhere but in /tmp', ({ container }) => void delete container.resources.limits.memory],
  ['pods keep to the restricted profile, and write nowhere but in /tmp', ({ container }) => void (container.securityContext.readOnlyRootFilesystem = false)],
  ['pods keep to the restricted profile, and write nowhere but in /tmp', ({ pod }) => void delete pod.enableServiceLinks],
  ['pods keep to the restricted profile, and write nowhere but in /tmp', ({ pod }) => void pod.volumes.push({ name: 'host', hostPath: { path: '/' } })],
  ['images are named by digest in production, and never as the latest', ({ container }) => void (container.image = 'plant-shop/notifications:1.2.3')],
  ['images are named by digest in production, and never as the latest', ({ container }) => void (container.image = container.image.replace('notifications', 'store'))],
  ['a pod is asked how it is on its operations port, and ends in order', ({ container }) => void (container.readinessProbe.httpGet.path = '/livez')],
  ['a pod is asked how it is on its operations port, and ends in order', ({ container }) => void delete container.lifecycle],
  ['a pod is asked how it is on its operations port, and ends in order', ({ pod }) => void (pod.terminationGracePeriodSeconds = 15)],
  ['what selects pods selects those of the service, not those that migrate', ({ Service }) => void (Service.spec.selector = { 'app.kubernetes.io/part-of': 'plant-shop' })],
  ['what selects pods selects those of the service, not those that migrate', ({ HorizontalPodAutoscaler }) => void (HorizontalPodAutoscaler.spec.scaleTargetRef.name = 'store')],
  ['what selects pods selects those of the service, not those that migrate', ({ PodDisruptionBudget }) => void (PodDisruptionBudget.spec.selector.matchLabels = { app: 'notifications' })],
  ['a service outlives one of its pods in production', ({ HorizontalPodAutoscaler }) => void (HorizontalPodAutoscaler.spec.minReplicas = 1)],
  ['each pod has a policy that says whom it talks to', ({ network }) => void (network.spec.podSelector.matchLabels = { app: 'another' })],
  ['each pod has a policy that says whom it talks to', ({ network }) => void network.spec.egress.push({ to: [{ namespaceSelector: {} }], ports: [{ port: 80 }] })],
  ['each pod has a policy that says whom it talks to', ({ network }) => void delete network.spec.egress[0].ports],
  ['only notifications reaches beyond the cluster, and never addresses inside', ({ network }) => void network.spec.egress.at(-1).to[0].ipBlock.except.splice(1, 1)],
  ['only notifications reaches beyond the cluster, and never addresses inside', ({ network }) => void (network.spec.egress.at(-1).to[1].ipBlock.cidr = '::/0')],
  ['only notifications reaches beyond the cluster, and never addresses inside', ({ network }) => void (network.metadata.name = 'store')],
  ['each file that a variable names is mounted', ({ container }) => void (container.env[0].value = '/run/secrets/shop/elsewhere')],
  ['a release knows what comes first', ({ Job }) => void (Job.metadata.labels['release-phase'] = 'rollout')],
  ['no ConfigMap holds a secret', ({ ConfigMap }) => void (ConfigMap.data.NATS_PASSWORD = 'x')],
  ['no ConfigMap holds a secret', ({ ConfigMap }) => void (ConfigMap.data.NATS_URL = 'nats://user:password@nats:4222')],
];

for (const [promise, spoil] of breakages) {
  test(`"${promise}" objects to ${String(spoil).replace(/^.*?=> /, '')}`, { skip }, () => {
    const broken = copyOf(good);
    const kinds = Object.fromEntries(broken.map((one) => [one.kind, one]));
    const pod = kinds['Deployment']?.['spec'].template.spec;
    const network = broken.find((one) => one.kind === 'NetworkPolicy' && one.metadata.name === 'notifications');
    spoil({ ...kinds, pod, container: pod.containers[0], network });
    assert.deepEqual(policies[promise]?.(good, about), []);
    assert.notDeepEqual(policies[promise]?.(broken, about), []);
  });
}

test('every policy is seen to object', () => {
  assert.deepEqual(Object.keys(policies).filter((promise) => !breakages.some(([name]) => name === promise)), []);
});

test('the schemas object to fields that nobody knows, and to values that cannot be', { skip }, () => {
  const deployment = copyOf(good.find(({ kind }) => kind === 'Deployment'));
  assert.ok(deployment);
  deployment['spec'].template.spec.containers[0].readynessProbe = {};
  assert.deepEqual(schemaFaults(deployment), ['/spec/template/spec/containers/0/readynessProbe is no field']);
  deployment['spec'].replicas = 'two';
  assert.notDeepEqual(schemaFaults(deployment), []);
});

const entrances = program ? await program.render('deploy/ingress/overlays/production') : [];
const behind = new Map(program ? await Promise.all(['gateway', 'notifications'].map(async (service) => /** @type {const} */ ([service, await program.render(`deploy/${service}/overlays/production`)]))) : []);

/** @type {[keyof typeof ingressPolicies, (broken: Record<'gateway' | 'stream', any> & { behind: Record<string, any> }) => void][]} */
const ingressBreakages = [
  ['each host is served with TLS only, by a certificate of its own', ({ gateway }) => void delete gateway.spec.tls],
  ['each host is served with TLS only, by a certificate of its own', ({ gateway }) => void delete gateway.spec.tls[0].secretName],
  ['each host is served with TLS only, by a certificate of its own', ({ stream }) => void (stream.spec.tls[0].hosts = ['shop.example'])],
  ['each host is served with TLS only, by a certificate of its own', ({ gateway }) => void delete gateway.spec.rules[0].host],
  ['each host is served with TLS only, by a certificate of its own', ({ gateway }) => void (gateway.metadata.annotations['nginx.org/redirect-to-https'] = 'False')],
  ['hosts are those that clients are told', ({ behind: { gateway } }) => void (gateway.ConfigMap.data.PUBLIC_URL = 'https://another.example')],
  ['hosts are those that clients are told', ({ behind: { notifications } }) => void (notifications.ConfigMap.data.STREAM_PUBLIC_URL = 'ws://events.shop.example')],
  ['it leads to what is there for clients, and never to operations ports', ({ gateway }) => void (gateway.spec.rules[0].http.paths[0].backend.service.port.name = 'ops')],
  ['it leads to what is there for clients, and never to operations ports', ({ gateway }) => void (gateway.spec.rules[0].http.paths[0].backend.service.name = 'identity')],
  ['the controller is let in where it leads to', ({ behind: { notifications } }) => void notifications.NetworkPolicy.spec.ingress.shift()],
  ['the controller is let in where it leads to', ({ behind: { gateway } }) => void gateway.NetworkPolicy.spec.ingress[0].ports.push({ port: 9090 })],
  ['the controller is believed when it says who asks', ({ behind: { gateway } }) => void delete gateway.ConfigMap.data.TRUSTED_PROXIES],
  ['it waits for, and takes in, what the services do', ({ gateway }) => void delete gateway.metadata.annotations['nginx.org/client-max-body-size']],
  ['it waits for, and takes in, what the services do', ({ gateway }) => void (gateway.metadata.annotations['nginx.org/proxy-read-timeout'] = '30s')],
  ['it waits for, and takes in, what the services do', ({ stream }) => void delete stream.metadata.annotations['nginx.org/websocket-services']],
  ['it waits for, and takes in, what the services do', ({ stream }) => void (stream.metadata.annotations['nginx.org/proxy-read-timeout'] = '60s')],
];

for (const [promise, spoil] of ingressBreakages) {
  test(`"${promise}" objects to ${String(spoil).replace(/^.*?=> /, '')}`, { skip }, () => {
    const [broken, parts] = [copyOf(entrances), new Map([...behind].map(([service, manifests]) => [service, copyOf(manifests)]))];
    const [gateway, stream] = ['gateway', 'notifications'].map((name) => broken.find(({ metadata }) => metadata.name === name));
    const byKind = Object.fromEntries([...parts].map(([service, manifests]) => [service, Object.fromEntries(manifests.filter(({ metadata }) => !metadata.name.endsWith('-migrate')).map((one) => [one.kind, one]))]));
    spoil({ gateway, stream, behind: byKind });
    assert.deepEqual(ingressPolicies[promise]?.(entrances, (service) => behind.get(service) ?? []), []);
    assert.notDeepEqual(ingressPolicies[promise]?.(broken, (service) => parts.get(service) ?? []), []);
  });
}

test('every policy of the way in is seen to object', () => {
  assert.deepEqual(Object.keys(ingressPolicies).filter((promise) => !ingressBreakages.some(([name]) => name === promise)), []);
});
