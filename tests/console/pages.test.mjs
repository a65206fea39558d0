import { after, before, describe, test } from 'node:test';
import { Chrome } from './kit/console.mjs';
import { demoAdmin, newPlant } from './kit/people.mjs';

const pages = { Today: '/', Orders: '/orders', Plants: '/plants', Stream: '/stream', Webhooks: '/webhooks', Destinations: '/destinations', People: '/people', Mails: '/mails' };

describe('every page', () => {
  const chrome = new Chrome();
  before(() => chrome.open());
  after(() => chrome.close());

  for (const scheme of /** @type {const} */ (['light', 'dark'])) {
    test(`is accessible, ${scheme}`, async () => {
      const visit = await chrome.visit(demoAdmin, { scheme });
      const { page } = visit;
      for (const name of Object.keys(pages)) {
        await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name }).click();
        await page.getByRole('heading', { name, level: 1 }).waitFor();
        await page.getByRole('status', { name: 'Loading' }).waitFor({ state: 'detached' });
        await visit.assertAccessible();
      }
      await visit.leave();
    });
  }

  test('can be reached by keyboard', async () => {
    const visit = await chrome.visit(demoAdmin);
    const { page } = visit;
    for (const [name, path] of Object.entries(pages)) {
      const link = page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name });
      for (let presses = 0; presses < 100 && !(await link.evaluate((element) => element === document.activeElement)); presses += 1) await page.keyboard.press('Tab');
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name, level: 1 }).waitFor();
      await page.waitForURL(`**/console${path}`);
    }
    await visit.leave();
  });

  test('is in one language, whatever that of the browser', async () => {
    const visit = await chrome.visit(demoAdmin, { path: `/plants/${await newPlant(12_345)}`, locale: 'de-DE' });
    await visit.page.getByRole('region', { name: 'Stock' }).getByText('12,345', { exact: true }).waitFor();
    await visit.leave();
  });

  test('has a replacement for unknown paths, with a message', async () => {
    const visit = await chrome.visit(demoAdmin, { path: '/nowhere' });
    await visit.page.getByRole('heading', { name: 'Page not found' }).waitFor();
    await visit.assertAccessible();
    await visit.leave();
  });
});
