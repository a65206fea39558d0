import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { findChromium } from '../../console/kit/chromium-binary.mjs';
import { Chrome, logIn } from '../../console/kit/console.mjs';
import { firstLoad, total } from '../../console/kit/first-load.mjs';
import { clientOf, inParallel, pause, percentile } from '../client.mjs';
import { mean } from '../in-turns.mjs';
import { Stack } from '../stack.mjs';
import { openOrders, pay } from './stream.mjs';

/** @typedef {import('../bench.mjs').Bench} Bench */
/** @typedef {import('../../console/kit/console.mjs').Visit['page']} Page */

/** The most orders that the Today page counts. */
const OPEN_ORDERS = 5_000;
const UPDATES_PER_SECOND = 60;
/** At 60 frames a second a frame takes 16.7 ms; a longer interval means that one was dropped. */
const DROPPED_MS = 25;
const viewport = { width: 1280, height: 860 };

/** @type {Record<string, (bench: Bench) => Promise<import('../bench.mjs').Row[]>>} */
export const consoleGoals = {
  C1: async (bench) => {
    const chromium = await findChromium({ signal: bench.signal, say: console.log });
    const folder = join(bench.folder, 'console');
    mkdirSync(folder);
    const stack = await Stack.start(folder, { signal: bench.signal });
    const chrome = new Chrome();
    try {
      await chrome.open(chromium);
      return await measure(bench, stack, chrome);
    } finally {
      await chrome.close();
      await stack.end();
    }
  },
};

/** @param {Bench} bench @param {Stack} stack @param {Chrome} chrome @returns {Promise<import('../bench.mjs').Row[]>} */
async function measure(bench, stack, chrome) {
  const seconds = bench.quick ? 5 : 20;
  const call = clientOf(stack.gatewayUrl);
  const plants = (await inParallel(20, 8, (n) => call('POST', '/plant', { name: `Plant ${n}` }))).map(({ id }) => id);
  const orders = await openOrders({ stack, plants }, OPEN_ORDERS);

  const { page } = await chrome.newVisit({ viewport });
  await page.goto(`${stack.gatewayUrl}/console`);
  await logIn(page, { username: 'admin', password: 'admin-password' });
  await untilToShip(page, 0);
  await page.getByRole('img', { name: /orders? in the last hour/ }).waitFor();

  const quietBefore = await frames(page, () => pause(seconds * 1_000));
  const paid = orders.slice(-UPDATES_PER_SECOND * seconds);
  const live = await frames(page, async () => {
    await Promise.all(paid.map(async (order, n) => {
      await pause((n * 1_000) / UPDATES_PER_SECOND);
      await pay(stack, [order], 1);
    }));
  });
  // Otherwise the page would have been measured while it got fewer.
  await untilToShip(page, paid.length);
  const quietAfter = await frames(page, () => pause(seconds * 1_000));

  const storageState = await page.context().storageState();
  await page.context().close();
  const loads = [];
  for (let n = 0; n < 5; n++) loads.push(await load(chrome, stack, storageState, paid.length));
  const sizes = firstLoad();
  const detail = { live, quiet: [quietBefore, quietAfter] };
  return [
    { goal: 'C1', what: `Today page, ${UPDATES_PER_SECOND} status changes a second: share of frames over ${DROPPED_MS} ms`, wanted: 0.01, ratio: live.dropped, possible: [0, 1], atMost: true, detail, ...bench.shortened },
    { goal: 'C1', what: 'the same page without updates, before and after: share of frames over 25 ms', wanted: 0.01, ratio: mean([quietBefore.dropped, quietAfter.dropped]), possible: [0, 1], atMost: true, detail, ...bench.shortened },
    { goal: 'C1', what: 'the longest frame with updates, in ms', wanted: 50, ratio: live.longestMs, atMost: true, detail, ...bench.shortened },
    { goal: 'C1', what: 'first load, empty cache: seconds until the page answers its reader', wanted: 1, ratio: medianOf(loads.map((one) => one.interactive)), atMost: true, detail: { loads } },
    { goal: 'C1', what: 'first load, gzip, kB', wanted: 250, ratio: total(sizes) / 1_000, atMost: true, detail: sizes },
  ];
}

/** @param {number[]} values */
const medianOf = (values) => percentile(values, 0.5);

/**
 * Records the intervals between the page's frames while `work` runs.
 * @param {Page} page @param {() => Promise<void>} work
 */
async function frames(page, work) {
  const recording = await page.evaluateHandle(() => {
    /** @type {{ intervals: number[], isOver: boolean }} */
    const record = { intervals: [], isOver: false };
    let last = performance.now();
    const note = (/** @type {number} */ now) => {
      record.intervals.push(now - last);
      last = now;
      if (!record.isOver) window.requestAnimationFrame(note);
    };
    // The first interval would begin between two frames.
    window.requestAnimationFrame((now) => {
      last = now;
      window.requestAnimationFrame(note);
    });
    return record;
  });
  const begun = performance.now();
  await work();
  const seconds = (performance.now() - begun) / 1_000;
  const intervals = await recording.evaluate((record) => {
    record.isOver = true;
    return record.intervals;
  });
  await recording.dispose();
  return {
    seconds,
    perSecond: intervals.length / seconds,
    dropped: intervals.filter((one) => one > DROPPED_MS).length / intervals.length,
    longestMs: Math.max(...intervals),
  };
}

/** Waits until the page shows that so many orders are to be shipped. @param {Page} page @param {number} count */
async function untilToShip(page, count) {
  await page.getByRole('region', { name: 'To ship' }).getByText(count.toLocaleString('en-GB'), { exact: true }).waitFor();
}

/**
 * Measures the time from opening the address, for a person whose login lasts: with the redirects of the login, and an empty cache.
 * @param {Chrome} chrome @param {Stack} stack @param {object} storageState @param {number} count
 */
async function load(chrome, stack, storageState, count) {
  const { page } = await chrome.newVisit({ viewport, storageState });
  const begun = performance.now();
  const elapsed = () => (performance.now() - begun) / 1_000;
  await page.goto(`${stack.gatewayUrl}/console`);
  await page.getByRole('heading', { name: 'Today', level: 1 }).waitFor();
  const interactive = elapsed();
  await untilToShip(page, count);
  const numbers = elapsed();
  await page.context().close();
  return { interactive, numbers };
}
