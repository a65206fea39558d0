import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { untilStill } from './kit/boxes.mjs';
import { Chrome } from './kit/console.mjs';
import { address, admin, demoAdmin, fresh, newPerson, newPlant, paidOrder, pay, shopOf } from './kit/people.mjs';

/** @typedef {import('playwright-core').Page} Page */

/** What opens something over a page: what is clicked, in this order, and typed. @typedef {readonly (readonly [role: 'button' | 'menuitem' | 'combobox', name: string | RegExp, text?: string])[]} Clicks */


/** @returns {Promise<[path: string, overlays: Clicks[]][]>} of each page */
async function overlays() {
  const name = fresh('Overlaid');
  const { data: { id: plantId } } = await admin.POST('/plant', { body: { name, photoUrls: [], status: 'available', quantity: 20, category: { name }, tags: [{ name }] } });
  const place = async () => (await admin.POST('/store/order', { body: { plantId } })).data.id;
  const [placed, paid, refunded] = [await place(), await place(), await place()];
  await pay(paid);
  await pay(refunded);
  await admin.POST('/store/order/{orderId}/cancellation', { params: { path: { orderId: refunded } }, body: { reason: 'Damaged', restock: true } });
  const person = await newPerson('customer');
  await admin.POST('/user/{username}/apiKeys', { params: { path: { username: person.username } }, body: { name: 'Warehouse' } });
  await shopOf(person).GET('/store/order');
  const { data: webhook } = await shopOf(demoAdmin).POST('/webhooks', { body: { url: `https://receiver.example/${fresh('hook')}` } });
  const { data: destination } = await admin.POST('/destinations', { body: { name: fresh('destination'), url: 'nats://127.0.0.1:9', stream: 'EVENTS', credentials: { token: 'a token' } } });
  /** @type {Clicks} */
  const views = [['button', 'Views'], ['menuitem', 'Save what is shown …']];
  /** @type {(name: string) => Clicks} */
  const bulk = (name) => [['button', /^Select (all|the first|the one)/], ['button', name]];
  return [
    ['/', [[['button', 'Find anything']]]],
    ['/orders?tab=all', [views.slice(0, 1), views, [['combobox', 'Plant', 'Overlaid']], [['combobox', 'Owner', person.username.slice(0, -1)]], bulk('Print')]],
    ['/orders', [bulk('Ship')]],
    [`/orders?tab=awaiting&plantId=${plantId}`, [bulk('Cancel')]],
    [`/orders/${placed}`, [[['button', 'Report a payment']], [['button', 'Transfer']], [['button', 'Cancel the order']]]],
    [`/orders/${paid}`, [[['button', 'Ship']], [['button', 'Report the delivery']], [['button', 'Cancel the order']]]],
    [`/orders/${refunded}`, [[['button', 'Mark as refunded']]]],
    ['/plants', [views.slice(0, 1), views, [['button', 'Export']], [['combobox', 'Order']], [['button', /^Change the stock of/]]]],
    [`/plants/${plantId}`, [[['button', 'Delete']], [['combobox', 'Category']]]],
    ['/plants/new', [[['combobox', 'Tags']]]],
    ['/stream', [[['combobox', 'Types']], [['combobox', 'Changes to']], [['combobox', 'From']]]],
    ['/webhooks', [[['button', 'New webhook']]]],
    [`/webhooks/${webhook.id}`, [[['button', 'Replay']], [['button', 'Edit']], [['button', 'More actions']], [['button', 'More actions'], ['menuitem', 'Replace the secret']], [['button', 'More actions'], ['menuitem', 'Delete']]]],
    ['/destinations', [[['button', 'New destination']]]],
    [`/destinations/${destination.id}`, [[['button', 'Replay']], [['button', 'Edit']], [['button', 'More actions']], [['button', 'More actions'], ['menuitem', 'Delete']]]],
    ['/people', [[['combobox', 'Role']]]],
    ['/people?tab=clients', [[['button', 'New client']], [['button', /^Delete /]]]],
    ['/people?tab=audit', [[['combobox', 'What']]]],
    [`/people/${person.username}`, [[['combobox', 'New role']], [['button', 'Delete the user']], [['button', 'Log out everywhere']], [['button', /^End the session/]], [['button', 'New API key']], [['button', /^Replace /]], [['button', /^Revoke /]]]],
  ];
}

/** @param {Page} page @param {Clicks} clicks */
async function click(page, clicks) {
  for (const [role, name, text] of clicks) {
    const found = page.getByRole(role, { name, exact: true }).first();
    await found.click();
    if (text !== undefined) await found.pressSequentially(text);
  }
  await page.locator('[role=dialog]:visible, [role=menu]:visible, [role=listbox]:visible').first().waitFor();
}

