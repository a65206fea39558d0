import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import { Receiver } from '@plant-shop/testing/receiver';
import { assertShows, Chrome } from './kit/console.mjs';
import { focusByKey, pressEnterOn } from './kit/keyboard.mjs';
import { admin, fresh, newPerson, newPlant, pay, shopOf } from './kit/people.mjs';
import { workbookOf } from './kit/workbook.mjs';

/** @typedef {import('playwright-core').Page} Page */

const MOST_SECONDS = 120;

/** @param {Page} page @param {string} words @param {string | RegExp} [name] of the result */
async function find(page, words, name = words) {
  await page.keyboard.press('Control+k');
  await page.getByRole('dialog', { name: 'Find anything' }).getByRole('combobox').and(page.locator(':focus')).waitFor();
  await page.keyboard.type(words);
  const result = page.getByRole('listbox', { name: 'Found' }).getByRole('option', { name }).first();
  await result.waitFor();
  while ((await result.getAttribute('aria-selected')) !== 'true') await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
}

describe('a task, by keyboard alone and within two minutes', () => {
  const chrome = new Chrome();
  /** @type {import('./kit/people.mjs').Person} */
  let staff;
  /** @type {import('./kit/console.mjs').Visit} */
  let visit;
  /** @type {Page} */
  let page;
  let begun = 0;
  /** The clock runs once everything is prepared. */
  const start = async (/** @type {string} */ path = '/') => {
    visit = await chrome.visit(staff, { path });
    ({ page } = visit);
    begun = performance.now();
  };
  before(async () => {
    await chrome.open();
    staff = await newPerson('staff');
  });
  beforeEach(() => {
    begun = 0;
  });
  afterEach(() => {
    const seconds = (performance.now() - begun) / 1_000;
    assert.ok(begun > 0 && seconds < MOST_SECONDS, `it took ${seconds.toFixed(0)} s`);
  });
  after(() => chrome.close());

  test('the ten oldest orders are shipped, and their slips printed', async () => {
    const plantId = await newPlant(100, fresh('Shipped fern'));
    /** @type {number[]} */
    const ids = [];
    for (let n = 0; n < 12; n += 1) ids.push((await admin.POST('/store/order', { body: { plantId, shipTo: { name: 'Ann Green', lines: ['Leaf Street 1'], postalCode: '01067', city: 'Dresden' } } })).data.id);
    for (const id of ids) await pay(id);
    const oldest = ids.slice(0, 10);
    await start(`/orders?tab=to-ship&plantId=${plantId}`);
    await page.evaluate(() => {
      window.print = () => document.body.setAttribute('data-printed', String(document.querySelectorAll('[data-papers] [role=img]').length));
    });
    const link = (/** @type {number | undefined} */ id) => page.getByRole('table', { name: 'Orders' }).getByRole('link', { name: String(id), exact: true });
    const selected = page.getByRole('group', { name: 'Selected orders' });
    await focusByKey(link(ids[0]));
    for (let n = 0; n < 9; n += 1) await page.keyboard.press('Shift+ArrowDown');
    await assertShows(selected.getByRole('status'), ['10 selected']);
    await pressEnterOn(selected.getByRole('button', { name: 'Ship' }));
    const dialog = page.getByRole('dialog', { name: 'Ship 10 orders' });
    await dialog.getByLabel('Carrier').and(page.locator(':focus')).waitFor();
    await page.keyboard.type('Green Post');
    await focusByKey(dialog.getByRole('textbox', { name: `Tracking number of order ${oldest[0]}` }));
    for (const id of oldest) {
      await page.keyboard.type(`GP${id}`);
      if (id !== oldest.at(-1)) await page.keyboard.press('Enter');
    }
    await pressEnterOn(dialog.getByRole('button', { name: 'Ship 10 orders' }));
    await dialog.getByText('10 of 10 orders are shipped.').waitFor();
    await pressEnterOn(dialog.getByRole('button', { name: 'Print for 10 orders' }));
    await pressEnterOn(page.getByRole('dialog', { name: 'Print for 10 orders' }).getByRole('button', { name: 'Print', exact: true }));
    await page.locator('body[data-printed]').waitFor();
    assert.equal(await page.locator('body').getAttribute('data-printed'), '10');
    await page.keyboard.press('Escape');
    await dialog.getByText('10 of 10 orders are shipped.').waitFor();
    await page.keyboard.press('Escape');
    await assertShows(page.getByRole('table', { name: 'Orders' }).getByRole('link'), ids.slice(10).map(String));
    const { data } = await admin.GET('/store/order/{orderId}', { params: { path: { orderId: oldest[9] ?? 0 } } });
    assert.deepEqual([data.carrier, data.trackingNumber], ['Green Post', `GP${oldest[9]}`]);
    await visit.leave();
  });

  test('why a partner gets no events is found', async () => {
    const receiver = await Receiver.start();
    receiver.answer = (_received, response) => response.writeHead(401, { 'content-type': 'application/json' }).end('{"error":"the secret has changed"}');
    const name = fresh('Partner').replaceAll('-', ' ');
    const { data: plant } = await admin.POST('/plant', { body: { name: fresh('Partnered'), quantity: 5 } });
    const partner = shopOf(await newPerson('customer'));
    await partner.POST('/webhooks', { body: { url: receiver.url, name, eventTypes: ['order.placed'] } });
    await partner.POST('/store/order', { body: { plantId: plant.id } });
    await start();
    await find(page, name);
    await page.getByRole('heading', { name, level: 1 }).waitFor();
    await page.getByText('Failing', { exact: true }).waitFor();
    await pressEnterOn(page.getByRole('button', { name: /^Attempts/ }).first());
    await page.getByRole('listitem').getByText('The receiver answered 401.').first().waitFor();
    assert.match(await page.getByRole('region', { name: 'Answer to attempt 1' }).innerText(), /the secret has changed/);
    await visit.leave();
    await receiver.stop();
  });

  test('a plant is counted and corrected', async () => {
    const name = fresh('Counted');
    const plantId = await newPlant(12, name);
    await start();
    await find(page, name);
    await page.getByRole('heading', { name, level: 1 }).waitFor();
    await pressEnterOn(page.getByRole('button', { name: 'Change the stock' }));
    const dialog = page.getByRole('dialog');
    await dialog.getByText('12 units can be ordered now.').waitFor();
    await dialog.getByLabel('Units').and(page.locator(':focus')).waitFor();
    await page.keyboard.press('Shift+Tab');
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Tab');
    await page.keyboard.type('3');
    await pressEnterOn(dialog.getByRole('button', { name: 'Count', exact: true }));
    await pressEnterOn(dialog.getByRole('button', { name: 'Remove 3 units' }));
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('table', { name: 'Changes by staff' }).getByRole('row', { name: /−3 9 Count/ }).waitFor();
    assert.equal((await admin.GET('/store/inventory/{plantId}', { params: { path: { plantId } } })).data.free, 9);
    await visit.leave();
  });

  test('a cancelled order is refunded', async () => {
    const plantId = await newPlant();
    const { data: { id } } = await admin.POST('/store/order', { body: { plantId } });
    await pay(id);
    await admin.POST('/store/order/{orderId}/cancellation', { params: { path: { orderId: id } }, body: { reason: 'Frost', restock: true } });
    await start();
    await pressEnterOn(page.getByRole('region', { name: 'Refunds due' }).getByRole('link'));
    await page.getByRole('tab', { name: /^Refund due/, selected: true }).waitFor();
    await find(page, String(id), new RegExp(`^Order ${id} `));
    await page.getByRole('heading', { name: `Order ${id}`, level: 1 }).waitFor();
    await pressEnterOn(page.getByRole('button', { name: 'Mark as refunded' }));
    await page.getByRole('dialog').getByLabel('Reference').and(page.locator(':focus')).waitFor();
    await page.keyboard.type(fresh('transfer'));
    await page.keyboard.press('Enter');
    await page.getByText(`The refund of order ${id} is completed.`).waitFor();
    assert.equal((await admin.GET('/store/order/{orderId}', { params: { path: { orderId: id } } })).data.refund, 'completed');
    // Plants are looked up by the order's number, too.
    await visit.leave(/404/);
  });

  test('a supplier’s Excel list is imported', async () => {
    const word = fresh('Supplied').replaceAll('-', '');
    await start();
    await find(page, 'import', /^Import/);
    await page.getByRole('heading', { name: 'Import plants', level: 1 }).waitFor();
    const chosen = page.waitForEvent('filechooser');
    await pressEnterOn(page.getByRole('button', { name: 'Choose a file' }));
    await (await chosen).setFiles({ name: 'Lieferung.xlsx', mimeType: '', buffer: workbookOf([['Bezeichnung', 'Bestand', 'Preis'], [`${word} one`, 12, 2.5], [`${word} two`, 7, 3]]) });
    for (const [column, holds] of Object.entries({ Bezeichnung: 'Name', Bestand: 'Stock' })) {
      const field = page.getByRole('combobox', { name: `What ${column} holds` });
      await focusByKey(field);
      await page.keyboard.press('Enter');
      const option = page.getByRole('option', { name: holds, exact: true });
      await option.waitFor();
      while (!(await option.evaluate((one) => one.hasAttribute('data-combobox-selected')))) await page.keyboard.press('ArrowDown');
      await page.keyboard.press('Enter');
    }
    await pressEnterOn(page.getByRole('button', { name: 'Import 2 plants' }));
    await page.getByText('Done.', { exact: true }).waitFor();
    const { data } = await admin.GET('/plant/search', { params: { query: { q: word, sort: 'name' } } });
    assert.deepEqual(data.map(({ name }) => name), [`${word} one`, `${word} two`]);
    await visit.leave();
  });
});
