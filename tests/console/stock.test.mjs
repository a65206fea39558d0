import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { misplaced } from './kit/boxes.mjs';
import { assertShows, Chrome } from './kit/console.mjs';
import { focusByKey, pressEnterOn } from './kit/keyboard.mjs';
import { address, admin, demoAdmin, fresh, newPerson, newPlant, placeOrder, shopOf } from './kit/people.mjs';

/** @typedef {import('playwright-core').Page} Page */

/** @param {number} plantId */
const pathOf = (plantId) => ({ params: { path: { plantId } } });
/** @param {number} plantId */
const stockOf = async (plantId) => (await admin.GET('/store/inventory/{plantId}', pathOf(plantId))).data;
/** What staff did, oldest first. @param {number} plantId */
const changesOf = async (plantId) => (await admin.GET('/store/inventory/{plantId}/changes', pathOf(plantId))).data.map(({ by, reason }) => [by, reason]).reverse();

/** @param {Page} page */
const dialogOf = (page) => page.getByRole('dialog');
/** A plant's row in the list. @param {Page} page @param {string} name */
const rowOf = (page, name) => page.getByRole('table', { name: 'Plants' }).getByRole('row').filter({ has: page.getByRole('link', { name, exact: true }) });
/** @param {Page} page @param {string} units @param {string} reason */
async function fill(page, units, reason) {
  await dialogOf(page).getByLabel('Units').fill(units);
  await dialogOf(page).getByRole('textbox', { name: 'Reason' }).fill(reason);
}