describe('what opens over a page', () => {
  const chrome = new Chrome();
  /** @type {Awaited<ReturnType<typeof overlays>>} */
  let pages;
  before(async () => {
    pages = await overlays();
    await chrome.open();
  });
  after(() => chrome.close());

  test('is accessible, in both schemes: every menu, dialog and list', async () => {
    const visit = await chrome.visit(demoAdmin, { path: '/stream' });
    const { page } = visit;
    /** @type {string[]} */
    const found = [];
    for (const [path, all] of pages) {
      for (const clicks of all) {
        await page.emulateMedia({ colorScheme: 'light' });
        await page.setViewportSize({ width: 1280, height: 860 });
        await page.goto(`${address}/console${path}`);
        await page.getByRole('heading', { level: 1 }).waitFor();
        try {
          await click(page, clicks);
          await visit.assertAccessible();
          await page.emulateMedia({ colorScheme: 'dark' });
          await page.locator('html[data-mantine-color-scheme=dark]').waitFor();
          await visit.assertAccessible(['color-contrast']);
          await page.setViewportSize({ width: 360, height: 740 });
          await untilStill(page);
          assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'wider than a phone');
        } catch (error) {
          found.push(`${path} ${clicks.map(([, name]) => `${name}`).join(', ')}: ${error}`);
        }
      }
    }
    assert.deepEqual(found, []);
    // Of names that are half typed, and of plants in the audit log that another test has deleted.
    await visit.leave(/404.*(?:owner=|\/v3\/plant\/\d+\))/);
  });

  test('stays while its request is under way, and so does what the shop says only once', async () => {
    const visit = await chrome.visit(await newPerson('staff'));
    const { page } = visit;
    /** @type {() => void} */
    let release = () => undefined;
    await page.route('**/v3/**', async (route) => {
      if (route.request().method() !== 'GET') await new Promise((resolve) => (release = () => resolve(undefined)));
      await route.continue();
    });
    const click = (/** @type {string} */ name) => page.getByRole('button', { name, exact: true }).click();
    /** Whether nothing closes a dialog. @param {string} name */
    const stays = async (name) => {
      const dialog = page.getByRole('dialog', { name, exact: true });
      await dialog.waitFor();
      await page.keyboard.press('Escape');
      await page.mouse.click(3, 3);
      await page.evaluate(() => history.back());
      await page.waitForTimeout(300);
      assert.equal(await dialog.count(), 1, name);
      assert.deepEqual(await dialog.getByRole('button', { name: /^(Back|Cancel|Close)$/, disabled: false }).count(), 0, name);
      release();
    };
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Webhooks' }).click();
    await click('New webhook');
    await page.getByLabel('Address').fill('https://receiver.example/hooks');
    await click('Create the webhook');
    await stays('New webhook');
    await stays("The webhook's secret");
    await click('I have stored it');
    await click('Edit');
    await page.getByLabel('Name').fill(fresh('hook'));
    await click('Save');
    await stays('Edit the webhook');
    await page.getByText('The webhook is changed.').waitFor();
    await click('More actions');
    await page.getByRole('menuitem', { name: 'Replace the secret' }).click();
    await click('Replace the secret');
    await stays('Replace the secret?');
    await stays('The new secret');
    await click('I have stored it');
    const plant = fresh('Held');
    await newPlant(5, plant);
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Plants' }).click();
    await click(`Change the stock of ${plant}`);
    await page.getByRole('textbox', { name: 'Units' }).fill('1');
    await page.getByRole('textbox', { name: 'Reason' }).fill('Count');
    await click('Add 1 unit');
    await stays(`Stock of ${plant}`);
    await page.getByText(`6 units of ${plant} can be ordered.`).waitFor();
    await visit.leave();
  });

  test('leaves the focus where work goes on, if it ends with success', async () => {
    const refunded = await paidOrder();
    await admin.POST('/store/order/{orderId}/cancellation', { params: { path: { orderId: refunded } }, body: { reason: 'Damaged', restock: true } });
    const visit = await chrome.visit(await newPerson('staff'), { path: `/orders/${refunded}` });
    const { page } = visit;
    await page.getByRole('button', { name: 'Mark as refunded' }).click();
    await page.getByLabel('Reference').fill(fresh('transfer'));
    await page.keyboard.press('Enter');
    await page.getByText('completed', { exact: true }).waitFor();
    await page.getByRole('region', { name: 'Refund' }).and(page.locator(':focus')).waitFor();

    const plantId = await newPlant();
    const orders = await Promise.all(Array.from({ length: 12 }, () => paidOrder(plantId)));
    await page.goto(`${address}/console/orders?tab=to-ship&plantId=${plantId}`);
    await page.getByRole('checkbox', { name: 'Select all orders that are loaded' }).check();
    await page.getByRole('group', { name: 'Selected orders' }).getByRole('button', { name: 'Ship' }).click();
    await page.getByLabel('Carrier').fill('Green Post');
    await page.getByLabel('Paste tracking numbers').fill(orders.map((id) => `${id};T${id}`).join('\n'));
    await page.getByRole('button', { name: 'Fill in' }).click();
    await page.getByRole('button', { name: 'Ship 12 orders' }).click();
    await page.getByRole('button', { name: 'Print for 12 orders' }).and(page.locator(':focus')).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog', { name: 'Print for 12 orders' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Print for 12 orders' }).and(page.locator(':focus')).waitFor();
    await visit.leave();
  });
});
