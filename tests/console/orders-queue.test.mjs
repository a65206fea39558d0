import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { misplaced } from './kit/boxes.mjs';
import { assertShows, Chrome } from './kit/console.mjs';
import { focusByKey } from './kit/keyboard.mjs';
import { repeatOrder } from './kit/many-orders.mjs';
import { admin, fresh, newPerson, newPlant, pay, shopOf } from './kit/people.mjs';

/** @param {number} plantId @param {number} [quantity] @param {{ name?: string, lines?: string[], postalCode?: string, city?: string, country?: string }} [shipTo] */
const place = async (plantId, quantity = 1, shipTo) => (await admin.POST('/store/order', { body: { plantId, quantity, ...(shipTo && { shipTo }) } })).data.id;
/** @param {number} orderId @param {string} [carrier] */
const ship = (orderId, carrier = 'Green Post') => admin.POST('/store/order/{orderId}/shipment', { params: { path: { orderId } }, body: { carrier, trackingNumber: `T${orderId}` } });
/** @param {number} orderId */
const cancel = (orderId) => admin.POST('/store/order/{orderId}/cancellation', { params: { path: { orderId } }, body: { reason: 'Frost', restock: true } });
/** @param {number} orderId */
const read = async (orderId) => (await admin.GET('/store/order/{orderId}', { params: { path: { orderId } } })).data;

