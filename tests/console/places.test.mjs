import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Chrome } from './kit/console.mjs';
import { focusByKey } from './kit/keyboard.mjs';
import { repeatOrder } from './kit/many-orders.mjs';
import { address, admin, demoAdmin, fresh, newPerson, newPlant, paidOrder } from './kit/people.mjs';

/** @param {import('playwright-core').Page} page @param {string} name */
const heading = (page, name) => page.getByRole('heading', { name, level: 1, exact: true });
/** @param {import('playwright-core').Page} page @param {string} name */
const goTo = (page, name) => page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name }).click();

describe('the place', () => {
  const chrome = new Chrome();
  /** @type {import('./kit/people.mjs').Person} */
  let staff;
  before(async () => {
    staff = await newPerson('staff');
    await chrome.open();
  });
  after(() => chrome.close());

  test('before a reload is reached by Back, however often the page was reloaded', async () => {
    const visit = await chrome.visit(staff);
    const { page } = visit;
    await goTo(page, 'Orders');
    await heading(page, 'Orders').waitFor();
    const entries = await page.evaluate(() => history.length);
    for (let reloads = 0; reloads < 2; reloads += 1) {
      await page.reload();
      await heading(page, 'Orders').waitFor();
    }
    assert.equal(await page.evaluate(() => history.length), entries);
    await page.goBack();
    await heading(page, 'Today').waitFor();
    await page.waitForURL(`${address}/console/`);
    await visit.leave();
  });

  test('in a long list is the same after Back', async () => {
    const plantId = await newPlant(20_000);
    const { data: order } = await admin.POST('/store/order', { body: { plantId } });
    await repeatOrder(order.id, 1_500);
    const visit = await chrome.visit(staff, { path: `/orders?plantId=${plantId}` });
    const { page } = visit;
    const table = page.getByRole('table', { name: 'Orders' });
    await table.getByRole('row').nth(5).waitFor();
    const first = await scrolledTo(table, 20_000);
    await table.getByRole('link', { name: first, exact: true }).click();
    await heading(page, `Order ${first}`).waitFor();
    await page.goBack();
    await table.getByRole('link', { name: first, exact: true }).waitFor();
    await page.waitForFunction(() => document.querySelector('[role=table]')?.scrollTop === 20_000);
    // Also after a reload, as far as one page of the list reaches.
    const near = await scrolledTo(table, 900);
    await table.getByRole('link', { name: near, exact: true }).click();
    await heading(page, `Order ${near}`).waitFor();
    await page.reload();
    await heading(page, `Order ${near}`).waitFor();
    await page.goBack();
    await page.waitForFunction(() => document.querySelector('[role=table]')?.scrollTop === 900);
    // The row that the keyboard reaches is in view.
    await table.getByRole('row').nth(4).getByRole('link').focus();
    for (let n = 0; n < 15; n++) {
      await page.keyboard.press('ArrowDown');
      await page.waitForFunction(() => {
        const [focused, around] = [document.activeElement, document.querySelector('[role=table]')].map((one) => one?.getBoundingClientRect());
        return focused && around && focused.bottom <= around.bottom && focused.top >= around.top + 41;
      });
    }
    await visit.leave();
  });

  test('in a long list is reached by Tab: the first order, or the one that had the focus last, however far the list is scrolled', async () => {
    const plantId = await newPlant(1_000);
    const { data: { id } } = await admin.POST('/store/order', { body: { plantId } });
    await repeatOrder(id, 300);
    const visit = await chrome.visit(staff, { path: `/orders?plantId=${plantId}` });
    const { page } = visit;
    const table = page.getByRole('table', { name: 'Orders' });
    const first = table.locator('[aria-rowindex="2"]').getByRole('checkbox');
    await first.waitFor();
    // Only what acts is a tab stop.
    assert.equal(await table.getAttribute('tabindex'), null);
    await focusByKey(page.getByRole('checkbox', { name: 'Select all orders that are loaded' }));
    await scrolledTo(table, 6_600);
    await page.keyboard.press('Tab');
    await page.getByRole('button', { name: 'Placed' }).and(page.locator(':focus')).waitFor();
    await page.keyboard.press('Tab');
    await first.and(page.locator(':focus')).waitFor();
    await page.keyboard.press('ArrowDown');
    const second = table.locator('[aria-rowindex="3"]').getByRole('link');
    await second.and(page.locator(':focus')).waitFor();
    await scrolledTo(table, 6_600);
    await page.keyboard.press('Tab');
    await page.keyboard.press('Shift+Tab');
    await second.and(page.locator(':focus')).waitFor();
    // The header does not cover it.
    assert.ok(await second.evaluate((element) => element.contains(document.elementFromPoint(element.getBoundingClientRect().x + 1, element.getBoundingClientRect().y + 1))));
    await visit.leave();
  });

  test('is the list as it was left, from the link above an order', async () => {
    const plantId = await newPlant();
    const { data: order } = await admin.POST('/store/order', { body: { plantId } });
    const visit = await chrome.visit(staff, { path: `/orders?plantId=${plantId}` });
    const { page } = visit;
    await page.getByRole('tab', { name: 'Awaiting payment' }).click();
    await page.getByRole('link', { name: String(order.id), exact: true }).click();
    await heading(page, `Order ${order.id}`).waitFor();
    await page.getByRole('main').getByRole('link', { name: 'Orders', exact: true }).click();
    await page.getByRole('tab', { name: 'Awaiting payment', selected: true }).waitFor();
    assert.deepEqual(Object.fromEntries(new URL(page.url()).searchParams), { plantId: String(plantId), tab: 'awaiting' });
    await visit.leave();
  });

  test('is the plants as they were left, from the link above a plant', async () => {
    const name = fresh('Left');
    await newPlant(3, name);
    const visit = await chrome.visit(staff, { path: `/plants?q=${name}` });
    const { page } = visit;
    await page.getByRole('link', { name, exact: true }).click();
    await heading(page, name).waitFor();
    await page.getByRole('link', { name: 'Back to the plants' }).click();
    await page.getByRole('link', { name, exact: true }).waitFor();
    assert.equal(new URL(page.url()).searchParams.get('q'), name);
    await visit.leave();
  });

  test('in a list has one filter more with each step, which Back undoes', async () => {
    await admin.POST('/store/order', { body: { plantId: await newPlant() } });
    const visit = await chrome.visit(demoAdmin, { path: '/orders?tab=all' });
    const { page } = visit;
    const filters = page.getByRole('search', { name: 'Filters' });
    /** @param {RegExp} wanted */
    const shows = (wanted) => page.waitForFunction((source) => new RegExp(source).test(location.search), wanted.source);
    const search = filters.getByLabel('Search', { exact: true });
    await search.fill('ad');
    await shows(/^\?(?=.*q=ad(&|$))/);
    await search.fill('admin');
    await shows(/q=admin/);
    await filters.getByText('placed', { exact: true }).click();
    await shows(/status=placed/);
    await page.getByRole('button', { name: 'Placed', exact: true }).click();
    await shows(/sort=placedAt/);
    await page.getByRole('tab', { name: /^Refund due/ }).click();
    await shows(/tab=refund/);
    for (const [wanted, typed] of /** @type {const} */ ([[/sort=placedAt/, 'admin'], [/^(?!.*sort).*status=placed/, 'admin'], [/^(?!.*status).*q=admin/, 'admin'], [/^\?tab=all$/, '']])) {
      await page.goBack();
      await shows(wanted);
      await page.waitForFunction((value) => document.querySelector('input[type=search]') instanceof HTMLInputElement && /** @type {HTMLInputElement} */ (document.querySelector('input[type=search]')).value === value, typed);
    }
    await page.goForward();
    await shows(/q=admin/);
    await page.goto(`${address}/console/plants`);
    await page.getByRole('combobox', { name: 'Order' }).click();
    await page.getByRole('option', { name: 'By name' }).click();
    await shows(/sort=name/);
    await page.goBack();
    await shows(/^$/);
    await heading(page, 'Plants').waitFor();
    assert.equal(await page.getByRole('combobox', { name: 'Order' }).inputValue(), 'Newest first');
    await visit.leave();
  });

  test('to which the reader has gone on stays, when the answer to a new plant comes', async () => {
    const name = fresh('Late fern');
    const visit = await chrome.visit(demoAdmin, { path: '/plants/new' });
    const { page } = visit;
    await page.route(/\/v3\/plant$/, async (route) => {
      await new Promise((resolve) => void setTimeout(resolve, 1_500));
      await route.continue();
    });
    await page.getByLabel('Name').fill(name);
    await page.getByRole('button', { name: 'Add the plant' }).click();
    await goTo(page, 'People');
    await page.getByText(`${name} was added.`).waitFor();
    await page.waitForTimeout(500);
    assert.equal(new URL(page.url()).pathname, '/console/people');
    await visit.leave();
  });

  test('among people is as it was left, from the link above a person', async () => {
    const visit = await chrome.visit(demoAdmin, { path: '/people?q=adm' });
    const { page } = visit;
    await page.getByRole('link', { name: 'admin', exact: true }).click();
    await heading(page, 'admin').waitFor();
    await page.getByRole('link', { name: 'All people' }).click();
    await page.waitForURL(/\/people\?q=adm$/);
    await visit.leave();
  });

  test('in the plants is the same after Back', async () => {
    const word = fresh('Scrolled').replaceAll('-', '');
    const lines = Array.from({ length: 300 }, (_, n) => `${JSON.stringify({ id: 7_000_000_000_000 + Math.floor(Math.random() * 1e12), name: `${word} ${n}` })}\n`).join('');
    await admin.POST('/plant/import', { body: lines, parseAs: 'text' });
    const visit = await chrome.visit(demoAdmin, { path: `/plants?q=${word}&sort=name` });
    const { page } = visit;
    const links = page.getByRole('table', { name: 'Plants' }).getByRole('link');
    await links.nth(5).waitFor();
    await page.evaluate(() => window.scrollTo(0, 5_000));
    await page.waitForFunction(() => Number(document.querySelector('[data-index]')?.getAttribute('data-index')) > 50);
    const name = (await links.nth(20).textContent()) ?? '';
    await page.waitForTimeout(200);
    await links.nth(20).click();
    await heading(page, name).waitFor();
    await page.goBack();
    await page.getByRole('link', { name, exact: true }).waitFor();
    await page.waitForFunction(() => Math.abs(window.scrollY - 5_000) < 100);
    // After a reload, as far as one page of the list reaches.
    await page.reload();
    await page.getByRole('link', { name, exact: true }).waitFor();
    await page.waitForFunction(() => Math.abs(window.scrollY - 5_000) < 100);
    await visit.leave();
  });

  test('is named in the tab; an address without a meaning is said to have none', async () => {
    const name = fresh('Titled fern');
    const plantId = await newPlant(3, name);
    const visit = await chrome.visit(demoAdmin, { path: `/plants/${plantId}` });
    const { page } = visit;
    await heading(page, name).waitFor();
    assert.equal(await page.title(), `${name} · Plant shop`);
    for (const path of ['/orders/abc', '/orders/1.5', '/plants/0', '/webhooks/nope', '/destinations/x']) {
      await page.goto(`${address}/console${path}`);
      await heading(page, 'Page not found').waitFor();
      assert.equal(await page.title(), 'Page not found · Plant shop');
    }
    await visit.leave();
  });

  test('is named in the tab by what it shows: the order, the person, the open part, the log-in', async () => {
    const { data: { id } } = await admin.POST('/store/order', { body: { plantId: await newPlant() } });
    const { username } = await newPerson('customer');
    // Logs out, so no other test may have this log-in.
    const visit = await chrome.visit(await newPerson('admin'), { path: `/orders/${id}` });
    const { page } = visit;
    for (const [path, title] of [[`/orders/${id}`, `Order ${id}`], ['/orders?tab=refund', 'Refund due · Orders'], [`/people/${username}`, username], ['/people?tab=audit', 'Audit log · People'], ['/plants/1', 'Plant 1']]) {
      await page.goto(`${address}/console${path}`);
      await page.waitForFunction((wanted) => document.title === wanted, `${title} · Plant shop`);
    }
    await page.getByRole('button', { name: 'Log out' }).click();
    await page.getByText('You are logged out.').waitFor();
    assert.equal(await page.title(), 'Plant shop console');
    await visit.leave(/404/);
  });

  test('that a link names by digits is found', async () => {
    const boss = await newPerson('admin');
    const visit = await chrome.visit(boss, { path: '/people?q=123' });
    const { page } = visit;
    for (const [path, field] of [['people?q=123', 'Name or e-mail address'], ['people?tab=audit&by=123', 'Done by'], ['webhooks?owner=123', 'Owner'], ['mails?to=true', 'To'], ['orders?tab=all&owner=123', 'Owner'], ['plants?q=123', 'Search']]) {
      await page.goto(`${address}/console/${path}`);
      await page.waitForFunction((label) => [...document.querySelectorAll('input')].some((input) => [...(input.labels ?? [])].some((one) => one.textContent?.startsWith(label)) && input.value !== ''), field ?? '');
    }
    await visit.leave(/40[04]/);
  });

  test('in time that a link names is the same in every time zone', async () => {
    const visit = await chrome.visit(staff, { path: '/orders' });
    const { page } = visit;
    // The browser is in Berlin, in summer two hours before UTC.
    await page.getByLabel('Placed from').fill('2026-05-01 10:00');
    await page.waitForURL((url) => url.searchParams.get('from') === '2026-05-01T08:00:00.000Z');
    for (const [from, shown] of [['2026-05-01T10:00', '2026-05-01 12:00'], ['2026-05-01T10:00:00%2B05:00', '2026-05-01 07:00'], ['2026-05-01', '2026-05-01 02:00']]) {
      await page.goto(`${address}/console/orders?from=${from}`);
      await page.waitForFunction((wanted) => [...document.querySelectorAll('input')].some(({ value }) => value === wanted), shown);
    }
    await visit.leave();
  });

  test('in time of what has happened lies never ahead, even if this computer’s clock is late', async () => {
    const plantId = await newPlant();
    const visit = await chrome.visit(staff, { path: '/stream' });
    const { page } = visit;
    await page.clock.install({ time: Date.now() - 90_000 });
    const { data: { id } } = await admin.POST('/store/order', { body: { plantId } });
    await page.goto(`${address}/console/orders/${id}`);
    const placed = page.getByRole('region', { name: 'Details' }).getByRole('row', { name: /^Placed/ });
    await placed.getByText('just now').waitFor();
    // What is planned may lie ahead.
    await page.getByRole('row', { name: /^Expires if unpaid in / }).waitFor();
    await visit.leave();
  });

  test('of the focus is where it was when a dialog closes, or what it was on goes away', async () => {
    const { data: { id } } = await admin.POST('/store/order', { body: { plantId: await newPlant() } });
    await admin.POST('/store/order/{orderId}/payment', { params: { path: { orderId: id } }, body: { outcome: 'succeeded', reference: fresh('payment') } });
    const visit = await chrome.visit(staff, { path: `/orders/${id}` });
    const { page } = visit;
    for (const name of ['Ship', 'Transfer', 'Cancel the order', 'Report the delivery']) {
      const opener = page.getByRole('button', { name, exact: true });
      await opener.click();
      await page.getByRole('dialog').waitFor();
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      await opener.and(page.locator(':focus')).waitFor();
    }
    await page.getByRole('button', { name: 'Cancel the order' }).click();
    await page.getByLabel('Reason').fill('Damaged');
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel the order' }).click();
    await page.getByText(`Order ${id} is cancelled.`).waitFor();
    await page.getByRole('group', { name: 'Actions' }).getByRole('button', { name: 'Cancel the order' }).waitFor({ state: 'detached' });
    // The button is gone; the focus stays among the actions.
    await page.locator('[role=group][aria-label=Actions]:focus-within').waitFor();
    await visit.leave();

    const people = await chrome.visit(demoAdmin, { path: '/people?tab=clients' });
    const newClient = people.page.getByRole('button', { name: 'New client' });
    await newClient.click();
    await people.page.getByRole('dialog').waitFor();
    await people.page.keyboard.press('Escape');
    await newClient.and(people.page.locator(':focus')).waitFor();
    await people.leave();
  });

  test('among found plants stays when one of them is deleted', async () => {
    const name = fresh('Doomed');
    await newPlant(1, `${name} one`);
    await newPlant(1, `${name} two`);
    const visit = await chrome.visit(demoAdmin, { path: `/plants?q=${name}` });
    const { page } = visit;
    await page.getByRole('link', { name: `${name} one` }).click();
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByRole('button', { name: 'Delete the plant' }).click();
    await page.getByText('1 plant', { exact: true }).waitFor();
    await page.getByRole('link', { name: `${name} two` }).waitFor();
    assert.equal(new URL(page.url()).search, `?q=${name}`);
    // The page may have asked for the stock before it was left.
    await visit.leave(/404/);
  });

  test('of the focus is beside “Stop” while many orders are shipped, where a second Enter does nothing', async () => {
    const plantId = await newPlant();
    const ids = [await paidOrder(plantId), await paidOrder(plantId)];
    const visit = await chrome.visit(staff, { path: `/orders?tab=to-ship&plantId=${plantId}` });
    const { page } = visit;
    const answer = Promise.withResolvers();
    await page.route('**/shipment', async (route) => {
      await answer.promise;
      await route.continue();
    });
    await page.getByRole('checkbox', { name: 'Select all orders that are loaded' }).check();
    await page.getByRole('group', { name: 'Selected orders' }).getByRole('button', { name: 'Ship' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Carrier').fill('Green Post');
    for (const id of ids) await dialog.getByLabel(`Tracking number of order ${id}`).fill(`T${id}`);
    await dialog.getByRole('button', { name: 'Ship 2 orders' }).press('Enter');
    await dialog.getByRole('group', { name: 'Actions' }).and(page.locator(':focus')).waitFor();
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    await dialog.getByRole('button', { name: 'Stop' }).and(page.locator(':focus')).waitFor();
    await dialog.getByRole('button', { name: 'Ship 2 orders', disabled: true }).waitFor();
    answer.resolve(undefined);
    await dialog.getByRole('button', { name: 'Print for 2 orders' }).and(page.locator(':focus')).waitFor();
    await visit.leave();
  });
});

/** Scrolls a table, and returns the order in the middle of its view. @param {import('playwright-core').Locator} table @param {number} top @returns {Promise<string>} */
async function scrolledTo(table, top) {
  await table.evaluate((element, to) => element.scrollTo(0, to), top);
  await table.page().waitForFunction((to) => document.querySelector('[role=table]')?.scrollTop === to, top);
  const row = table.locator(`[aria-rowindex="${Math.floor(top / 44) + 6}"]`);
  await row.waitFor();
  // The router notes the position of what was scrolled a moment later.
  await table.page().waitForTimeout(300);
  return (await row.getByRole('link').textContent()) ?? '';
}
