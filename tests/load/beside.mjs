// `node tests/load/beside.mjs <folder>`: what an order costs here, compared with another built clone. Runs one after the other differ by 15 % on a
// shared machine, and two processes of the same build by 8 %; so both shops run, take turns, and are started anew several times.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { stopOnSignals } from '../../tools/start/shutdown.mjs';
import { readyToolchain, ROOT } from '../../tools/start/toolchain.mjs';
import { inTurns, mean, median } from './in-turns.mjs';

const usage = `Compares the CPU of an order, by part of the shop, with that of another clone, which must be built too.

  node tests/load/beside.mjs <folder> [--starts 5] [--turns 9] [--connections 256]     takes about 2 minutes for each start`;

const TURN_SECONDS = 3;
/** In its first 15 seconds a process costs up to a third more, and the one with more code for longer. */
const WARM_UP_TURNS = 6;
const PLANTS = 1_000;

const stop = stopOnSignals();
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { starts: { type: 'string', default: '5' }, turns: { type: 'string', default: '9' }, connections: { type: 'string', default: '256' }, help: { type: 'boolean' } },
});
if (values.help || positionals.length !== 1) {
  console.log(usage);
  process.exit(values.help ? 0 : 1);
}
await readyToolchain({ signal: stop.signal, say: console.log });
/** @type {Map<string, number[]>} */
const ratios = new Map();
for (let start = 0; start < Number(values.starts); start++) {
  for (const [part, ratio] of await compareOnce(resolve(positionals[0] ?? ''), Number(values.turns))) ratios.set(part, [...(ratios.get(part) ?? []), ratio]);
  for (const [part, all] of ratios) console.log(`${part.padEnd(16)} ${median(all, (one) => one).ratio.toFixed(2)}   (${all.map((one) => one.toFixed(2)).join(', ')})`);
  console.log();
}
process.exit(0);

/**
 * Starts both shops, and returns the median ratio of all turns: of the rate, of an order's CPU, and of each part of it.
 * @param {string} clone @param {number} turns @returns {Promise<Map<string, number>>}
 */
async function compareOnce(clone, turns) {
  const shops = [];
  try {
    for (const one of [clone, ROOT]) shops.push(await startIn(one));
    const [there, here] = /** @type {[Shop, Shop]} */ (shops);
    await inTurns(WARM_UP_TURNS, there.measure, here.measure);
    const rounds = await inTurns(turns, there.measure, here.measure);
    const of = (/** @type {string} */ part, /** @type {Map<string, number>} */ measured) => measured.get(part) ?? NaN;
    return new Map(
      [...(rounds[0]?.ours.keys() ?? [])].map((part) => [
        part,
        median(rounds, ({ ours, anchors: [before, after] }) => of(part, ours) / mean([of(part, before), of(part, after)])).ratio,
      ]),
    );
  } finally {
    for (const { end } of shops) await end();
  }
}

/** @typedef {Awaited<ReturnType<typeof startIn>>} Shop */

/** Starts the shop of a clone, by its own tools. @param {string} clone */
async function startIn(clone) {
  const [{ Stack }, { clientOf, inParallel }, { placeOrders }] = await Promise.all(
    ['stack.mjs', 'client.mjs', 'goals/orders.mjs'].map((file) => import(join(clone, 'tests', 'load', file))),
  );
  const folder = mkdtempSync(join(tmpdir(), 'plant-shop-beside-'));
  const stack = await Stack.start(folder, { signal: stop.signal });
  const call = clientOf(stack.gatewayUrl);
  const made = await inParallel(PLANTS, 32, (/** @type {number} */ n) => call('POST', '/plant', { name: `plant ${n}` }));
  const plants = made.map((/** @type {{ id: number }} */ { id }) => id);
  return {
    /** @returns {Promise<Map<string, number>>} */
    measure: async () => {
      const { perSecond, cpu, cpuByPart } = await placeOrders({ stack }, { connections: Number(values.connections), plants, seconds: TURN_SECONDS });
      return new Map([['rate', perSecond], ['CPU of an order', cpu], ...Object.entries(cpuByPart)]);
    },
    end: async () => {
      await stack.end();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
