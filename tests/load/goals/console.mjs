import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { findChromium } from '../../console/kit/chromium-binary.mjs';
import { Chrome, logIn } from '../../console/kit/console.mjs';
import { firstLoad, total } from '../../console/kit/first-load.mjs';
import { clientOf, inParallel, pause, percentile } from '../client.mjs';
import { mean } from '../in-turns.mjs';
import { fillShop } from '../large-data.mjs';
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

/** @typedef {(bench: Bench, stack: Stack, chrome: Chrome) => Promise<import('../bench.mjs').Row[]>} Measure */

/** @type {Record<string, (bench: Bench) => Promise<import('../bench.mjs').Row[]>>} */
export const consoleGoals = { C1: onOwnShop('c1', measure), C2: onOwnShop('c2', paceOfPages), C3: onOwnShop('c3', busyToday), C4: onOwnShop('c4', bulkShipping) };

/** @param {string} name @param {Measure} work @returns {(bench: Bench) => Promise<import('../bench.mjs').Row[]>} */
function onOwnShop(name, work) {
  return async (bench) => {
    const chromium = await findChromium({ signal: bench.signal, say: console.log });
    const folder = join(bench.folder, name);
    mkdirSync(folder);
    const stack = await Stack.start(folder, { signal: bench.signal });
    const chrome = new Chrome();
    try {
      await chrome.open(chromium);
      return await work(bench, stack, chrome);
    } finally {
      await chrome.close();
      await stack.end();
    }
  };
}

/** Opens the console as the demo's admin. @param {Stack} stack @param {Chrome} chrome */
async function opened(stack, chrome) {
  const { page } = await chrome.newVisit({ viewport });
  await page.goto(`${stack.gatewayUrl}/console`);
  await logIn(page, { username: 'admin', password: 'admin-password' });
  await page.getByRole('heading', { name: 'Today', level: 1 }).waitFor();
  return page;
}

/** @param {Bench} bench @param {Stack} stack @param {Chrome} chrome @returns {Promise<import('../bench.mjs').Row[]>} */
async function measure(bench, stack, chrome) {
  const seconds = bench.quick ? 5 : 20;
  const call = clientOf(stack.gatewayUrl);
  const plants = (await inParallel(20, 8, (n) => call('POST', '/plant', { name: `Plant ${n}` }))).map(({ id }) => id);
  const orders = await openOrders({ stack, plants }, OPEN_ORDERS);

  const page = await opened(stack, chrome);
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
  await page.waitForFunction(() => ![...document.querySelectorAll('section .numbers')].some((one) => one.textContent === '…'));
  const numbers = elapsed();
  await page.context().close();
  return { interactive, numbers };
}

// C2: how fast pages answer their reader in a shop with many orders.

const MANY = { plants: 1_000, orders: 100_000 };
const ROUNDS = 20;

/** @param {Bench} bench @param {Stack} stack @param {Chrome} chrome @returns {Promise<import('../bench.mjs').Row[]>} */
async function paceOfPages(bench, stack, chrome) {
  await fillShop(stack.run.postgres.adminUrl, (url, sql) => bench.pgbench.psql(url, sql), MANY);
  const page = await opened(stack, chrome);
  const rounds = bench.quick ? 4 : ROUNDS;
  /** @type {Record<string, number[]>} */
  const times = { 'switching pages': [], 'opening an order': [], filtering: [], 'moving the selection': [] };
  // The first round loads the files of the pages and does not count.
  for (let round = 0; round <= rounds; round++) {
    const note = (/** @type {string} */ what, /** @type {number} */ ms) => round > 0 && times[what]?.push(ms);
    for (const name of ['Plants', 'People', 'Webhooks', 'Today', 'Orders']) note('switching pages', await answered(page, { click: `nav a[href="${name === 'Today' ? '/console' : `/console/${name.toLowerCase()}`}"], nav a[href="/console/"]`, text: name, in: 'h1' }));
    await page.locator(ROWS).first().waitFor();
    for (const name of ['All', 'To ship']) {
      note('filtering', await answered(page, { click: '[role=tab]', text: name, changes: `${ROWS} a` }));
      await page.locator(ROWS).first().waitFor();
    }
    await page.locator(`${ROWS} a`).first().focus();
    for (let n = 0; n < 5; n++) note('moving the selection', await answered(page, { key: 'ArrowDown', changes: ':focus' }));
    const id = (await page.locator(`${ROWS} a`).first().textContent()) ?? '';
    note('opening an order', await answered(page, { click: `${ROWS} a`, text: `Order ${id}`, in: 'h1' }));
    await page.goBack();
    await page.locator(ROWS).first().waitFor();
  }
  return Object.entries(times).map(([what, all]) => ({ goal: 'C2', what: `${MANY.orders} orders: ${what}, p95 in ms`, wanted: 50, ratio: percentile(all, 0.95), atMost: true, detail: { times: all }, ...bench.shortened }));
}

const ROWS = '[role=table][aria-label=Orders] [data-order]';

