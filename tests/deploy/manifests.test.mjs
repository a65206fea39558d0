import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { ROOT } from '../../tools/start/toolchain.mjs';
import { ingressPolicies } from './ingress.mjs';
import { databaseFaults, natsFaults, ofKind, overlaps, podOf, policies } from './policies.mjs';
import { renderers } from './render.mjs';
import { schemaFaults } from './schemas.mjs';
import { configMapOf, OVERLAYS, ROLES, SERVICES, textOf, yamlOf } from './services.mjs';
import { faultsOf, imageSettingsOf, migrationSettingsOf, settingsOf } from './settings.mjs';

const programs = await renderers();
const skip = programs.length > 0 ? false : 'no kubectl is installed, and none could be downloaded (Debian\'s kubernetes-client)';
const [program] = programs;
/** Registers each check as its own test, so that skipped ones are counted. @param {string} promise @param {() => unknown} run */
const check = (promise, run) => void test(promise, { skip }, async () => void (await run()));
for (const { name } of programs) console.log(`Rendering manifests with ${name}`);

/** @typedef {import('./render.mjs').Manifest} Manifest */

/** @type {Map<string, Manifest[]>} */
const rendered = new Map();
const ingresses = ['production', 'production-cert-manager', 'production-console'].map((overlay) => `deploy/ingress/overlays/${overlay}`);
const others = ['deploy/console/overlays/production', 'deploy/gateway-api/overlays/production', 'deploy/store/reconcile', 'deploy/postgres/overlays/production-recovery', 'deploy/postgres/overlays/small', 'deploy/observability'];
const ofRoles = ROLES.map((role) => `deploy/notifications/overlays/production-${role}`);
const folders = [...ofRoles, ...[...SERVICES, 'shared', 'postgres'].flatMap((name) => OVERLAYS.map((overlay) => `deploy/${name}/overlays/${overlay}`)), ...ingresses, ...others];

before(async () => {
  for (const folder of folders) if (program) rendered.set(folder, await program.render(folder));
});

/** @param {string} folder of an overlay */
const namespaceOf = (folder) => `plant-shop${/\/(dev|sandbox)$/.exec(folder)?.[0].replace('/', '-') ?? ''}`;

/** Returns the overlays of a service, with the role of their replicas. @param {string} service @returns {[overlay: import('./services.mjs').Overlay, role?: string][]} */
const overlaysOf = (service) => [...OVERLAYS.map((one) => /** @type {[typeof one]} */ ([one])), ...(service === 'notifications' ? ROLES.map((role) => /** @type {[`production-${typeof role}`, string]} */ ([`production-${role}`, role])) : [])];

/** @param {string} service @param {string} overlay @returns {Manifest[]} */
function manifestsOf(service, overlay) {
  const manifests = rendered.get(`deploy/${service}/overlays/${overlay}`);
  assert.ok(manifests);
  return manifests;
}

/** @param {Manifest[]} manifests @param {string} kind @param {string} [name] @returns {Manifest} */
function the(manifests, kind, name) {
  const found = ofKind(manifests, kind).filter(({ metadata }) => name === undefined || metadata.name === name);
  assert.equal(found.length, 1, `${kind} ${name ?? ''}`);
  return /** @type {Manifest} */ (found[0]);
}

const migrates = (/** @type {string} */ service) => existsSync(join(ROOT, 'apps', service, 'migrations'));

