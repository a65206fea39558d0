import { measure } from '../http.mjs';
import { spent } from '../stack.mjs';

/** @typedef {import('../bench.mjs').Bench} Bench */

/** @type {Record<string, { path: (bench: Bench) => string }>} */
const reads = {
  'GET inventory': { path: () => '/v3/store/inventory' },
  'GET 20 plants': { path: () => '/v3/plant/findByStatus?status=available&limit=20' },
  'GET one plant': { path: ({ plants }) => `/v3/plant/${plants[0]}` },
};

/** @type {Record<string, (bench: Bench) => Promise<import('../bench.mjs').Row[]>>} */
export const readGoals = {
  P5: async (bench) => {
    const rows = [];
    for (const [what, { path }] of Object.entries(reads)) {
      const load = { url: bench.stack.gatewayUrl, connections: 64 };
      const requests = () => [{ method: /** @type {const} */ ('GET'), path: path(bench), headers: { api_key: 'special-key' } }];
      await measure({ ...load, seconds: bench.warmUp, requests });
      const bareBefore = await bench.fastify();
      const before = bench.stack.use();
      const ours = await measure({ ...load, seconds: bench.seconds, requests });
      const { total } = spent(before, bench.stack.use());
      const bareAfter = await bench.fastify();
      const cpu = (total * 1e6) / ours.requests;
      const bare = { perSecond: (bareBefore.perSecond + bareAfter.perSecond) / 2, cpu: (bareBefore.cpu + bareAfter.cpu) / 2 };
      const detail = { ours: { ...ours, cpu }, bare };
      rows.push(
        { goal: 'P5', what: `${what}, 64 connections, against bare Fastify`, wanted: 0.5, ratio: ours.perSecond / bare.perSecond, detail },
        { goal: 'P5', what: `${what}: its CPU against bare Fastify's`, wanted: 2.2, ratio: cpu / bare.cpu, atMost: true, detail },
      );
    }
    return rows;
  },
};