/**
 * Returns the milliseconds from an input until the frame with its whole answer: `in` has the text, or what `changes` selects has another one,
 * and nothing on the page says that it loads. Pages that were left do not count: they are there, but hidden.
 * @param {Page} page @param {{ click?: string, key?: string, text?: string, in?: string, changes?: string }} what
 */
const answered = (page, what) =>
  page.evaluate(({ click, key, text = '', in: place, changes = '' }) => {
    const visible = (/** @type {string} */ selector) => [...document.querySelectorAll(selector)].filter((one) => one.checkVisibility());
    const textOf = (/** @type {string} */ selector) => (selector === '' ? undefined : visible(selector)[0]?.textContent);
    const candidates = click === undefined ? [] : visible(click);
    const target = candidates.find((one) => one.textContent?.startsWith(text)) ?? candidates[0];
    const before = textOf(changes);
    const isChanged = () => (place === undefined ? textOf(changes) !== undefined && textOf(changes) !== before : textOf(place) === text);
    const isAnswered = () => isChanged() && visible('main :is([aria-label=Loading], .mantine-Loader-root)').length === 0;
    const begun = performance.now();
    if (target instanceof HTMLElement) target.click();
    else document.activeElement?.dispatchEvent(new KeyboardEvent('keydown', { key: key ?? '', bubbles: true, cancelable: true }));
    return new Promise((/** @type {(ms: number) => void} */ resolve, reject) => {
      const look = () => {
        const ms = performance.now() - begun;
        if (ms > 10_000) reject(new Error(`no answer to ${click ?? key}`));
        else if (isAnswered()) resolve(ms);
        else requestAnimationFrame(look);
      };
      requestAnimationFrame(look);
    });
  }, what);

// C3: the first page of a shop in which much waits.

const WAITING_ORDERS = 11_000;
const WEBHOOKS = 20;

/** @type {Measure} */
async function busyToday(bench, stack, chrome) {
  const call = clientOf(stack.gatewayUrl);
  const plants = (await inParallel(20, 8, (n) => call('POST', '/plant', { name: `Plant ${n}` }))).map(({ id }) => id);
  const orders = await openOrders({ stack, plants }, WAITING_ORDERS);
  const paid = orders.slice(0, WAITING_ORDERS / 2);
  await pay(stack, paid, 64);
  await inParallel(WEBHOOKS, 4, (n) => call('POST', '/webhooks', { url: `https://receiver.example/${n}`, plantId: plants[n] }));
  const page = await opened(stack, chrome);
  await untilToShip(page, paid.length);
  const storageState = await page.context().storageState();
  await page.context().close();
  const loads = [];
  for (let n = 0; n < (bench.quick ? 2 : 5); n++) loads.push(await load(chrome, stack, storageState, paid.length));
  return [{ goal: 'C3', what: `${WAITING_ORDERS} open orders, ${WEBHOOKS} webhooks: seconds until Today has its numbers`, wanted: 1, ratio: medianOf(loads.map((one) => one.numbers)), atMost: true, detail: { loads }, ...bench.shortened }];
}

// C4: 200 orders are shipped at once.

const SHIPPED = 200;

/** @type {Measure} */
async function bulkShipping(bench, stack, chrome) {
  const call = clientOf(stack.gatewayUrl);
  const { id: plantId } = await call('POST', '/plant', { name: 'Fern' });
  /** @type {number[]} */
  const seconds = [];
  const page = await opened(stack, chrome);
  for (let round = 0; round < (bench.quick ? 1 : 3); round++) {
    const orders = await openOrders({ stack, plants: [plantId] }, SHIPPED);
    await pay(stack, orders, 8);
    await page.goto(`${stack.gatewayUrl}/console/orders?tab=to-ship&plantId=${plantId}`);
    await page.getByText(`${SHIPPED} orders`, { exact: true }).waitFor();
    await page.getByRole('checkbox', { name: 'Select all orders that are loaded' }).check();
    await page.getByRole('group', { name: 'Selected orders' }).getByRole('button', { name: 'Ship' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Carrier').fill('Green Post');
    await dialog.getByLabel('Paste tracking numbers').fill(orders.map((id) => `${id};T${id}`).join('\n'));
    await dialog.getByRole('button', { name: 'Fill in' }).click();
    const begun = performance.now();
    await dialog.getByRole('button', { name: `Ship ${SHIPPED} orders` }).click();
    await dialog.getByRole('button', { name: 'Stop' }).waitFor();
    await dialog.getByRole('button', { name: 'Stop' }).waitFor({ state: 'detached' });
    seconds.push((performance.now() - begun) / 1_000);
    const result = await dialog.getByText(` of ${SHIPPED} orders are shipped.`).textContent();
    if (!result?.startsWith(`${SHIPPED} of `)) throw new Error(`Not all were shipped: ${result}`);
  }
  return [{ goal: 'C4', what: `seconds until each of ${SHIPPED} orders shipped at once has its result`, wanted: 5, ratio: medianOf(seconds), atMost: true, detail: { seconds }, ...bench.shortened }];
}