describe('every overlay', () => {
  for (const folder of folders) {
    check(`${folder} matches the schemas of Kubernetes`, () => {
      const faults = (rendered.get(folder) ?? []).map((one) => [`${one.kind} ${one.metadata.name}`, schemaFaults(one)]);
      assert.ok(faults.length > 0);
      assert.deepEqual(faults.filter(([, found]) => found?.length), []);
    });

    test(`${folder} renders identically with every kubectl`, { skip: programs.length > 1 ? false : 'only one kubectl is available' }, async () => {
      for (const other of programs.slice(1)) assert.deepEqual(byName(await other.render(folder)), byName(rendered.get(folder) ?? []), other.name);
    });

    check(`${folder} is unchanged when it is applied again: it has no member that the API server drops`, () => {
      const isEmpty = (/** @type {unknown} */ value) => Array.isArray(value) && value.length === 0;
      const emptyIn = (/** @type {any} */ value, /** @type {string} */ path) => {
        if (isEmpty(value)) return [path];
        /** @type {string[]} */
        const below = typeof value === 'object' && value !== null ? Object.entries(value).flatMap(([name, one]) => emptyIn(one, `${path}.${name}`)) : [];
        return below;
      };
      assert.deepEqual((rendered.get(folder) ?? []).flatMap((one) => emptyIn(one, `${one.kind} ${one.metadata.name}`)), []);
    });

    check(`${folder} is in a single namespace`, () => {
      const parts = (rendered.get(folder) ?? []).filter(({ kind }) => kind !== 'PriorityClass');
      for (const { kind, metadata } of parts) assert.equal(kind === 'Namespace' ? metadata.name : metadata.namespace, namespaceOf(folder));
    });
  }
});

/** Removes the hash from ConfigMap names, which differs in old versions. @param {Manifest[]} manifests */
function byName(manifests) {
  const [config] = ofKind(manifests, 'ConfigMap');
  const alike = JSON.parse(config ? JSON.stringify(manifests).replaceAll(config.metadata.name, 'config-hash') : JSON.stringify(manifests));
  return Object.fromEntries(alike.map((/** @type {Manifest} */ one) => [`${one.kind} ${one.metadata.name}`, one]));
}

