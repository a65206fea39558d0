import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const gc = /** @type {() => void} */ (runInNewContext('gc'));

/** @typedef {{ us: number, bytes: number }} Cost of one request: CPU of the whole process in microseconds, and allocated bytes */

/** @typedef {((times: number) => Promise<void> | void) & { size?: number }} Work executes something this many times, each with `size` requests; 1 if absent */

/** Executes each work a few times, to see that it still runs. The figures mean nothing then. */
const isTrial = process.argv.includes('--quick');
const blocks = isTrial ? 1 : 60;
const blockMs = isTrial ? 1 : 40;
const warmUps = isTrial ? 0 : 10;
const collections = isTrial ? 1 : 15;

/**
 * Measures the cost of work on a busy machine: takes the 5th percentile of the CPU of many short blocks, which are the least disturbed
 * ones. Blocks of different works alternate, so that all are disturbed alike.
 * @template {string} Name
 * @param {Record<Name, Work>} works
 * @returns {Promise<Record<Name, Cost>>}
 */
export async function costsOf(works) {
  const all = /** @type {[Name, Work][]} */ (Object.entries(works));
  const measured = [];
  for (const [name, work] of all) measured.push({ name, work, times: await warm(work), spent: /** @type {number[]} */ ([]) });
  for (let n = 0; n < blocks; n++) {
    for (const { work, times, spent } of measured) {
      const before = process.cpuUsage();
      await work(times);
      const { user, system } = process.cpuUsage(before);
      spent.push((user + system) / times / sizeOf(work));
    }
  }
  const costs = [];
  for (const { name, work, times, spent } of measured) {
    spent.sort((a, b) => a - b);
    costs.push([name, { us: spent[Math.floor(blocks / 20)], bytes: await bytesOf(work, Math.min(times, Math.ceil(200 / sizeOf(work)))) }]);
  }
  return Object.fromEntries(costs);
}

const sizeOf = (/** @type {Work} */ { size = 1 }) => size;

/** @param {Work} work @returns {Promise<Cost>} */
export const costOf = async (work) => (await costsOf({ work })).work;

/** @param {Work} work @returns {Promise<number>} executions per block, after V8 has compiled the work */
async function warm(work) {
  let times = 16;
  for (let ms = 0; ms < blockMs && times < 1e7; ) {
    const began = performance.now();
    await work(times);
    ms = performance.now() - began;
    if (ms < blockMs) times = Math.ceil(times * Math.min(4, Math.max(1.2, blockMs / Math.max(ms, 0.01))));
  }
  for (let n = 0; n < warmUps; n++) await work(times);
  return times;
}

/**
 * Allocates less than the young generation holds, so that no collection runs. If one does, the result is lower and not the median.
 * @param {Work} work
 * @param {number} times
 */
async function bytesOf(work, times) {
  const allocated = [];
  for (let n = 0; n < collections; n++) {
    gc();
    const before = process.memoryUsage().heapUsed;
    await work(times);
    allocated.push((process.memoryUsage().heapUsed - before) / times / sizeOf(work));
  }
  allocated.sort((a, b) => a - b);
  return Math.max(0, Math.round(/** @type {number} */ (allocated[Math.floor(collections / 2)])));
}