/** @param {import('playwright-core').Page} page */
const tableOf = (page) => page.getByRole('table', { name: 'Orders' });
/** @param {import('playwright-core').Page} page */
const selectedOf = (page) => page.getByRole('group', { name: 'Selected orders' });
/** @param {import('playwright-core').Page} page */
const selectLoaded = (page) => page.getByRole('checkbox', { name: 'Select all orders that are loaded' }).check();
/** Selects all orders, and opens the dialog that ships them. @param {import('playwright-core').Page} page */
async function beginShipping(page) {
  await selectLoaded(page);
  await selectedOf(page).getByRole('button', { name: 'Ship' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Carrier').fill('Green Post');
  return dialog;
}

describe('the orders as a work queue', () => {
  const chrome = new Chrome();
  /** @type {import('./kit/people.mjs').Person} */
  let staff;
  before(async () => {
    await chrome.open();
    staff = await newPerson('staff');
  });
  after(() => chrome.close());

  /** @param {string} name of their plant */
  async function beginShippingTwo(name) {
    const plantId = await newPlant(10, name);
    const ids = [await place(plantId), await place(plantId)];
    for (const id of ids) await pay(id);
    const visit = await chrome.visit(staff, { path: `/orders?tab=to-ship&plantId=${plantId}` });
    await visit.page.getByText('2 orders', { exact: true }).waitFor();
    return { ids, visit, page: visit.page, dialog: await beginShipping(visit.page) };
  }

  test('has tabs with exact counts, the oldest first where people wait; Back and reload keep the tab', async () => {
    const customer = await newPerson('customer');
    const plantId = await newPlant();
    const order = async () => (await shopOf(customer).POST('/store/order', { body: { plantId } })).data.id;
    const [first, second, unpaid, shipped, refunded] = [await order(), await order(), await order(), await order(), await order()];
    for (const id of [first, second, shipped, refunded]) await pay(id);
    await ship(shipped);
    await cancel(refunded);
    const visit = await chrome.visit(customer, { path: '/orders' });
    const { page } = visit;
    const tab = (/** @type {string} */ name) => page.getByRole('tab', { name: new RegExp(`^${name}`) });
    await assertShows(page.getByRole('tab'), ['To ship2', 'Awaiting payment1', 'Shipped1', 'Refund due1', 'All5']);
    const links = tableOf(page).getByRole('link');
    await assertShows(links, [refunded, shipped, unpaid, second, first].map(String));
    await page.getByRole('button', { name: 'Placed' }).click();
    await assertShows(links, [first, second, unpaid, shipped, refunded].map(String));
    for (const [name, ids] of /** @type {[string, number[]][]} */ ([['Awaiting payment', [unpaid]], ['Shipped', [shipped]], ['Refund due', [refunded]], ['To ship', [first, second]]])) {
      await tab(name).click();
      await assertShows(links, ids.map(String));
    }
    await page.reload();
    await links.first().waitFor();
    await assertShows(links, [first, second].map(String));
    await page.goBack();
    await page.getByRole('tab', { name: /^Refund due/, selected: true }).waitFor();
    await assertShows(links, [String(refunded)]);
    await visit.assertAccessible();
    await visit.leave();
  });

  test('takes an order that is paid late where it belongs', async () => {
    const plantId = await newPlant();
    const [older, newer] = [await place(plantId), await place(plantId)];
    await pay(newer);
    const visit = await chrome.visit(staff, { path: `/orders?tab=to-ship&plantId=${plantId}` });
    const { page } = visit;
    const links = tableOf(page).getByRole('link');
    await assertShows(links, [String(newer)]);
    await page.getByText('Live', { exact: true }).waitFor();
    await pay(older);
    await assertShows(links, [older, newer].map(String));
    await page.getByRole('tab', { name: /^To ship ?2$/ }).waitFor();
    await visit.leave();
  });

  test('lists all orders of a burst that is longer than a read, and selects all of them (slow)', async () => {
    const plantId = await newPlant(1_000);
    const order = await place(plantId);
    await repeatOrder(order, 230);
    const burst = async (/** @type {number} */ count) => void (await Promise.all(Array.from({ length: count }, () => place(plantId))));
    const visit = await chrome.visit(staff, { path: `/orders?tab=awaiting&plantId=${plantId}` });
    const { page } = visit;
    // While the page loads, and once it is live.
    await burst(40);
    await page.getByText('271 orders', { exact: true }).waitFor();
    await burst(60);
    await page.getByText('331 orders', { exact: true }).waitFor();
    await page.getByRole('tab').filter({ hasText: 'Awaiting payment331' }).waitFor();
    await selectLoaded(page);
    await selectedOf(page).getByText('331 selected').waitFor();
    await visit.leave();
  });

  test('shows a tab that was open before, and an order of a list, before the shop answers', async () => {
    const plantId = await newPlant();
    const first = await place(plantId);
    await pay(first);
    const visit = await chrome.visit(staff, { path: `/orders?tab=to-ship&plantId=${plantId}` });
    const { page } = visit;
    const links = tableOf(page).getByRole('link');
    await assertShows(links, [String(first)]);
    await page.getByText('Live', { exact: true }).waitFor();
    const unpaid = await place(plantId);
    await page.getByRole('tab', { name: /^All/ }).click();
    await assertShows(links, [unpaid, first].map(String));
    // While the list of those to ship rests.
    await pay(unpaid);
    await tableOf(page).getByText('approved').nth(1).waitFor();
    /** @type {() => void} */
    let answer = () => undefined;
    const answered = new Promise((/** @type {(value?: unknown) => void} */ resolve) => {
      answer = resolve;
    });
    await page.route(/\/v3\/store\/order(\/\d+)?(\?|$)/, async (route) => {
      await answered;
      await route.continue();
    });
    await page.getByRole('tab', { name: /^To ship/ }).click();
    await assertShows(links, [String(first)]);
    await links.first().click();
    await page.getByRole('region', { name: 'Details' }).getByText('1 unit', { exact: true }).waitFor();
    answer();
    await page.goBack();
    await assertShows(links, [first, unpaid].map(String));
    await visit.leave();
  });

  test('finds an order by its number, as a scanner types it, and names its plant', async () => {
    const name = fresh('Scanned orchid');
    const id = await place(await newPlant(5, name));
    const visit = await chrome.visit(staff, { path: '/orders?tab=all' });
    const { page } = visit;
    await page.getByRole('searchbox', { name: 'Search' }).fill(String(id));
    await page.getByText('1 order', { exact: true }).waitFor();
    await tableOf(page).getByRole('row', { name: new RegExp(`${id}.*${name}`) }).waitFor();
    await visit.leave();
  });

  test('opens a row by click and Enter, and selects by mouse and keyboard; Back finds the selection', async () => {
    const plantId = await newPlant(100, 'Selected fern');
    /** @type {number[]} */
    const ids = [];
    for (let n = 0; n < 6; n += 1) ids.push(await place(plantId));
    const visit = await chrome.visit(staff, { path: `/orders?tab=awaiting&plantId=${plantId}`, viewport: { width: 1024, height: 860 } });
    const { page } = visit;
    const status = selectedOf(page).getByRole('status');
    const box = (/** @type {number} */ n) => page.getByRole('checkbox', { name: `Select order ${ids[n]}`, exact: true });
    const place0 = await box(0).boundingBox();
    const opened = page.getByRole('heading', { name: `Order ${ids[0]}`, level: 1 });
    // From the head of the list, the arrow leads to the first row.
    await page.getByRole('checkbox', { name: 'Select all orders that are loaded' }).press('ArrowDown');
    await page.getByRole('link', { name: String(ids[0]), exact: true }).and(page.locator(':focus')).waitFor();
    await box(0).check();
    await box(3).click({ modifiers: ['Shift'] });
    await assertShows(status, ['4 selected']);
    // Whoever clicks row after row meets the next one where it was.
    assert.deepEqual(await box(0).boundingBox(), place0);
    await visit.assertAccessible();
    await tableOf(page).getByRole('row').nth(1).getByText('Selected fern').click();
    await opened.waitFor();
    await page.goBack();
    await assertShows(status, ['4 selected']);
    assert.equal(await box(3).isChecked(), true);
    for (const sort of ['-placedAt', 'placedAt']) {
      await page.getByRole('button', { name: 'Placed', exact: true }).click();
      await page.waitForURL((url) => url.searchParams.get('sort') === sort);
      await status.getByText('4 selected', { exact: true }).waitFor();
    }
    await page.reload();
    await status.getByText('4 selected', { exact: true }).waitFor();
    assert.deepEqual([await box(0).isChecked(), await box(3).isChecked(), await box(4).isChecked()], [true, true, false]);

    await focusByKey(tableOf(page).getByRole('link', { name: String(ids[0]), exact: true }));
    await page.keyboard.press('ArrowDown');
    await tableOf(page).getByRole('link', { name: String(ids[1]), exact: true }).and(page.locator(':focus')).waitFor();
    await page.keyboard.press('Space');
    await assertShows(status, ['3 selected']);
    await page.keyboard.press('Escape');
    await page.keyboard.press('Shift+ArrowDown');
    await page.keyboard.press('Shift+ArrowDown');
    await assertShows(status, ['3 selected']);
    assert.deepEqual([await box(0).isChecked(), await box(1).isChecked(), await box(3).isChecked()], [false, true, true]);
    await page.getByRole('button', { name: 'Select all 6 that match' }).click();
    await assertShows(status, ['6 selected']);
    await tableOf(page).getByRole('link', { name: String(ids[0]), exact: true }).focus();
    await page.keyboard.press('Enter');
    await opened.waitFor();
    await visit.leave();
  });

  test('ships 200 orders, says at each of the 7 that are refused why, and offers no other attempt', async () => {
    const plantId = await newPlant(1_000, 'Bulk fern');
    /** @type {number[]} */
    const ids = [];
    await Promise.all(Array.from({ length: 8 }, async () => {
      while (ids.length < 200) {
        const at = ids.push(0) - 1;
        const id = await place(plantId);
        await pay(id);
        ids[at] = id;
      }
    }));
    const visit = await chrome.visit(staff, { path: `/orders?tab=to-ship&plantId=${plantId}` });
    const { page } = visit;
    await page.getByText('200 orders', { exact: true }).waitFor();
    const dialog = await beginShipping(page);
    await dialog.getByLabel('Paste tracking numbers').fill(['Order\tTracking number', ...ids.map((id) => `${id}\tGP ${id}`), '1\tnobody’s'].join('\n'));
    await dialog.getByRole('button', { name: 'Fill in' }).click();
    await dialog.getByText('200 numbers are filled in. 1 line fits none of the orders').waitFor();
    // Meanwhile others were faster.
    const [cancelled, shipped] = [ids.slice(0, 4), ids.slice(100, 103)];
    await Promise.all([...cancelled.map(cancel), ...shipped.map((id) => ship(id, 'Other Post'))]);
    /** @type {(string | undefined)[]} */
    const keys = [];
    page.on('request', (request) => {
      if (request.url().endsWith('/shipment') && request.method() === 'POST') keys.push(request.headers()['idempotency-key']);
    });
    const begun = performance.now();
    await dialog.getByRole('button', { name: 'Ship 200 orders' }).click();
    await dialog.getByText('193 of 200 orders are shipped. 7 were not changed: each says why.').waitFor();
    const seconds = (performance.now() - begun) / 1_000;
    console.log(`200 orders have their results after ${seconds.toFixed(1)} s`);
    const refused = dialog.getByRole('listitem').filter({ hasText: 'Left as it is.' });
    assert.equal(await refused.count(), 7);
    await dialog.getByRole('listitem').filter({ hasText: `Order ${shipped[0]} ` }).getByText('It is shipped already, with Other Post').waitFor();
    await dialog.getByRole('listitem').filter({ hasText: `Order ${cancelled[0]} ` }).getByText('It is cancelled by now.').waitFor();
    assert.match((await dialog.getByRole('listitem').first().textContent()) ?? '', /Left as it is/);
    await visit.assertAccessible();
    assert.deepEqual([keys.length, new Set(keys).size, keys.includes(undefined)], [197, 197, false]);
    assert.equal((await read(shipped[0] ?? 0)).carrier, 'Other Post');
    const last = await read(ids[199] ?? 0);
    assert.deepEqual([last.carrier, last.trackingNumber], ['Green Post', `GP ${ids[199]}`]);
    // Another attempt would be refused like the first.
    assert.equal(await dialog.getByRole('button', { name: /again/ }).count(), 0);
    await dialog.getByRole('button', { name: 'Close', exact: true }).last().click();
    await page.getByRole('heading', { name: 'No order matches' }).waitFor();
    // What was sent is no draft of the next shipping.
    assert.equal(await page.evaluate(() => Object.keys(sessionStorage).some((key) => key.endsWith(' ship orders'))), false);
    await visit.leave(/409|412/);
  });

  test('spreads lines that are pasted into one field, and does not deny what may have been done', async () => {
    const { ids, visit, page, dialog } = await beginShippingTwo('Pasted fern');
    await dialog.getByLabel('Carrier').fill('Green Post');
    const fields = dialog.getByRole('textbox', { name: /^Tracking number of order/ });
    await fields.first().evaluate((field) => {
      const clipboardData = new DataTransfer();
      clipboardData.setData('text/plain', 'LINE 1\r\nLINE 2\r\n');
      field.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }));
    });
    await dialog.getByText('2 numbers are filled in.').waitFor();
    assert.deepEqual([await fields.nth(0).inputValue(), await fields.nth(1).inputValue()], ['LINE 1', 'LINE 2']);
    // The shop does it; no answer arrives.
    await page.route('**/shipment', async (route) => {
      await route.fetch();
      await route.abort();
    });
    await dialog.getByRole('button', { name: 'Ship 2 orders' }).click();
    await dialog.getByText('0 of 2 orders are shipped. Of 2 it is not known: try again, which changes none twice.').waitFor();
    await dialog.getByText('Not known whether it is shipped.').first().waitFor();
    assert.equal(await dialog.getByText(/[Nn]ot (changed|shipped)/).count(), 0);
    await page.unroute('**/shipment');
    await dialog.getByRole('button', { name: 'Try 2 orders again' }).click();
    await dialog.getByText('2 of 2 orders are shipped.').waitFor();
    assert.deepEqual((await Promise.all(ids.map(read))).map(({ trackingNumber }) => trackingNumber).sort(), ['LINE 1', 'LINE 2']);
    await visit.leave(/ERR_FAILED|40[49]|412/);
  });

  test('keeps what was typed, corrects a refused number in its row, and moves on when a scanner presses Enter', async () => {
    const { ids, visit, page, dialog } = await beginShippingTwo('Corrected fern');
    const number = (/** @type {number} */ n) => dialog.getByRole('textbox', { name: `Tracking number of order ${ids[n]}` });
    // What is typed replaces a number that is there, however its field is reached.
    await number(1).fill('OLD');
    await number(0).focus();
    await page.keyboard.type('SCAN 0');
    await page.keyboard.press('Tab');
    await page.keyboard.type('SCAN 2');
    assert.equal(await number(1).inputValue(), 'SCAN 2');
    await page.keyboard.press('Shift+Tab');
    await page.keyboard.type('SCAN 1');
    await number(0).press('Enter');
    await number(1).and(page.locator(':focus')).waitFor();
    assert.equal((await read(ids[0] ?? 0)).carrier, undefined);
    await dialog.getByLabel('Paste tracking numbers').fill(`${ids[1]};${'9'.repeat(201)}`);
    // What is pasted is not dropped without a word, nor with the dialog.
    await page.keyboard.press('Escape');
    await selectedOf(page).getByRole('button', { name: 'Ship' }).click();
    assert.equal(await dialog.getByLabel('Paste tracking numbers').inputValue(), `${ids[1]};${'9'.repeat(201)}`);
    await number(1).fill('SCAN 2');
    await dialog.getByRole('button', { name: 'Ship 2 orders' }).click();
    await dialog.getByLabel('Paste tracking numbers').and(page.locator(':focus:invalid')).waitFor();
    await dialog.getByRole('button', { name: 'Fill in' }).click();
    await dialog.getByRole('button', { name: 'Ship 2 orders' }).click();
    await dialog.getByText('1 of 2 orders is shipped. 1 was not changed: each says why.').waitFor();
    await dialog.getByRole('listitem').filter({ hasText: `Order ${ids[1]} ` }).getByText('Not shipped. Something that you wrote is not accepted.').waitFor();
    await dialog.getByRole('button', { name: 'Print for the 1 order shipped' }).click();
    await page.getByRole('dialog', { name: 'Print for 1 order' }).waitFor();
    const papers = page.locator('[data-papers]');
    assert.match((await papers.textContent()) ?? '', new RegExp(`Order ${ids[0]}.*Green Post.*SCAN 1`));
    assert.equal(await papers.getByRole('img', { includeHidden: true }).count(), 1);
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
    await assertShows(selectedOf(page).getByRole('status'), ['1 selected']);
    await selectedOf(page).getByRole('button', { name: 'Ship' }).click();
    assert.equal(await dialog.getByLabel('Carrier').inputValue(), 'Green Post');
    await number(1).fill('SCAN 2');
    await dialog.getByRole('button', { name: 'Ship 1 order' }).click();
    await dialog.getByText('1 of 1 order is shipped.').waitFor();
    assert.deepEqual([(await read(ids[0] ?? 0)).trackingNumber, (await read(ids[1] ?? 0)).trackingNumber], ['SCAN 1', 'SCAN 2']);
    await visit.leave(/400/);
  });

  test('says who lost the role why nothing was shipped, and offers no other attempt', async () => {
    const plantId = await newPlant(10, 'Guarded fern');
    const id = await place(plantId);
    await pay(id);
    const person = await newPerson('staff');
    const visit = await chrome.visit(person, { path: `/orders?tab=to-ship&plantId=${plantId}` });
    const { page } = visit;
    await page.getByText('1 order', { exact: true }).waitFor();
    const dialog = await beginShipping(page);
    await dialog.getByRole('textbox', { name: /^Tracking number of/ }).fill('SCAN 1');
    await admin.PUT('/user/{username}/role', { params: { path: { username: person.username } }, body: { role: 'customer' } });
    await dialog.getByRole('button', { name: 'Ship 1 order' }).click();
    await dialog.getByRole('alert').getByText('Your role').waitFor();
    assert.equal(await dialog.getByRole('button', { name: /again/ }).count(), 0);
    await visit.leave(/40[34]/);
  });

  test('reports deliveries and cancels with a reason, and leaves out what neither is possible for', async () => {
    const plantId = await newPlant(10, 'Delivered fern');
    const [unpaid, paid, shipped] = [await place(plantId), await place(plantId), await place(plantId)];
    await pay(paid);
    await pay(shipped);
    await ship(shipped);
    const visit = await chrome.visit(staff, { path: `/orders?tab=all&plantId=${plantId}` });
    const { page } = visit;
    await page.getByText('3 orders', { exact: true }).waitFor();
    await selectLoaded(page);
    await selectedOf(page).getByRole('button', { name: 'Report deliveries' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('2 selected orders are left out. Only shipped orders can be delivered.').waitFor();
    await visit.assertAccessible();
    await dialog.getByRole('button', { name: 'They were delivered' }).click();
    await dialog.getByText('1 of 1 order is delivered.').waitFor();
    await page.keyboard.press('Escape');
    await selectLoaded(page);
    await selectedOf(page).getByRole('button', { name: 'Cancel' }).click();
    await dialog.getByText('1 selected order is left out.').waitFor();
    await dialog.getByLabel('Reason').fill('Frost in the greenhouse');
    await dialog.getByRole('button', { name: 'Cancel 2 orders' }).click();
    await dialog.getByText('2 of 2 orders are cancelled.').waitFor();
    assert.deepEqual([(await read(unpaid)).status, (await read(paid)).status, (await read(paid)).refund, (await read(shipped)).status], ['cancelled', 'cancelled', 'due', 'delivered']);
    await visit.leave();
  });

  test('prints packing slips, labels and a pick list on their own paper, with addresses and codes', async () => {
    const name = `${fresh('Printed fern')} whose long name would take all the width that this paper has for its columns`;
    const plantId = await newPlant(50, name);
    const ids = [await place(plantId, 2, { name: 'Ann Green', lines: ['Leaf Street 1'], postalCode: '01067', city: 'Dresden', country: 'Germany' }), await place(plantId, 3)];
    for (const id of ids) await pay(id);
    const visit = await chrome.visit(staff, { path: `/orders?tab=to-ship&plantId=${plantId}`, scheme: 'dark' });
    const { page } = visit;
    await page.getByText('2 orders', { exact: true }).waitFor();
    await selectLoaded(page);
    await page.evaluate(() => {
      window.print = () => document.body.setAttribute('data-printed', 'true');
    });
    await selectedOf(page).getByRole('button', { name: 'Print' }).click();
    const dialog = page.getByRole('dialog', { name: 'Print for 2 orders' });
    await dialog.getByRole('button', { name: 'Print' }).and(page.locator(':focus')).waitFor();
    await dialog.getByText('1 order has no address.').waitFor();
    await visit.assertAccessible();
    const papers = page.locator('[data-papers]');
    /** @type {[paper: string, points: [number, number], pages: number][]} */
    const expected = [['Packing slips', [595, 842], 2], ['Labels', [283, 425], 2], ['Pick list', [595, 842], 1]];
    for (const [paper, points, pages] of expected) {
      await dialog.getByLabel(paper).check();
      await dialog.getByRole('button', { name: 'Print' }).click();
      await page.locator('body[data-printed]').waitFor();
      await page.emulateMedia({ media: 'print' });
      assert.equal(await page.getByRole('dialog').isVisible(), false);
      await page.setViewportSize({ width: 680, height: 900 });
      const broken = await papers.locator('th, td:nth-child(2), td:nth-child(3)').evaluateAll((cells) => cells.filter((cell) => {
        const range = document.createRange();
        range.selectNodeContents(cell);
        return range.getClientRects().length > 1;
      }).map(({ textContent }) => textContent));
      assert.deepEqual(broken, [], `${paper}: titles and numbers are in one line`);
      assert.match(await papers.innerText(), new RegExp(name));
      if (paper === 'Pick list') assert.match(await papers.innerText(), new RegExp(`${name}\\s+${plantId}\\s+5\\s+${ids[0]} \\(2\\), ${ids[1]} \\(3\\)`));
      else {
        assert.match(await papers.innerText(), /Ann Green\nLeaf Street 1\n01067 Dresden\nGermany/);
        for (const id of ids) await papers.getByRole('img', { name: `QR code of order ${id}` }).waitFor();
      }
      const pdf = (await page.pdf({ preferCSSPageSize: true })).toString('latin1');
      const boxes = [...pdf.matchAll(/\/MediaBox\s*\[\s*0 0 ([\d.]+) ([\d.]+)\s*\]/g)].map(([, width, height]) => [Math.floor(Number(width)), Math.floor(Number(height))]);
      assert.equal(boxes.length, pages, paper);
      for (const [width = 0, height = 0] of boxes) assert.ok(Math.abs(width - points[0]) <= 1 && Math.abs(height - points[1]) <= 1, `${paper}: ${width} × ${height}`);
      await page.emulateMedia({ media: 'screen' });
    }
    await visit.leave();
  });

  test('says which orders a colleague has cancelled meanwhile', async () => {
    const plantId = await newPlant(50);
    const ids = [await place(plantId), await place(plantId)];
    const visit = await chrome.visit(staff, { path: `/orders?tab=awaiting&plantId=${plantId}` });
    const { page } = visit;
    await page.getByText('2 orders', { exact: true }).waitFor();
    await selectLoaded(page);
    await selectedOf(page).getByRole('button', { name: 'Cancel' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox', { name: 'Reason' }).fill('Mine');
    await admin.POST('/store/order/{orderId}/cancellation', { params: { path: { orderId: ids[0] ?? 0 } }, body: { reason: 'Theirs', restock: true } });
    await dialog.getByRole('button', { name: 'Cancel 2 orders' }).click();
    await dialog.getByText('1 of 2 orders is cancelled. 1 was not changed: each says why.').waitFor();
    await dialog.getByText('Left as it is. It was cancelled before, with another reason.').waitFor();
    await visit.leave();
  });

  test('exports the selected orders, or all of the tab, as spreadsheets read them', async () => {
    const plantId = await newPlant(50, '=SUM(A1)');
    const ids = [await place(plantId, 2, { name: '@home', lines: ['Leaf Street 1', 'Back house'], postalCode: '01067', city: 'Dresden' }), await place(plantId)];
    for (const id of ids) await pay(id);
    await admin.POST('/store/order/{orderId}/shipment', { params: { path: { orderId: ids[1] ?? 0 } }, body: { carrier: 'Green Post', trackingNumber: '00340434161094012345' } });
    const visit = await chrome.visit(staff, { path: `/orders?tab=all&plantId=${plantId}` });
    const { page } = visit;
    await page.getByText('2 orders', { exact: true }).waitFor();
    const save = async (/** @type {string} */ name) => {
      const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name, exact: true }).click()]);
      return readFileSync(await file.path(), 'utf8').split('\r\n');
    };
    const [header = '', second = '', first = '', ...rest] = await save('Export the list');
    assert.ok(header.startsWith('\ufeffOrder,Status,Placed (UTC)'));
    assert.deepEqual(rest, ['']);
    assert.match(first, new RegExp(`^${ids[0]},approved,\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d,,${plantId},'=SUM\\(A1\\),2,\\w+,`));
    assert.match(first, /'@home,"Leaf Street 1, Back house",01067 Dresden,$/);
    assert.match(second, /^\d+,shipped,.*,Green Post,'00340434161094012345,/);
    await page.getByText('2 orders exported.').waitFor();
    await page.waitForFunction(() => document.activeElement?.textContent === 'Export the list');
    await page.getByRole('checkbox', { name: `Select order ${ids[0]}`, exact: true }).check();
    assert.deepEqual((await save('Export')).slice(1), [first, '']);
    await visit.leave();
  });

  for (const [width, scheme] of /** @type {[number, 'light' | 'dark'][]} */ ([[390, 'dark'], [1024, 'light'], [1440, 'dark']])) {
    test(`fits ${width} px, also its dialogs`, async () => {
      const plantId = await newPlant(50, 'A plant whose name tells what it is, where it grows and who has found it');
      const id = await place(plantId, 10, { city: 'X'.repeat(120) });
      await pay(id);
      const visit = await chrome.visit(staff, { path: `/orders?tab=to-ship&plantId=${plantId}`, scheme, viewport: { width, height: 900 } });
      const { page } = visit;
      await page.getByText('1 order', { exact: true }).waitFor();
      await selectLoaded(page);
      await selectedOf(page).getByRole('button', { name: 'Ship' }).waitFor();
      const found = await misplaced(page);
      await visit.assertAccessible();
      for (const name of ['Ship', 'Print', 'Cancel']) {
        await selectedOf(page).getByRole('button', { name, exact: true }).click();
        await page.getByRole('dialog').waitFor();
        await visit.assertAccessible();
        // The page behind the dialog is no neighbour of its texts.
        await page.locator('#root').evaluate((root) => root.setAttribute('hidden', ''));
        found.push(...(await misplaced(page)).map((one) => `${name}: ${one}`));
        await page.locator('#root').evaluate((root) => root.removeAttribute('hidden'));
        await page.keyboard.press('Escape');
        await page.getByRole('dialog').waitFor({ state: 'detached' });
      }
      assert.deepEqual(found, []);
      await visit.leave();
    });
  }
});