describe('every service', () => {
  for (const service of SERVICES) {
    for (const [overlay, role] of overlaysOf(service)) {
      for (const [promise, policy] of Object.entries(policies)) {
        check(`${service}, ${overlay}: ${promise}`, () => {
          assert.deepEqual(policy(manifestsOf(service, overlay), { service, overlay, migrates: migrates(service), ...(role !== undefined && { role }) }), []);
        });
      }

      check(`${service}, ${overlay}: its settings are known, complete and valid`, async () => {
        const manifests = manifestsOf(service, overlay);
        const settings = the(manifests, 'ConfigMap')['data'];
        assert.deepEqual(settings, configMapOf(service, overlay));
        const [container] = podOf(the(manifests, 'Deployment')).spec.containers;
        assert.deepEqual(container.envFrom, [{ configMapRef: { name: the(manifests, 'ConfigMap').metadata.name } }]);
        assert.deepEqual(faultsOf(await settingsOf(service), { ...(await imageSettingsOf(service)), ...settings, ...own(container) }), []);
        for (const job of ofKind(manifests, 'Job')) {
          const [migration] = podOf(job).spec.containers;
          assert.deepEqual(migration.args, ['dist/migrate.js']);
          assert.deepEqual(faultsOf(await migrationSettingsOf(service), own(migration)), []);
        }
      });
    }

    check(`${service}: the patches of production take effect`, () => {
      const manifests = manifestsOf(service, 'production');
      for (const workload of [...ofKind(manifests, 'Deployment'), ...ofKind(manifests, 'Job')]) {
        assert.match(podOf(workload).spec.containers[0].image, new RegExp(`^registry\\.example/plant-shop/${service}@sha256:`));
      }
      assert.equal(the(manifests, 'ConfigMap')['data'].NODE_ENV, 'production');
    });

    check(`${service}: the patches of dev take effect and remove nothing else`, () => {
      const manifests = manifestsOf(service, 'dev');
      const [container] = podOf(the(manifests, 'Deployment')).spec.containers;
      const [inProduction] = podOf(the(manifestsOf(service, 'production'), 'Deployment')).spec.containers;
      assert.equal(container.image, `plant-shop/${service}:dev`);
      assert.deepEqual(container.resources.requests, { cpu: '50m', memory: '128Mi' });
      assert.deepEqual({ ...container, image: '', resources: '', envFrom: '' }, { ...inProduction, image: '', resources: '', envFrom: '' });
      assert.deepEqual(container.resources.limits, inProduction.resources.limits);
      const { minReplicas, maxReplicas, metrics } = the(manifests, 'HorizontalPodAutoscaler')['spec'];
      assert.deepEqual({ minReplicas, maxReplicas }, { minReplicas: 1, maxReplicas: 2 });
      assert.deepEqual(metrics, the(manifestsOf(service, 'production'), 'HorizontalPodAutoscaler')['spec'].metrics);
      assert.equal(the(manifests, 'ConfigMap')['data'].NODE_ENV, 'development');
    });
  }

  check('a sandbox says so to every service and every migration, and is otherwise production at its own addresses; no other overlay does', () => {
    const withoutOwn = (/** @type {Manifest[]} */ manifests) => {
      const { name, namespace } = the(manifests, 'ConfigMap').metadata;
      const text = JSON.stringify(manifests.filter(({ kind }) => kind !== 'ConfigMap')).replaceAll(name, 'config').replaceAll(`"namespace":"${namespace}"`, '"namespace":""');
      return JSON.parse(text.replaceAll('{"name":"SANDBOX","value":"true"},', ''));
    };
    for (const service of SERVICES) {
      const [sandbox, production] = [manifestsOf(service, 'sandbox'), manifestsOf(service, 'production')];
      assert.equal(the(sandbox, 'ConfigMap')['data'].SANDBOX, 'true');
      for (const job of ofKind(sandbox, 'Job')) assert.equal(own(podOf(job).spec.containers[0])['SANDBOX'], 'true');
      assert.equal(ofKind(sandbox, 'Job').length, migrates(service) ? 1 : 0);
      assert.deepEqual(withoutOwn(sandbox), withoutOwn(production));
      for (const [overlay] of overlaysOf(service)) if (overlay !== 'sandbox') assert.doesNotMatch(JSON.stringify(manifestsOf(service, overlay)), /SANDBOX/);
    }
  });

  const byConnections = ['stream_connections', 'stream_send_lag_seconds_p95'];
  const byWebhooks = ['webhook_attempts_in_flight', 'webhook_deliveries_waiting'];
  const byMail = ['mail_due'];

  check('all services scale by CPU, and notifications also by the metrics of its roles', () => {
    const signals = (/** @type {string} */ service, /** @type {string} */ overlay) =>
      the(manifestsOf(service, overlay), 'HorizontalPodAutoscaler')['spec'].metrics.map((/** @type {any} */ one) => one.resource?.name ?? (one.pods ?? one.object).metric.name);
    for (const service of SERVICES.filter((one) => one !== 'notifications')) assert.deepEqual(signals(service, 'production'), ['cpu']);
    assert.deepEqual(signals('notifications', 'production'), [...byConnections, ...byWebhooks, ...byMail, 'cpu']);
    assert.deepEqual(signals('notifications', 'production-stream'), [...byConnections, 'cpu']);
    assert.deepEqual(signals('notifications', 'production-webhooks'), [...byWebhooks, 'cpu']);
    assert.deepEqual(signals('notifications', 'production-mail'), [...byMail, 'cpu']);
    const { rules } = yamlOf('deploy/shared/prometheus-adapter.yaml');
    assert.deepEqual(rules.custom.map((/** @type {any} */ rule) => rule.name.as), [...byConnections, ...byWebhooks, ...byMail]);
    const source = ['stream/metrics.ts', 'webhooks/queue/delivery-metrics.ts', 'mail/mail-metrics.ts'].map((file) => textOf(`apps/notifications/src/${file}`)).join('\n');
    for (const { seriesQuery, name } of rules.custom) {
      const [series = ''] = seriesQuery.split('{');
      assert.match(series, new RegExp(name.matches));
      assert.ok(source.includes(`'${series.replace(/_bucket$/, '')}'`), series);
    }
  });

  check('a metric that covers all replicas is an Object metric, divided by their number', () => {
    for (const overlay of ['production', 'production-webhooks', 'production-mail']) {
      const { metrics } = the(manifestsOf('notifications', overlay), 'HorizontalPodAutoscaler')['spec'];
      const objects = metrics.flatMap((/** @type {any} */ one) => one.object ?? []);
      assert.equal(objects.length, overlay === 'production' ? 2 : 1);
      for (const { describedObject, target } of objects) {
        assert.deepEqual(describedObject, { apiVersion: 'v1', kind: 'Service', name: 'notifications' });
        assert.equal(target.type, 'AverageValue');
      }
    }
    for (const name of ['webhook_deliveries_waiting', 'mail_due']) {
      const rule = yamlOf('deploy/shared/prometheus-adapter.yaml').rules.custom.find((/** @type {any} */ one) => one.name.as === name);
      assert.deepEqual(rule.resources.overrides, { namespace: { resource: 'namespace' }, service: { resource: 'service' } });
      assert.match(rule.metricsQuery, /^max\(/);
    }
  });

  check('the selector of a released Deployment never changes, since clusters refuse that', () => {
    for (const service of SERVICES) {
      const { selector } = the(manifestsOf(service, 'production'), 'Deployment')['spec'];
      assert.deepEqual(selector.matchLabels, { 'app.kubernetes.io/name': service, ...(service === 'notifications' && { 'app.kubernetes.io/component': 'both' }) });
    }
  });

  for (const overlay of OVERLAYS) {
    check(`${overlay}: in the namespace, selectors of all services, roles and databases do not overlap`, () => {
      const inNamespace = folders.filter((folder) => !folder.includes('/ingress/') && namespaceOf(folder) === namespaceOf(`/${overlay}`));
      assert.deepEqual(overlaps(inNamespace.flatMap((folder) => rendered.get(folder) ?? []).filter(({ metadata }) => metadata.name !== 'default-deny')), []);
    });
  }

  check('replicas of one role have their own settings, pods and network policies', () => {
    for (const role of ROLES) {
      const manifests = manifestsOf('notifications', `production-${role}`);
      const deployment = the(manifests, 'Deployment');
      assert.equal(the(manifests, 'ConfigMap')['data'].NOTIFICATIONS_ROLE, role);
      assert.equal(podOf(deployment).metadata.labels['app.kubernetes.io/component'], role);
      const selectors = [
        deployment['spec'].selector.matchLabels,
        the(manifests, 'Service')['spec'].selector,
        the(manifests, 'PodDisruptionBudget')['spec'].selector.matchLabels,
        the(manifests, 'NetworkPolicy', `notifications-${role}`)['spec'].podSelector.matchLabels,
      ];
      for (const selector of selectors) assert.deepEqual(selector, { 'app.kubernetes.io/name': 'notifications', 'app.kubernetes.io/component': role });
      // The rest comes from production: image and addresses.
      const [container] = podOf(deployment).spec.containers;
      const [ofBoth] = podOf(the(manifestsOf('notifications', 'production'), 'Deployment')).spec.containers;
      assert.deepEqual({ ...container, envFrom: '' }, { ...ofBoth, envFrom: '' });
    }
    const policyOf = (/** @type {string} */ role) => the(manifestsOf('notifications', `production-${role}`), 'NetworkPolicy', `notifications-${role}`)['spec'];
    const hasWayOut = (/** @type {string} */ role) => policyOf(role).egress.some((/** @type {any} */ { to }) => to.some((/** @type {any} */ peer) => peer.ipBlock));
    const hasWayIn = (/** @type {string} */ role) => policyOf(role).ingress.some((/** @type {any} */ { ports }) => ports.some((/** @type {any} */ one) => one.port === 8081));
    const portsOut = (/** @type {string} */ role) => policyOf(role).egress.flatMap((/** @type {any} */ { to, ports }) => (to.some((/** @type {any} */ peer) => peer.ipBlock) ? ports.map((/** @type {any} */ { port }) => port) : []));
    assert.deepEqual(ROLES.map((role) => [hasWayIn(role), hasWayOut(role)]), [[true, false], [false, true], [false, true], [false, true]]);
    assert.deepEqual(portsOut('mail'), [465, 587]);
    assert.deepEqual(portsOut('export'), [4222]);
  });
});

/** @param {any} container @returns {Record<string, string>} */
const own = (container) => Object.fromEntries(container.env.map((/** @type {any} */ one) => [one.name, one.value]));

describe('ingress', () => {
  for (const folder of ingresses) {
    for (const [promise, policy] of Object.entries(ingressPolicies)) {
      check(`${folder}: ${promise}`, () => {
        assert.deepEqual(policy(ofKind(rendered.get(folder) ?? [], 'Ingress'), (service) => manifestsOf(service, 'production')), []);
      });
    }
  }

  check('service overlays apply without an ingress controller', () => {
    for (const service of SERVICES) for (const overlay of OVERLAYS) assert.deepEqual(ofKind(manifestsOf(service, overlay), 'Ingress'), []);
  });

  test('NGINX forwards credential headers and logs no query string', () => {
    const { 'http-snippets': http, 'log-format': log } = yamlOf('deploy/ingress/nginx-values.yaml').controller.config.entries;
    assert.match(http, /^underscores_in_headers on;$/);
    assert.match(log, /\$uri\b/);
    assert.doesNotMatch(log, /\$(request|request_uri|args|query_string|arg_\w+|http_\w+)\b(?!_)/);
  });

  check('with cert-manager, only an annotation, the issuer and a network policy for its solver are added', () => {
    const [plain = [], asking = []] = ingresses.map((folder) => rendered.get(folder));
    const entrances = ofKind(asking, 'Ingress');
    for (const { metadata, ...rest } of entrances) {
      const { 'cert-manager.io/cluster-issuer': issuer, 'acme.cert-manager.io/http01-edit-in-place': inPlace, ...annotations } = /** @type {any} */ (metadata)['annotations'];
      assert.deepEqual([issuer, inPlace], ['letsencrypt', 'true']);
      assert.deepEqual({ ...rest, metadata: { ...metadata, annotations } }, plain.find((one) => one.metadata.name === metadata.name));
    }
    assert.equal(entrances.length, plain.length);
    const { podSelector, ingress } = the(asking, 'NetworkPolicy')['spec'];
    assert.deepEqual(podSelector.matchLabels, { 'acme.cert-manager.io/http01-solver': 'true' });
    assert.deepEqual(ingress, [{ from: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'ingress' } } }], ports: [{ port: 8089, protocol: 'TCP' }] }]);
    assert.equal(asking.length, entrances.length + 1);
  });
});

