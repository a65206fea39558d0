import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { clientOf, inParallel, pause } from '../client.mjs';
import { measure } from '../http.mjs';
import { inTurns, mean, median } from '../in-turns.mjs';
import { fillShop, LARGE, monthOfOrders } from '../large-data.mjs';
import { spent, Stack } from '../stack.mjs';
import { placeOrders } from './orders.mjs';

/** @typedef {import('../bench.mjs').Bench} Bench */
/** @typedef {{ requests: number, perSecond: number, cpu: number, cpuByPart: Record<string, number> }} Cost CPU in microseconds a request */

const CONNECTIONS = 64;
const SMALL = 1_000;

/** @typedef {{ stack: Stack, plants: number[], orders: number[], seconds: number }} Load `orders`: ids of some */

/** @type {Record<string, (load: Load) => Promise<Cost>>} */
const operations = {
  'POST order': ({ stack, plants, seconds }) => placeOrders({ stack }, { connections: CONNECTIONS, plants, seconds }),
  'GET inventory': (load) => read(load, () => '/v3/store/inventory'),
  'GET 20 plants': (load) => read(load, () => '/v3/plant/findByStatus?status=available&limit=20'),
  // Words and tags of plants in both shops.
  search: (load) => search(load, () => `/v3/plant/search?q=plant${anyGap()}${anyOf(0, TAGS)}&limit=${anyOf(20, 60)}&category=Foliage`),
  'search for all': (load) => search(load, () => `/v3/plant/search?q=plant${anyGap()}&sort=newest&limit=${anyOf(20, 40)}&tags=${anyTag()},${anyTag()}`),
  facets: (load) => search(load, () => `/v3/plant/facets?q=plant${anyGap()}${anyOf(0, TAGS)}&tags=${anyTag()},${anyTag()}`),
  'GET one plant': (load) => read(load, (plantId) => `/v3/plant/${plantId}`),
  // Both shops have many orders by now: those that were placed above.
  'counts of orders': (load) => read(load, () => '/v3/store/order/counts?owner=*'),
  'orders that wait': (load) => read(load, () => '/v3/store/order?owner=*&status=placed&shipped=false&sort=placedAt&limit=20'),
  'newest orders of a plant': (load) => read(load, (plantId) => `/v3/store/order?owner=*&plantId=${plantId}&limit=1`),
  'GET one order': (load) => read(load, () => `/v3/store/order/${load.orders[anyOf(0, load.orders.length)]}`),
  'search for an order': (load) => read(load, () => `/v3/store/order?owner=*&q=${load.orders[anyOf(0, load.orders.length)]}`),
};

const anyOf = (/** @type {number} */ from, /** @type {number} */ to) => from + Math.floor(Math.random() * (to - from));

/** One tag a plant in both shops, so that responses are as large; a hundred or more plants with each, more than a page has. */
const TAGS = 10;
const anyTag = () => `tag%20${anyOf(0, TAGS)}`;
const tagsOf = (/** @type {number} */ n) => [{ id: 1 + (n % TAGS), name: `tag ${n % TAGS}` }];

/** Separates words. Millions of gaps make as many different queries: the shop that answers faster must not answer more from a cache. */
const anyGap = () => encodeURIComponent(Array.from({ length: 8 }, () => ' .,;:-'[anyOf(0, 6)]).join(''));

/** So many requests that none is repeated soon. */
const search = (/** @type {Load} */ load, /** @type {() => string} */ path) => read(load, path, 1_000);

/**
 * Each connection sends as many random requests in turn.
 * @param {Load} load @param {(plantId: number) => string} path @returns {Promise<Cost>}
 */
async function read({ stack, plants, seconds }, path, count = 50) {
  const request = () => {
    const plantId = /** @type {number} */ (plants[Math.floor(Math.random() * plants.length)]);
    return { method: /** @type {const} */ ('GET'), path: path(plantId), headers: { api_key: 'special-key' } };
  };
  const requests = () => Array.from({ length: count }, request);
  const before = stack.use();
  const result = await measure({ url: stack.gatewayUrl, connections: CONNECTIONS, seconds, requests });
  const { parts, total } = spent(before, stack.use());
  const microseconds = (/** @type {number} */ cpu) => (cpu * 1e6) / result.requests;
  return { ...result, cpu: microseconds(total), cpuByPart: Object.fromEntries(Object.entries(parts).map(([part, cpu]) => [part, microseconds(cpu)])) };
}

/**
 * Starts a shop of a thousand plants and orders beside that of the other goals.
 * @param {Bench} bench @param {string} name
 */
async function smallShop(bench, name) {
  const folder = join(bench.folder, name);
  mkdirSync(folder);
  const stack = await Stack.start(folder, { signal: bench.signal });
  const call = clientOf(stack.gatewayUrl);
  const made = await inParallel(SMALL, 32, (n) => call('POST', '/plant', { name: `Plant ${n}`, category: { id: 1, name: 'Foliage' }, tags: tagsOf(n) }));
  const plants = made.map(({ id }) => id);
  const placed = await inParallel(SMALL, 32, (n) => call('POST', '/store/order', { plantId: plants[n] }));
  return { stack, plants, orders: placed.map(({ id }) => id) };
}

