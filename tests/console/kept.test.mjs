import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Chrome } from './kit/console.mjs';
import { address, admin, demoAdmin, fresh, newPerson, shopOf } from './kit/people.mjs';

/** @typedef {import('playwright-core').Page} Page */

const pages = ['Today', 'Orders', 'Plants', 'Stream', 'Webhooks', 'Destinations', 'People', 'Mails'];

/** @param {Page} page @param {string} name */
async function goTo(page, name) {
  await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name }).click();
  await heading(page, name).waitFor();
}

/** @param {Page} page @param {string} name */
const heading = (page, name) => page.getByRole('heading', { name, level: 1, exact: true });

describe('a page that was left', () => {
  const chrome = new Chrome();
  before(() => chrome.open());
  after(() => chrome.close());

  test('is as it was', async () => {
    const tags = Array.from({ length: 12 }, () => ({ name: fresh('Tag') }));
    await admin.POST('/plant', { body: { name: fresh('Plant'), photoUrls: [], status: 'available', tags } });
    const visit = await chrome.visit(demoAdmin, { path: '/plants' });
    const { page } = visit;
    const more = page.getByRole('group', { name: 'Tags' }).getByRole('button', { name: 'more' });
    await more.click();
    await more.waitFor({ state: 'detached' });
    await goTo(page, 'Webhooks');
    await goTo(page, 'Plants');
    assert.equal(await more.count(), 0);
    await visit.assertAccessible();
    await visit.leave();
  });

  test('has the filters of its address, and forgets what was typed and not applied', async () => {
    const visit = await chrome.visit(demoAdmin, { path: '/people' });
    const { page } = visit;
    const field = page.getByLabel('Name or e-mail address');
    await field.fill('adm');
    await page.waitForURL(/q=adm/);
    await goTo(page, 'People');
    await page.waitForFunction(() => location.search === '');
    assert.equal(await field.inputValue(), '');
    await field.fill('adm');
    await page.waitForURL(/q=adm/);
    await goTo(page, 'Mails');
    await goTo(page, 'People');
    assert.equal(await field.inputValue(), '');
    await page.goBack();
    await heading(page, 'Mails').waitFor();
    await page.goBack();
    await heading(page, 'People').waitFor();
    assert.equal(await field.inputValue(), 'adm');

    await page.clock.install();
    await page.clock.pauseAt(Date.now() + 60_000);
    await field.fill('nobody');
    await goTo(page, 'Mails');
    await page.goBack();
    await heading(page, 'People').waitFor();
    await page.clock.resume();
    await page.getByRole('cell', { name: 'admin', exact: true }).first().waitFor();
    assert.equal(await field.inputValue(), 'adm');
    await visit.leave();
  });

  test('asks the shop nothing', async () => {
    const visit = await chrome.visit(demoAdmin);
    const { page } = visit;
    await page.clock.install();
    for (const name of pages) await goTo(page, name);
    await goTo(page, 'Plants');
    await page.getByRole('link', { name: 'New plant' }).click();
    await heading(page, 'New plant').waitFor();
    /** @type {string[]} */
    const asked = [];
    page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    await page.clock.runFor(60_000);
    await page.evaluate(() => fetch('/livez'));
    assert.ok(asked.includes('/livez'));
    // All of these are read regularly by the pages that have them.
    assert.deepEqual(asked.filter((path) => /counts|inventory|mails|webhooks|destinations|user/.test(path)), []);
    await visit.leave();
  });

  test('is shown as it was before it is read again', async () => {
    const visit = await chrome.visit(demoAdmin, { path: '/people' });
    const { page } = visit;
    await page.clock.install();
    const users = page.getByRole('table', { name: 'Users' });
    await users.waitFor();
    await goTo(page, 'Webhooks');
    // What was read later is not read again. No frame comes while the clock stands.
    await page.clock.pauseAt(Date.now() + 60_000);
    /** @type {string[]} */
    const asked = [];
    page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    await goTo(page, 'People');
    await users.waitFor();
    await page.evaluate(() => fetch('/livez'));
    assert.ok(asked.includes('/livez'));
    assert.ok(!asked.includes('/v3/user'));
    const isRead = page.waitForRequest(/\/v3\/user\?/);
    await page.clock.resume();
    await isRead;
    await visit.leave();
  });

  test('is no longer in the title, and there is one of each, however often it is open', async () => {
    const visit = await chrome.visit(demoAdmin);
    const { page } = visit;
    for (const name of [...pages, ...pages]) {
      await goTo(page, name);
      await page.waitForFunction((title) => document.title.endsWith(title), `${name} · Plant shop`);
      assert.equal(await page.getByRole('heading', { level: 1 }).count(), 1);
      if (name !== 'People') continue;
      await page.getByRole('tab', { name: 'Audit log' }).click();
      await page.waitForURL(/tab=audit/);
    }
    assert.ok((await page.locator('h1').count()) <= pages.length);
    await visit.leave();
  });

  test('has lost its dialog', async () => {
    const visit = await chrome.visit(demoAdmin);
    const { page } = visit;
    await goTo(page, 'Webhooks');
    await page.getByRole('button', { name: 'New webhook' }).click();
    await page.getByRole('dialog').waitFor();
    await page.goBack();
    await heading(page, 'Today').waitFor();
    await page.locator('[role=dialog]').waitFor({ state: 'detached' });
    await goTo(page, 'Webhooks');
    assert.equal(await page.locator('[role=dialog]').count(), 0);
    await visit.leave();
  });

  test('has the focus where it was, when Back opens it again', async () => {
    await admin.POST('/plant', { body: { name: fresh('Plant'), photoUrls: [], status: 'available' } });
    const visit = await chrome.visit(demoAdmin, { path: '/plants' });
    const { page } = visit;
    const row = page.getByRole('table', { name: 'Plants' }).getByRole('link').first();
    await row.focus();
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Change the stock', exact: true }).waitFor();
    await page.goBack();
    await row.and(page.locator(':focus')).waitFor();
    await visit.leave();
  });

  test('is at its place, when the link back to it opens it again', async () => {
    const owner = await newPerson('customer');
    const shop = shopOf(owner);
    for (let n = 0; n < 12; n++) await shop.POST('/webhooks', { body: { url: `http://127.0.0.1:9/${n}`, eventTypes: ['order.placed'] } });
    const visit = await chrome.visit(owner, { path: '/webhooks', viewport: { width: 1280, height: 400 } });
    const { page } = visit;
    const row = page.getByRole('table', { name: 'Webhooks' }).getByRole('link').nth(9);
    await row.focus();
    await row.evaluate((one) => scrollTo(0, one.getBoundingClientRect().top - 200));
    const top = await page.evaluate(() => scrollY);
    assert.ok(top > 0);
    await page.keyboard.press('Enter');
    // Another filter there is no other page.
    await page.getByRole('radiogroup', { name: 'State of the deliveries' }).getByText('failed').click();
    await page.waitForURL(/state=failed/);
    const back = page.getByRole('link', { name: 'Back to the webhooks' });
    await back.click();
    await row.and(page.locator(':focus')).waitFor();
    await page.waitForFunction((before) => scrollY === before, top);
    // Who came from elsewhere gets to its beginning.
    await goTo(page, 'Orders');
    await page.goto(`${address}/console/webhooks/00000000-0000-4000-8000-000000000000`);
    await back.click();
    await heading(page, 'Webhooks').waitFor();
    await visit.leave(/404/);
  });

  test('does not have the focus', async () => {
    const visit = await chrome.visit(demoAdmin);
    const { page } = visit;
    await goTo(page, 'Plants');
    await goTo(page, 'Today');
    await goTo(page, 'Plants');
    await page.getByRole('searchbox', { name: 'Search' }).focus();
    await page.goBack();
    await heading(page, 'Today').waitFor();
    await page.locator('#content:focus').waitFor();
    await visit.leave();
  });
});