describe('the console apart from the gateway', () => {
  const about = { service: 'console', overlay: 'production', migrates: false };
  // It is nginx: it has no operations port and no dependencies.
  for (const [promise, policy] of Object.entries(policies).filter(([name]) => !name.startsWith('pods are probed'))) {
    check(promise, () => assert.deepEqual(policy(manifestsOf('console', 'production'), about), []));
  }

  check('it is probed, and has the addresses that the gateway has', () => {
    const manifests = manifestsOf('console', 'production');
    const [container] = podOf(the(manifests, 'Deployment')).spec.containers;
    for (const probe of [container.livenessProbe, container.readinessProbe]) assert.deepEqual(probe.httpGet, { path: '/livez', port: 'http' });
    assert.match(textOf('deploy/console/default.conf.template'), /listen 8080;[^]*location = \/livez/);
    const ofGateway = configMapOf('gateway', 'production');
    const settings = the(manifests, 'ConfigMap')['data'];
    assert.deepEqual(Object.keys(settings).sort(), [...new Set(textOf('deploy/console/default.conf.template').match(/(?<=\$\{)\w+/g))].sort());
    for (const [name, value] of Object.entries(settings)) assert.equal(value, ofGateway[name], name);
  });

  check('its route takes precedence on the shop\'s host', () => {
    const paths = the(rendered.get('deploy/ingress/overlays/production-console') ?? [], 'Ingress', 'gateway')['spec'].rules[0].http.paths;
    assert.deepEqual(paths.map((/** @type {any} */ one) => [one.path, one.backend.service.name]), [['/console', 'console'], ['/', 'gateway']]);
  });
});

describe('backups', () => {
  const databases = SERVICES.filter(migrates).map((service) => `${service}-db`);

  check('each production database is backed up daily and archives its WAL to the store; no other does', () => {
    const manifests = manifestsOf('postgres', 'production');
    const store = the(manifests, 'ObjectStore').metadata.name;
    assert.deepEqual(ofKind(manifests, 'ScheduledBackup').map((one) => one['spec'].cluster.name).sort(), [...databases].sort());
    for (const { spec } of /** @type {any[]} */ (ofKind(manifests, 'ScheduledBackup'))) {
      assert.match(spec.schedule, /^0 \d+ \d+ \* \* \*$/);
      assert.deepEqual([spec.method, spec.pluginConfiguration.name], ['plugin', 'barman-cloud.cloudnative-pg.io']);
    }
    const archive = { name: 'barman-cloud.cloudnative-pg.io', isWALArchiver: true, parameters: { barmanObjectName: store } };
    for (const cluster of ofKind(manifests, 'Cluster')) assert.deepEqual(cluster['spec'].plugins, [archive]);
    for (const overlay of ['dev', 'sandbox']) assert.doesNotMatch(JSON.stringify(manifestsOf('postgres', overlay)), /barman/);
  });

  check('a restored database reads the archive of the lost one and begins its own; the others do not change', () => {
    const [restored = [], before] = [rendered.get('deploy/postgres/overlays/production-recovery'), manifestsOf('postgres', 'production')];
    const cluster = the(restored, 'Cluster', 'store-db');
    const { bootstrap, externalClusters: [source], plugins: [archive] } = cluster['spec'];
    assert.deepEqual([bootstrap.recovery.source, bootstrap.recovery.database, bootstrap.recovery.owner, bootstrap.initdb], [source.name, 'store', 'store', undefined]);
    assert.equal(source.plugin.parameters.serverName, 'store-db');
    assert.notEqual(archive.parameters.serverName, source.plugin.parameters.serverName);
    const without = (/** @type {Manifest[]} */ manifests) => manifests.filter((one) => one.kind !== 'Cluster' || one.metadata.name !== 'store-db');
    assert.deepEqual(without(restored), without(before));
  });

  check('`reconcile` runs in the store\'s image as operator, reports only, and reaches only NATS', () => {
    const manifests = rendered.get('deploy/store/reconcile') ?? [];
    const job = the(manifests, 'Job');
    for (const promise of ['pods meet the restricted profile and write only to /tmp', 'production images are pinned by digest, and no image is tagged latest', 'each pod has exactly one network policy', 'only notifications reaches outside the cluster, and no internal address']) {
      assert.deepEqual(policies[promise]?.(manifests, { service: 'store', overlay: 'production', migrates: true }), [], promise);
    }
    const [container] = podOf(job).spec.containers;
    const [ofStore] = podOf(the(manifestsOf('store', 'production'), 'Deployment')).spec.containers;
    assert.deepEqual([container.image, container.args], [ofStore.image, ['tools/reconcile/main.mjs', '--dry-run']]);
    assert.equal(podOf(job).spec.volumes[0].projected.sources[0].secret.name, 'nats-user-operator');
    const ports = the(manifests, 'NetworkPolicy')['spec'].egress.flatMap((/** @type {any} */ rule) => rule.ports.map((/** @type {any} */ one) => one.port));
    assert.deepEqual(ports, [53, 53, 4222]);
  });
});

describe('shared manifests', () => {
  check('the namespace enforces the restricted profile and denies traffic by default', () => {
    for (const overlay of OVERLAYS) {
      const manifests = manifestsOf('shared', overlay);
      assert.equal(the(manifests, 'Namespace').metadata.labels?.['pod-security.kubernetes.io/enforce'], 'restricted');
      assert.deepEqual(the(manifests, 'NetworkPolicy', 'default-deny')['spec'], { podSelector: {}, policyTypes: ['Ingress', 'Egress'] });
    }
  });

  check('a database admits only its own service', () => {
    const databases = manifestsOf('postgres', 'production');
    for (const service of SERVICES.filter(migrates)) {
      const { bootstrap } = the(databases, 'Cluster', `${service}-db`)['spec'];
      assert.deepEqual([bootstrap.initdb.database, bootstrap.initdb.owner], [service, service]);
      const rule = the(databases, 'NetworkPolicy', `${service}-db`)['spec'].ingress.find((/** @type {any} */ one) => one.ports.some((/** @type {any} */ port) => port.port === 5432));
      assert.deepEqual(rule.from, [
        { podSelector: { matchExpressions: [{ key: 'app.kubernetes.io/name', operator: 'In', values: [service, `${service}-migrate`] }] } },
        { podSelector: { matchLabels: { 'cnpg.io/cluster': `${service}-db` } } },
      ]);
    }
    assert.equal(ofKind(databases, 'Cluster').length, SERVICES.filter(migrates).length);
  });

  check('services trust only their database\'s CA, and can use one for NATS', () => {
    for (const service of SERVICES) {
      for (const workload of [...ofKind(manifestsOf(service, 'production'), 'Deployment'), ...ofKind(manifestsOf(service, 'production'), 'Job')]) {
        const { containers: [container], volumes } = podOf(workload).spec;
        const files = new Map(volumes[0].projected.sources.map((/** @type {any} */ { secret }) => [`/run/secrets/shop/${secret.items[0].path}`, secret]));
        if (migrates(service)) assert.equal(files.get(own(container)['PGSSLROOTCERT'])?.name, `${service}-db-ca`);
        if (migrates(service)) assert.equal(files.get(own(container)['PGSSLROOTCERT'])?.items[0].key, 'ca.crt');
        if (workload.kind === 'Deployment') assert.ok(files.get('/run/secrets/shop/nats-ca')?.optional);
      }
    }
    assert.match(textOf('deploy/nats/tls-values.yaml'), /`nats-ca`.*NATS_URL=tls:\/\/nats:4222 and\n# NATS_CA=\/run\/secrets\/shop\/nats-ca\b/);
  });

  check('databases are synchronous and on different nodes in production, and single in dev', () => {
    for (const cluster of ofKind(manifestsOf('postgres', 'production'), 'Cluster')) {
      assert.deepEqual(databaseFaults(cluster), []);
      assert.equal(cluster['spec'].instances, 3);
      assert.equal(cluster['spec'].postgresql.synchronous.number, 1);
      assert.equal(cluster['spec'].imageCatalogRef.major, 17);
    }
    for (const cluster of ofKind(manifestsOf('postgres', 'dev'), 'Cluster')) {
      assert.equal(cluster['spec'].instances, 1);
      assert.equal(cluster['spec'].postgresql.synchronous, undefined);
      assert.equal(cluster['spec'].storage.size, '2Gi');
      assert.equal(cluster['spec'].walStorage, undefined);
    }
  });

  check('with single databases, a production shop fits one node of 4 cores and 16 GiB', () => {
    const parts = SERVICES.map((service) => manifestsOf(service, 'production'));
    const pods = parts.flatMap((manifests) => ofKind(manifests, 'Deployment').flatMap((one) => Array.from({ length: the(manifests, 'HorizontalPodAutoscaler')['spec'].minReplicas }, () => podOf(one).spec.containers[0].resources.requests)));
    const clusters = ofKind(manifestsOf('postgres', 'small'), 'Cluster');
    const { container, reloader, promExporter } = yamlOf('deploy/nats/values.yaml');
    const nats = Array.from({ length: 3 }, () => [container, reloader, promExporter].map((one) => one.merge.resources.requests)).flat();
    const all = [...pods, ...nats, ...clusters.map(({ spec }) => spec.resources.requests)];
    const sum = (/** @type {string} */ what, /** @type {Record<string, number>} */ units) => all.reduce((total, one) => total + Number.parseFloat(one[what]) * (units[one[what].replace(/^[\d.]+/, '')] ?? Number.NaN), 0);
    assert.ok(sum('cpu', { m: 0.001, '': 1 }) < 3, `${sum('cpu', { m: 0.001, '': 1 })} cores`);
    assert.ok(sum('memory', { Mi: 1 / 1_024, Gi: 1 }) < 8, `${sum('memory', { Mi: 1 / 1_024, Gi: 1 })} GiB`);
    assert.deepEqual(clusters.map(({ spec }) => [spec.instances, spec.plugins.length]), clusters.map(() => [1, 1]));
  });

  test('NATS servers are on different nodes', () => assert.deepEqual(natsFaults(yamlOf('deploy/nats/values.yaml')), []));

  check('network policies allow each call between services', () => {
    // Calls go through NATS, except for the OAuth pages.
    for (const service of SERVICES) {
      const egress = the(manifestsOf(service, 'production'), 'NetworkPolicy', service)['spec'].egress;
      const reaches = (/** @type {string} */ label, /** @type {string} */ value, /** @type {number} */ port) =>
        egress.some((/** @type {any} */ rule) => rule.ports.some((/** @type {any} */ one) => one.port === port) && rule.to.some((/** @type {any} */ peer) => peer.podSelector?.matchLabels?.[label] === value));
      assert.ok(reaches('app.kubernetes.io/name', 'nats', 4222), service);
      assert.ok(reaches('k8s-app', 'kube-dns', 53), service);
      assert.equal(reaches('cnpg.io/cluster', `${service}-db`, 5432), migrates(service), service);
      assert.equal(reaches('app.kubernetes.io/name', 'identity', 8082), service === 'gateway', service);
    }
  });

  check('no kustomization uses a field that old kubectl rejects or silently ignores', () => {
    for (const folder of [...folders, ...[...SERVICES, 'shared', 'postgres', 'console'].map((name) => `deploy/${name}/base`), ...SERVICES.filter(migrates).map((name) => `deploy/${name}/migration`)]) {
      assert.doesNotMatch(textOf(`${folder}/kustomization.yaml`), /^(labels|patches|components|replacements|commonLabels):/m, folder);
    }
  });
});

describe('the commands of the documents', () => {
  const kinds = /** @type {Record<string, string>} */ ({ deployment: 'Deployment', hpa: 'HorizontalPodAutoscaler', pdb: 'PodDisruptionBudget', service: 'Service', networkpolicy: 'NetworkPolicy', job: 'Job', cluster: 'Cluster' });
  const commands = ['docs/operations.md', 'docs/operations/reconcile.md', 'deploy/README.md'].flatMap((page) => [...textOf(page).matchAll(/kubectl ([^`\n]*)/g)].map(([, text = '']) => text));
  /** @param {RegExp} pattern with groups @returns {string[][]} of all commands */
  const found = (pattern) => commands.flatMap((text) => [...text.matchAll(pattern)].map(([, ...groups]) => groups));
  const production = () => [...rendered].flatMap(([folder, manifests]) => (/production|reconcile/.test(folder) ? manifests : []));

  check('name parts of production', () => {
    const named = [...found(/\b([a-z]+)\/([a-z-]+)(?=\s|$)/g), ...found(/(?:delete|patch) ([a-z,]+) ([a-z-]+)(?=\s|$)/g).flatMap(([list = '', name = '']) => list.split(',').map((kind) => [kind, name]))].filter(([kind = '']) => kind in kinds);
    assert.ok(named.length > 10);
    const missing = named.filter(([kind = '', name]) => !ofKind(production(), kinds[kind] ?? '').some(({ metadata }) => metadata.name === name));
    assert.deepEqual(missing, []);
  });
  check('select what has the label', () => {
    const selectors = found(/--selector ([\w./-]+)=([\w-]+)/g);
    assert.ok(selectors.length > 1);
    const labelled = production().flatMap(({ metadata, spec }) => [metadata.labels, spec?.template?.metadata.labels]);
    assert.deepEqual(selectors.filter(([label = '', value]) => !labelled.some((one) => one?.[label] === value)), []);
  });
  test('apply folders that exist, and run programs that the images have', () => {
    const folders = found(/(?:-k|kustomize) (deploy\/[\w/-]+)/g);
    const programs = found(/exec deployment\/(\w+) -- node dist\/([\w-]+)\.js/g);
    assert.ok(folders.length > 5 && programs.length > 3);
    assert.deepEqual(folders.filter(([folder = '']) => !existsSync(join(ROOT, folder, 'kustomization.yaml'))), []);
    assert.deepEqual(programs.filter(([service = '', name]) => !existsSync(join(ROOT, 'apps', service, 'src', `${name}.ts`))), []);
  });
  test('read the logs of all pods, of which `deployment/…` is one, and all their lines', () => {
    assert.deepEqual(commands.filter((text) => /^logs .*deployment\//.test(text) || (/^logs .*grep/.test(text) && !text.includes('--tail=-1'))), []);
  });
});