/** @param {Bench} bench @param {Stack} stack @returns the shop, with a million plants and five million orders, or as many as are asked for */
async function fill(bench, stack) {
  const begun = performance.now();
  const size = bench.quick ? { plants: LARGE.plants / 10, orders: LARGE.orders / 10 } : { ...LARGE, orders: bench.orders ?? LARGE.orders };
  await fillShop(stack.run.postgres.adminUrl, (url, sql) => bench.pgbench.psql(url, sql), size);
  console.log(`P8: ${size.plants} plants and ${size.orders} orders in ${Math.round((performance.now() - begun) / 1_000)} s …`);
  // Reads as many plants as before, from the whole catalogue: the shop grows, not the set of popular plants. Eight in ten can be
  // ordered, including these.
  const some = (/** @type {number} */ of) => Array.from({ length: SMALL }, (_, n) => 1 + n * (of / SMALL));
  return { stack, size, plants: some(size.plants), orders: some(size.orders) };
}

/** A request is sent so often, whatever the earlier ones take. */
const EVERY_MS = 20;
/** The longest time until the store looks for orders that have become old, and more than it needs to move a thousand. */
const LOOKS_MS = 60_000;
const THOUSAND_MS = 10_000;

/**
 * Makes a month of orders old while orders are placed, read and listed. Throws unless all of them move, and every new one is there.
 * @param {Bench} bench @param {{ stack: Stack, size: import('../large-data.mjs').Size, plants: number[], orders: number[] }} shop
 */
async function moveMonth(bench, { stack, size, plants, orders }) {
  const month = bench.quick ? 5_000 : 50_000;
  const ids = { from: size.orders + 1, to: size.orders + month };
  const url = stack.run.postgres.adminUrl.replace(/\/postgres$/, '/store');
  const count = async (/** @type {string} */ from) => Number(/\d+/.exec(await bench.pgbench.psql(url, `SELECT count(*) FROM ${from}`))?.[0]);
  await bench.pgbench.psql(url, `BEGIN; ${monthOfOrders(ids)} COMMIT`);
  const call = clientOf(stack.gatewayUrl);
  const begun = performance.now();
  /** @type {{ what: string, ms: number }[]} */
  const slow = [];
  /** @type {number[]} */
  const placed = [];
  /** @type {Promise<void>[]} */
  const sent = [];
  const send = async (/** @type {number} */ n) => {
    const path = [`/store/order/${orders[n % orders.length]}`, `/store/order?owner=*&plantId=${1 + (n % 1_000)}&limit=20`, `/store/order/${ids.from + (n % month)}/timeline`][n % 3];
    const at = performance.now();
    if (n % 2 === 0) placed.push((await call('POST', '/store/order', { plantId: plants[n % plants.length] })).id);
    else await call('GET', path ?? '');
    slow.push({ what: n % 2 === 0 ? 'POST order' : `GET ${path}`, ms: performance.now() - at });
  };
  const where = `WHERE id BETWEEN ${ids.from} AND ${ids.to}`;
  let left = month;
  /** @type {Error | undefined} */
  let failure;
  for (let n = 0; left > 0; n++) {
    if (performance.now() - begun > LOOKS_MS + (month / 1_000) * THOUSAND_MS) throw new Error(`${left} of ${month} orders have not moved`);
    sent.push(send(n).catch((error) => void (failure ??= error)));
    if (failure) throw failure;
    await pause(EVERY_MS);
    if (n % 250 === 249) left = await count(`ONLY orders ${where}`);
  }
  await Promise.all(sent);
  if (failure) throw failure;
  const seconds = (performance.now() - begun) / 1_000;
  const found = await Promise.all([count(`old_orders ${where}`), count(`old_order_steps WHERE order_id BETWEEN ${ids.from} AND ${ids.to}`), count(`orders WHERE id IN (${placed.join()})`)]);
  if (found.join() !== [month, 2 * month, placed.length].join()) throw new Error(`of ${month} orders, ${2 * month} steps and ${placed.length} new orders, ${found.join(', ')} are there`);
  slow.sort((a, b) => b.ms - a.ms);
  console.log(`P8: ${month} orders moved within ${Math.round(seconds)} s; ${slow.length} requests, the slowest ${slow.slice(0, 3).map(({ what, ms }) => `${what} ${Math.round(ms)} ms`).join(', ')}`);
  return { ratio: (slow[0]?.ms ?? NaN) / 1_000, detail: { month, seconds, requests: slow.length, slowest: slow.slice(0, 10) } };
}

/** @type {Record<string, (bench: Bench) => Promise<import('../bench.mjs').Row[]>>} */
export const growthGoals = {
  P8: async (bench) => {
    /** @type {Stack[]} */
    const stacks = [];
    try {
      const small = await smallShop(bench, 'small');
      stacks.push(small.stack);
      const { stack } = await smallShop(bench, 'large');
      stacks.push(stack);
      const large = await fill(bench, stack);
      const rows = [];
      for (const [what, operation] of Object.entries(operations)) {
        for (const shop of [small, large]) await operation({ ...shop, seconds: bench.warmUp });
        const rounds = await inTurns(
          bench.rounds,
          () => operation({ ...small, seconds: bench.roundSeconds }),
          () => operation({ ...large, seconds: bench.roundSeconds }),
        );
        const found = median(rounds, ({ ours, anchors: [before, after] }) => ours.cpu / mean([before.cpu, after.cpu]));
        const size = `${large.size.plants / 1e6} million plants and ${large.size.orders / 1e6} million orders`;
        rows.push({ goal: 'P8', what: `${what}: its CPU at ${size} against 1,000 and none`, wanted: 1.3, atMost: true, ...found });
      }
      rows.push({ goal: 'P8', what: 'slowest request while a month of orders becomes old, in seconds', wanted: 1, atMost: true, ...(await moveMonth(bench, large)) });
      return rows;
    } finally {
      for (const stack of stacks) await stack.end();
    }
  },
};
