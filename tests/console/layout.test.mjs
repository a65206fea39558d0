import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Chrome, untilFilesOfAllPages } from './kit/console.mjs';
import { admin, demoAdmin, fresh, newPerson, newPlant, shopOf } from './kit/people.mjs';
import { misplaced } from './kit/boxes.mjs';

const long = 'X'.repeat(120);
const words = 'a plant whose name tells what it is, where it grows and who has found it '.repeat(2).trim();

/** Pages with the longest contents that the shop takes. @returns {Promise<Record<string, string>>} paths by name */
async function fill() {
  // First, so that it fails to deliver the events of what follows, which the pages of the orders show.
  const { data: webhook } = await admin.POST('/webhooks', { body: { url: `https://receiver.example/${long}`, name: long.slice(0, 100), description: long } });
  await admin.POST('/webhooks', { body: { url: `https://${'w'.repeat(60)}.${'w'.repeat(60)}.example/`, name: fresh('Far away') } });
  await admin.POST('/webhooks', { body: { url: `https://receiver.example/${fresh('one')}`, orderId: 9_007_199_254_740_991, plantId: 2_147_483_647, newStatuses: ['approved', 'delivered', 'cancelled'] } });
  const { data: destination } = await admin.POST('/destinations', { body: { name: long.slice(0, 100), url: 'nats://127.0.0.1:9', stream: long, subject: `${'x'.repeat(50)}.${'y'.repeat(50)}`, credentials: { token: long } } });
  const plantId = await newPlant(1_000_000_000, `${fresh('Long')} ${words}`);
  const unbroken = await newPlant(5, `${fresh('Long')}${long}`);
  await newPlant(0, `${fresh('Long')} ${words}`);
  const owner = { username: `o${process.pid}${'w'.repeat(56)}`, password: 'a good password' };
  await admin.POST('/user', { body: owner });
  const { data: order } = await shopOf(owner).POST('/store/order', { body: { plantId, quantity: 1_000 } });
  const params = { path: { orderId: order.id } };
  await admin.POST('/store/order/{orderId}/payment', { params, body: { outcome: 'succeeded', reference: fresh('payment') } });
  await admin.POST('/store/order/{orderId}/shipment', { params, body: { carrier: `Post ${long}`, trackingNumber: long } });
  const { data: refunded } = await admin.POST('/store/order', { body: { plantId: unbroken } });
  await admin.POST('/store/order/{orderId}/payment', { params: { path: { orderId: refunded.id } }, body: { outcome: 'succeeded', reference: `${fresh('payment')}${'r'.repeat(60)}` } });
  await admin.POST('/store/order/{orderId}/cancellation', { params: { path: { orderId: refunded.id } }, body: { reason: long, restock: true } });
  const { data: toShip } = await admin.POST('/store/order', { body: { plantId, quantity: 1_000, shipTo: { name: words, lines: [long], postalCode: '01067', city: long, country: 'Saxony' } } });
  await admin.POST('/store/order/{orderId}/payment', { params: { path: { orderId: toShip.id } }, body: { outcome: 'succeeded', reference: fresh('payment') } });
  const { username } = await newPerson('customer');
  await admin.POST('/user/{username}/apiKeys', { params: { path: { username } }, body: { name: long } });
  const quiet = `q${process.pid}_${'w'.repeat(50)}`;
  await admin.POST('/user', { body: { username: quiet, password: 'a good password' } });
  return {
    today: '/', orders: '/orders?tab=all', 'orders to ship': '/orders', 'shipped orders': '/orders?tab=shipped', 'refunds due': '/orders?tab=refund', order: `/orders/${order.id}`, 'cancelled order': `/orders/${refunded.id}`, plants: `/plants?q=Long-${process.pid}`, plant: `/plants/${plantId}`,
    'plant of one word': `/plants/${unbroken}`, 'new plant': '/plants/new', import: '/plants/import', 'plants to count': `/plants?stock=uncounted&q=Long-${process.pid}`, stream: '/stream', webhooks: '/webhooks', webhook: `/webhooks/${webhook.id}`, destinations: '/destinations', destination: `/destinations/${destination.id}`,
    people: '/people', clients: '/people?tab=clients', 'audit log': '/people?tab=audit', person: `/people/${username}`, 'person who was never here': `/people/${quiet}`, mails: '/mails',
  };
}

const api = /\/v3\//;

/**
 * What the shop may answer to every read. `begin` makes it so; `text` is then on every page.
 * @type {Record<string, { begin: (page: import('playwright-core').Page) => Promise<unknown>, isAnswered?: true, text?: RegExp }>}
 */
