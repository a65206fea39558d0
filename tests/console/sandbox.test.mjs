import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { TestShop } from '../../tools/test/shop.mjs';

describe('a sandbox', () => {
  const folder = mkdtempSync(join(tmpdir(), 'plant-shop-console-sandbox-'));
  // Postgres does not run as root and needs access.
  chmodSync(folder, 0o711);
  /** @type {TestShop | undefined} */
  let shop;
  /** @type {import('./kit/console.mjs').Chrome | undefined} */
  let chrome;
  before(async () => {
    shop = await TestShop.start(folder, { args: ['--sandbox'] });
    // The kit reads the address when it is imported.
    Object.assign(process.env, shop.env);
    const { Chrome } = await import('./kit/console.mjs');
    chrome = new Chrome();
    await chrome.open();
  }, { timeout: 180_000 });
  after(async () => {
    await chrome?.close();
    await shop?.end();
    rmSync(folder, { recursive: true, force: true });
  }, { timeout: 60_000 });

  test('is named in the header of every page, on narrow screens too', async () => {
    const { newPerson } = await import('./kit/people.mjs');
    assert.ok(chrome);
    const visit = await chrome.visit(await newPerson('staff'), { path: '/orders' });
    const { page } = visit;
    const label = page.getByRole('banner').getByText('Sandbox', { exact: true });
    await label.waitFor();
    await visit.assertAccessible();
    await page.getByRole('link', { name: 'Webhooks', exact: true }).click();
    await page.getByRole('heading', { name: 'Webhooks', level: 1 }).waitFor();
    await label.waitFor();
    await page.setViewportSize({ width: 320, height: 640 });
    await label.waitFor();
    const logOut = page.getByRole('banner').getByRole('button', { name: 'Log out' });
    const [labelBox, logOutBox] = [await label.boundingBox(), await logOut.boundingBox()];
    assert.ok(labelBox && logOutBox && labelBox.x + labelBox.width <= logOutBox.x && logOutBox.x + logOutBox.width <= 320, 'the header does not fit');
    await visit.leave();
  });
});
