import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Receiver } from '@plant-shop/testing/receiver';
import { Chrome } from './kit/console.mjs';
import { address, admin, demoAdmin, newPerson, newPlant, shopOf } from './kit/people.mjs';

describe('a state that is not good', () => {
  const chrome = new Chrome();
  /** @type {Receiver} */
  let receiver;
  before(async () => {
    receiver = await Receiver.start();
    await chrome.open();
  });
  after(async () => {
    await chrome.close();
    await receiver.stop();
  });

  test('is said of a file without a picture', async () => {
    const plantId = await newPlant();
    const visit = await chrome.visit(demoAdmin, { path: `/plants/${plantId}` });
    const { page } = visit;
    await page.locator('input[type=file]').setInputFiles({ name: 'notes.png', mimeType: 'image/png', buffer: Buffer.from('Water it twice a week.') });
    await page.getByRole('alert').getByText('The shop found no picture in this file').waitFor();
    assert.equal(await page.getByText('notes.png was added.').count(), 0);
    assert.deepEqual((await admin.GET('/plant/{plantId}', { params: { path: { plantId } } })).data.photoUrls, []);
    await visit.assertAccessible();
    await visit.leave();
  });

  test('is said of a file that cannot be imported, without an offer to continue', async () => {
    const visit = await chrome.visit(demoAdmin, { path: '/plants/import' });
    const { page } = visit;
    await page.locator('input[type=file]').setInputFiles({ name: 'list.csv', mimeType: 'text/csv', buffer: Buffer.from('id;name\r\n1;"Fern\r\n') });
    await page.getByRole('alert').getByText('This file cannot be imported').waitFor();
    assert.equal(await page.getByRole('button', { name: 'Continue' }).count(), 0);
    await page.getByRole('button', { name: 'Import another file' }).waitFor();
    await visit.leave();
  });

  test('is what deleting the console’s own client leads to, which the question says', async () => {
    const visit = await chrome.visit(demoAdmin, { path: '/people?tab=clients' });
    const { page } = visit;
    await page.getByRole('button', { name: /^Delete .*console/i }).first().click();
    await page.getByRole('dialog').getByText('You and everybody else are logged out of it').waitFor();
    await page.getByRole('button', { name: 'Back', exact: true }).click();
    await visit.leave();
  });

  test('is the same above a webhook’s deliveries as in them', async () => {
    receiver.answerWith(500);
    const owner = await newPerson('customer');
    const { data: webhook } = await shopOf(owner).POST('/webhooks', { body: { url: receiver.url } });
    const visit = await chrome.visit(owner, { path: `/webhooks/${webhook.id}` });
    const { page } = visit;
    await page.getByText('Nothing was sent yet').filter({ visible: true }).first().waitFor();
    // Notes if the page ever shows an answer beside the statement that there is none.
    await page.evaluate(() => {
      const watched = Object.assign(window, { contradictions: 0 });
      new MutationObserver(() => {
        const text = document.body.textContent ?? '';
        const list = document.querySelector('[aria-labelledby=deliveries]')?.textContent ?? '';
        if (list.includes('answered 500') && (text.includes('None has been answered yet') || text.includes('No event has matched it so far'))) setTimeout(() => {
          const later = document.body.textContent ?? '';
          if (later.includes('None has been answered yet') || later.includes('No event has matched it so far')) watched.contradictions += 1;
        }, 250);
      }).observe(document.body, { subtree: true, childList: true, characterData: true });
    });
    await page.getByRole('button', { name: 'Send a test' }).click();
    await page.getByRole('row', { name: /Test.*The receiver answered 500/ }).waitFor();
    await page.getByText('Failing', { exact: true }).filter({ visible: true }).waitFor();
    assert.equal(await page.evaluate(() => /** @type {any} */ (window).contradictions), 0);
    await visit.leave();
  });

  test('is an unknown one: offline nothing says Live, and no count says 0', async () => {
    const visit = await chrome.visit(demoAdmin, { path: '/orders' });
    const { page } = visit;
    await page.getByText('Live', { exact: true }).waitFor();
    await page.route('**/v3/plant/**', (route) => route.abort('internetdisconnected'));
    await page.route('**/readyz', (route) => route.abort('internetdisconnected'));
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Plants' }).click();
    await page.getByText('The shop cannot be reached').waitFor();
    assert.deepEqual(await page.getByRole('group', { name: 'Status' }).getByRole('checkbox').evaluateAll((all) => all.map((one) => one.closest('[class*=Checkbox-body]')?.textContent)), ['available', 'pending', 'sold']);
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Orders' }).click();
    await page.getByText('Connecting …', { exact: true }).waitFor();
    assert.equal(await page.getByText('Live', { exact: true }).count(), 0);
    await page.context().setOffline(true);
    await page.getByText('Offline', { exact: true }).waitFor();
    await visit.leave(/ERR_INTERNET_DISCONNECTED/);
  });

  test('is an unknown number of orders: none is not counted as none', async () => {
    const visit = await chrome.visit(demoAdmin, { path: '/webhooks' });
    const { page } = visit;
    await page.route(/\/store\/order\?.*placedFrom/, () => undefined);
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Today' }).click();
    await page.getByRole('heading', { name: 'Orders per minute' }).waitFor();
    await page.getByRole('region', { name: 'Refunds due' }).getByText(/none|returned/).waitFor();
    assert.equal(await page.getByText('orders in the last hour').count(), 0);
    await page.unrouteAll();
    await visit.leave();
  });

  test('of one service leaves the rest of the console: it opens although the catalog hangs', async () => {
    const visit = await chrome.visit(demoAdmin, { path: '/orders' });
    const { page } = visit;
    await page.route('**/v3/plant/**', () => undefined);
    await page.route('**/readyz', (route) => route.fulfill({ status: 503, json: { ready: false, services: { gateway: 'ready', catalog: 'slow: no answer in 1.5 s' } } }));
    for (const path of ['/', '/orders']) {
      await page.goto(`${address}/console${path}`);
      await page.getByRole('heading', { level: 1, name: path === '/' ? 'Today' : 'Orders', exact: true }).waitFor();
      await page.getByText('Part of the shop cannot be reached').waitFor();
    }
    await visit.leave();
  });

  test('is said where it shows: offline, orders stay as they were, and a list that was never loaded says so', async () => {
    const plantId = await newPlant();
    const { data: { id } } = await admin.POST('/store/order', { body: { plantId } });
    const visit = await chrome.visit(demoAdmin, { path: `/orders?tab=awaiting&plantId=${plantId}` });
    const { page } = visit;
    const order = page.getByRole('table', { name: 'Orders' }).getByRole('link', { name: String(id), exact: true });
    await order.waitFor();
    // All pages are loaded ahead.
    const ahead = ['plants', 'stream', 'webhooks', 'people', 'mails'].map((name) => `/assets/${name}-page-`);
    await page.waitForFunction((files) => files.every((file) => performance.getEntriesByType('resource').some(({ name }) => name.includes(file))), ahead);
    await page.context().setOffline(true);
    await page.getByText('This computer has no network', { exact: true }).waitFor();
    await order.waitFor();
    await page.getByRole('tab', { name: /^Shipped/ }).click();
    await page.getByRole('heading', { name: 'These orders are not loaded yet' }).waitFor();
    await visit.assertAccessible();
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Webhooks', exact: true }).click();
    await page.getByText('Not loaded yet: waiting').filter({ visible: true }).waitFor();
    await page.keyboard.press('Control+k');
    await page.keyboard.type('nobody knows it');
    await page.getByRole('dialog').getByText('Waiting for the shop’s answer …').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    for (const name of ['Today', 'Plants', 'Stream', 'Webhooks', 'People', 'Mails', 'Orders']) {
      await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name, exact: true }).click();
      await page.getByRole('heading', { name, level: 1, exact: true }).waitFor();
      // Besides its heading and the banner, each says something of its own.
      await page.locator('main').getByText(/could not be|not loaded|Offline|unknown|–/).filter({ visible: true }).first().waitFor();
    }
    await page.goBack();
    await page.context().setOffline(false);
    await page.getByText('This computer has no network', { exact: true }).waitFor({ state: 'detached' });
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Orders', exact: true }).click();
    await page.getByRole('heading', { name: 'These orders are not loaded yet' }).waitFor({ state: 'detached' });
    await visit.leave(/ERR_INTERNET_DISCONNECTED|ERR_NETWORK_CHANGED/);
  });

  for (const [what, make] of /** @type {const} */ ([
    ['Plant', async () => {
      const id = await newPlant();
      return { path: `/plants/${id}`, remove: () => admin.DELETE('/plant/{plantId}', { params: { path: { plantId: id } } }) };
    }],
    ['Webhook', async () => {
      const { data: { id } } = await admin.POST('/webhooks', { body: { url: receiver.url, plantId: await newPlant() } });
      return { path: `/webhooks/${id}`, remove: () => admin.DELETE('/webhooks/{webhookId}', { params: { path: { webhookId: id } } }) };
    }],
    ['Destination', async () => {
      const { data: { id } } = await admin.POST('/destinations', { body: { name: 'Gone', url: 'nats://127.0.0.1:9', stream: 'GONE', subject: 'gone' } });
      return { path: `/destinations/${id}`, remove: () => admin.DELETE('/destinations/{destinationId}', { params: { path: { destinationId: id } } }) };
    }],
    ['User', async () => {
      const { username } = await newPerson('customer');
      return { path: `/people/${username}`, remove: () => admin.DELETE('/user/{username}', { params: { path: { username } } }) };
    }],
  ])) {
    test(`is all that is left of a page whose ${what.toLowerCase()} somebody else deletes`, async () => {
      const { path, remove } = await make();
      const visit = await chrome.visit(demoAdmin, { path });
      const { page } = visit;
      await page.getByRole('heading', { level: 1 }).waitFor();
      await page.getByRole('button').filter({ hasText: /Delete|Edit/ }).first().waitFor();
      await remove();
      await page.getByRole('heading', { name: `${what} not found` }).waitFor();
      // No button of the page, and nothing that would be true of a thing that exists.
      assert.equal(await page.locator('main').getByRole('button').filter({ visible: true }).count(), 0);
      assert.equal(await page.locator('main').getByText(/yet|no open session|could not be loaded/).filter({ visible: true }).count(), 0);
      await page.locator('main').getByRole('link').first().click();
      await page.getByRole('heading', { name: `${what} not found` }).waitFor({ state: 'detached' });
      await visit.leave(/404/);
    });
  }

  test('has what was typed into a plant that somebody else deletes', async () => {
    const id = await newPlant();
    const visit = await chrome.visit(demoAdmin, { path: `/plants/${id}` });
    const { page } = visit;
    await page.getByRole('combobox', { name: 'Category' }).fill('Ferns of the north');
    await admin.DELETE('/plant/{plantId}', { params: { path: { plantId: id } } });
    await page.getByRole('heading', { name: 'Plant not found' }).waitFor();
    await page.getByText('Category: Ferns of the north').waitFor();
    await page.reload();
    await page.getByText('Category: Ferns of the north').waitFor();
    await page.getByRole('button', { name: 'Discard it' }).click();
    await page.getByText('Category: Ferns of the north').waitFor({ state: 'detached' });
    await visit.leave(/404/);
  });

  test('is not “Live” on the stream’s page while a part of the shop is frozen', async () => {
    const visit = await chrome.visit(demoAdmin, { path: '/stream' });
    const { page } = visit;
    const badge = page.getByRole('status');
    await badge.getByText('Live', { exact: true }).waitFor();
    await page.route('**/readyz', (route) => route.fulfill({ status: 503, json: { ready: false, services: { gateway: 'ready', notifications: 'slow: no answer in 1.5 s' } } }));
    await badge.getByText('Connecting', { exact: true }).waitFor();
    await page.unroute('**/readyz');
    await badge.getByText('Live', { exact: true }).waitFor();
    await visit.leave();
  });

  test('is said of a page whose answers fail: it is asked for again', async () => {
    const visit = await chrome.visit(demoAdmin, { path: '/orders' });
    const { page } = visit;
    await page.route(/\/v3\/webhooks/, (route) => route.fulfill({ status: 500, json: {} }));
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Webhooks' }).click();
    await page.getByRole('status', { name: 'Loading' }).waitFor();
    await page.getByRole('status').filter({ hasText: 'Not loaded yet' }).waitFor();
    assert.equal(await page.getByText('No webhooks').count(), 0);
    await page.unroute(/\/v3\/webhooks/);
    await page.getByRole('status').filter({ hasText: 'Not loaded yet' }).waitFor({ state: 'detached' });
    await visit.leave(/500/);
  });

  test('is an old one: what could not be read again says so, and why (slow)', async () => {
    const visit = await chrome.visit(demoAdmin, { path: `/plants/${await newPlant(12)}` });
    const { page } = visit;
    const stock = page.getByRole('region', { name: 'Stock', exact: true });
    await stock.getByText('12', { exact: true }).waitFor();
    await page.context().setOffline(true);
    const alert = stock.getByRole('alert').filter({ hasText: 'The stock could not be loaded again' });
    await alert.getByText('This computer has no network.').waitFor();
    await alert.getByText('What is shown is as it was before.').waitFor();
    await page.getByText('What you send waits for that').waitFor();
    await page.context().setOffline(false);
    await alert.waitFor({ state: 'detached' });
    await visit.leave(/ERR_INTERNET_DISCONNECTED|ERR_NETWORK_CHANGED/);
  });

  test('is said of plants that are shown for other words than those that were typed', async () => {
    const countText = /^(More than )?[\d,]+ plants?\s*$/;
    const visit = await chrome.visit(demoAdmin, { path: '/plants' });
    const { page } = visit;
    await page.getByText(countText).waitFor();
    const answer = Promise.withResolvers();
    await page.route(/\/v3\/plant(s|\/|\?)/, async (route) => {
      await answer.promise;
      await route.continue();
    });
    await page.getByRole('searchbox', { name: 'Search' }).fill('no such plant');
    await page.getByText('Searching …').waitFor();
    assert.equal(await page.getByText(countText).count(), 0);
    answer.resolve(undefined);
    await page.getByRole('heading', { name: 'No plant matches' }).waitFor();
    await visit.leave();
  });
});
