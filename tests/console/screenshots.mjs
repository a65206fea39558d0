// `npm run screenshots`: writes screenshots of the console and the consent page to docs/console.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Shutdown, stopOnSignals } from '../../tools/start/shutdown.mjs';
import { ROOT } from '../../tools/start/toolchain.mjs';
import { temporaryFolder } from '../../tools/test/folder.mjs';
import { startShop } from '../../tools/test/shop.mjs';
import { findChromium } from './kit/chromium-binary.mjs';

const target = join(ROOT, 'docs', 'console');
const viewport = { width: 1280, height: 860 };
const stop = stopOnSignals();
const shutdown = new Shutdown(/** @type {const} */ (['receiver', 'browser', 'shop', 'temporary folder']), (step, error) => console.log(`Ending (${step}): ${error}`));

/** @typedef {import('@plant-shop/client').Shop} Shop */

const names = ['Monstera deliciosa', 'Ficus lyrata', 'Calathea orbifolia', 'Pilea peperomioides', 'Strelitzia nicolai', 'Zamioculcas zamiifolia', 'Philodendron gloriosum', 'Alocasia zebrina', 'Hoya carnosa', 'Aglaonema'];
const tags = ['shade', 'sun', 'pet safe', 'easy'];
/** @type {number[]} */
const plantIds = [];
let payments = 0;

async function takeScreenshots() {
  const chromium = await findChromium({ signal: stop.signal, say: console.log });
  const shop = await startShop({ folder: temporaryFolder(shutdown), stop, shutdown }, { PAYMENT_PROVIDER: 'external' });
  Object.assign(process.env, shop.env, chromium.env, { CHROMIUM_BINARY: chromium.binary });
  // Imported here, because these modules read the variables when they are loaded.
  const { Chrome } = await import('./kit/console.mjs');
  const { admin, consentAddress, demoAdmin } = await import('./kit/people.mjs');
  const firstOrder = await fill(admin);
  const pages = { today: '/', orders: '/orders', order: `/orders/${firstOrder}`, plants: '/plants', stream: '/stream', webhooks: '/webhooks', people: '/people' };
  mkdirSync(target, { recursive: true });
  const chrome = new Chrome();
  await chrome.open();
  shutdown.add('browser', () => chrome.close());
  await takeConsentPage(chrome, demoAdmin, await consentAddress(['read:orders', 'write:orders', 'webhooks']));
  for (const scheme of /** @type {const} */ (['light', 'dark'])) {
    const visit = await chrome.visit(demoAdmin, { scheme, viewport });
    const stopOrders = keepOrdering(admin);
    // Live charts need events that happen while the page is open.
    await visit.page.getByRole('img', { name: /Median time/ }).waitFor();
    for (const [name, path] of Object.entries(scheme === 'light' ? pages : { today: '/' })) {
      // Client-side navigation: a reload would discard the live data.
      await visit.page.evaluate((to) => {
        history.pushState(null, '', to);
        dispatchEvent(new PopStateEvent('popstate'));
      }, `/console${path}`);
      // The previous page stays visible until the next one is loaded.
      await visit.page.getByRole('heading', { level: 1, name: name === 'order' ? /^Order \d/ : new RegExp(`^${name}$`, 'i') }).waitFor();
      await visit.page.getByRole('status', { name: 'Loading' }).waitFor({ state: 'detached' });
      // Pages that were left are there, but hidden.
      for (const unfinished of [visit.page.getByText('…', { exact: true }), visit.page.locator('.mantine-Skeleton-root')]) await unfinished.filter({ visible: true }).first().waitFor({ state: 'detached' });
      if (name === 'plants' || name === 'orders') await visit.page.getByRole('row').nth(3).waitFor();
      if (name === 'stream') await visit.page.getByRole('option').nth(12).waitFor();
      await save(visit, name, scheme);
    }
    await stopOrders();
    await visit.leave();
  }
}

/**
 * @param {import('./kit/console.mjs').Chrome} chrome
 * @param {import('./kit/people.mjs').Person} person @param {string} address
 */
