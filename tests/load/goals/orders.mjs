import { availableParallelism } from 'node:os';
import { measure } from '../http.mjs';
import { inTurns, mean, median } from '../in-turns.mjs';
import { FASTIFY_MICROSECONDS } from '../reference.mjs';
import { spent } from '../stack.mjs';
import { loneOrder } from './lone-order.mjs';

/** @typedef {import('../bench.mjs').Bench} Bench */

/** Pgbench with as many plants as the shop. */
const manyPlants = { plants: 1_000, clients: 32 };
/**
 * CPU of one order in Vendure 3.7 with 16 clients, in requests of bare Fastify: 120 ms, measured once where that was 16.5 µs (goal P4;
 * docs/comparison.md has a measurement beside Vendure). The shop's orders are compared with bare Fastify on the same machine.
 */
const VENDURE_IN_FASTIFY = 120_000 / FASTIFY_MICROSECONDS;

/**
 * Measures orders of one unit, or baskets of as many lines of one unit, by POST with an API key.
 * @param {Pick<Bench, 'stack'>} shop @param {{ connections: number, plants: number[], seconds: number, lines?: number }} load
 */
export async function placeOrders({ stack }, { connections, plants, seconds, lines }) {
  const headers = { api_key: 'special-key', 'content-type': 'application/json' };
  const line = () => ({ plantId: plants[Math.floor(Math.random() * plants.length)], quantity: 1 });
  const request = () => ({
    method: /** @type {const} */ ('POST'),
    path: lines === undefined ? '/v3/store/order' : '/v3/store/basket',
    headers,
    body: JSON.stringify(lines === undefined ? line() : { lines: Array.from({ length: lines }, line) }),
  });
  const before = stack.use();
  const result = await measure({ url: stack.gatewayUrl, connections, seconds, requests: () => Array.from({ length: 50 }, request) });
  const { parts, total } = spent(before, stack.use());
  const microseconds = (/** @type {number} */ cpu) => (cpu * 1e6) / result.requests;
  const cpuByPart = Object.fromEntries(Object.entries(parts).map(([part, cpu]) => [part, microseconds(cpu)]));
  return { ...result, cpu: microseconds(total), cpuByPart };
}

/**
 * Measures orders in alternation with pgbench and bare Fastify.
 * @param {Bench} bench
 * @param {{ anchor: { plants: number, clients: number }, connections: number, plants: number[] }} what
 */
async function besideAnchors(bench, { anchor, connections, plants }) {
  const seconds = bench.roundSeconds;
  await placeOrders(bench, { connections, plants, seconds: bench.warmUp });
  return inTurns(
    bench.rounds,
    async () => ({ postgres: await bench.pgbench.orders({ ...anchor, seconds }), fastify: await bench.fastify() }),
    () => placeOrders(bench, { connections, plants, seconds }),
  );
}

/** @typedef {Awaited<ReturnType<typeof besideAnchors>>[number]} Round */

/** The orders a second of two cores that do nothing but send a request (wrk), answer it (bare Fastify) and write its order (Postgres). */
const limitOf = (/** @type {Round['anchors']} */ [before, after]) => {
  const bare = (/** @type {typeof before} */ { postgres, fastify }) => postgres.cpu + fastify.cpu + fastify.loadCpu;
  return (2 * 1e6) / mean([bare(before), bare(after)]);
};

/**
 * Returns the row of a goal that is a share of this limit.
 * @param {string} goal @param {string} what @param {Round[]} rounds @returns {import('../bench.mjs').Row}
 */
function againstLimit(goal, what, rounds) {
  const found = median(rounds, ({ ours, anchors }) => ours.perSecond / limitOf(anchors));
  const { ours, anchors } = found.detail;
  const limit = limitOf(anchors);
  const toPgbench = ours.perSecond / mean([anchors[0].postgres.perSecond, anchors[1].postgres.perSecond]);
  /** @type {{ noClaim?: string }} */
  const elsewhere = availableParallelism() === 2 ? {} : { noClaim: 'not on two cores' };
  return { goal, what: `${what}: share of the limit, ${Math.round(limit)}/s (${toPgbench.toFixed(2)} of pgbench)`, wanted: 0.85, ...found, ...elsewhere, detail: { ...found.detail, limit, toPgbench } };
}

/**
 * Measures the CPU of an order in alternation with bare Fastify. Few connections need more rounds: they wake every process for little
 * work, and the cost of waking varies more than that of the work.
 * @param {Bench} bench
 * @param {{ connections: number, unit?: number, rounds?: number }} what `unit`: number of bare Fastify's requests that make one unit
 */
async function cpuBesideFastify(bench, { connections, unit = 1, rounds: count = bench.rounds }) {
  const rounds = await inTurns(
    count,
    () => bench.fastify(),
    () => placeOrders(bench, { connections, plants: bench.plants, seconds: bench.roundSeconds }),
  );
  return median(rounds, ({ ours, anchors: [before, after] }) => ours.cpu / mean([before.cpu, after.cpu]) / unit);
}

/** @param {Bench} bench */
async function basketBesideOrder(bench) {
  const load = { connections: 64, plants: bench.plants, seconds: bench.roundSeconds };
  const rounds = await inTurns(bench.rounds, () => placeOrders(bench, load), () => placeOrders(bench, { ...load, lines: 5 }));
  return median(rounds, ({ ours, anchors: [before, after] }) => ours.cpu / mean([before.cpu, after.cpu]));
}

/** @type {Record<string, (bench: Bench) => Promise<import('../bench.mjs').Row[]>>} */
export const orderGoals = {
  P1: async (bench) => [againstLimit('P1', 'POST order, 256 connections', await besideAnchors(bench, { anchor: manyPlants, connections: 256, plants: bench.plants }))],
  P2: async (bench) => [
    {
      goal: 'P2',
      what: 'POST order, 64 connections, against pgbench',
      wanted: 0.7,
      ...median(await besideAnchors(bench, { anchor: manyPlants, connections: 64, plants: bench.plants }), ({ ours, anchors: [before, after] }) => ours.perSecond / mean([before.postgres.perSecond, after.postgres.perSecond])),
    },
    { goal: 'P2', what: "its CPU against bare Fastify's, 64 connections", wanted: 9, atMost: true, possible: [1, Infinity], ...(await cpuBesideFastify(bench, { connections: 64, rounds: bench.rounds * 3 })) },
    { goal: 'P2', what: "its CPU against bare Fastify's, 256 connections", wanted: 6, atMost: true, possible: [1, Infinity], ...(await cpuBesideFastify(bench, { connections: 256 })) },
    { goal: 'P2', what: "CPU of a basket of five lines, 64 connections, against an order's", wanted: 2, atMost: true, possible: [1, Infinity], ...(await basketBesideOrder(bench)) },
    await loneOrder(bench),
  ],
  P3: async (bench) => [
    againstLimit('P3', 'POST order on one hot plant, 64 connections', await besideAnchors(bench, { anchor: { plants: 1, clients: 1 }, connections: 64, plants: bench.plants.slice(0, 1) })),
  ],
  P4: async (bench) => {
    await placeOrders(bench, { connections: 16, plants: bench.plants, seconds: bench.warmUp });
    return [
      {
        goal: 'P4',
        what: "CPU of an order, 16 clients, against Vendure's",
        wanted: 1 / 300,
        atMost: true,
        ...(await cpuBesideFastify(bench, { connections: 16, unit: VENDURE_IN_FASTIFY, rounds: bench.rounds * 3 })),
      },
    ];
  },
};
