import { maxImageBytes } from '../../libs/contracts/dist/catalog.js';
import { gatewaySettings } from '../../apps/gateway/dist/config.js';
import { notificationsSettings } from '../../apps/notifications/dist/config.js';
import { ofKind, podOf, unmet } from './policies.mjs';

// What the way in keeps to: an ingress controller ends TLS, and hands on what the services promise to clients.

/** @typedef {import('./render.mjs').Manifest} Manifest */
/** @typedef {(manifests: Manifest[], partsOf: (service: string) => Manifest[]) => string[]} IngressPolicy what services are made of in production */

/** Whose public address says which host. */
const ADDRESS = /** @type {Record<string, string>} */ ({ gateway: 'PUBLIC_URL', notifications: 'STREAM_PUBLIC_URL' });

/** @param {Manifest[]} parts @param {string} kind @param {string} [name] @returns {any} */
const one = (parts, kind, name) => ofKind(parts, kind).find(({ metadata }) => name === undefined || metadata.name === name);

/** @param {Manifest} ingress @returns {any[]} all that its rules lead to */
const backendsOf = (ingress) => ingress['spec'].rules.flatMap((/** @type {any} */ rule) => rule.http.paths.map((/** @type {any} */ path) => path.backend.service));

/** @param {Manifest} ingress @returns {Record<string, string>} */
const annotationsOf = (ingress) => /** @type {any} */ (ingress.metadata)['annotations'] ?? {};

/** @param {string | undefined} text such as 90s or 12m @param {'s' | 'm'} unit */
const amount = (text, unit) => (text?.endsWith(unit) ? Number(text.slice(0, -1)) : 0);

/** @type {Record<string, IngressPolicy>} */
export const ingressPolicies = {
  'each host is served with TLS only, by a certificate of its own': (manifests) =>
    manifests.flatMap((ingress) => {
      const { tls = [], rules = [], defaultBackend } = ingress['spec'];
      const covered = tls.flatMap((/** @type {any} */ entry) => (entry.secretName ? entry.hosts : []));
      return unmet(ingress, {
        'is an Ingress': ingress.kind === 'Ingress',
        'has rules': rules.length > 0,
        'serves no host that it does not name': defaultBackend === undefined && rules.every(({ host = '*' }) => !host.includes('*')),
        'has a certificate for each host': rules.every((/** @type {any} */ rule) => covered.includes(rule.host)),
        'leads from http to https': Object.entries(annotationsOf(ingress)).every(([name, value]) => !/redirect/i.test(name) || !/^false$/i.test(value)),
      });
    }),

  'hosts are those that clients are told': (manifests, partsOf) =>
    manifests.flatMap((ingress) => {
      const { name } = ingress.metadata;
      const { protocol, host } = new URL(one(partsOf(name), 'ConfigMap').data[ADDRESS[name] ?? '']);
      return unmet(ingress, {
        'is told with TLS': protocol === 'https:' || protocol === 'wss:',
        'is the one that is told': ingress['spec'].rules.every((/** @type {any} */ rule) => rule.host === host),
      });
    }),

  'it leads to what is there for clients, and never to operations ports': (manifests, partsOf) =>
    manifests.flatMap((ingress) =>
      backendsOf(ingress).flatMap(({ name, port }) => {
        const service = one(partsOf(ingress.metadata.name), 'Service', name);
        return unmet(ingress, { [`${name} is a Service of its own`]: service !== undefined, 'asks for the port of clients': port.name === 'http' });
      })),

  'the controller is let in where it leads to': (manifests, partsOf) =>
    manifests.flatMap((ingress) => {
      const parts = partsOf(ingress.metadata.name);
      const { containerPort } = podOf(one(parts, 'Deployment')).spec.containers[0].ports.find((/** @type {any} */ port) => port.name === 'http');
      const rules = one(parts, 'NetworkPolicy', ingress.metadata.name).spec.ingress;
      const isController = (/** @type {any} */ peer) => peer.namespaceSelector?.matchLabels?.['kubernetes.io/metadata.name'] === 'ingress';
      const opened = rules.filter((/** @type {any} */ rule) => rule.from.some(isController)).flatMap((/** @type {any} */ rule) => rule.ports.map((/** @type {any} */ port) => port.port));
      return unmet(ingress, { [`its namespace gets to port ${containerPort} and no other`]: opened.join() === String(containerPort) });
    }),

  'the controller is believed when it says who asks': (manifests, partsOf) =>
    ofKind(manifests, 'Ingress').filter(({ metadata }) => metadata.name === 'gateway').flatMap((ingress) =>
      unmet(ingress, { 'is among TRUSTED_PROXIES': Boolean(one(partsOf('gateway'), 'ConfigMap').data.TRUSTED_PROXIES) })),

  'it waits for, and takes in, what the services do': (manifests) =>
    manifests.flatMap((ingress) => {
      const { 'nginx.org/proxy-read-timeout': wait, 'nginx.org/client-max-body-size': size, 'nginx.org/websocket-services': sockets } = annotationsOf(ingress);
      return ingress.metadata.name === 'gateway'
        ? unmet(ingress, {
            'takes the largest image with what is around it': amount(size, 'm') * 1024 * 1024 > maxImageBytes + 1024 * 1024,
            // Batches and uploads get three budgets.
            'waits longer than a request may take': amount(wait, 's') * 1_000 > 3 * Number(gatewaySettings.requestBudgetMs.defaultText),
          })
        : unmet(ingress, {
            'hands WebSockets on': sockets === 'notifications',
            'is not silent for longer than three pings take': amount(wait, 's') > 3 * Number(notificationsSettings.streamPingSeconds.defaultText),
          });
    }),
};
