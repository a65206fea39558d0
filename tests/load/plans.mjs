// `npm run plans`: records how Postgres executes the services' statements, including background loops, with 1,000,000 plants and
// 5,000,000 orders. Postgres logs every plan (auto_explain), so none is missed, and prepared statements show the plan actually used.
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { run } from '../../tools/start/command.mjs';
import { explain } from '../../tools/start/errors.mjs';
import { Shutdown, stopOnSignals } from '../../tools/start/shutdown.mjs';
import { checkPlatform, readyToolchain, ROOT } from '../../tools/start/toolchain.mjs';
import { temporaryFolder } from '../../tools/test/folder.mjs';
import { tableOf, statementsIn, wasteful } from './plan-log.mjs';

const usage = `Writes docs/performance/query-plans.txt, and fails if the cost of a statement grows with the shop.

  npm run plans               takes about 5 minutes and 3 GB of disk, freed afterwards
  npm run plans -- --quick    a shop of a tenth of the size, for trying`;

const DATABASES = ['catalog', 'store', 'identity', 'notifications'];
/** The least frequent background loops run once a minute. */
const LOOPS_MS = 75_000;

const stop = stopOnSignals();
process.exit(await main());

/** @returns {Promise<number>} the exit code */
async function main() {
  const { values } = parseArgs({ options: { quick: { type: 'boolean' }, help: { type: 'boolean' } } });
  if (values.help) {
    console.log(usage);
    return 0;
  }
  const shutdown = new Shutdown(/** @type {const} */ (['shop', 'temporary folder']), (step, error) => console.log(`Stopping (${step}): ${explain(error)}`));
  let code = 1;
  try {
    checkPlatform();
    await readyToolchain({ signal: stop.signal, say: console.log });
    code = await write(temporaryFolder(shutdown), shutdown, values.quick === true);
  } catch (error) {
    console.log(`\n${explain(error)}`);
  }
  await shutdown.run();
  return code;
}

/** @param {string} folder @param {import('../../tools/start/shutdown.mjs').Shutdown<'shop' | 'temporary folder'>} shutdown @param {boolean} quick */
async function write(folder, shutdown, quick) {
  const [{ Stack }, { clientOf }, { fillShop, LARGE }, { binary }] = await Promise.all([
    import('./stack.mjs'),
    import('./client.mjs'),
    import('./large-data.mjs'),
    import('./anchors/pgbench.mjs'),
  ]);
  const stack = await Stack.start(folder, { signal: stop.signal, env: { ORDER_TTL_MS: '20000' } });
  shutdown.add('shop', () => stack.end());
  const { adminUrl } = stack.run.postgres;
  const psql = (/** @type {string} */ url, /** @type {string} */ sql) =>
    run(binary('psql'), ['-X', '-q', '-t', '-A', '-v', 'ON_ERROR_STOP=1', '-d', url, '-c', sql], { what: 'psql', signal: stop.signal });
  const on = (/** @type {string} */ database) => adminUrl.replace(/\/postgres$/, `/${database}`);
  console.log('Filling the shop …');
  const size = quick ? { plants: LARGE.plants / 10, orders: LARGE.orders / 10 } : LARGE;
  await fillShop(adminUrl, psql, size);
  // A customer with a large share of all orders, such as a chain of shops.
  const admin = (await psql(on('identity'), `SELECT user_id FROM users WHERE username = 'admin'`)).trim();
  await psql(on('store'), `UPDATE orders SET owner_id = '${admin}' WHERE id % 25 = 7`);
  await psql(on('store'), 'VACUUM ANALYZE orders');

  const log = join(folder, 'shop', 'logs', 'postgres.log');
  const from = statSync(log).size;
  await explainFromNowOn(adminUrl, psql);
  console.log('Using it …');
  await use(clientOf(stack.gatewayUrl), size.plants);
  await new Promise((resolve) => setTimeout(resolve, LOOPS_MS));
  const rows = await Promise.all(DATABASES.map(async (database) => [database, await sizesOf((sql) => psql(on(database), sql))]));
  const statements = statementsIn(readFileSync(log).subarray(from).toString('utf8'), DATABASES);
  const file = join(ROOT, 'docs', 'performance', 'query-plans.txt');
  const bad = wasteful(statements, Object.fromEntries(rows));
  writeFileSync(file, tableOf(statements, size));
  console.log(`${statements.length} statements written to ${file}`);
  for (const { database, text, why } of bad) console.log(`\n${database}: ${why}\n  ${text}`);
  return bad.length === 0 ? 0 : 1;
}

