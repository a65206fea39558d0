// `npm run cells`: what a shop of cells would need (docs/decisions/identifiers.md). Simulates who orders what, and multiplies it
// by the CPU that the bench measured (docs/performance/latest.json, P1) and by the bytes of an order (docs/performance.md).
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../tools/start/toolchain.mjs';

const RATES = [1_000, 10_000, 100_000];
const PLANTS = 100_000;
const CHECKOUTS = 400_000;
/** How many plants each of ten checkouts orders. */
const LINES = [1, 1, 1, 1, 1, 1, 1, 2, 3, 5];
/** Cores of a primary, and how busy it may be, so that a replica can take over and vacuum has room. */
const CORES = 8;
const BUSY = 0.6;
/** A placed order's steps until it is delivered: payment, shipment, delivery. Each writes about what the order wrote. */
const STEPS = 3;
const WAL_BYTES = 1_000;
const STORED_BYTES = 500;
/** From the loss of a primary until its cell serves again: what chaos allows (R16). */
const LOST_SECONDS = 15;

/** A generator with a seed (mulberry32), so that two runs agree. @param {number} seed @returns {() => number} 0 to 1 */
function random(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Sums of the share of all orders of each plant, by rank: Zipf's law, as shops see it. */
const popularity = (() => {
  const sums = new Float64Array(PLANTS);
  let sum = 0;
  for (let rank = 0; rank < PLANTS; rank++) sums[rank] = sum += 1 / (rank + 1);
  return sums.map((one) => one / sum);
})();
const shareOf = (/** @type {number} */ rank) => (popularity[rank] ?? 1) - (popularity[rank - 1] ?? 0);

/** @param {number} at 0 to 1 @returns {number} the plant's rank */
function plantAt(at) {
  let [low, high] = [0, PLANTS - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((popularity[middle] ?? 1) < at) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The cell of each plant, as its id decides. @param {number} cells */
function byId(cells) {
  const next = random(7);
  return Uint16Array.from({ length: PLANTS }, () => Math.floor(next() * cells));
}

/** The same, but each of the thousand most wanted plants is where least is ordered. @param {number} cells */
function byDemand(cells) {
  const place = byId(cells);
  const load = new Float64Array(cells);
  place.forEach((cell, rank) => rank >= 1_000 && (load[cell] = (load[cell] ?? 0) + shareOf(rank)));
  for (let rank = 0; rank < 1_000; rank++) {
    const cell = load.indexOf(Math.min(...load));
    place[rank] = cell;
    load[cell] = (load[cell] ?? 0) + shareOf(rank);
  }
  return place;
}

/** @param {number} cells @param {Uint16Array} place */
function simulate(cells, place) {
  const next = random(11);
  const orders = new Float64Array(cells);
  const checkouts = new Float64Array(cells);
  let baskets = 0;
  let divided = 0;
  for (let n = 0; n < CHECKOUTS; n++) {
    const lines = LINES[n % LINES.length] ?? 1;
    const touched = new Set();
    for (let line = 0; line < lines; line++) {
      const cell = place[plantAt(next())] ?? 0;
      orders[cell] = (orders[cell] ?? 0) + 1;
      touched.add(cell);
    }
    for (const cell of touched) checkouts[cell] = (checkouts[cell] ?? 0) + 1;
    if (lines > 1) baskets++;
    if (touched.size > 1) divided++;
  }
  const all = orders.reduce((total, one) => total + one, 0);
  return { busiest: Math.max(...orders) / all, failing: Math.max(...checkouts) / CHECKOUTS, divided: divided / baskets };
}

const { rows } = JSON.parse(readFileSync(join(ROOT, 'docs', 'performance', 'latest.json'), 'utf8'));
/** Microseconds of CPU of an order. @type {Record<string, number>} */
const cpu = rows.find((/** @type {{ goal: string }} */ { goal }) => goal === 'P1').detail.ours.cpuByPart;

/** @param {number} rate @param {number} share of it @param {string} part */
const cores = (rate, share, part) => (rate * share * (1 + STEPS) * (cpu[part] ?? 0)) / 1e6;

/** @param {(string | number)[]} values */
const line = (...values) => console.log(values.map((one) => `${one}`.padStart(11)).join(''));
const percent = (/** @type {number} */ share) => `${(share * 100).toFixed(0)} %`;
const thousands = (/** @type {number} */ value) => Math.round(value).toLocaleString('en');

console.log(`${thousands(PLANTS)} plants, ordered by Zipf's law; three of ten checkouts are baskets of 2, 3 or 5 lines. By id: a plant's cell is drawn. By demand: each of
the thousand most wanted is where least is ordered. Divided: baskets over several cells. Lost: checkouts that fail while the busiest cell is away.
`);
const counts = [1, 2, 4, 8, 16, 32];
line('cells', 'busiest', 'of orders', '', 'divided', 'lost');
line('', 'by id', 'by demand');
for (const cells of counts) {
  const found = simulate(cells, byDemand(cells));
  line(cells, percent(simulate(cells, byId(cells)).busiest), percent(found.busiest), '', percent(found.divided), percent(found.failing));
}

console.log(`
An order takes ${Object.entries(cpu).filter(([part]) => cores(1, 1, part) > 0).map(([part, value]) => `${value.toFixed(0)} us of ${part}`).join(', ')}, and ${STEPS} later steps as much
each. A primary has ${CORES} cores, at most ${BUSY * 100} % busy. Refused: orders in the ${LOST_SECONDS} s until a lost cell serves again.
`);
line('orders/s', 'cells', 'Postgres', 'store', 'gateway', 'notif.', 'WAL MB/s', 'GB a day', 'refused');
line('', '', 'cores', 'cores', 'cores', 'cores');
for (const rate of RATES) {
  const cells = counts.find((count) => cores(rate, simulate(count, byDemand(count)).busiest, 'postgres') <= CORES * BUSY) ?? NaN;
  const { busiest } = simulate(cells, byDemand(cells));
  const of = (/** @type {string} */ part) => cores(rate, 1, part).toFixed(1);
  const bytes = rate * (1 + STEPS);
  line(thousands(rate), cells, of('postgres'), of('store'), of('gateway'), of('notifications'), thousands((bytes * WAL_BYTES) / 1e6), thousands((bytes * 86_400 * STORED_BYTES) / 1e9), thousands(rate * busiest * LOST_SECONDS));
}
