import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
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

  test('notifications, production: the database accepts the connections of replicas of all roles', { skip }, async () => {
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