/** @param {string} adminUrl @param {(url: string, sql: string) => Promise<string>} psql */
async function explainFromNowOn(adminUrl, psql) {
  const settings = {
    session_preload_libraries: 'auto_explain',
    'auto_explain.log_min_duration': 0,
    'auto_explain.log_analyze': 'on',
    'auto_explain.log_buffers': 'on',
    'auto_explain.log_timing': 'off',
    'auto_explain.log_format': 'json',
  };
  for (const [name, value] of Object.entries(settings)) {
    await psql(adminUrl, `ALTER SYSTEM SET ${name} = '${value}'`);
    // First load the library: only sessions that have it know its settings.
    await psql(adminUrl, 'SELECT pg_reload_conf()');
  }
  // Makes pools reconnect, so that their new sessions log plans.
  await psql(adminUrl, `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname IN ('${DATABASES.join("', '")}') AND pid <> pg_backend_pid()`);
  await new Promise((resolve) => setTimeout(resolve, 3_000));
}

/**
 * Runs every list and lookup, often enough for Postgres to settle on plans of prepared statements.
 * @param {(method: string, path: string, body?: object) => Promise<any>} call @param {number} plants
 */
async function use(call, plants) {
  for (let n = 0; n < 8; n++) {
    const plantId = 1 + ((n * 123_450) % plants);
    const attempt = (/** @type {string} */ method, /** @type {string} */ path, /** @type {object} */ body) =>
      // Refused calls query the database, too.
      call(method, path, body).catch((error) => console.log(`refused: ${error.message.slice(0, 300)}`));
    const made = await call('POST', '/plant', { name: `New ${n}`, quantity: 100, tags: [{ id: 1, name: `tag ${n}` }] });
    await call('PUT', '/plant', { id: made.id, name: 'Newer', tags: [{ id: 1, name: 'tag 5' }] });
    await call('PATCH', `/plant/${made.id}`, { externalId: `sku-${n}`, metadata: { shelf: `A${n}` } });
    await call('POST', `/store/inventory/${made.id}/adjustment`, { by: -1, reason: 'counted' });
    await call('PUT', `/store/inventory/${made.id}`, { free: 100, lowStockAt: 5 });
    const basket = await call('POST', '/store/basket', { lines: [{ plantId: 11 }, { plantId: 12 }, { plantId: 13 }], externalId: `basket-${n}`, metadata: { n: `${n}` } });
    await call('POST', `/store/basket/${basket.id}/payment`, { outcome: 'succeeded', reference: `b${n}` });
    await attempt('GET', `/store/basket/${basket.id}`, /** @type {any} */ (undefined));
    await call('POST', `/store/order/${basket.orders[1].id}/cancellation`, { reason: 'It died', restock: false });
    const unpaid = await call('POST', '/store/basket', { lines: [{ plantId: 11 }, { plantId: 12 }] });
    await call('DELETE', `/store/basket/${unpaid.id}`);
    for (const path of [
      `/plant/${plantId}`,
      `/plant/findByStatus?status=available&limit=${20 + n}`,
      `/plant/findByStatus?status=available,pending,sold&limit=${1_000 - n}`,
      `/plant/findByTags?tags=tag%207&limit=${20 + n}`,
      `/plant/findByTags?tags=tag%20${n},tag%2017,nobody%20has%20it&limit=${100 + n}`,
      `/plant/search?q=plant%20${100 * n + 7}&limit=${20 + n}`,
      `/plant/search?q=plant&sort=newest&limit=${20 + n}`,
      `/plant/search?q=plant&sort=name&status=sold&limit=${20 + n}`,
      `/plant/search?q=plnat&tags=tag%20${n}&limit=${20 + n}`,
      `/plant/search?tags=tag%20${n}&category=Foliage&sort=name&limit=${1_000 - n}`,
      `/plant/search?category=Foliage&status=pending&limit=${20 + n}`,
      `/plant/search?status=sold&limit=${1_000 - n}`,
      `/plant/search?limit=${20 + n}`,
      `/plant/search?q=plant&metadata[shelf]=A${n}&limit=${20 + n}`,
      `/plant/search?externalId=sku-${n}`,
      `/plant/search?metadata[shelf]=B&sort=name&limit=${20 + n}`,
      `/plant/changes?limit=${100 + n}`,
      `/plant/${plantId}/availability`,
      `/plant/availability?ids=${plantId},${plantId + 1},${plantId + 2}`,
      `/plant/facets?q=plant%20${n}`,
      `/plant/facets?tags=tag%20${n}`,
      `/plant/facets?category=Foliage&status=sold${',pending'.repeat(n % 2)}`,
      `/plant/facets?status=available${',pending'.repeat(n % 2)}`,
      '/plant/facets',
      `/store/inventory/${plantId}`,
      `/store/inventory/${plantId}/changes`,
      '/store/inventory',
      '/store/order?limit=20',
      '/store/order?limit=1000',
      '/store/order?status=placed&limit=20',
      '/store/order?status=cancelled&limit=20',
      '/store/order?status=delivered&limit=1000',
      `/store/order?owner=*&sort=placedAt&limit=${20 + n}`,
      `/store/order?owner=*&shipped=false&status=approved&limit=${20 + n}`,
      `/store/order?owner=*&shipped=false&limit=${20 + n}`,
      `/store/order?owner=*&shipped=true&sort=placedAt&limit=${20 + n}`,
      '/store/order?shipped=true&limit=20',
      `/store/order?plantId=${plantId}&limit=20`,
      `/store/order?owner=*&plantId=${plantId}&shipped=true&limit=20`,
      '/store/order?refund=due&limit=20',
      `/store/order?owner=*&refund=completed&limit=${20 + n}`,
      `/store/order?owner=*&refund=due&status=cancelled&plantId=${plantId}`,
      `/store/order?externalId=web-${10 * n}`,
      `/store/order?owner=*&externalId=web-${10 * n}&status=placed`,
      `/store/order?owner=*&metadata[channel]=web&limit=${20 + n}`,
      `/store/order?owner=*&metadata[channel]=web&status=placed&limit=${20 + n}`,
      '/store/order?metadata[channel]=web&limit=20',
      `/store/order?owner=*&q=customer-${1 + n}&limit=20`,
      `/store/order?owner=*&q=web-${10 * n}&status=placed`,
      `/store/order?owner=*&q=T${80 + n}`,
      `/store/order?owner=*&q=basket-${1_011 + 100 * n}`,
      `/store/order?owner=*&externalId=basket-${1_011 + 100 * n}`,
      `/store/order?owner=*&q=${1_031 + 20 * n}`,
      `/store/basket/${1_031 + 20 * n}`,
      `/store/order?q=${7 + 25 * n}`,
      `/store/order?expand=plant&limit=${100 + n}`,
      '/store/order/counts',
      '/store/order/counts?owner=*',
      `/store/order/counts?owner=*&plantId=${plantId}`,
      `/store/order/counts?owner=customer-${n}&plantId=${plantId}`,
      `/store/order/counts?owner=*&q=customer-${n}7`,
      `/store/order/${7 + 25 * n}`,
      `/store/order/${7 + 25 * n}/timeline`,
      `/user/customer-${n}`,
      `/user?limit=${20 + n}`,
      `/user?q=customer-${1 + n}`,
      `/user?externalId=crm-${n}`,
      `/user?metadata[tier]=gold&limit=${20 + n}`,
      `/user?q=customer-${10 + n}&role=customer&limit=${100 + n}`,
      '/user?role=admin',
      '/user/admin/apiKeys',
      '/user/admin/sessions',
      '/webhooks',
    ]) {
      await attempt('GET', path, /** @type {any} */ (undefined));
    }
    const first = await call('POST', '/store/order', { plantId: made.id });
    const second = await call('POST', '/store/order', { plantId: made.id, externalId: `new-${n}`, metadata: { channel: 'shop', n: `${n}` }, shipTo: { city: 'London' } });
    await call('DELETE', `/store/order/${first.id}`);
    await call('POST', `/store/order/${second.id}/payment`, { outcome: 'succeeded', reference: `r${n}` });
    await call('POST', `/store/order/${second.id}/note`, { text: 'Call first' });
    await call('POST', `/store/order/${second.id}/shipment`, { carrier: 'Post', trackingNumber: 'T' });
    await attempt('DELETE', `/plant/${made.id}`, /** @type {any} */ (undefined));
    await call('POST', `/store/order/${second.id}/delivery`);
    await call('DELETE', `/plant/${made.id}`);
    // This order expires.
    await attempt('POST', '/store/order', { plantId: 10 * (n + 1) });
    await call('POST', '/user', { username: `new-${n}`, password: 'long enough' });
    await call('PUT', `/user/new-${n}/role`, { role: 'admin' });
    await call('PUT', `/user/new-${n}/role`, { role: 'staff' });
    await call('POST', `/store/order/${(await call('POST', '/store/order', { plantId: 11, externalId: `for-${n}`, metadata: { n: `${n}` } })).id}/transfer`, { username: `new-${n}` });
    await attempt('DELETE', `/user/new-${n}`, /** @type {any} */ (undefined));
    await call('POST', '/user', { username: `gone-${n}`, password: 'long enough' });
    await call('DELETE', `/user/gone-${n}`);
  }
}

/** Returns the row count of each table. @param {(sql: string) => Promise<string>} ask @returns {Promise<Record<string, number>>} */
async function sizesOf(ask) {
  const text = await ask(`SELECT relname || '=' || reltuples::bigint FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace`);
  return Object.fromEntries(text.trim().split('\n').map((line) => line.split('=')).map(([name, count]) => [name, Number(count)]));
}
