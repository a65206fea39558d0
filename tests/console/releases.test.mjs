import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Chrome, untilFilesOfAllPages } from './kit/console.mjs';
import { address, newPerson } from './kit/people.mjs';

const labels = ['Orders', 'Plants', 'Stream', 'Webhooks', 'Today'];

describe('a new release of the console', () => {
  const chrome = new Chrome();
  before(() => chrome.open());
  after(() => chrome.close());

  test('does not break a page that is open: it has loaded the files of all pages', async () => {
    const visit = await chrome.visit(await newPerson('staff'), { path: '/webhooks' });
    const { page } = visit;
    await untilFilesOfAllPages(page);
    await page.route('**/console/assets/**', (route) => route.fulfill({ status: 404 }));
    for (const name of labels) {
      await page.getByRole('link', { name, exact: true }).click();
      await page.getByRole('heading', { name, level: 1 }).waitFor();
    }
    await page.getByRole('img', { name: /orders? in the last hour/ }).waitFor();
    await visit.leave();
  });

  test('is told by a page whose files are gone: it has to be reloaded', async () => {
    const staff = await newPerson('staff');
    await (await chrome.visit(staff)).leave();
    const visit = await chrome.visit(staff, { missing: /assets\/orders-page-/ });
    const { page } = visit;
    await page.getByRole('link', { name: 'Orders', exact: true }).click();
    await page.getByText('This page has to be reloaded').waitFor();
    await visit.assertAccessible();
    await page.unroute(/assets\/orders-page-/);
    await page.getByRole('button', { name: 'Reload', exact: true }).click();
    await page.getByRole('heading', { name: 'Orders', level: 1 }).waitFor();
    await visit.leave(/404|orders-page|undefined/);
  });

  test('is not taken for a lost network: files are waited for, and what is open stays', async () => {
    const staff = await newPerson('staff');
    await (await chrome.visit(staff)).leave();
    /** @type {() => void} */
    let goOn = () => undefined;
    const isOffline = new Promise((/** @type {(value?: unknown) => void} */ resolve) => {
      goOn = resolve;
    });
    const visit = await chrome.visit(staff, { path: '/plants/new', held: [/assets\/orders-page-/, isOffline] });
    const { page } = visit;
    await page.context().setOffline(true);
    await page.getByLabel('Name').fill('Kept offline');
    // It was not asked for before.
    await page.keyboard.press('Control+k');
    const dialog = page.getByRole('dialog', { name: 'Find anything' });
    await dialog.getByText('Not loaded yet').waitFor();
    await visit.assertAccessible();
    const lost = page.waitForRequest(/orders-page-/);
    await page.context().setOffline(false);
    await dialog.getByRole('combobox').waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    // This one gets lost on its way.
    await lost;
    await page.context().setOffline(true);
    goOn();
    await page.getByText('This computer has no network', { exact: true }).waitFor();
    assert.equal(await page.getByText('This page has to be reloaded').count(), 0);
    await page.context().setOffline(false);
    await page.getByText('This page has to be reloaded').waitFor();
    assert.equal(await page.getByLabel('Name').inputValue(), 'Kept offline');
    await visit.leave(/ERR_INTERNET_DISCONNECTED|ERR_NETWORK_CHANGED/);
  });

  test('is waited for by a page that cannot start, because an old replica answered', async () => {
    const visit = await chrome.newVisit();
    const { page } = visit;
    let answers = 0;
    // The reload waits until the page that announces it was examined.
    await page.addInitScript(() => {
      const start = window.setTimeout;
      /** @type {any} */ (window).setTimeout = (/** @type {() => void} */ run, /** @type {number} */ ms, /** @type {unknown[]} */ ...rest) => {
        if (!new Error().stack?.includes('/release.js')) return start(run, ms, ...rest);
        return void Object.assign(window, { reload: run });
      };
    });
    await page.route(/assets\/index-.*\.js/, (route) => (++answers <= 2 ? route.fulfill({ status: 404 }) : route.continue()));
    await page.goto(`${address}/console`);
    for (let reloads = 0; reloads < 2; reloads++) {
      await page.getByText('This page reloads in a moment.').waitFor();
      await visit.assertAccessible();
      await Promise.all([page.waitForEvent('framenavigated'), page.evaluate(() => /** @type {any} */ (window).reload())]);
    }
    await page.getByLabel('Username').waitFor();
    await visit.leave(/404/);
  });

  test('is no longer waited for after twenty attempts: the page says what to do', async () => {
    const visit = await chrome.newVisit();
    const { page } = visit;
    await page.addInitScript(() => sessionStorage.setItem('console-attempts', '19'));
    await page.route(/assets\/index-.*\.js/, (route) => route.fulfill({ status: 404 }));
    await page.goto(`${address}/console`);
    await page.getByText('A file of the console is missing. Reload the page.').waitFor();
    await visit.assertAccessible();
    await visit.leave(/404/);
  });
});
