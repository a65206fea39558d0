import { maxImageBytes } from '../../libs/contracts/dist/catalog.js';
import { gatewaySettings } from '../../apps/gateway/dist/config.js';
import { notificationsSettings } from '../../apps/notifications/dist/config.js';
import { ofKind, podOf, unmet } from './policies.mjs';

// Policies for the ingress manifests: the controller terminates TLS and preserves what the services promise clients.

/** @typedef {import('./render.mjs').Manifest} Manifest */
/** @typedef {(manifests: Manifest[], partsOf: (service: string) => Manifest[]) => string[]} IngressPolicy partsOf returns a service's production manifests */

/** The setting of each service that contains its public host. */
const ADDRESS = /** @type {Record<string, string>} */ ({ gateway: 'PUBLIC_URL', notifications: 'STREAM_PUBLIC_URL' });

/** @param {Manifest[]} parts @param {string} kind @param {string} [name] @returns {any} */
const one = (parts, kind, name) => ofKind(parts, kind).find(({ metadata }) => name === undefined || metadata.name === name);

/** @param {Manifest} ingress @returns {any[]} the backends of all rules */
const backendsOf = (ingress) => ingress['spec'].rules.flatMap((/** @type {any} */ rule) => rule.http.paths.map((/** @type {any} */ path) => path.backend.service));

/** @param {Manifest} ingress @returns {Record<string, string>} */
const annotationsOf = (ingress) => /** @type {any} */ (ingress.metadata)['annotations'] ?? {};

/** @param {string | undefined} text such as 90s or 12m @param {'s' | 'm'} unit */
const amount = (text, unit) => (text?.endsWith(unit) ? Number(text.slice(0, -1)) : 0);

/** @type {Record<string, IngressPolicy>} */
export const ingressPolicies = {
  'each host is served only over TLS, with its own certificate': (manifests) =>
    manifests.flatMap((ingress) => {
      const { tls = [], rules = [], defaultBackend } = ingress['spec'];
      const covered = tls.flatMap((/** @type {any} */ entry) => (entry.secretName ? entry.hosts : []));
      return unmet(ingress, {
        'is an Ingress': ingress.kind === 'Ingress',
        'has rules': rules.length > 0,
        'serves only named hosts': defaultBackend === undefined && rules.every(({ host = '*' }) => !host.includes('*')),
        'has a certificate for each host': rules.every((/** @type {any} */ rule) => covered.includes(rule.host)),
        'redirects http to https': Object.entries(annotationsOf(ingress)).every(([name, value]) => !/redirect/i.test(name) || !/^false$/i.test(value)),
      });
    }),

  'hosts match the public addresses in the settings': (manifests, partsOf) =>
    manifests.flatMap((ingress) => {
      const { name } = ingress.metadata;
      const { protocol, host } = new URL(one(partsOf(name), 'ConfigMap').data[ADDRESS[name] ?? '']);
      return unmet(ingress, {
        'is published with TLS': protocol === 'https:' || protocol === 'wss:',
        'matches the published host': ingress['spec'].rules.every((/** @type {any} */ rule) => rule.host === host),
      });
    }),

  'the console can read the stream': (manifests, partsOf) =>
    ofKind(manifests, 'Ingress').filter(({ metadata }) => metadata.name === 'notifications').flatMap((ingress) => {
      const [gateway, stream] = ['gateway', 'notifications'].map((service) => one(partsOf(service), 'ConfigMap').data);
      const origins = String(stream.CORS_ORIGINS ?? '').split(',');
      return unmet(ingress, {
        'is where the gateway sends its pages': gateway.STREAM_PUBLIC_URL === stream.STREAM_PUBLIC_URL,
        'admits pages of the gateway': origins.includes(new URL(gateway.PUBLIC_URL).origin),
      });
    }),

  'backends are client ports of existing Services, never operations ports': (manifests, partsOf) =>
    manifests.flatMap((ingress) =>
      backendsOf(ingress).flatMap(({ name, port }) => {
        const service = one(partsOf(name === 'console' ? name : ingress.metadata.name), 'Service', name);
        return unmet(ingress, { [`${name} is a Service`]: service !== undefined, 'uses the client port': port.name === 'http' });
      })),

  'network policies admit the controller to the backends': (manifests, partsOf) =>
    manifests.flatMap((ingress) => {
      const parts = partsOf(ingress.metadata.name);
      const { containerPort } = podOf(one(parts, 'Deployment')).spec.containers[0].ports.find((/** @type {any} */ port) => port.name === 'http');
      const rules = one(parts, 'NetworkPolicy', ingress.metadata.name).spec.ingress;
      const isController = (/** @type {any} */ peer) => peer.namespaceSelector?.matchLabels?.['kubernetes.io/metadata.name'] === 'ingress';
      const opened = rules.filter((/** @type {any} */ rule) => rule.from.some(isController)).flatMap((/** @type {any} */ rule) => rule.ports.map((/** @type {any} */ port) => port.port));
      return unmet(ingress, { [`its namespace reaches only port ${containerPort}`]: opened.join() === String(containerPort) });
    }),

  'the gateway trusts the controller\'s X-Forwarded-For': (manifests, partsOf) =>
    ofKind(manifests, 'Ingress').filter(({ metadata }) => metadata.name === 'gateway').flatMap((ingress) =>
      unmet(ingress, { 'is among TRUSTED_PROXIES': Boolean(one(partsOf('gateway'), 'ConfigMap').data.TRUSTED_PROXIES) })),

  'a pod of a lost node delays a request by at most 2 s': (manifests) =>
    manifests.flatMap((ingress) => {
      const seconds = amount(annotationsOf(ingress)['nginx.org/proxy-connect-timeout'], 's');
      return unmet(ingress, { 'stops connecting to it in time': seconds > 0 && seconds <= 2 });
    }),

  'timeouts and body limits are no stricter than the services\'': (manifests) =>
    manifests.flatMap((ingress) => {
      const { 'nginx.org/proxy-read-timeout': wait, 'nginx.org/client-max-body-size': size, 'nginx.org/websocket-services': sockets } = annotationsOf(ingress);
      return ingress.metadata.name === 'gateway'
        ? unmet(ingress, {
            'accepts the largest image with its form': amount(size, 'm') * 1024 * 1024 > maxImageBytes + 1024 * 1024,
            // Batches and uploads get three budgets.
            'waits longer than the longest request': amount(wait, 's') * 1_000 > 3 * Number(gatewaySettings.requestBudgetMs.defaultText),
          })
        : unmet(ingress, {
            'forwards WebSockets': sockets === 'notifications',
            'tolerates three missed pings': amount(wait, 's') > 3 * Number(notificationsSettings.streamPingSeconds.defaultText),
          });
    }),
};
