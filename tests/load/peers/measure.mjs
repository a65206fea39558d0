import { inParallel, pause, percentile } from '../client.mjs';
import { memoryOf, useOf } from '../processes.mjs';

/** @typedef {import('./shops.mjs').Shop} Shop */
/** @typedef {import('./shops.mjs').Order} Order */

/** Clients of the load. */
const CLIENTS = 16;
/** Clients of a race, for as many units. */
export const RACERS = 64;
export const UNITS = 20;

/** How long customers who got an error, or no answer, try again. */
const RETRY_MS = 60_000;

/**
 * Returns the figures of a shop. CPU and memory are those of all its processes, Postgres too.
 * @param {Shop} shop
 * @param {{ seconds: number, crashes: number }} how long each load is, and how many of the races on its scarce plants have a crash
 */
export async function measureShop(shop, { seconds, crashes }) {
  const startMs = await shop.restart();
  const racers = await inParallel(RACERS, 4, (n) => shop.customer(n));
  const customers = racers.slice(0, CLIENTS);
  await load(shop, customers, seconds / 3);
  const disk = async () => Number(await shop.ask('SELECT sum(pg_database_size(oid)) FROM pg_database'));
  const before = await disk();
  const busy = await load(shop, customers, seconds);
  const diskBytes = ((await disk()) - before) / busy.orders;
  const memoryBytes = shop.pids().reduce((total, pid) => total + memoryOf(pid), 0);
  const alone = await load(shop, customers.slice(0, 1), seconds / 3);
  const idleFrom = cpuOf(shop);
  await pause((seconds / 3) * 1_000);
  const idleCores = (cpuOf(shop) - idleFrom) / (seconds / 3);

  const calm = shop.scarce.slice(0, -crashes);
  const races = [];
  for (const plant of calm) races.push(await race(shop, plant, racers));
  // Half-way, by the race before.
  const crashMs = (races.at(-1)?.ms ?? 0) / 2;
  for (const plant of shop.scarce.slice(-crashes)) races.push(await race(shop, plant, racers, crashMs));
  return { title: shop.title, startMs, busy, alone, diskBytes, memoryBytes, idleCores, races };
}

/** @param {Shop} shop */
const cpuOf = (shop) => shop.pids().reduce((total, pid) => total + useOf(pid).seconds, 0);

/** Closed loop: each customer orders again after the answer. @param {Shop} shop @param {Order[]} customers @param {number} seconds */
async function load(shop, customers, seconds) {
  const cpuBefore = cpuOf(shop);
  const begun = performance.now();
  /** @type {number[]} */
  const times = [];
  await Promise.all(
    customers.map(async (order) => {
      while (performance.now() - begun < seconds * 1_000) {
        const plant = /** @type {string} */ (shop.plants[Math.floor(Math.random() * shop.plants.length)]);
        const asked = performance.now();
        if (!(await order(plant))) throw new Error(`${shop.title}: a plant with a million units is sold out`);
        times.push(performance.now() - asked);
      }
    }),
  );
  const took = (performance.now() - begun) / 1_000;
  const orders = times.length;
  return { orders, perSecond: orders / took, cpuMs: ((cpuOf(shop) - cpuBefore) * 1_000) / orders, p50: percentile(times, 0.5), p99: percentile(times, 0.99) };
}

/**
 * All customers order one unit of the same plant at once.
 * @param {Shop} shop @param {string} plant @param {Order[]} customers
 * @param {number} [crashMs] when the shop is killed
 */
async function race(shop, plant, customers, crashMs) {
  const isCrash = crashMs !== undefined;
  const begun = performance.now();
  /** @type {string[]} */
  const failures = [];
  const answers = customers.map(async (order) => {
    for (;;) {
      try {
        return await order(plant);
      } catch (error) {
        failures.push(error instanceof Error ? error.message : `${error}`);
        if (performance.now() - begun > RETRY_MS) return undefined;
        await pause(500);
      }
    }
  });
  if (isCrash) {
    await pause(crashMs);
    await shop.crash();
  }
  const results = await Promise.all(answers);
  const ms = performance.now() - begun;
  const count = (/** @type {boolean | undefined} */ what) => results.filter((one) => one === what).length;
  const held = await shop.held(plant);
  return { isCrash, ms, oversold: Math.max(0, held - UNITS), held, placed: count(true), refused: count(false), gaveUp: count(undefined), errors: failures.length, examples: [...new Set(failures)].slice(0, 3) };
}
