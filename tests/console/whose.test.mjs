import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Chrome } from './kit/console.mjs';
import { admin, demoAdmin, newPerson, paidOrder } from './kit/people.mjs';

/** @typedef {import('playwright-core').Page} Page */

const orderOf = async (/** @type {number} */ orderId) => (await admin.GET('/store/order/{orderId}', { params: { path: { orderId } } })).data;

/** Opens another order by the palette. @param {Page} page @param {number} id */
async function goToOrder(page, id) {
  await page.keyboard.press('Control+k');
  await page.keyboard.type(String(id));
  await page.getByRole('option', { name: `Order ${id}` }).first().waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: `Order ${id}`, level: 1 }).waitFor();
}

/** @param {Page} page @param {string} carrier @param {string} number */
async function fillShipment(page, carrier, number) {
  await page.getByRole('button', { name: 'Ship', exact: true }).click();
  await page.getByLabel('Carrier').fill(carrier);
  await page.getByLabel('Tracking number').fill(number);
}

describe('what is open or typed', () => {
  const chrome = new Chrome();
  /** @type {import('./kit/people.mjs').Person} */
  let staff;
  before(async () => {
    await chrome.open();
    staff = await newPerson('staff');
  });
  after(() => chrome.close());

  test('belongs to one order: Back takes neither a dialog nor a note to another', async () => {
    const [first, second] = [await paidOrder(), await paidOrder()];
    const visit = await chrome.visit(staff, { path: `/orders/${first}` });
    const { page } = visit;
    await goToOrder(page, second);
    await page.getByLabel('Note').fill('Of the second.');
    await fillShipment(page, 'UPS', 'OF-THE-SECOND');
    await page.goBack();
    await page.getByRole('heading', { name: `Order ${first}`, level: 1 }).waitFor();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    assert.equal(await page.getByLabel('Note').inputValue(), '');
    await page.goForward();
    await page.getByRole('heading', { name: `Order ${second}`, level: 1 }).waitFor();
    await page.getByRole('button', { name: 'Ship', exact: true }).click();
    assert.equal(await page.getByLabel('Tracking number').inputValue(), 'OF-THE-SECOND');
    assert.equal((await orderOf(first)).carrier, undefined);
    // The palette also looks for a plant of the order's number.
    await visit.leave(/404.*\/plant\//);
  });

  test('belongs to one person: neither a question nor a role is that of another', async () => {
    const [first, second] = [await newPerson('customer'), await newPerson('customer')];
    const visit = await chrome.visit(demoAdmin, { path: `/people/${first.username}` });
    const { page } = visit;
    await page.keyboard.press('Control+k');
    await page.keyboard.type(second.username);
    await page.getByRole('option', { name: second.username }).first().waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: second.username, level: 1 }).waitFor();
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog', { name: `Delete ${second.username}?` }).waitFor();
    await page.goBack();
    await page.getByRole('heading', { name: first.username, level: 1 }).waitFor();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await visit.leave();
  });

  test('does not replace a shipment that somebody else has made meanwhile', async () => {
    const id = await paidOrder();
    const visit = await chrome.visit(staff, { path: `/orders/${id}` });
    const { page } = visit;
    await fillShipment(page, 'UPS', 'SECOND');
    await admin.POST('/store/order/{orderId}/shipment', { params: { path: { orderId: id } }, body: { carrier: 'DHL', trackingNumber: 'FIRST' } });
    await page.getByRole('dialog').getByRole('button', { name: 'Ship', exact: true }).click();
    await page.getByRole('alert').getByText('It is shipped already, with DHL, FIRST.').waitFor();
    assert.equal((await orderOf(id)).trackingNumber, 'FIRST');
    await visit.leave();
  });

  test('is sent without the spaces and the unseen signs around it', async () => {
    const id = await paidOrder();
    const visit = await chrome.visit(staff, { path: `/orders/${id}` });
    const { page } = visit;
    await fillShipment(page, ' DHL\u200b ', '\u200e 00123\u202c\ufeff');
    await page.getByRole('dialog').getByRole('button', { name: 'Ship', exact: true }).click();
    await page.getByText(`Order ${id} is shipped.`).waitFor();
    const { carrier, trackingNumber } = await orderOf(id);
    assert.deepEqual({ carrier, trackingNumber }, { carrier: 'DHL', trackingNumber: '00123' });
    await visit.leave();
  });

  test('stays open while its request is under way', async () => {
    const id = await paidOrder();
    await admin.POST('/store/order/{orderId}/shipment', { params: { path: { orderId: id } }, body: { carrier: 'DHL', trackingNumber: '1' } });
    const visit = await chrome.visit(staff, { path: `/orders/${id}` });
    const { page } = visit;
    /** @type {() => void} */
    let release = () => undefined;
    const held = new Promise((resolve) => (release = () => resolve(undefined)));
    await page.route('**/delivery', async (route) => {
      await held;
      await route.continue();
    });
    await page.getByRole('button', { name: 'Report the delivery' }).click();
    await page.getByRole('button', { name: 'It was delivered' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Back', disabled: true }).waitFor();
    await page.keyboard.press('Escape');
    assert.equal(await page.getByRole('dialog').count(), 1);
    release();
    await page.getByText(`Order ${id} is delivered.`).waitFor();
    await visit.leave();
  });

  test('ends with the page if it is a change of many orders that was not begun', async () => {
    await Promise.all([paidOrder(), paidOrder()]);
    const visit = await chrome.visit(staff, { path: '/' });
    const { page } = visit;
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Orders' }).click();
    await page.getByRole('checkbox', { name: /^Select order \d+$/ }).first().check();
    await page.getByRole('group', { name: 'Selected orders' }).getByRole('button', { name: 'Ship' }).click();
    await page.getByRole('dialog', { name: 'Ship 1 order' }).waitFor();
    await page.goBack();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.goForward();
    await page.getByRole('group', { name: 'Selected orders' }).getByText('1 selected').waitFor();
    assert.equal(await page.getByRole('dialog').count(), 0);
    await visit.leave();
  });

  test('in a filter is what the address says', async () => {
    const visit = await chrome.visit(demoAdmin, { path: '/people' });
    const { page } = visit;
    await page.getByLabel('Name or e-mail address').fill('adm');
    await page.waitForURL(/q=adm/);
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'People' }).click();
    await page.waitForURL((url) => !url.search.includes('adm'));
    await page.waitForFunction(() => document.querySelector('input[value="adm"]') === null);
    assert.equal(await page.getByLabel('Name or e-mail address').inputValue(), '');
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Stream' }).click();
    await page.getByLabel('Order', { exact: true }).fill('1231');
    await page.waitForURL(/order=1231/);
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Stream' }).click();
    await page.waitForURL((url) => !url.search.includes('1231'));
    await page.waitForTimeout(200);
    assert.equal(await page.getByLabel('Order', { exact: true }).inputValue(), '');
    await visit.leave();
  });
});
