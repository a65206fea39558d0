import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { clientOf, inParallel } from '../client.mjs';
import { measure } from '../http.mjs';
import { fillShop, LARGE } from '../large-data.mjs';
import { spent, Stack } from '../stack.mjs';
import { placeOrders } from './orders.mjs';

/** @typedef {import('../bench.mjs').Bench} Bench */
/** @typedef {{ requests: number, perSecond: number, cpu: number, cpuByPart: Record<string, number> }} Cost CPU in microseconds a request */

const CONNECTIONS = 64;
const SMALL = 1_000;

/** @type {Record<string, (load: { stack: Stack, plants: number[], seconds: number }) => Promise<Cost>>} */
const operations = {
  'POST order': ({ stack, plants, seconds }) => placeOrders({ stack }, { connections: CONNECTIONS, plants, seconds }),
  'GET inventory': (load) => read(load, () => '/v3/store/inventory'),
  'GET 20 plants': (load) => read(load, () => '/v3/plant/findByStatus?status=available&limit=20'),
  'GET one plant': (load) => read(load, (plantId) => `/v3/plant/${plantId}`),
};

/**
 * Each connection asks for 50 plants of its own choice, in turn.
 * @param {{ stack: Stack, plants: number[], seconds: number }} load @param {(plantId: number) => string} path @returns {Promise<Cost>}
 */
async function read({ stack, plants, seconds }, path) {
  const request = () => {
    const plantId = /** @type {number} */ (plants[Math.floor(Math.random() * plants.length)]);
    return { method: /** @type {const} */ ('GET'), path: path(plantId), headers: { api_key: 'special-key' } };
  };
  const requests = () => Array.from({ length: 50 }, request);
  const before = stack.use();
  const result = await measure({ url: stack.gatewayUrl, connections: CONNECTIONS, seconds, requests });
  const { parts, total } = spent(before, stack.use());
  const microseconds = (/** @type {number} */ cpu) => (cpu * 1e6) / result.requests;
  return { ...result, cpu: microseconds(total), cpuByPart: Object.fromEntries(Object.entries(parts).map(([part, cpu]) => [part, microseconds(cpu)])) };
}

/** @param {Bench} bench @param {Stack} stack @param {number[]} plants @returns {Promise<Record<string, Cost>>} */
async function costs(bench, stack, plants) {
  /** @type {Record<string, Cost>} */
  const found = {};
  for (const [what, operation] of Object.entries(operations)) {
    await operation({ stack, plants, seconds: bench.warmUp });
    found[what] = await operation({ stack, plants, seconds: bench.seconds });
  }
  return found;
}

/** @type {Record<string, (bench: Bench) => Promise<import('../bench.mjs').Row[]>>} */
export const growthGoals = {
  P8: async (bench) => {
    // A shop of its own, that the other goals' is not larger for it.
    const folder = join(bench.folder, 'growth');
    mkdirSync(folder);
    const stack = await Stack.start(folder, { signal: bench.signal });
    try {
      const call = clientOf(stack.gatewayUrl);
      const few = await inParallel(SMALL, 32, (n) => call('POST', '/plant', { name: `Plant ${n}` }));
      const small = await costs(bench, stack, few.map(({ id }) => id));
      const begun = performance.now();
      const size = bench.quick ? { plants: LARGE.plants / 10, orders: LARGE.orders / 10 } : LARGE;
      await fillShop(stack.run.postgres.adminUrl, (url, sql) => bench.pgbench.psql(url, sql), size);
      const filledInSeconds = (performance.now() - begun) / 1_000;
      console.log(`P8: ${size.plants} plants and ${size.orders} orders in ${Math.round(filledInSeconds)} s …`);
      // As many plants are asked for as before, from all over the catalogue: what grows is the shop, not what people want of it.
      // Eight in ten can be ordered, these among them.
      const listed = Array.from({ length: SMALL }, (_, n) => 1 + n * (size.plants / SMALL));
      const large = await costs(bench, stack, listed);
      return Object.keys(operations).map((what) => {
        const [one, other] = [small[what], large[what]];
        if (!one || !other) throw new Error(`${what} was not measured`);
        const detail = { size, small: one, large: other, filledInSeconds };
        return { goal: 'P8', what: `${what}: its CPU at ${size.plants / 1e6} million plants and ${size.orders / 1e6} million orders against 1,000 and none`, wanted: 1.3, ratio: other.cpu / one.cpu, atMost: true, detail };
      });
    } finally {
      await stack.end();
    }
  },
};
