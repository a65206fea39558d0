import assert from 'node:assert/strict';
import { test } from 'node:test';
import { environmentOf, NATS_USERS, planInstances, SERVICES } from './services.mjs';

const replicas = { gateway: 1, catalog: 1, store: 2, identity: 1, notifications: 1 };
const ports = { GATEWAY_PORT: 18080, STREAM_PORT: 18081 };
const instances = await planInstances(replicas, ports);
/** @type {import('./services.mjs').Wiring} */
const wiring = {
  instances,
  publicUrl: 'http://127.0.0.1:18080',
  broker: { url: 'nats://127.0.0.1:1', passwords: Object.fromEntries(NATS_USERS.map((name) => [name, `nats-of-${name}`])) },
  databaseUrls: { catalog: 'database-of-catalog', store: 'database-of-store', identity: 'database-of-identity', notifications: 'database-of-notifications' },
  credentials: { identitySecret: 'secret-of-identity', notificationsSecret: 'secret-of-notifications' },
};

/** @param {string} service @param {NodeJS.ProcessEnv} [inherited] */
function environment(service, inherited = {}) {
  const instance = instances.find((one) => one.service === service);
  assert.ok(instance);
  return environmentOf(instance, wiring, inherited);
}

test('no service gets a secret of another service', () => {
  const inherited = Object.fromEntries(NATS_USERS.flatMap((name) => [
    [`${name.toUpperCase()}_DATABASE_URL`, `given-database-of-${name}`],
    [`${name.toUpperCase()}_MIGRATION_DATABASE_URL`, 'owner-of-the-database'],
    [`${name.toUpperCase()}_SECRET`, `given-secret-of-${name}`],
    [`${name.toUpperCase()}_NATS_PASSWORD`, `given-nats-of-${name}`],
  ]));
  for (const service of SERVICES) {
    const values = Object.values(environment(service, inherited)).join(' ');
    for (const other of NATS_USERS.filter((name) => name !== service)) assert.doesNotMatch(values, new RegExp(`(database|secret|nats)-of-${other}`));
    assert.doesNotMatch(values, /superuser|owner-of-the-database/);
  }
});

test('variables of the user override the settings of the demo, but not connections', () => {
  const env = environment('store', { INITIAL_STOCK: '5', OPS_PORT: '1', SIMULATED_APPROVAL_DELAY_MS: '500' });
  assert.equal(env['INITIAL_STOCK'], '5');
  assert.equal(env['SIMULATED_APPROVAL_DELAY_MS'], '500');
  assert.notEqual(env['OPS_PORT'], '1');
});

test('CA settings apply only to the user\'s own servers', () => {
  const set = { PGSSLROOTCERT: '/set.crt', NATS_CA: '/set.crt' };
  const [instance] = instances;
  assert.ok(instance);
  const { PGSSLROOTCERT, NATS_CA } = environment('store', set);
  assert.deepEqual([PGSSLROOTCERT, NATS_CA], ['', '']);
  const given = environmentOf(instance, { ...wiring, databaseCa: '/databases.crt', broker: { ...wiring.broker, ca: '/nats.crt' } }, set);
  assert.deepEqual([given['PGSSLROOTCERT'], given['NATS_CA']], ['/databases.crt', '/nats.crt']);
});

test('replicas are numbered and have their own ports', () => {
  const stores = instances.filter(({ service }) => service === 'store');
  assert.deepEqual(stores.map(({ label }) => label), ['store-1', 'store-2']);
  assert.equal(new Set(instances.map(({ opsPort }) => opsPort)).size, instances.length);
});

test('each replica of the stream has its own port, the first the one that the user chose', async () => {
  const streams = (await planInstances({ ...replicas, notifications: 3 }, ports)).filter(({ service }) => service === 'notifications');
  assert.deepEqual(streams.map(({ label }) => label), ['notifications-1', 'notifications-2', 'notifications-3']);
  assert.equal(streams[0]?.port, ports.STREAM_PORT);
  assert.equal(new Set(streams.map(({ port }) => port)).size, 3);
  for (const one of streams) assert.equal(environmentOf(one, wiring, {})['STREAM_PORT'], `${one.port}`);
});

test('the gateway gets the address of identity\'s pages', () => {
  const identity = instances.find(({ service }) => service === 'identity');
  assert.equal(environment('gateway')['IDENTITY_HTTP_URL'], `http://127.0.0.1:${identity?.port}`);
});

test('a variable for one service reaches no other service', () => {
  const inherited = { STORE_ENV_NODE_OPTIONS: '--inspect', IDENTITY_ENV_LD_PRELOAD: '/lib.so' };
  assert.equal(environment('store', inherited)['NODE_OPTIONS'], '--inspect');
  assert.equal(environment('store', inherited)['LD_PRELOAD'], undefined);
  assert.equal(environment('identity', inherited)['LD_PRELOAD'], '/lib.so');
});
