import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { misplaced } from './kit/boxes.mjs';
import { assertShows, Chrome } from './kit/console.mjs';
import { address, admin, fresh, newPerson, newPlant } from './kit/people.mjs';

/** @typedef {import('playwright-core').Page} Page */

/** @param {Page} page @param {string | RegExp} item */
async function choose(page, item) {
  await page.getByRole('button', { name: /^Views/ }).click();
  await page.getByRole('menuitem', { name: item }).click();
}
/** @param {Page} page @param {string} name */
async function save(page, name) {
  await choose(page, 'Save what is shown …');
  await page.getByRole('dialog').getByLabel('Name').fill(name);
  await page.keyboard.press('Enter');
  await page.getByText(`The view ${name} is saved.`).first().waitFor();
  // The notice would cover what a phone shows.
  await page.getByRole('alert').getByRole('button', { name: 'Close' }).click();
  await page.getByText(`The view ${name} is saved.`).waitFor({ state: 'detached' });
}

describe('saved views', () => {
  const chrome = new Chrome();
  /** @type {import('./kit/people.mjs').Person} */
  let staff;
  before(async () => {
    staff = await newPerson('staff');
    await chrome.open();
  });
  after(() => chrome.close());

  test('of orders bring back the tab, the filters and the order, in this browser and for this account', async () => {
    const plantId = await newPlant(10);
    const { data: { id } } = await admin.POST('/store/order', { body: { plantId } });
    const visit = await chrome.visit(staff, { path: `/orders?tab=awaiting&plantId=${plantId}&sort=-placedAt` });
    const { page } = visit;
    await page.getByText('1 order', { exact: true }).waitFor();
    await save(page, 'Mine to watch');
    await page.getByRole('tab', { name: /^Shipped/ }).click();
    await page.getByRole('button', { name: 'Views', exact: true }).waitFor();
    await page.reload();
    await page.getByRole('tab', { name: /^Shipped/, selected: true }).waitFor();
    await page.goto(`${address}/console/orders`);
    await choose(page, 'Mine to watch');
    await page.getByRole('tab', { name: /^Awaiting/, selected: true }).waitFor();
    await page.getByRole('link', { name: String(id), exact: true }).waitFor();
    assert.deepEqual(Object.fromEntries(new URL(page.url()).searchParams), { tab: 'awaiting', plantId: String(plantId), sort: '-placedAt' });
    await page.getByRole('button', { name: 'Views: Mine to watch' }).waitFor();

    // The palette has it, too.
    await page.goto(`${address}/console/stream`);
    await page.getByRole('heading', { name: 'Stream', level: 1 }).waitFor();
    await page.keyboard.press('/');
    await page.getByRole('dialog').getByRole('combobox').fill('mine to');
    await page.getByRole('group', { name: 'Saved views' }).getByRole('option', { name: /^Mine to watch/ }).click();
    await page.getByRole('tab', { name: /^Awaiting/, selected: true }).waitFor();

    // Not for another account in the same browser.
    const kept = await page.evaluate(() => JSON.stringify({ ...localStorage }));
    const other = await chrome.visit(await newPerson('staff'), { path: '/orders' });
    await other.page.evaluate((text) => Object.assign(localStorage, JSON.parse(text)), kept);
    await other.page.reload();
    await other.page.getByRole('button', { name: 'Views', exact: true }).click();
    await other.page.getByRole('menuitem', { name: 'Save what is shown …' }).waitFor();
    assert.equal(await other.page.getByRole('menuitem').count(), 1);
    await other.leave();
    await visit.leave();
  });

  test('of plants can be renamed, replaced and deleted', async () => {
    const word = fresh('Viewed').replaceAll('-', '');
    await newPlant(5, `${word} fern`);
    const visit = await chrome.visit(staff, { path: `/plants?q=${word}` });
    const { page } = visit;
    await page.getByText('1 plant', { exact: true }).waitFor();
    await save(page, 'Ferns');
    await page.goto(`${address}/console/plants?stock=low`);
    await save(page, 'Low');
    await page.goto(`${address}/console/plants?q=${word}&sort=name`);
    await choose(page, 'Save what is shown …');
    await page.getByRole('dialog').getByLabel('Name').fill(' ferns');
    await page.getByText('This replaces your view of the same name.').waitFor();
    await page.keyboard.press('Enter');
    await page.getByText('The view ferns is saved.').waitFor();

    await choose(page, 'Rename or delete …');
    const dialog = page.getByRole('dialog', { name: 'Saved views' });
    const name = dialog.getByLabel('Name of the view ferns');
    await name.fill('LOW');
    await dialog.getByText('Another view has this name.').waitFor();
    await name.fill('Ferns by name');
    await page.keyboard.press('Escape');
    await choose(page, 'Rename or delete …');
    assert.equal(await name.inputValue(), 'Ferns by name');
    await dialog.getByText('What you typed before is here again. It is not saved yet.').waitFor();
    await dialog.getByRole('button', { name: 'Discard it' }).click();
    assert.equal(await name.inputValue(), 'ferns');
    await name.fill('Ferns by name');
    await name.press('Enter');
    await dialog.getByLabel('Name of the view Ferns by name').waitFor();
    await visit.assertAccessible();
    await dialog.getByRole('button', { name: 'Delete the view Low' }).click();
    await dialog.getByText('Delete the view Low?').waitFor();
    await dialog.getByRole('button', { name: 'Keep it' }).and(page.locator(':focus')).waitFor();
    await visit.assertAccessible();
    await dialog.getByRole('button', { name: 'Delete it' }).click();
    await dialog.getByText('Delete the view Low?').waitFor({ state: 'detached' });
    await page.keyboard.press('Escape');
    await page.reload();
    await page.getByRole('button', { name: 'Views: Ferns by name' }).click();
    await assertShows(page.getByRole('menuitem'), ['Ferns by name', 'Save what is shown …', 'Rename or delete …']);
    await visit.leave();
  });

  test('are not changed by what is no view in the browser’s storage', async () => {
    const visit = await chrome.visit(staff, { path: '/orders' });
    const { page } = visit;
    for (const text of ['{', '7', JSON.stringify([null, { name: 1 }, { name: 'Real', search: { tab: 'all', plantId: 'none' } }])]) {
      await page.evaluate(([username, value]) => localStorage.setItem(`console-views orders ${username}`, value ?? ''), [staff.username, text]);
      await page.reload();
      await page.getByRole('button', { name: /^Views/ }).waitFor();
    }
    await choose(page, 'Real');
    await page.getByRole('tab', { name: /^All/, selected: true }).waitFor();
    await page.waitForURL('**/orders?tab=all');
    await visit.leave();
  });

  test('keep what was typed as their name, and say what fits', async () => {
    const visit = await chrome.visit(staff, { path: '/orders' });
    const { page } = visit;
    await choose(page, 'Save what is shown …');
    const name = page.getByRole('dialog').getByLabel('Name');
    await name.fill('x'.repeat(61));
    await page.keyboard.press('Enter');
    await name.and(page.locator(':focus:invalid')).waitFor();
    assert.equal((await name.inputValue()).length, 61);
    for (const unseen of [' '.repeat(3), '\u200b', '\u2060 \u200b', '\u3164']) {
      await name.fill(unseen);
      await name.and(page.locator(':invalid')).waitFor();
    }
    await name.fill('🌵 Ünseen');
    await name.and(page.locator(':valid')).waitFor();
    await visit.leave();
  });

  for (const width of [390, 1024, 1440]) {
    test(`stand above the tabs at ${width} px, and crowd nothing out`, async () => {
      const visit = await chrome.visit(staff, { path: '/orders?tab=refund', viewport: { width, height: 844 } });
      const { page } = visit;
      await save(page, fresh('A view that has as long a name as one can have').slice(0, 60));
      const tabs = await page.getByRole('tablist', { name: 'Orders' }).boundingBox();
      const button = await page.getByRole('button', { name: /^Views/ }).boundingBox();
      assert.ok(tabs && button && button.y + button.height <= tabs.y, JSON.stringify({ tabs, button }));
      assert.deepEqual(await misplaced(page), []);
      await page.goto(`${address}/console/plants`);
      await page.getByRole('button', { name: /^Views/ }).waitFor();
      assert.deepEqual(await misplaced(page), []);
      await visit.assertAccessible();
      await visit.leave();
    });
  }
});
