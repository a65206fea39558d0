import { measure } from '../http.mjs';
import { inTurns, mean, median } from '../in-turns.mjs';
import { spent } from '../stack.mjs';

/** @typedef {import('../bench.mjs').Bench} Bench */

/** @type {Record<string, { path: (bench: Bench) => string }>} */
const reads = {
  'GET inventory': { path: () => '/v3/store/inventory' },
  'GET 20 plants': { path: () => '/v3/plant/findByStatus?status=available&limit=20' },
  'GET one plant': { path: ({ plants }) => `/v3/plant/${plants[0]}` },
  'GET availability': { path: ({ plants }) => `/v3/plant/${plants[0]}/availability` },
};

/** @type {Record<string, (bench: Bench) => Promise<import('../bench.mjs').Row[]>>} */
export const readGoals = {
  P5: async (bench) => {
    /** @type {import('../bench.mjs').Row[]} */
    const rows = [];
    for (const [what, { path }] of Object.entries(reads)) {
      const load = { url: bench.stack.gatewayUrl, connections: 64 };
      const requests = () => [{ method: /** @type {const} */ ('GET'), path: path(bench), headers: { api_key: 'special-key' } }];
      const ours = async (/** @type {number} */ seconds) => {
        const before = bench.stack.use();
        const result = await measure({ ...load, seconds, requests });
        return { ...result, cpu: (spent(before, bench.stack.use()).total * 1e6) / result.requests };
      };
      await ours(bench.warmUp);
      const rounds = await inTurns(bench.rounds, () => bench.fastify(), () => ours(bench.roundSeconds));
      rows.push(
        {
          goal: 'P5',
          what: `${what}, 64 connections, against bare Fastify`,
          wanted: 0.5,
          // The gateway is Fastify, too.
          possible: [0, 1],
          ...median(rounds, (round) => round.ours.perSecond / mean([round.anchors[0].perSecond, round.anchors[1].perSecond])),
        },
        {
          goal: 'P5',
          what: `${what}: its CPU against bare Fastify's`,
          wanted: 2.2,
          atMost: true,
          possible: [1, Infinity],
          ...median(rounds, (round) => round.ours.cpu / mean([round.anchors[0].cpu, round.anchors[1].cpu])),
        },
      );
    }
    return rows;
  },
};