const states = {
  'an error': { isAnswered: true, begin: (page) => page.route(api, (route) => route.fulfill({ status: 403, contentType: 'application/problem+json', body: JSON.stringify({ type: 'about:blank', title: 'Not permitted', status: 403, code: 'forbidden', requestId: 'request-of-the-test' }) })) },
  empty: {
    isAnswered: true,
    begin: (page) => page.route(api, async (route) => {
      const isList = route.request().method() === 'GET' && !/(\/\d+(\/.*)?|\/[\da-f-]{36}|counts|facets|inventory|\/me|\/user\/[^/]+)$/.test(new URL(route.request().url()).pathname);
      await (isList ? route.fulfill({ json: [] }) : route.continue());
    }),
  },
  'on its way': { begin: (page) => page.route(api, () => undefined) },
  lost: { begin: (page) => page.context().setOffline(true), text: /^Offline$|has no network|cannot be reached/ },
};

describe('on every page, nothing overlaps, is cut or hidden', () => {
  const chrome = new Chrome();
  /** @type {Record<string, string>} */
  let pages;
  before(async () => {
    pages = await fill();
    await chrome.open();
  });
  after(() => chrome.close());

  /** What is left of a window of 1,024 or 1,440 px when the page is zoomed to 200 %. */
  const zoomed = [512, 720];
  /** @type {[width: number, scheme: 'light' | 'dark'][]} */
  const looks = [[390, 'light'], [1024, 'light'], [1440, 'light'], [390, 'dark'], [1024, 'dark'], [1440, 'dark'], ...zoomed.map((width) => /** @type {[number, 'dark']} */ ([width, 'dark']))];

  for (const [width, scheme] of looks) {
    test(`at ${width} px${zoomed.includes(width) ? ', as zooming leaves them' : ''}, ${scheme}`, { timeout: 240_000 }, async () => {
      const visit = await chrome.visit(demoAdmin, { viewport: { width, height: zoomed.includes(width) ? 450 : 900 }, path: '/mails', scheme });
      const { page } = visit;
      const answered = answersOf(page);
      /** @type {string[]} */
      const found = [];
      for (const [name, path] of Object.entries(pages)) {
        await open(page, path);
        await untilLoaded(page, answered);
        found.push(...(await misplaced(page)).map((one) => `${name}: ${one}`));
        if (scheme === 'dark' && width === 1440) await visit.assertAccessible(['color-contrast']);
      }
      assert.deepEqual(found, []);
      // Of plants that other tests have deleted.
      await visit.leave(/404.*\/v3\/plant\//);
    });
  }

  for (const [state, { begin, isAnswered, text }] of Object.entries(states)) {
    for (const [width, scheme] of /** @type {[number, 'light' | 'dark'][]} */ ([[390, 'dark'], [1024, 'light'], [1440, 'dark']])) {
      test(`while the shop’s answer is ${state}, at ${width} px`, { timeout: 240_000 }, async () => {
        const visit = await chrome.visit(demoAdmin, { viewport: { width, height: 900 }, path: '/mails', scheme });
        const { page } = visit;
        const answered = answersOf(page);
        await untilFilesOfAllPages(page);
        await begin(page);
        /** @type {string[]} */
        const found = [];
        for (const [name, path] of Object.entries(pages)) {
          await open(page, path);
          if (isAnswered) await untilLoaded(page, answered);
          if (text) await page.getByText(text).filter({ visible: true }).first().waitFor();
          found.push(...(await misplaced(page)).map((one) => `${name}: ${one}`));
          if (width === 1440) await visit.assertAccessible();
        }
        assert.deepEqual(found, []);
        await visit.leave(/ERR_INTERNET_DISCONNECTED|ERR_FAILED|40[34]|500/);
      });
    }
  }
});

/** Follows the page's calls. @param {import('playwright-core').Page} page @returns {() => Promise<void>} resolves once all are answered */
function answersOf(page) {
  /** @type {Set<unknown>} */
  const open = new Set();
  page.on('request', (request) => api.test(request.url()) && open.add(request));
  for (const end of /** @type {const} */ (['requestfinished', 'requestfailed'])) page.on(/** @type {'requestfinished'} */ (end), (request) => open.delete(request));
  return async () => {
    while (open.size > 0) await page.waitForTimeout(20);
  };
}

/** Waits until nothing on the page says that it loads, and what it shows is complete. @param {import('playwright-core').Page} page @param {() => Promise<void>} answered */
async function untilLoaded(page, answered) {
  await answered();
  await page.waitForFunction(() => ![...document.querySelectorAll('main *')].some((one) => (one.matches('[aria-label=Loading], .mantine-Skeleton-root, .mantine-Loader-root') || (one.childElementCount === 0 && one.textContent === '…')) && one.checkVisibility()));
  await answered();
}

/** Goes to another page as its links do, which needs no answer, and waits until it is there. @param {import('playwright-core').Page} page @param {string} path */
async function open(page, path) {
  // New orders of other tests are counted before it.
  const before = (await page.title()).replace(/^\(.*?\) /, '');
  await page.evaluate((to) => {
    history.pushState(null, '', to);
    dispatchEvent(new PopStateEvent('popstate'));
  }, `/console${path}`);
  // The page before stays until the next one has its files. No two neighbours have the same title.
  await page.waitForFunction((title) => !document.title.endsWith(title), before);
}
