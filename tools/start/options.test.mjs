import assert from 'node:assert/strict';
import { test } from 'node:test';
import { givenDatabases } from './databases.mjs';
import { parseOptions } from './options.mjs';

test('by default each service has one replica, and existing data is kept', () => {
  const { fresh, quiet, replicas } = parseOptions([]);
  assert.deepEqual({ fresh, quiet, replicas }, { fresh: false, quiet: false, replicas: { gateway: 1, catalog: 1, store: 1, identity: 1, notifications: 1 } });
});

test('demo data is added only with --demo', () => {
  assert.equal(parseOptions([]).demo, false);
  assert.equal(parseOptions(['--demo']).demo, true);
});

test('the option for replicas is the name of the service', () => {
  assert.equal(parseOptions(['--fresh', '--store', '3']).replicas.store, 3);
  assert.throws(() => parseOptions(['--store', 'many']), { message: /1 to 16/ });
});

test('one or more services can be left out; unknown names are refused', () => {
  assert.deepEqual(parseOptions([]).without, []);
  assert.deepEqual(parseOptions(['--without', 'store']).without, ['store']);
  assert.deepEqual(parseOptions(['--without', 'store, gateway', '--without', 'catalog']).without, ['gateway', 'catalog', 'store']);
  assert.throws(() => parseOptions(['--without', 'shop']), { message: /--without shop.*gateway, catalog, store/ });
  assert.throws(() => parseOptions(['--without', 'store', '--store', '2']), { message: /exclude each other/ });
});

test('an unknown option is refused with a list of the known ones', () => {
  assert.throws(() => parseOptions(['--frehs']), { message: /--frehs[^]*npm start -- --fresh/ });
});

test('database URLs must be set for all services or for none', () => {
  assert.equal(givenDatabases({}), undefined);
  assert.throws(() => givenDatabases({ STORE_DATABASE_URL: 'postgresql://x' }), {
    message: /missing: CATALOG_DATABASE_URL, IDENTITY_DATABASE_URL, NOTIFICATIONS_DATABASE_URL/,
  });
  const urls = Object.fromEntries(['CATALOG', 'STORE', 'IDENTITY', 'NOTIFICATIONS'].map((name) => [`${name}_DATABASE_URL`, `postgresql://${name}`]));
  assert.deepEqual(givenDatabases(urls)?.ownerUrls, {});
  assert.equal(givenDatabases({ ...urls, PGSSLROOTCERT: '/databases.crt' })?.ca, '/databases.crt');
  assert.equal(givenDatabases({ PGSSLROOTCERT: '/databases.crt' }), undefined);
  const owner = { STORE_MIGRATION_DATABASE_URL: 'postgresql://owner' };
  assert.deepEqual(givenDatabases({ ...urls, ...owner })?.ownerUrls, { store: 'postgresql://owner' });
});
