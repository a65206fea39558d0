import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { misplaced } from './kit/boxes.mjs';
import { Chrome, untilFilesOfAllPages } from './kit/console.mjs';
import { address, admin, demoAdmin, fresh, newPerson, newPlant, paidOrder } from './kit/people.mjs';

/** @typedef {import('playwright-core').Page} Page */

/** @param {Page} page */
async function openShipping(page) {
  await page.getByRole('button', { name: 'Ship', exact: true }).click();
  return page.getByRole('dialog');
}
/** @param {import('./kit/people.mjs').Person} person @param {'customer' | 'staff'} role */
const setRole = ({ username }, role) => admin.PUT('/user/{username}/role', { params: { path: { username } }, body: { role } });

describe('in rough conditions', () => {
  const chrome = new Chrome();
  before(() => chrome.open());
  after(() => chrome.close());

  test('a text that is much too long stays as it was pasted, and its field says what fits', async () => {
    const long = `${fresh('Long')} ${'🌵 نبات طويل '.repeat(1_000)}`.slice(0, 10_000);
    const plantId = await newPlant();
    const orderId = await paidOrder(plantId);
    const visit = await chrome.visit(demoAdmin, { path: '/plants/new' });
    const { page } = visit;
    /** Pastes, sends, and reads the field. @param {import('playwright-core').Locator} field @param {string} button @param {string} fault */
    const refused = async (field, button, fault) => {
      await field.fill(long);
      await field.page().getByRole('button', { name: button, exact: true }).last().click();
      await field.page().getByText(fault, { exact: true }).first().waitFor();
      assert.equal(await field.inputValue(), long);
      assert.deepEqual(await misplaced(page), []);
    };
    await refused(page.getByRole('textbox', { name: 'Name' }), 'Add the plant', 'Enter 1 to 200 characters.');
    await visit.assertAccessible();
    await page.goto(`${address}/console/orders/${orderId}`);
    await refused(page.getByRole('textbox', { name: 'Note' }), 'Add the note', 'Enter 1 to 2,000 characters.');
    const dialog = await openShipping(page);
    await dialog.getByLabel('Tracking number').fill('1');
    await dialog.getByLabel('Carrier').fill(long);
    await dialog.getByRole('button', { name: 'Ship', exact: true }).click();
    await dialog.getByText('Enter 1 to 200 characters.', { exact: true }).first().waitFor();
    assert.equal(await dialog.getByLabel('Carrier').inputValue(), long);
    await page.setViewportSize({ width: 390, height: 844 });
    assert.ok(await dialog.evaluate(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth));
    await visit.leave(/400/);
  });

  test('letters from right to left, emoji and markup are shown as they are, and move nothing beside them', async () => {
    const name = `${fresh('Rough')} نبات الظل \u{1F1E9}\u{1F1EA}👩🏽‍🌾🌵 <b>fern</b> שרך`;
    const plantId = await newPlant(3, name);
    const orderId = await paidOrder(plantId);
    const text = 'ملاحظة: \u202Eabc 🌿 <script>alert(1)</script>';
    await admin.POST('/store/order/{orderId}/note', { params: { path: { orderId } }, body: { text } });
    for (const width of [390, 1440]) {
      const visit = await chrome.visit(demoAdmin, { path: `/orders?tab=all&plantId=${plantId}`, viewport: { width, height: 844 }, scheme: 'dark' });
      const { page } = visit;
      await page.getByRole('table', { name: 'Orders' }).getByText(name, { exact: true }).waitFor();
      assert.deepEqual(await misplaced(page), []);
      await page.goto(`${address}/console/orders/${orderId}`);
      await page.getByText(text, { exact: true }).waitFor();
      // A character that turns the direction of the text ends with it.
      const [note, sign] = await Promise.all([page.getByText(text, { exact: true }).boundingBox(), page.getByRole('region', { name: 'Timeline' }).getByText('Note', { exact: true }).first().boundingBox()]);
      assert.ok(note && sign && Math.abs(note.x - sign.x) < 4);
      assert.deepEqual(await misplaced(page), []);
      await page.goto(`${address}/console/plants/${plantId}`);
      await page.getByRole('heading', { level: 1, name, exact: true }).waitFor();
      assert.deepEqual(await misplaced(page), []);
      await visit.leave();
    }
  });

  test('a connection of 400 kbit/s opens the console, and a change waits visibly and is sent once', { timeout: 180_000 }, async () => {
    const orderId = await paidOrder(await newPlant());
    const visit = await chrome.visit(await newPerson('staff'), { path: '/' });
    const { page } = visit;
    const network = await page.context().newCDPSession(page);
    await network.send('Network.enable');
    await network.send('Network.setCacheDisabled', { cacheDisabled: true });
    await network.send('Network.emulateNetworkConditions', { offline: false, latency: 400, downloadThroughput: 50_000, uploadThroughput: 50_000 });
    // Its own files, which it loads ahead, do not keep it from noticing that the shop answers.
    await page.addInitScript(() => new MutationObserver(() => {
      if (document.body?.textContent?.includes('cannot be reached')) Object.assign(window, { wasLost: true });
    }).observe(document, { subtree: true, childList: true }));
    const begun = performance.now();
    await page.goto(`${address}/console/orders/${orderId}`);
    await page.getByRole('heading', { level: 1, name: `Order ${orderId}` }).waitFor({ timeout: 60_000 });
    console.log(`An order is shown after ${((performance.now() - begun) / 1_000).toFixed(1)} s at 400 kbit/s`);
    const dialog = await openShipping(page);
    await dialog.getByLabel('Carrier').fill('Green Post');
    await dialog.getByLabel('Tracking number').fill('SLOW 1');
    let sent = 0;
    page.on('request', (request) => {
      if (request.method() === 'POST' && request.url().endsWith('/shipment')) sent += 1;
    });
    const send = dialog.getByRole('button', { name: 'Ship', exact: true });
    await send.dblclick();
    // Until the answer nothing says that it is shipped.
    await send.and(page.locator('[data-loading]')).waitFor();
    assert.equal(await page.getByText('SLOW 1', { exact: true }).count(), 0);
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('region', { name: 'Details' }).getByText('SLOW 1').waitFor();
    assert.equal(sent, 1);
    await untilFilesOfAllPages(page);
    assert.equal(await page.evaluate(() => 'wasLost' in window), false);
    await visit.leave();
  });

  test('a change made without a network waits with what was typed, and is made once the network is back', async () => {
    const orderId = await paidOrder(await newPlant());
    const visit = await chrome.visit(await newPerson('staff'), { path: `/orders/${orderId}` });
    const { page } = visit;
    const dialog = await openShipping(page);
    await dialog.getByLabel('Carrier').fill('Green Post');
    await dialog.getByLabel('Tracking number').fill('AWAY 1');
    await page.context().setOffline(true);
    await dialog.getByRole('button', { name: 'Ship', exact: true }).click();
    await page.getByText('This computer has no network', { exact: true }).waitFor();
    await dialog.getByText('This computer has no network now.').waitFor();
    assert.equal(await page.getByText('Live', { exact: true }).count(), 0);
    await visit.assertAccessible();
    assert.equal(await dialog.getByLabel('Tracking number').inputValue(), 'AWAY 1');
    await page.context().setOffline(false);
    await dialog.waitFor({ state: 'detached', timeout: 60_000 });
    await page.getByRole('region', { name: 'Details' }).getByText('AWAY 1').waitFor();
    await visit.leave(/ERR_INTERNET_DISCONNECTED|ERR_NETWORK_CHANGED/);
  });

  test('an account whose role changes while it works is told so where it works, and finds again what it typed', async () => {
    const person = await newPerson('staff');
    const orderId = await paidOrder(await newPlant());
    const visit = await chrome.visit(person, { path: `/orders/${orderId}` });
    const { page } = visit;
    const dialog = await openShipping(page);
    await dialog.getByLabel('Carrier').fill('Green Post');
    await dialog.getByLabel('Tracking number').fill('ROLE 1');
    await setRole(person, 'customer');
    await dialog.getByRole('button', { name: 'Ship', exact: true }).click();
    await dialog.getByRole('alert').getByText(/^Your role was changed: you may no longer .*report shipments/).waitFor();
    await visit.assertAccessible();
    assert.equal((await admin.GET('/store/order/{orderId}', { params: { path: { orderId } } })).data.carrier, undefined);
    await setRole(person, 'staff');
    await page.goto(`${address}/console/orders/${orderId}`);
    await openShipping(page);
    assert.equal(await dialog.getByLabel('Tracking number').inputValue(), 'ROLE 1');
    await dialog.getByRole('button', { name: 'Ship', exact: true }).click();
    await dialog.waitFor({ state: 'detached' });
    await visit.leave(/40[34]/);
  });

  test('a role that is given back is noticed without a reload, in all that the page shows', async () => {
    const person = await newPerson('staff');
    const orderId = await paidOrder(await newPlant());
    const visit = await chrome.visit(person, { path: `/orders/${orderId}` });
    const { page } = visit;
    const navigation = page.getByRole('navigation', { name: 'Pages' });
    const banner = page.getByText('You may do less than before', { exact: true });
    await page.getByLabel('Note').fill('Written as staff.');
    await setRole(person, 'customer');
    // The page notices it by itself: it reads the timeline again and again.
    await banner.waitFor();
    await page.getByText('The order could not be loaded again').waitFor();
    // It is kept, and says so where it can be read.
    assert.equal(await page.getByLabel('Note').inputValue(), 'Written as staff.');
    assert.equal(await page.getByRole('button', { name: 'Add the note' }).isDisabled(), true);
    await setRole(person, 'staff');
    await page.getByText('The order could not be loaded again').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Ship', exact: true }).waitFor();
    await setRole(person, 'customer');
    await page.getByText('The order could not be loaded again').waitFor();
    await navigation.getByRole('link', { name: 'Plants' }).waitFor({ state: 'detached' });
    await navigation.getByRole('link', { name: 'Orders' }).click();
    await page.getByText(/^Your orders,/).waitFor();
    await page.getByRole('tab', { name: /^All/ }).click();
    await page.getByRole('heading', { name: 'There are no orders yet' }).waitFor();
    assert.equal(await page.getByText('First list a plant').count(), 0);
    await setRole(person, 'staff');
    await banner.waitFor({ state: 'detached' });
    await navigation.getByRole('link', { name: 'Plants' }).waitFor();
    await page.getByText(/^All customers’ orders,/).waitFor();
    await page.getByRole('table', { name: 'Orders' }).getByRole('link', { name: String(orderId), exact: true }).waitFor();
    await navigation.getByRole('link', { name: 'Today' }).click();
    await page.getByRole('region', { name: 'To ship', exact: true }).getByText(/^[1-9]/).waitFor();
    // A role that is taken is noticed when the person returns to the window.
    await setRole(person, 'customer');
    await page.evaluate(() => window.dispatchEvent(new Event('visibilitychange')));
    await banner.waitFor();
    await visit.leave(/40[34]/);
  });

  test('two tabs of one person show the same, and the second change says what the first one did', async () => {
    const name = fresh('Two tabs');
    const plantId = await newPlant(5, name);
    const orderId = await paidOrder(plantId);
    const visit = await chrome.visit(await newPerson('staff'), { path: `/plants/${plantId}` });
    const { page } = visit;
    const other = await page.context().newPage();
    await other.goto(`${address}/console/plants/${plantId}`);
    for (const tab of [page, other]) await tab.getByRole('heading', { level: 1, name }).waitFor();
    await page.getByLabel('Name').fill(`${name} first`);
    await other.getByLabel('Name').fill(`${name} second`);
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('heading', { level: 1, name: `${name} first` }).waitFor();
    await other.getByRole('button', { name: 'Save', exact: true }).click();
    await other.getByRole('alertdialog', { name: 'Someone else has changed this plant' }).getByText(`${name} first`).waitFor();
    assert.equal(await other.getByLabel('Name').inputValue(), `${name} second`);

    // What one tab does, the other one shows without a reload.
    for (const tab of [page, other]) {
      await tab.goto(`${address}/console/orders/${orderId}`);
      await tab.getByRole('button', { name: 'Ship', exact: true }).waitFor();
    }
    const dialog = await openShipping(page);
    await dialog.getByLabel('Carrier').fill('Green Post');
    await dialog.getByLabel('Tracking number').fill('TAB 1');
    await dialog.getByRole('button', { name: 'Ship', exact: true }).click();
    await other.getByRole('region', { name: 'Details' }).getByText('TAB 1').waitFor();
    await page.getByRole('button', { name: 'Log out' }).click();
    await other.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Plants' }).click();
    await other.getByText('Your session has ended.').waitFor();
    await visit.leave(/40[01]|412/);
  });
});
