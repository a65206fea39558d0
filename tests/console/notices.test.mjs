import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Chrome } from './kit/console.mjs';
import { address, admin, newPerson, newPlant } from './kit/people.mjs';

describe('notices of new orders', () => {
  const chrome = new Chrome();
  before(() => chrome.open());
  after(() => chrome.close());

  test('are off until the person wants them, count in header and title, and make a sound only if wanted', async () => {
    const plantId = await newPlant(50);
    const place = () => admin.POST('/store/order', { body: { plantId } });
    const visit = await chrome.visit(await newPerson('staff'), { path: '/people', viewport: { width: 390, height: 844 } });
    const { page } = visit;
    await page.evaluate(() => {
      const createOscillator = Reflect.get(AudioContext.prototype, 'createOscillator');
      Object.assign(window, { sounds: 0 });
      AudioContext.prototype.createOscillator = function create() {
        /** @type {any} */ (window).sounds += 1;
        return createOscillator.call(this);
      };
    });
    const sounds = () => page.evaluate(() => /** @type {any} */ (window).sounds);
    assert.doesNotMatch(await page.title(), /^\(/);
    await page.getByRole('button', { name: 'Notices of new orders: off' }).click();
    await page.getByRole('switch', { name: 'Count new orders' }).check();
    await page.getByText('Orders are counted as they are placed.').waitFor();
    await visit.assertAccessible();
    await place();
    await page.getByRole('button', { name: /^Notices of new orders: \d+$/ }).waitFor();
    assert.match(await page.title(), /^\(\d+\) /);
    assert.equal(await sounds(), 0);
    await page.getByRole('switch', { name: 'Play a sound' }).check();
    await place();
    await page.waitForFunction(() => /** @type {any} */ (window).sounds > 0);
    await page.reload();
    // Some may have come meanwhile.
    await page.getByRole('button', { name: /^Notices of new orders: \d+\+$/ }).click();
    await page.getByRole('button', { name: /^See \d+\+ new$/ }).click();
    // They await their payment, so they are not among those to ship.
    await page.waitForURL(/\/orders\?tab=all$/);
    await page.getByRole('button', { name: 'Notices of new orders: none' }).waitFor();
    await page.getByRole('switch', { name: 'Count new orders' }).waitFor({ state: 'detached' });
    await page.waitForFunction(() => /^[^(].*Orders/.test(document.title));
    await page.reload();
    await page.getByRole('button', { name: 'Notices of new orders: none' }).click();
    assert.ok(await page.getByRole('switch', { name: 'Play a sound' }).isChecked(), 'the browser keeps it');
    // Another tab has seen them, too.
    const other = await page.context().newPage();
    await other.goto(`${address}/console/people`);
    await other.getByRole('button', { name: 'Notices of new orders: none' }).waitFor();
    await page.goto(`${address}/console/people`);
    await page.getByRole('button', { name: 'Notices of new orders: none' }).waitFor();
    await place();
    for (const one of [page, other]) await one.getByRole('button', { name: /^Notices of new orders: [1-9]/ }).waitFor();
    await other.getByRole('button', { name: /^Notices of new orders: [1-9]/ }).click();
    await other.getByRole('button', { name: /^See \d+\+? new$/ }).click();
    await page.getByRole('button', { name: 'Notices of new orders: none' }).click();
    await other.close();
    await page.context().setOffline(true);
    await page.getByText('This computer is offline. What is missed is counted when it is back.').waitFor();
    assert.equal(await page.getByText('Live', { exact: true }).filter({ visible: true }).count(), 0);
    await visit.leave(/ERR_INTERNET_DISCONNECTED/);
  });
});
