import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { after, before, describe, test } from 'node:test';
import { createShop } from '@plant-shop/client';
import { subfolder } from '../../tools/test/folder.mjs';
import { TestShop } from '../../tools/test/shop.mjs';
import { allow, assertShows, Chrome, logIn } from './kit/console.mjs';
import { fresh } from './kit/people.mjs';
import { startStorefront } from './kit/storefront.mjs';

const HOUR_S = 3_600;

describe('the storefront example, beside a sandbox', () => {
  const chrome = new Chrome();
  const folder = subfolder(tmpdir(), 'plant-shop-storefront');
  /** @type {TestShop} */
  let sandbox;
  /** @type {Awaited<ReturnType<typeof startStorefront>> | undefined} */
  let storefront;
  /** @type {import('@plant-shop/client').Shop} */
  let admin;
  let address = '';
  before(async () => {
    const delay = `${HOUR_S * 1_000}`;
    sandbox = await TestShop.start(folder, { args: ['--sandbox'], env: { SIMULATED_APPROVAL_DELAY_MS: delay, SIMULATED_DELIVERY_DELAY_MS: delay, ORDER_TTL_MS: `${3 * HOUR_S * 1_000}` } });
    admin = createShop({ url: sandbox.gatewayUrl, credential: { apiKey: 'special-key' } });
    storefront = await startStorefront(sandbox, sandbox.ended.signal);
    address = storefront.address;
    await chrome.open();
  });
  after(async () => {
    await chrome.close();
    await storefront?.stop();
    await sandbox?.end();
    rmSync(folder, { recursive: true, force: true });
  });

  const advance = async (/** @type {number} */ hours) => {
    const headers = { api_key: 'special-key', 'content-type': 'application/json' };
    const { status } = await fetch(`${sandbox.gatewayUrl}/v3/test/clock`, { method: 'POST', headers, body: JSON.stringify({ advanceSeconds: hours * HOUR_S }) });
    assert.equal(status, 200);
  };
  const newCustomer = async () => {
    const person = { username: fresh('customer'), password: 'a good password' };
    await admin.POST('/user', { body: person });
    return person;
  };
  /** @param {string} name @param {number} quantity @param {string} [category] */
  const newPlant = async (name, quantity, category = 'Foliage') => (await admin.POST('/plant', { body: { name, category: { name: category }, photoUrls: [], status: 'available', quantity } })).data;

  /** Opens the storefront, finds plants and puts one of each into the basket. @param {readonly string[]} names */
  const fillBasket = async (...names) => {
    const visit = await chrome.newVisit();
    await visit.page.goto(address);
    for (const name of names) {
      await visit.page.getByLabel('Search').fill(name);
      await visit.page.getByRole('button', { name: `Add ${name}`, exact: true }).click();
    }
    return visit;
  };
  const quantityOf = (/** @type {import('playwright-core').Page} */ page, /** @type {string} */ name) => page.getByRole('spinbutton', { name });
  const rowsOf = (/** @type {import('playwright-core').Page} */ page) => page.getByRole('list', { name: 'Orders' }).getByRole('listitem');

  test('finds plants while one types, by category, with their availability', async () => {
    const visit = await chrome.newVisit();
    const { page } = visit;
    const word = fresh('Quill').replace('-', '');
    await newPlant(`${word} many`, 500, 'Ferns');
    await newPlant(`${word} few`, 3, 'Ferns');
    await newPlant(`${word} none`, 0, 'Palms');
    await page.goto(address);
    await page.getByLabel('Search').fill(word.slice(0, -1));
    const plants = page.getByRole('list', { name: 'Plants' }).getByRole('listitem').locator('span');
    await assertShows(plants, [`${word} none out of stock`, `${word} few only 3 left`, `${word} many in stock`]);
    assert.deepEqual(await page.locator('datalist option').evaluateAll((options) => options.map((one) => one.getAttribute('value'))), [`${word} none`, `${word} few`, `${word} many`]);
    assert.equal(await page.getByRole('button', { name: `Add ${word} none` }).isDisabled(), true);
    await page.getByLabel('Category').selectOption({ label: 'Ferns (2)' });
    await assertShows(plants, [`${word} few only 3 left`, `${word} many in stock`]);
    await visit.assertAccessible();
    await visit.leave();
  });

  test('keeps the basket over a log-in, places its lines together and shows each order as it changes', async () => {
    const person = await newCustomer();
    const [rose, moss] = [fresh('Rose'), fresh('Moss')];
    for (const name of [rose, moss]) await newPlant(name, 50);
    const visit = await fillBasket(rose, moss);
    const { page } = visit;
    await quantityOf(page, rose).fill('3');
    await page.getByRole('button', { name: 'Log in to order' }).click();
    await logIn(page, person);
    await allow(page);
    await page.getByText(person.username).waitFor();
    await page.getByRole('status').getByText('Live').waitFor();
    await page.getByRole('button', { name: 'Order and pay' }).click();
    await page.getByText('is ordered').waitFor();
    const [first, second] = (await admin.GET('/store/order', { params: { query: { owner: person.username, sort: 'placedAt' } } })).data;
    assert.ok(first && second && first.basketId === second.basketId);
    const shows = (/** @type {string} */ one, /** @type {string} */ other) =>
      assertShows(rowsOf(page).locator('span, strong'), [`${second.id}: 1 × ${moss}`, other, `${first.id}: 3 × ${rose}`, one]);
    await shows('placed', 'placed');
    await advance(1);
    await shows('approved', 'approved');
    await admin.POST('/store/order/{orderId}/shipment', { params: { path: { orderId: first.id } }, body: { carrier: 'Post', trackingNumber: 'P1' } });
    await shows('shipped', 'approved');
    await advance(1);
    await shows('delivered', 'delivered');
    await visit.assertAccessible();
    // The shop asks before it ends the session.
    await page.getByRole('button', { name: 'Log out' }).click();
    await page.getByRole('heading', { name: 'Log out of the plant shop?' }).waitFor();
    await page.getByRole('button', { name: 'Log out' }).click();
    await page.getByRole('button', { name: 'Log in', exact: true }).waitFor();
    await visit.leave();
  });

  test('shows a payment that failed, until when the units are reserved, and cancels', async () => {
    const person = await newCustomer();
    const name = fresh('Lily');
    await newPlant(name, 5);
    const visit = await fillBasket(name);
    const { page } = visit;
    await page.getByLabel('Test payment').selectOption('test_decline');
    await page.getByRole('button', { name: 'Log in to order' }).click();
    await logIn(page, person);
    await allow(page);
    await page.getByLabel('Test payment').selectOption('test_decline');
    await page.getByRole('button', { name: 'Order and pay' }).click();
    await rowsOf(page).getByText('placed').waitFor();
    await advance(1);
    await rowsOf(page).getByText(/The payment failed\. Reserved until \d\d:\d\d/).waitFor();
    await rowsOf(page).getByRole('button', { name: 'Cancel' }).click();
    await rowsOf(page).getByText('cancelled').waitFor();
    await visit.leave();
  });

  test('names the lines that lack units, places nothing, and lets the basket be changed', async () => {
    const person = await newCustomer();
    const [rare, plenty] = [fresh('Rare'), fresh('Plenty')];
    await newPlant(rare, 2);
    await newPlant(plenty, 50);
    const visit = await fillBasket(plenty, rare);
    const { page } = visit;
    await quantityOf(page, rare).fill('3');
    await page.getByRole('button', { name: 'Log in to order' }).click();
    await logIn(page, person);
    await allow(page);
    await page.getByRole('button', { name: 'Order and pay' }).click();
    const lines = page.getByRole('list', { name: 'Lines' }).getByRole('listitem');
    await lines.filter({ hasText: rare }).getByText('only 2 left').waitFor();
    assert.equal(await lines.filter({ hasText: plenty }).getByRole('alert').count(), 0);
    assert.equal(await rowsOf(page).count(), 0);
    await quantityOf(page, rare).fill('2');
    await page.getByRole('button', { name: 'Order and pay' }).click();
    await page.getByText('is ordered').waitFor();
    await visit.leave(/409/);
  });

  test('places one basket although its answer was lost and the page was closed', async () => {
    const person = await newCustomer();
    const name = fresh('Once');
    const plant = await newPlant(name, 50);
    const visit = await fillBasket(name);
    const { page } = visit;
    await page.getByRole('button', { name: 'Log in to order' }).click();
    await logIn(page, person);
    await allow(page);
    const placed = async () => (await admin.GET('/store/order', { params: { query: { owner: '*', plantId: plant.id } } })).data.length;
    // The shop gets each request, and the page no answer.
    await page.route('**/v3/store/basket', async (route) => {
      if (route.request().method() === 'POST') await route.fetch();
      await route.abort();
    });
    await page.getByRole('button', { name: 'Order and pay' }).click();
    while ((await placed()) === 0) await page.waitForTimeout(50);
    // The page is left first: otherwise it would repeat the request itself.
    await page.goto(address);
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    // The session at the shop lasts. It asks for consent again, since any program on this machine could listen at the redirect URI.
    await page.getByRole('button', { name: 'Log in', exact: true }).click();
    await allow(page);
    await page.getByText('is ordered').waitFor();
    assert.equal(await placed(), 1);
    await visit.leave(/ERR_FAILED/);
  });
});
