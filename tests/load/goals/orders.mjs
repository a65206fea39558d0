import { measure } from '../http.mjs';
import { spent } from '../stack.mjs';
import { loneOrder } from './lone-order.mjs';

/** @typedef {import('../bench.mjs').Bench} Bench */

const PLANTS = 1_000;
/** CPU of one order at Vendure 3.7, measured once; goal P4 (docs/performance.md). */
const VENDURE_MS = 120;

/**
 * Orders by POST, with a key, one unit each.
 * @param {Pick<Bench, 'stack'>} shop @param {{ connections: number, plants: number[], seconds: number }} load
 */
export async function placeOrders({ stack }, { connections, plants, seconds }) {
  const headers = { api_key: 'special-key', 'content-type': 'application/json' };
  const order = () => {
    const plantId = plants[Math.floor(Math.random() * plants.length)];
    return { method: /** @type {const} */ ('POST'), path: '/v3/store/order', headers, body: JSON.stringify({ plantId, quantity: 1 }) };
  };
  const before = stack.use();
  const result = await measure({ url: stack.gatewayUrl, connections, seconds, requests: () => Array.from({ length: 50 }, order) });
  const { parts, total } = spent(before, stack.use());
  const microseconds = (/** @type {number} */ cpu) => (cpu * 1e6) / result.requests;
  const cpuByPart = Object.fromEntries(Object.entries(parts).map(([part, cpu]) => [part, microseconds(cpu)]));
  return { ...result, cpu: microseconds(total), cpuByPart };
}

/**
 * Between two runs of its anchor.
 * @param {Bench} bench
 * @param {{ anchor: { plants: number, clients: number }, connections: number, plants: number[] }} what
 */
async function besideAnchor(bench, { anchor, connections, plants }) {
  const seconds = bench.seconds;
  await placeOrders(bench, { connections, plants, seconds: bench.warmUp });
  const before = await bench.pgbench.ordersPerSecond({ ...anchor, seconds });
  const ours = await placeOrders(bench, { connections, plants, seconds });
  const after = await bench.pgbench.ordersPerSecond({ ...anchor, seconds });
  return { ours, anchor: (before + after) / 2, anchors: [before, after] };
}

/** @type {Record<string, (bench: Bench) => Promise<import('../bench.mjs').Row[]>>} */
export const orderGoals = {
  P1: async (bench) => {
    const { ours, anchor, anchors } = await besideAnchor(bench, { anchor: { plants: PLANTS, clients: 32 }, connections: 256, plants: bench.plants });
    return [row('P1', 'POST order, 256 connections, against pgbench', 1, ours.perSecond / anchor, { ours, anchors })];
  },
  P2: async (bench) => {
    const { ours, anchor, anchors } = await besideAnchor(bench, { anchor: { plants: PLANTS, clients: 32 }, connections: 64, plants: bench.plants });
    const many = await placeOrders(bench, { connections: 256, plants: bench.plants, seconds: bench.seconds });
    const bare = await bench.fastify();
    return [
      row('P2', 'POST order, 64 connections, against pgbench', 0.7, ours.perSecond / anchor, { ours, anchors }),
      { ...row('P2', "its CPU against bare Fastify's, 64 connections", 9, ours.cpu / bare.cpu, { ours, bare }), atMost: true },
      { ...row('P2', "its CPU against bare Fastify's, 256 connections", 6, many.cpu / bare.cpu, { many, bare }), atMost: true },
      await loneOrder(bench),
    ];
  },
  P3: async (bench) => {
    const { ours, anchor, anchors } = await besideAnchor(bench, { anchor: { plants: 1, clients: 1 }, connections: 64, plants: bench.plants.slice(0, 1) });
    return [row('P3', 'POST order on one hot plant, 64 connections, against pgbench with one client', 4, ours.perSecond / anchor, { ours, anchors })];
  },
  P4: async (bench) => {
    const load = { connections: 16, plants: bench.plants };
    await placeOrders(bench, { ...load, seconds: bench.warmUp });
    const ours = await placeOrders(bench, { ...load, seconds: bench.seconds });
    return [{ ...row('P4', "CPU of an order, 16 clients, against Vendure's 120 ms", 1 / 300, ours.cpu / (VENDURE_MS * 1_000), { ours }), atMost: true }];
  },
};

/** @param {string} goal @param {string} what @param {number} wanted @param {number} ratio @param {object} detail */
const row = (goal, what, wanted, ratio, detail) => ({ goal, what, wanted, ratio, detail });