async function takeConsentPage(chrome, { username, password }, address) {
  const visit = await chrome.newVisit({ scheme: 'light', viewport });
  const { page } = visit;
  await page.goto(address);
  await page.getByLabel('Username').fill(username);
  await page.getByLabel('Password').fill(password);
  await page.getByLabel('Password').press('Enter');
  await page.getByRole('button', { name: 'Allow', exact: true }).waitFor();
  await save(visit, 'consent', 'light');
  await visit.leave();
}

/** @param {import('./kit/console.mjs').Visit} visit @param {string} name @param {'light' | 'dark'} scheme */
async function save(visit, name, scheme) {
  const file = `${name}-${scheme}.png`;
  await visit.page.screenshot({ path: join(target, file) });
  console.log(`docs/console/${file}`);
}

/** Fills the shop with orders in each state. @param {Shop} admin @returns {Promise<number>} id of an order with a timeline */
async function fill(admin) {
  for (const [n, name] of names.entries()) {
    const body = { name, photoUrls: [], status: n === 7 ? /** @type {const} */ ('pending') : /** @type {const} */ ('available'), quantity: 40 + 17 * n, tags: [{ name: tags[n % 4] ?? '' }], category: { name: n % 3 === 0 ? 'Aroids' : 'House plants' } };
    const { data } = await admin.POST('/plant', { body });
    if (n !== 7) plantIds.push(data.id);
  }
  const { Receiver } = await import('@plant-shop/testing/receiver');
  const receiver = await Receiver.start();
  receiver.answer = ({ path }, response) => response.writeHead(path === '/broken' ? 500 : 204).end();
  shutdown.add('receiver', () => receiver.stop());
  for (const [path, description] of /** @type {const} */ ([['works', 'Warehouse'], ['broken', 'Accounting']])) await admin.POST('/webhooks', { body: { url: `http://127.0.0.1:${receiver.port}/${path}`, description } });
  const orders = [];
  for (let n = 0; n < 36; n += 1) orders.push((await admin.POST('/store/order', { body: { plantId: plantIds[n % plantIds.length] ?? 1, quantity: 1 + (n % 3) } })).data.id);
  for (const [n, id] of orders.entries()) {
    if (n % 6 === 5) continue;
    await advance(admin, id, n % 6 === 4 ? 'cancelled' : n % 6 === 3 ? 'approved' : n % 6 === 2 ? 'shipped' : 'delivered');
  }
  const [late = 0] = orders.slice(4);
  await admin.POST('/store/order/{orderId}/payment', { params: { path: { orderId: late } }, body: { outcome: 'succeeded', reference: 'pay-late' } }).catch(() => undefined);
  return orders[2] ?? 0;
}

/** Moves an order. @param {Shop} admin @param {number} orderId @param {'cancelled' | 'approved' | 'shipped' | 'delivered'} end */
async function advance(admin, orderId, end) {
  const params = { path: { orderId } };
  if (end === 'cancelled') {
    await admin.DELETE('/store/order/{orderId}', { params });
    return;
  }
  await admin.POST('/store/order/{orderId}/payment', { params, body: { outcome: 'succeeded', reference: `pay-${++payments}` } });
  if (end !== 'approved') await admin.POST('/store/order/{orderId}/shipment', { params, body: { carrier: 'Green Post', trackingNumber: `GP${orderId}` } });
  if (end === 'delivered') await admin.POST('/store/order/{orderId}/delivery', { params });
}

/** Keeps placing and delivering orders. @param {Shop} admin @returns {() => Promise<void>} a function that stops it */
function keepOrdering(admin) {
  let isOver = false;
  const work = (async () => {
    while (!isOver) {
      const { data } = await admin.POST('/store/order', { body: { plantId: plantIds[payments % plantIds.length] ?? 1 } });
      await new Promise((resolve) => setTimeout(resolve, 400));
      await advance(admin, data.id, payments % 3 === 0 ? 'approved' : 'delivered');
    }
  })();
  return async () => {
    isOver = true;
    await work;
  };
}

try {
  await takeScreenshots();
} finally {
  await shutdown.run();
}
process.exit(0);