describe('the stock', () => {
  const chrome = new Chrome();
  before(() => chrome.open());
  after(() => chrome.close());

  test('is in the list, and changes there by keyboard, with a reason that the history has', async () => {
    const name = fresh('Listed');
    const plantId = await newPlant(12, name);
    await admin.POST('/store/order', { body: { plantId, quantity: 3 } });
    const visit = await chrome.visit(await newPerson('staff'), { path: `/plants?q=${name}` });
    const { page } = visit;
    const row = rowOf(page, name);
    await row.getByText('9 free').waitFor();
    await row.getByText('3 reserved').waitFor();
    await row.getByText('Low', { exact: true }).waitFor();
    await visit.assertAccessible();
    await pressEnterOn(row.getByRole('button', { name: `Change the stock of ${name}` }));
    const dialog = dialogOf(page);
    await dialog.getByText('9 units can be ordered now.').waitFor();
    await page.keyboard.type('5');
    await dialog.getByText('9 units can be ordered now, 14 afterwards.').waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.type('Delivery 4711');
    await visit.assertAccessible();
    await page.keyboard.press('Enter');
    await dialog.waitFor({ state: 'detached' });
    await row.getByText('14 free').waitFor();
    await row.getByText('Low', { exact: true }).waitFor({ state: 'detached' });
    assert.deepEqual(await changesOf(plantId), [[5, 'Delivery 4711']]);
    // Orders change it, too.
    await admin.POST('/store/order', { body: { plantId, quantity: 2 } });
    await row.getByText('12 free').waitFor();
    await row.getByRole('link', { name }).click();
    await page.getByRole('table', { name: 'Changes by staff' }).getByRole('row', { name: /\+5 14 Delivery 4711 staff-/ }).waitFor();
    await visit.assertAccessible();
    await visit.leave();
  });

  test('changes once the dialog has read it, if Enter comes before', async () => {
    const name = fresh('Early');
    const plantId = await newPlant(4, name);
    const visit = await chrome.visit(demoAdmin, { path: `/plants?q=${name}` });
    const { page } = visit;
    const read = Promise.withResolvers();
    await page.route(/inventory\/\d+\/changes/, async (route) => {
      await read.promise;
      await route.continue();
    });
    await pressEnterOn(rowOf(page, name).getByRole('button', { name: `Change the stock of ${name}` }));
    await fill(page, '3', 'Delivery');
    await page.keyboard.press('Enter');
    read.resolve(undefined);
    await page.getByText(`7 units of ${name} can be ordered.`).waitFor();
    assert.deepEqual(await changesOf(plantId), [[3, 'Delivery']]);
    await visit.leave();
  });

  test('is changed on the plant’s page only by whole numbers that it has', async () => {
    const plantId = await newPlant(4);
    const visit = await chrome.visit(demoAdmin, { path: `/plants/${plantId}`, scheme: 'dark' });
    const { page } = visit;
    await page.getByRole('button', { name: 'Change the stock' }).click();
    const dialog = dialogOf(page);
    await dialog.getByText('4 units can be ordered now.').waitFor();
    await dialog.getByText('Remove', { exact: true }).click();
    for (const [units, fault] of [['-1', 'Write a whole number'], ['1.5', 'Write a whole number'], ['0', 'At least 1.'], ['5', 'At most 4.']]) {
      await fill(page, units ?? '', 'Damaged');
      await dialog.getByText(fault ?? '').waitFor();
      await dialog.getByRole('textbox', { name: 'Reason' }).press('Enter');
      assert.equal(await dialog.getByLabel('Units').inputValue(), units);
      await dialog.getByLabel('Units').and(page.locator(':focus')).waitFor();
    }
    await visit.assertAccessible();
    assert.deepEqual(await changesOf(plantId), []);
    await fill(page, '3', 'Damaged');
    // What is typed stays, also when an order was faster than the removal.
    await dialog.getByRole('button', { name: 'Back' }).click();
    await page.getByRole('button', { name: 'Change the stock' }).click();
    await dialog.getByText('What you typed before is here again.').waitFor();
    await dialog.getByText('4 units can be ordered now, 1 afterwards.').waitFor();
    await admin.POST('/store/order', { body: { plantId, quantity: 2 } });
    await dialog.getByRole('button', { name: 'Remove 3 units' }).click();
    await dialog.getByText('At most 2.').waitFor();
    // Until the answer, nothing can be typed that would be lost with the dialog.
    await dialog.getByRole('button', { name: 'Remove 3 units' }).and(page.locator(':not([data-loading])')).waitFor();
    await fill(page, '2', 'Damaged');
    await dialog.getByRole('button', { name: 'Remove 2 units' }).evaluate((/** @type {HTMLButtonElement} */ button) => {
      button.form?.requestSubmit();
      button.form?.requestSubmit();
    });
    await dialog.waitFor({ state: 'detached' });
    assert.deepEqual([await changesOf(plantId), (await stockOf(plantId)).free], [[[-2, 'Damaged']], 0]);
    await page.getByRole('region', { name: 'Stock', exact: true }).getByText('Out', { exact: true }).waitFor();
    await page.getByRole('row', { name: /−2 0 Damaged admin/ }).waitFor();
    await visit.leave(/409|412/);
  });

  test('is not foretold while it may have the change already, whose answer was lost', async () => {
    const plantId = await newPlant(4);
    const visit = await chrome.visit(demoAdmin, { path: `/plants/${plantId}` });
    const { page } = visit;
    await page.route(/\/adjustment$/, async (route) => {
      await route.fetch();
      await route.abort();
    });
    const dialog = dialogOf(page);
    await page.getByRole('button', { name: 'Change the stock' }).click();
    await fill(page, '3', 'Delivery');
    await dialog.getByText('4 units can be ordered now, 7 afterwards.').waitFor();
    await dialog.getByRole('button', { name: 'Add 3 units' }).click();
    await dialog.getByText('It is not known whether this worked').waitFor();
    await dialog.getByRole('button', { name: 'Back' }).click();
    await page.unrouteAll();
    await page.getByRole('button', { name: 'Change the stock' }).click();
    await dialog.getByText('This was sent before, and no answer came.').waitFor();
    await dialog.getByText('7 units can be ordered now.').waitFor();
    await dialog.getByRole('button', { name: 'Add 3 units' }).click();
    await dialog.waitFor({ state: 'detached' });
    assert.deepEqual([await changesOf(plantId), (await stockOf(plantId)).free], [[[3, 'Delivery']], 7]);
    await visit.leave(/ERR_FAILED/);
  });

  test('is set by a count of the shelf, whatever is ordered meanwhile', async () => {
    const plantId = await newPlant(10);
    await placeOrder(plantId, 2);
    const visit = await chrome.visit(demoAdmin, { path: `/plants/${plantId}` });
    const { page } = visit;
    await page.getByRole('button', { name: 'Change the stock' }).click();
    const dialog = dialogOf(page);
    await dialog.getByText('8 units can be ordered now.').waitFor();
    await dialog.getByText('Count', { exact: true }).first().click();
    await dialog.getByText('Count them, and the 2 units of unpaid orders, but none of paid ones.').waitFor();
    assert.equal(await dialog.getByRole('textbox', { name: 'Reason' }).inputValue(), 'Count');
    const units = dialog.getByLabel('Units on the shelf');
    await units.fill('1');
    await dialog.getByText('At least 2.').waitFor();
    await units.fill('7');
    await dialog.getByText('8 units can be ordered now, 5 afterwards.').waitFor();
    await visit.assertAccessible();
    await placeOrder(plantId, 1);
    await dialog.getByRole('button', { name: 'Set the stock' }).click();
    await page.getByText('can be ordered: orders have changed them meanwhile.').waitFor();
    await dialog.waitFor({ state: 'detached' });
    const { free, reserved } = await stockOf(plantId);
    assert.deepEqual([free, reserved, await changesOf(plantId)], [4, 3, [[-3, 'Count']]]);
    await visit.leave(/412/);
  });

  test('changes once, if an answer is lost and the change is sent again', async () => {
    const plantId = await newPlant(20);
    const visit = await chrome.visit(demoAdmin, { path: `/plants/${plantId}` });
    const { page } = visit;
    let lost = 0;
    await page.route('**/adjustment', async (route) => {
      await route.fetch();
      lost += 1;
      await route.fulfill({ status: 500, contentType: 'application/problem+json', body: JSON.stringify({ type: 'about:blank', title: 'Broken', status: 500, code: 'internal', requestId: 'lost' }) });
    });
    await page.getByRole('button', { name: 'Change the stock' }).click();
    await fill(page, '6', 'Delivery');
    await dialogOf(page).getByRole('button', { name: 'Add 6 units' }).click();
    await dialogOf(page).getByRole('alert').getByText('It is not known whether this worked').waitFor();
    assert.ok(lost > 0);
    // What is typed is there again, and what was sent is known.
    await page.reload();
    await page.getByRole('button', { name: 'Change the stock' }).click();
    await dialogOf(page).getByText('Sent again unchanged, it does not happen twice.').waitFor();
    await dialogOf(page).getByText(/Last change: \+6 by admin, Delivery/).waitFor();
    await dialogOf(page).getByRole('button', { name: 'Add 6 units' }).click();
    await dialogOf(page).getByRole('alert').getByText('It is not known whether this worked').waitFor();
    await page.unroute('**/adjustment');
    // The dialog has the newest stock by now, and the change is that of before.
    await dialogOf(page).getByRole('button', { name: 'Add 6 units' }).click();
    await dialogOf(page).waitFor({ state: 'detached' });
    assert.deepEqual([await changesOf(plantId), (await stockOf(plantId)).free], [[[6, 'Delivery']], 26]);
    // Once answered, the same again is another change.
    await page.getByRole('button', { name: 'Change the stock' }).click();
    await fill(page, '6', 'Delivery');
    await dialogOf(page).getByRole('button', { name: 'Add 6 units' }).click();
    await dialogOf(page).waitFor({ state: 'detached' });
    assert.equal((await stockOf(plantId)).free, 32);
    await visit.leave(/500/);
  });

  test('that somebody else corrects at the same time is not corrected twice; orders meanwhile do not matter', async () => {
    const plantId = await newPlant(20);
    const visit = await chrome.visit(demoAdmin, { path: `/plants/${plantId}` });
    const { page } = visit;
    const dialog = dialogOf(page);
    await page.getByRole('button', { name: 'Change the stock' }).click();
    await dialog.getByText('20 units can be ordered now.').waitFor();
    await fill(page, '4', 'Count');
    await admin.POST('/store/order', { body: { plantId } });
    await dialog.getByRole('button', { name: 'Add 4 units' }).click();
    await dialog.waitFor({ state: 'detached' });
    assert.equal((await stockOf(plantId)).free, 23);

    const other = await newPerson('staff');
    await page.getByRole('button', { name: 'Change the stock' }).click();
    await dialog.getByText('23 units can be ordered now.').waitFor();
    await dialog.getByText(/Last change: \+4 by admin, Count/).waitFor();
    await dialog.getByText('Remove', { exact: true }).click();
    await dialog.getByLabel('Units').fill('5');
    await dialog.getByRole('button', { name: 'Count', exact: true }).click();
    await shopOf(other).POST('/store/inventory/{plantId}/adjustment', { ...pathOf(plantId), body: { by: -5, reason: 'Count of Friday' } });
    await dialog.getByRole('button', { name: 'Remove 5 units' }).click();
    const alert = dialog.getByRole('alert');
    await alert.getByText('Someone has changed the stock meanwhile').waitFor();
    await alert.getByText(`−5 by ${other.username}, Count of Friday`).waitFor();
    assert.equal(await dialog.getByLabel('Units').inputValue(), '5');
    assert.equal((await stockOf(plantId)).free, 18);
    await visit.assertAccessible();
    // The second press is an answer.
    await dialog.getByRole('button', { name: 'Remove 5 units' }).click();
    await dialog.waitFor({ state: 'detached' });
    assert.deepEqual(await changesOf(plantId), [[4, 'Count'], [-5, 'Count of Friday'], [-5, 'Count']]);
    await visit.leave(/412/);
  });

  test('that somebody else changes is shown without a reload, with who did it', async () => {
    const plantId = await newPlant(89);
    const other = await newPerson('staff');
    const visit = await chrome.visit(demoAdmin, { path: `/plants/${plantId}` });
    const { page } = visit;
    const free = page.getByRole('region', { name: 'Stock', exact: true }).locator('dl > div').first();
    await free.getByText('89', { exact: true }).waitFor();
    await shopOf(other).POST('/store/inventory/{plantId}/adjustment', { ...pathOf(plantId), body: { by: -9, reason: 'Frost' } });
    await free.getByText('80', { exact: true }).waitFor();
    await page.getByRole('row', { name: new RegExp(`−9 80 Frost ${other.username}`) }).waitFor();
    // The list follows, too: its plants, their numbers and their stock.
    const word = fresh('Followed').replaceAll('-', '');
    const listed = await newPlant(30, `${word} one`);
    await page.goto(`${address}/console/plants?q=${word}`);
    await rowOf(page, `${word} one`).getByText('30 free').waitFor();
    await shopOf(other).POST('/store/inventory/{plantId}/adjustment', { ...pathOf(listed), body: { by: -28, reason: 'Frost' } });
    await newPlant(7, `${word} two`);
    await rowOf(page, `${word} one`).getByText('2 free').waitFor();
    await rowOf(page, `${word} two`).waitFor();
    await page.getByText('2 plants', { exact: true }).waitFor();
    await visit.leave();
  });

  test('has a mark from which it is low, which orders do not disturb', async () => {
    const plantId = await newPlant(40);
    const visit = await chrome.visit(demoAdmin, { path: `/plants/${plantId}` });
    const { page } = visit;
    const region = page.getByRole('region', { name: 'Stock', exact: true });
    await region.getByLabel('Low from').fill('1e2');
    await region.getByText('Write a whole number in digits').waitFor();
    await region.getByLabel('Low from').fill('39');
    await admin.POST('/store/order', { body: { plantId } });
    await region.getByRole('button', { name: 'Save the mark' }).click();
    await region.getByText('Low', { exact: true }).waitFor();
    assert.deepEqual([(await stockOf(plantId)).free, (await stockOf(plantId)).lowStockAt], [39, 39]);
    await region.getByLabel('Low from').fill('');
    await region.getByRole('button', { name: 'Save the mark' }).click();
    await region.getByText('Low', { exact: true }).waitFor({ state: 'detached' });
    assert.equal((await stockOf(plantId)).lowStockAt, undefined);
    await region.getByLabel('Low from').fill('7');
    await admin.PUT('/store/inventory/{plantId}', { ...pathOf(plantId), body: { free: 39, lowStockAt: 8 } });
    await region.getByRole('button', { name: 'Save the mark' }).click();
    await region.getByRole('alertdialog', { name: 'The mark has changed' }).getByRole('row', { name: 'Low from 8 7' }).waitFor();
    await visit.assertAccessible();
    await region.getByRole('button', { name: 'Leave it at 8' }).click();
    assert.equal(await region.getByLabel('Low from').inputValue(), '8');
    await visit.leave(/412/);
  });

  test('that is low can be found, the fewest units first; the page says at how many plants it looked', async () => {
    const word = fresh('Lowest').replaceAll('-', '');
    await newPlant(50, `${word} many`);
    await newPlant(0, `${word} none`);
    await newPlant(7, `${word} seven`);
    const marked = await newPlant(60, `${word} marked`);
    await admin.PUT('/store/inventory/{plantId}', { ...pathOf(marked), body: { free: 60, lowStockAt: 100 } });
    await newPlant(2, `${word} two`);
    await admin.POST('/plant', { body: { name: `${word} not for sale`, status: 'pending', quantity: 1 } });
    const visit = await chrome.visit(demoAdmin, { path: `/plants?q=${word}` });
    const { page } = visit;
    const links = page.getByRole('table', { name: 'Plants' }).getByRole('link');
    await page.getByText('6 plants', { exact: true }).waitFor();
    await page.getByRole('radio', { name: 'Low or out' }).check();
    await page.getByText('4 plants for sale are low on stock or out of it, of 6.', { exact: true }).waitFor();
    await assertShows(links, [`${word} none`, `${word} two`, `${word} seven`, `${word} marked`]);
    await visit.assertAccessible();
    await page.reload();
    await page.getByRole('radio', { name: 'Out', exact: true }).check();
    await page.getByText('1 plant for sale is out of stock, of 6.', { exact: true }).waitFor();
    await assertShows(links, [`${word} none`]);
    await page.getByRole('radio', { name: 'Low or out' }).check();
    await page.getByRole('combobox', { name: 'Order' }).click();
    await page.getByRole('option', { name: 'By name' }).click();
    await assertShows(links, [`${word} marked`, `${word} none`, `${word} seven`, `${word} two`]);
    await page.getByRole('radio', { name: 'Any' }).check();
    await page.getByText('6 plants', { exact: true }).waitFor();
    await visit.leave();
  });

  test('that nobody has counted is found from Today on, and leaves the list when it is set, also to none', async () => {
    const word = fresh('Uncounted').replaceAll('-', '');
    const [, some, none] = [await newPlant(0, `${word} other`), await newPlant(0, `${word} some`), await newPlant(0, `${word} none`)];
    await newPlant(4, `${word} counted`);
    const visit = await chrome.visit(await newPerson('staff'));
    const { page } = visit;
    const toCount = page.getByRole('region', { name: 'Plants to count' });
    await toCount.getByText(/^Nobody has counted the units of [\d,]+ plants?\.$/).waitFor();
    await visit.assertAccessible();
    await pressEnterOn(toCount.getByRole('link', { name: 'Show them' }));
    await page.getByRole('radio', { name: 'Not counted', checked: true }).waitFor();
    await page.getByRole('searchbox', { name: 'Search' }).fill(word);
    const links = page.getByRole('table', { name: 'Plants' }).getByRole('link');
    await assertShows(links, [`${word} none`, `${word} some`, `${word} other`]);
    await page.getByText('3 plants are not counted.', { exact: true }).waitFor();
    await rowOf(page, `${word} some`).getByText('Not counted', { exact: true }).waitFor();
    assert.deepEqual(await misplaced(page), []);
    await visit.assertAccessible();
    await pressEnterOn(rowOf(page, `${word} some`).getByRole('button', { name: /^Change the stock/ }));
    await dialogOf(page).getByText('0 units can be ordered now.').waitFor();
    await fill(page, '3', 'Count');
    await page.keyboard.press('Enter');
    await assertShows(links, [`${word} none`, `${word} other`]);
    assert.equal((await stockOf(some)).free, 3);
    await links.first().click();
    const region = page.getByRole('region', { name: 'Stock', exact: true });
    await region.getByText('Nobody has counted the units of this plant.').waitFor();
    await visit.assertAccessible();
    await region.getByLabel('Low from').fill('2');
    await region.getByRole('button', { name: 'Save the mark' }).click();
    await page.getByText('The plant is low on stock from 2 free units.').waitFor();
    // A mark counts nothing.
    assert.equal((await admin.GET('/store/uncounted', { params: { query: { limit: 1_000 } } })).data.some(({ plantId }) => plantId === none), true);
    await region.getByText('Nobody has counted the units of this plant.').waitFor();
    await region.getByRole('button', { name: 'Set the stock' }).click();
    await region.getByText('Nobody has counted the units of this plant.').waitFor({ state: 'detached' });
    await region.getByText('Out', { exact: true }).waitFor();
    await region.and(page.locator(':focus')).waitFor();
    assert.equal((await stockOf(none)).free, 0);
    await page.goBack();
    await assertShows(links, [`${word} other`]);
    await visit.leave();
  });

  test('is no business of customers', async () => {
    const name = fresh('Seen');
    await newPlant(3, name);
    const visit = await chrome.visit(await newPerson('customer'), { path: `/plants?q=${name}` });
    const { page } = visit;
    await rowOf(page, name).waitFor();
    assert.deepEqual(await page.getByRole('columnheader').allTextContents(), ['Plant', 'Category', 'Tags', 'Status']);
    await visit.leave();
  });

  for (const width of [390, 1024, 1440]) {
    test(`fits at ${width} px, with the largest numbers`, async () => {
      const name = `${fresh('Wide')} ${'a plant with a long name '.repeat(4)}`;
      const plantId = await newPlant(1_000_000_000, name.trim());
      await admin.POST('/store/order', { body: { plantId, quantity: 1_000 } });
      await admin.POST('/store/inventory/{plantId}/adjustment', { ...pathOf(plantId), body: { by: -1_000_000, reason: 'W'.repeat(120) } });
      const visit = await chrome.visit(demoAdmin, { path: `/plants?q=Wide-${process.pid}`, viewport: { width, height: 900 }, scheme: width === 1024 ? 'dark' : 'light' });
      const { page } = visit;
      await page.getByText('998,999,000 free').first().waitFor();
      assert.deepEqual(await misplaced(page), []);
      if (width === 390) {
        // On a phone, the search comes before the filters.
        await focusByKey(page.getByRole('button', { name: 'Filters' }));
        assert.equal(await page.getByRole('radio', { name: 'Any' }).isVisible(), false);
        await page.keyboard.press('Enter');
        await page.getByRole('radio', { name: 'Any' }).waitFor();
      }
      await page.getByRole('button', { name: /^Change the stock of Wide/ }).first().click();
      await dialogOf(page).getByText(/Last change/).waitFor();
      assert.ok(await dialogOf(page).evaluate(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth));
      await visit.assertAccessible();
      await page.goto(`${new URL(page.url()).origin}/console/plants/${plantId}`);
      await page.getByRole('table', { name: 'Changes by staff' }).getByRole('row').nth(1).waitFor();
      assert.deepEqual(await misplaced(page), []);
      await visit.leave();
    });
  }
});
