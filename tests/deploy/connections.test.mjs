import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Client } from 'pg';
import { attempt } from '../../tools/start/command.mjs';
import { startServers } from '../../tools/doctor/servers.fixture.mjs';
import { freePort } from '../../tools/start/ports.mjs';
import { sleep } from '../../tools/start/processes.mjs';
import { pinnedNode, ROOT } from '../../tools/start/toolchain.mjs';
import { readConfig } from '../../libs/platform/dist/config.js';
import { allowedConnections, mostConnections, mostPods, RESERVED } from './connections.mjs';
import { ofKind } from './policies.mjs';
import { renderers } from './render.mjs';
import { OVERLAYS, ROLES, SERVICES } from './services.mjs';
import { settingsOf } from './settings.mjs';

const WITH_DATABASE = SERVICES.filter((service) => service !== 'gateway');
const [program] = await renderers();
const skip = program ? false : 'no kubectl is installed, and none could be downloaded (Debian\'s kubernetes-client)';
/** @param {string} folder */
const render = async (folder) => (await program?.render(`deploy/${folder}`)) ?? [];
const poolVariable = (/** @type {string} */ service) => `${service.toUpperCase()}_DATABASE_POOL_SIZE`;

/** @param {string} service @returns {Promise<(config: Record<string, string>) => number>} returns the maximum number of connections of a replica with these settings */
async function poolSizes(service) {
  const { databasePoolSize } = (await settingsOf(service)).settings;
  assert.ok(databasePoolSize);
  return (config) => /** @type {number} */ (readConfig({ databasePoolSize }, config).databasePoolSize);
}

describe('connections to databases', () => {
  for (const service of WITH_DATABASE) {
    for (const overlay of OVERLAYS) {
      test(`${service}, ${overlay}: the database accepts the connections of all replicas during a release`, { skip }, async () => {
        const most = mostConnections(await render(`${service}/overlays/${overlay}`), await poolSizes(service));
        const allowed = allowedConnections(await render(`postgres/overlays/${overlay}`), service);
        assert.ok(most <= allowed, `${most} connections at most, ${allowed} allowed`);
      });
    }
  }

  test('notifications, production: the database accepts the connections of replicas of both roles', { skip }, async () => {
    const poolSizeOf = await poolSizes('notifications');
    const each = await Promise.all(ROLES.map(async (role) => mostConnections(await render(`notifications/overlays/production-${role}`), poolSizeOf)));
    const most = each.reduce((sum, one) => sum + one - RESERVED, RESERVED);
    const allowed = allowedConnections(await render('postgres/overlays/production'), 'notifications');
    assert.ok(most <= allowed, `${most} connections at most, ${allowed} allowed`);
  });

  test('pool size, replicas, surge and shutdown time all count', { skip }, async () => {
    const manifests = await render('store/overlays/production');
    const most = mostConnections(manifests, () => 10);
    assert.ok(mostConnections(manifests, () => 11) > most);
    const [deployment, autoscaler] = ['Deployment', 'HorizontalPodAutoscaler'].map((kind) => /** @type {any} */ (ofKind(manifests, kind)[0]));
    const pods = mostPods(deployment, autoscaler);
    autoscaler.spec.maxReplicas += 1;
    assert.equal(mostPods(deployment, autoscaler), pods + 1);
    deployment.spec.strategy.rollingUpdate.maxSurge += 2;
    assert.equal(mostPods(deployment, autoscaler), pods + 3);
    deployment.spec.minReadySeconds = 1;
    assert.ok(mostPods(deployment, autoscaler) > pods + 3);
  });
});

describe('the size of a pool', () => {
  /** @type {Awaited<ReturnType<typeof startServers>>} */
  let servers;
  before(async () => {
    servers = await startServers();
  });
  after(() => servers?.stop());

  for (const service of WITH_DATABASE) {
    test(`${service} opens at most ${poolVariable(service)} connections, and exposes that limit as a metric`, async () => {
      const opsPort = await freePort();
      const env = {
        PATH: process.env['PATH'] ?? '',
        NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? '',
        OPS_PORT: `${opsPort}`,
        NATS_URL: servers.nats.url,
        NATS_USER: service,
        NATS_PASSWORD: servers.nats.users[service] ?? '',
        [`${service.toUpperCase()}_DATABASE_URL`]: servers.urls[service] ?? '',
        [poolVariable(service)]: '4',
        PUBLIC_URL: 'http://127.0.0.1',
        STREAM_PORT: '0',
        IDENTITY_HTTP_PORT: '0',
        IDENTITY_SECRET: 's'.repeat(40),
        NOTIFICATIONS_SECRET: 's'.repeat(40),
      };
      const run = (/** @type {string} */ file) => [pinnedNode(), [join(ROOT, 'apps', service, 'dist', file)]];
      const migrated = await attempt(...(/** @type {[string, string[]]} */ (run('migrate.js'))), { cwd: ROOT, env });
      assert.equal(migrated.code, 0, migrated.output);
      const child = spawn(.../** @type {[string, string[]]} */ (run('main.js')), { env, stdio: ['ignore', 'ignore', 'inherit'] });
      try {
        const metrics = await untilStarted(`http://127.0.0.1:${opsPort}`);
        assert.match(metrics, new RegExp(`^db_pool_size\\{service="${service}"\\} 4$`, 'm'));
        const opened = await connectionsOf(servers.urls[service] ?? '', service);
        assert.ok(opened > 0 && opened <= 4, `${opened} connections`);
      } finally {
        child.kill('SIGKILL');
        if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
      }
    });
  }
});

/** @param {string} url of the operations port @returns {Promise<string>} its metrics, once the pool exists */
async function untilStarted(url) {
  for (const end = Date.now() + 20_000; ; await sleep(50)) {
    const metrics = await fetch(`${url}/metrics`).then((answer) => answer.text(), () => '');
    if (metrics.includes('db_pool_size')) return metrics;
    assert.ok(Date.now() < end, 'no pool within 20 s');
  }
}

/** @param {string} connectionString @param {string} applicationName @returns {Promise<number>} */
async function connectionsOf(connectionString, applicationName) {
  const client = new Client({ connectionString, application_name: 'test' });
  await client.connect();
  try {
    const { rows } = await client.query('SELECT count(*)::int AS count FROM pg_stat_activity WHERE application_name = $1', [applicationName]);
    return rows[0].count;
  } finally {
    await client.end();
  }
}
