import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Chrome, logIn } from './kit/console.mjs';
import { address, admin, demoAdmin, fresh, newPerson, newPlant, paidOrder } from './kit/people.mjs';

/** @typedef {import('playwright-core').Page} Page */

/** @param {Page} page @param {string} name */
const goTo = (page, name) => page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name }).click();
/** @param {Page} page */
const notice = (page) => page.getByText('What you typed before is here again.');
/** What the tab keeps. @param {Page} page @returns {Promise<string>} */
const kept = (page) => page.evaluate(() => JSON.stringify(Object.entries(sessionStorage)));

describe('what is typed and not sent', () => {
  const chrome = new Chrome();
  before(() => chrome.open());
  after(() => chrome.close());

  test('is there again after another page, and can be discarded', async () => {
    const name = fresh('Draft');
    const plantId = await newPlant(10, name);
    const visit = await chrome.visit(demoAdmin, { path: `/plants/${plantId}` });
    const { page } = visit;
    const field = page.getByLabel('Name');
    await field.fill(`${name}, potted`);
    await page.getByLabel('Free units').fill('12');
    await goTo(page, 'Orders');
    await page.getByRole('heading', { name: 'Orders', level: 1 }).waitFor();
    await page.goBack();
    await notice(page).first().waitFor();
    assert.deepEqual([await field.inputValue(), await page.getByLabel('Free units').inputValue()], [`${name}, potted`, '12']);
    await visit.assertAccessible();
    await page.getByRole('button', { name: 'Discard it' }).first().click();
    assert.equal(await field.inputValue(), name);
    await page.getByRole('button', { name: 'Discard it' }).click();
    assert.equal(await page.getByLabel('Free units').inputValue(), '10');
    assert.equal(await notice(page).count(), 0);
    await page.reload();
    await field.waitFor();
    assert.equal(await notice(page).count(), 0);
    await visit.leave();
  });

  test('over what somebody else has changed meanwhile is a conflict, not an overwriting', async () => {
    const name = fresh('Meanwhile');
    const plantId = await newPlant(10, name);
    const visit = await chrome.visit(demoAdmin, { path: `/plants/${plantId}` });
    const { page } = visit;
    await page.getByLabel('Name').fill(`${name} mine`);
    await goTo(page, 'Orders');
    await page.getByRole('heading', { name: 'Orders', level: 1 }).waitFor();
    await admin.PUT('/plant', { body: { id: plantId, name: `${name} theirs` } });
    await page.goBack();
    await notice(page).waitFor();
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('alertdialog', { name: 'Someone else has changed this plant' }).getByText(`${name} theirs`).waitFor();
    await visit.leave(/412/);
  });

  test('is there again in every dialog, after a reload too', async () => {
    const orderId = await paidOrder();
    const [{ data: placed }, { data: unpaid }] = [await admin.POST('/store/order', { body: { plantId: await newPlant() } }), await admin.POST('/store/order', { body: { plantId: await newPlant() } })];
    const cancelled = await paidOrder();
    await admin.POST('/store/order/{orderId}/cancellation', { params: { path: { orderId: cancelled } }, body: { reason: 'Frost', restock: true } });
    const { username } = await newPerson('customer');
    const { data: webhook } = await admin.POST('/webhooks', { body: { url: 'https://receiver.example/hooks', eventTypes: ['order.placed'] } });
    const { data: destination } = await admin.POST('/destinations', { body: { name: 'Warehouse', url: 'nats://127.0.0.1:9', stream: 'EVENTS' } });
    /** @type {readonly [path: string, open: string, label: string, text: string][]} */
    const forms = [
      [`/orders/${orderId}`, 'Ship', 'Tracking number', 'GP 4711'],
      [`/orders/${orderId}`, 'Cancel the order', 'Reason', 'The leaves are damaged.'],
      [`/orders/${placed.id}`, 'Transfer', 'New owner', username],
      [`/orders/${unpaid.id}`, 'Report a payment', 'Reference', 'pay-draft'],
      [`/orders/${cancelled}`, 'Mark as refunded', 'Reference', 'refund-draft'],
      ['/webhooks', 'New webhook', 'Description', 'For the planner'],
      [`/webhooks/${webhook.id}`, 'Edit', 'Description', 'For the other planner'],
      [`/webhooks/${webhook.id}`, 'Replay', 'Before', '2026-01-02 03:04'],
      ['/destinations', 'New destination', 'Stream', 'EVENTS'],
      [`/destinations/${destination.id}`, 'Edit', 'Stream', 'OTHER'],
      [`/destinations/${destination.id}`, 'Replay', 'Before', '2026-01-02 03:04'],
      [`/people/${username}`, 'New API key', 'Name', 'planner'],
      ['/people?tab=clients', 'New client', 'Name', 'Planner'],
    ];
    const visit = await chrome.visit(demoAdmin);
    const { page } = visit;
    for (const [path, open, label, text] of forms) {
      const field = page.getByRole('dialog').getByLabel(label);
      await page.goto(`${address}/console${path}`);
      await page.getByRole('button', { name: open, exact: true }).click();
      await field.fill(text);
      assert.equal(await notice(page).count(), 0);
      await page.reload();
      await page.getByRole('button', { name: open, exact: true }).click();
      await notice(page).waitFor();
      assert.equal(await field.inputValue(), text, open);
    }
    await visit.leave();
  });

  test('for several orders is forgotten once all of them have changed', async () => {
    const plantId = await newPlant();
    const orders = [await paidOrder(plantId), await paidOrder(plantId)];
    const visit = await chrome.visit(demoAdmin, { path: `/orders?tab=to-ship&plantId=${plantId}` });
    const { page } = visit;
    const dialog = page.getByRole('dialog');
    const openShip = async () => {
      await page.getByRole('checkbox', { name: 'Select all orders that are loaded' }).check();
      await page.getByRole('group', { name: 'Selected orders' }).getByRole('button', { name: 'Ship' }).click();
    };
    await openShip();
    await dialog.getByLabel('Carrier').fill('Green Post');
    await dialog.getByLabel(`Tracking number of order ${orders[1]}`).fill('T2');
    await page.keyboard.press('Escape');
    await openShip();
    await dialog.getByText('here again: the carrier and the tracking number of 1 of these 2 orders.').waitFor();
    await dialog.getByLabel('Paste tracking numbers').fill(orders.map((id) => `${id};T${id}`).join('\n'));
    await dialog.getByRole('button', { name: 'Fill in' }).click();
    await dialog.getByRole('button', { name: 'Ship 2 orders' }).click();
    await dialog.getByText('2 of 2 orders are shipped.').waitFor();
    assert.equal(await notice(page).count(), 0);
    // However the dialog is left.
    await page.goto(`${address}/console/orders`);
    await page.getByRole('heading', { name: 'Orders', level: 1 }).waitFor();
    assert.equal((await kept(page)).includes('Green Post'), false);
    await visit.leave();
  });

  test('is there again after the session’s end, for the same user only, and not after it was sent', async () => {
    const [staff, other] = [await newPerson('admin'), await newPerson('admin')];
    const name = fresh('Ended');
    const visit = await chrome.visit(staff, { path: '/plants/new' });
    const { page } = visit;
    await page.getByLabel('Name').fill(name);
    await page.getByLabel('Units in stock').fill('7');
    await endSession(page, staff);
    await page.getByRole('button', { name: 'Log in' }).click();
    await logIn(page, other);
    await page.getByRole('navigation', { name: 'Pages' }).waitFor();
    await page.goto(`${address}/console/plants/new`);
    await page.getByLabel('Units in stock').waitFor();
    assert.equal(await page.getByLabel('Name').inputValue(), '');
    await endSession(page, other);
    await page.getByRole('button', { name: 'Log in' }).click();
    await logIn(page, staff);
    await page.getByRole('navigation', { name: 'Pages' }).waitFor();
    await page.goto(`${address}/console/plants/new`);
    await notice(page).waitFor();
    assert.deepEqual([await page.getByLabel('Name').inputValue(), await page.getByLabel('Units in stock').inputValue()], [name, '7']);
    await page.getByRole('button', { name: 'Add the plant' }).click();
    await page.getByRole('heading', { name, level: 1, exact: true }).waitFor();
    assert.ok(!(await kept(page)).includes(name));
    await page.goto(`${address}/console/plants/new`);
    await page.getByLabel('Units in stock').waitFor();
    assert.equal(await page.getByLabel('Name').inputValue(), '');
    assert.equal(await notice(page).count(), 0);
    await visit.leave(/400|401/);
  });

  test('is forgotten when its user logs out, and a password is never kept', async () => {
    const boss = await newPerson('admin');
    const visit = await chrome.visit(boss, { path: '/plants/new' });
    const { page } = visit;
    const name = fresh('Forgotten');
    await page.getByLabel('Name').fill(name);
    assert.ok((await kept(page)).includes(name));
    await page.getByRole('button', { name: 'Log out' }).click();
    await page.getByText('You are logged out.').waitFor();
    assert.ok(!(await kept(page)).includes(name));
    await page.getByRole('button', { name: 'Log in' }).click();
    await logIn(page, boss);
    await page.getByLabel('Units in stock').waitFor();
    assert.equal(await page.getByLabel('Name').inputValue(), '');
    assert.ok(!(await kept(page)).includes(boss.password));
    await visit.leave();
  });

  test('is not continued by what is typed when the dialog opens again', async () => {
    const visit = await chrome.visit(demoAdmin, { path: `/plants/${await newPlant(9)}` });
    const { page } = visit;
    const units = page.getByRole('dialog').getByLabel('Units').and(page.locator(':focus'));
    for (const typed of ['12', '5']) {
      await page.getByRole('button', { name: 'Change the stock' }).click();
      await units.waitFor();
      await page.keyboard.type(typed);
      assert.equal(await units.inputValue(), typed);
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
    }
    await visit.leave();
  });

  test('into a dialog of an order stays while somebody else changes the order, and the dialog says what it is now', async () => {
    const id = await paidOrder();
    const visit = await chrome.visit(demoAdmin, { path: `/orders/${id}` });
    const { page } = visit;
    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'Ship', exact: true }).click();
    await dialog.getByLabel('Carrier').fill('Green Post');
    await admin.POST('/store/order/{orderId}/shipment', { params: { path: { orderId: id } }, body: { carrier: 'Blue Post', trackingNumber: 'B1' } });
    await dialog.getByRole('alert').getByText('It is shipped now, with Blue Post, B1.').waitFor();
    await dialog.getByLabel('Tracking number').fill('G1');
    await dialog.getByLabel('Tracking number').press('Enter');
    await dialog.getByText('if yours is right, choose “Correct the shipment”').waitFor();
    await visit.assertAccessible();

    const other = await paidOrder();
    await page.goto(`${address}/console/orders/${other}`);
    await page.getByRole('button', { name: 'Cancel the order' }).click();
    await dialog.getByLabel('Reason').fill('They moved');
    await admin.POST('/store/order/{orderId}/cancellation', { params: { path: { orderId: other } }, body: { reason: 'By phone', restock: true } });
    await dialog.getByRole('alert').getByText('It is cancelled now.').waitFor();
    assert.equal(await dialog.getByLabel('Reason').inputValue(), 'They moved');
    assert.equal(await dialog.getByRole('button', { name: 'Cancel the order' }).isDisabled(), true);
    await visit.leave(/409|412/);
  });
});

/** Ends the session elsewhere, which pages with live events notice at once. @param {Page} page @param {import('./kit/people.mjs').Person} person */
async function endSession(page, { username }) {
  await admin.DELETE('/user/{username}/sessions', { params: { path: { username } } });
  await goTo(page, 'Orders');
  await page.getByText('Your session has ended').waitFor();
}
