import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Receiver } from '@plant-shop/testing/receiver';
import { Chrome, givePassword } from './kit/console.mjs';
import { admin, demoAdmin, fresh, newPerson, newPlant, shopOf } from './kit/people.mjs';

/** Counts the requests of a page with this method to a path, and lets the second half of a double click come before the answer. */
function countRequests(/** @type {import('playwright-core').Page} */ page, /** @type {RegExp} */ path) {
  const counted = { requests: 0 };
  page.on('request', (request) => {
    if (request.method() === 'POST' && path.test(new URL(request.url()).pathname)) counted.requests += 1;
  });
  return counted;
}

/** Two clicks in the same task: before the page can render that it is busy. @param {import('playwright-core').Locator} button */
const clickTwice = (button) =>
  button.evaluate((/** @type {HTMLElement} */ element) => {
    element.click();
    element.click();
  });

describe('what is submitted twice', () => {
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

  test('adds one plant', async () => {
    const visit = await chrome.visit(demoAdmin, { path: '/plants/new' });
    const { page } = visit;
    const name = fresh('Twice');
    const counted = countRequests(page, /\/plant$/);
    await page.getByLabel('Name').fill(name);
    await page.getByRole('button', { name: 'Add the plant' }).evaluate((/** @type {HTMLButtonElement} */ button) => {
      button.form?.requestSubmit();
      button.form?.requestSubmit();
    });
    await page.getByRole('heading', { name, level: 1, exact: true }).waitFor();
    assert.equal(counted.requests, 1);
    const { data } = await admin.GET('/plant/search', { params: { query: { q: name } } });
    assert.equal(data.filter((plant) => plant.name === name).length, 1);
    await visit.leave();
  });

  test('adds one plant, if the answer is lost and the form is sent again, also after a reload', async () => {
    const visit = await chrome.visit(demoAdmin, { path: '/plants/new' });
    const { page } = visit;
    const name = fresh('Lost');
    const add = page.getByRole('button', { name: 'Add the plant' });
    await page.route('**/plant', async (route) => {
      await route.fetch();
      await route.fulfill({ status: 500, contentType: 'application/problem+json', body: JSON.stringify({ type: 'about:blank', title: 'Broken', status: 500, code: 'internal', requestId: 'lost' }) });
    });
    await page.getByLabel('Name').fill(name);
    await add.click();
    await page.getByRole('alert').getByText('It is not known whether this worked').waitFor();
    await page.reload();
    await page.getByText('Sent again unchanged, it does not happen twice.').waitFor();
    await page.unroute('**/plant');
    await add.click();
    await page.getByRole('heading', { name, level: 1, exact: true }).waitFor();
    const { data } = await admin.GET('/plant/search', { params: { query: { q: name } } });
    assert.equal(data.filter((plant) => plant.name === name).length, 1);
    await visit.leave(/500/);
  });

  test('changes the stock once and adds one note, if the answer is lost and the role with it, until that is back', async () => {
    const person = await newPerson('staff');
    const plantId = await newPlant(10);
    const { data: { id } } = await admin.POST('/store/order', { body: { plantId } });
    const give = (/** @type {'staff' | 'customer'} */ role) => admin.PUT('/user/{username}/role', { params: { path: { username: person.username } }, body: { role } });
    const visit = await chrome.visit(person, { path: `/plants/${plantId}` });
    const { page } = visit;
    const loseAnswer = (/** @type {string} */ path) => page.route(path, async (route) => {
      await route.fetch();
      await give('customer');
      await route.abort();
    }, { times: 1 });
    const typeStock = async () => {
      await page.getByRole('button', { name: 'Change the stock' }).click();
      return page.getByRole('dialog', { name: /^Stock of/ });
    };
    await loseAnswer('**/adjustment');
    const dialog = await typeStock();
    await dialog.getByRole('textbox', { name: 'Units', exact: true }).fill('5');
    await dialog.getByRole('textbox', { name: 'Reason' }).fill('Delivery');
    const refusal = (/** @type {string} */ path) => page.waitForResponse((response) => response.url().endsWith(path) && response.status() === 403);
    await Promise.all([refusal('/adjustment'), dialog.getByRole('button', { name: 'Add 5 units' }).click()]);
    await give('staff');
    await page.reload();
    await typeStock();
    await dialog.getByText('Sent again unchanged, it does not happen twice.').waitFor();
    await dialog.getByRole('button', { name: 'Add 5 units' }).click();
    await dialog.waitFor({ state: 'detached' });
    assert.equal((await admin.GET('/store/inventory/{plantId}', { params: { path: { plantId } } })).data.free, 14);

    await page.goto(`${new URL(page.url()).origin}/console/orders/${id}`);
    await loseAnswer('**/note');
    const note = page.getByRole('textbox', { name: 'Note' });
    await note.fill('Once');
    await Promise.all([refusal('/note'), page.getByRole('button', { name: 'Add the note' }).click()]);
    await give('staff');
    await page.reload();
    await page.getByText('Sent again unchanged, it does not happen twice.').waitFor();
    await page.getByRole('button', { name: 'Add the note' }).click();
    await page.getByText('The note is added.').waitFor();
    const { data: entries } = await admin.GET('/store/order/{orderId}/timeline', { params: { path: { orderId: id } } });
    assert.equal(entries.filter((entry) => entry.note === 'Once').length, 1);
    await visit.leave(/40[34]|ERR_FAILED/);
  });

  test('creates one webhook, whose secret stays on the page, and sends one test', async () => {
    receiver.answerWith(200);
    const owner = await newPerson('customer');
    const visit = await chrome.visit(owner, { path: '/webhooks' });
    const { page } = visit;
    await page.getByRole('button', { name: 'New webhook' }).click();
    await page.getByLabel('Address').fill(receiver.url);
    await page.getByRole('button', { name: 'Create the webhook' }).dblclick();
    const secret = page.getByRole('dialog', { name: "The webhook's secret" });
    await secret.waitFor();
    // The second half of a double click lands where the new dialog has its button.
    await secret.getByRole('button', { name: 'I have stored it' }).dispatchEvent('click', { detail: 2 });
    await secret.getByLabel('Secret', { exact: true }).waitFor();
    assert.equal((await shopOf(owner).GET('/webhooks')).data.length, 1);
    await secret.getByRole('button', { name: 'I have stored it' }).click();
    const counted = countRequests(page, /\/test$/);
    await clickTwice(page.getByRole('button', { name: 'Send a test' }));
    await page.getByRole('row', { name: /delivered Test/ }).waitFor();
    assert.equal(counted.requests, 1);
    // Once it is sent, another may follow.
    await page.getByRole('button', { name: 'Send a test' }).click();
    await page.getByRole('row', { name: /delivered Test/ }).nth(1).waitFor();
    assert.equal(counted.requests, 2);
    // The second click of a double click on a busy button is one on the page around it.
    await page.route(/\/test$/, async (route) => {
      await new Promise((resolve) => void setTimeout(resolve, 500));
      await route.continue();
    });
    await page.getByRole('button', { name: 'Send a test' }).dblclick({ delay: 50 });
    await page.getByRole('row', { name: /delivered Test/ }).nth(2).waitFor();
    await page.waitForFunction(() => document.activeElement?.textContent === 'Send a test');
    assert.equal(counted.requests, 3);
    await visit.leave();
  });

  test('creates one API key, also while its form closes', async () => {
    const { username } = await newPerson('customer');
    const visit = await chrome.visit(demoAdmin, { path: `/people/${username}` });
    const { page } = visit;
    await page.getByRole('button', { name: 'New API key' }).click();
    await page.getByLabel('Name').fill('warehouse');
    const counted = countRequests(page, /\/apiKeys$/);
    const create = page.getByRole('button', { name: 'Create the key' });
    const button = await create.elementHandle();
    await clickTwice(create);
    await givePassword(page, demoAdmin);
    await page.getByRole('dialog', { name: 'The new API key' }).waitFor();
    await button?.evaluate((element) => /** @type {HTMLElement} */ (element).click());
    await page.getByRole('button', { name: 'I have stored it' }).click();
    await page.getByRole('row', { name: /warehouse/ }).waitFor();
    assert.equal((await admin.GET('/user/{username}/apiKeys', { params: { path: { username } } })).data.length, 1);
    // The request, and its repetition with the password.
    assert.equal(counted.requests, 2);
    // Chromium warns if the form has closed by the last click.
    await visit.leave(/403|form is not connected/);
  });

  test('replaces one API key, if the answer after the password is lost', async () => {
    const { username } = await newPerson('customer');
    await admin.POST('/user/{username}/apiKeys', { params: { path: { username } }, body: { name: 'till' } });
    const visit = await chrome.visit(demoAdmin, { path: `/people/${username}` });
    const { page } = visit;
    let isLost = false;
    await page.route('**/rotation', async (route) => {
      if (isLost || !route.request().postData()?.includes('currentPassword')) return route.continue();
      isLost = true;
      await route.fetch();
      await route.abort();
    });
    await page.getByRole('button', { name: 'Replace till' }).click();
    await page.getByRole('button', { name: 'Replace the key' }).click();
    await givePassword(page, demoAdmin);
    // Nobody is asked twice, and the key is shown.
    await page.getByRole('dialog', { name: 'The new API key' }).waitFor();
    assert.ok(isLost);
    assert.equal((await admin.GET('/user/{username}/apiKeys', { params: { path: { username } } })).data.length, 2);
    await page.getByRole('button', { name: 'I have stored it' }).click();
    await visit.leave(/403|ERR_FAILED/);
  });

  test('sends a delivery again once, and replays a period once, if the answers are lost', async () => {
    receiver.answerWith(200);
    const owner = await newPerson('customer');
    const shop = shopOf(owner);
    const { data: { id: webhookId } } = await shop.POST('/webhooks', { body: { url: receiver.url } });
    const { data: { id: orderId } } = await shop.POST('/store/order', { body: { plantId: await newPlant() } });
    await admin.POST('/store/order/{orderId}/payment', { params: { path: { orderId } }, body: { outcome: 'succeeded', reference: fresh('payment') } });
    const deliveries = async () => (await shop.GET('/webhooks/{webhookId}/deliveries', { params: { path: { webhookId } } })).data.length;
    const visit = await chrome.visit(owner, { path: `/webhooks/${webhookId}` });
    const { page } = visit;
    const again = page.getByRole('button', { name: /^Send again delivery/ });
    await again.waitFor();
    await page.route(/\/(resend|replay)$/, async (route) => {
      if (route.request().method() !== 'POST') return route.continue();
      await route.fetch();
      await route.abort();
    });
    await again.click();
    await page.getByRole('alert').getByText('It may have taken effect').waitFor();
    await page.unrouteAll();
    await page.getByRole('row', { name: /Order/ }).getByRole('button', { name: /^Send again/ }).last().click();
    await page.getByText('The event will be sent again.').waitFor();
    assert.equal(await deliveries(), 2);
    await page.route(/\/replay$/, async (route) => {
      if (route.request().method() !== 'POST') return route.continue();
      await route.fetch();
      await route.abort();
    });
    await page.getByRole('button', { name: 'Replay', exact: true }).click();
    await page.getByRole('button', { name: 'Replay 1 event' }).click();
    await page.getByText('It is not known whether this worked').waitFor();
    await page.unrouteAll();
    await page.getByRole('button', { name: 'Replay 1 event' }).click();
    await page.getByText('1 event is scheduled.').waitFor();
    assert.equal(await deliveries(), 3);
    await visit.leave(/ERR_FAILED/);
  });

  test('replaces a secret once, if the answer is lost and the dialog is closed to look', async () => {
    const owner = await newPerson('customer');
    const { data: { id: webhookId } } = await shopOf(owner).POST('/webhooks', { body: { url: receiver.url } });
    const visit = await chrome.visit(owner, { path: `/webhooks/${webhookId}` });
    const { page } = visit;
    /** @type {string[]} */
    const secrets = [];
    await page.route(/\/rotateSecret$/, async (route) => {
      secrets.push((await (await route.fetch()).json()).secret);
      await route.abort();
    });
    const begin = async () => {
      await page.getByRole('button', { name: 'More actions' }).click();
      await page.getByRole('menuitem', { name: 'Replace the secret' }).click();
    };
    await begin();
    await page.getByRole('button', { name: 'Replace the secret' }).click();
    await page.getByText('Sent again unchanged, it does not happen twice.').waitFor();
    await page.getByRole('button', { name: 'Back', exact: true }).click();
    await page.unrouteAll();
    await begin();
    await page.getByText('This was sent before, and no answer came.').waitFor();
    await visit.assertAccessible();
    await page.getByRole('button', { name: 'Replace the secret' }).click();
    await page.getByRole('dialog', { name: 'The new secret' }).getByText(secrets[0] ?? '').waitFor();
    assert.equal(new Set(secrets).size, 1);
    await visit.leave(/ERR_FAILED/);
  });

  test('by Enter changes the stock once, and opens no dialog again', async () => {
    const plantId = await newPlant();
    const visit = await chrome.visit(demoAdmin, { path: `/plants/${plantId}` });
    const { page } = visit;
    await page.evaluate(() => document.addEventListener('keydown', () => (document.body.dataset['pressed'] += ` ${performance.now()}`)));
    // On a busy machine the answer may come too late for two quick presses.
    for (let tries = 1; ; tries++) {
      await page.getByRole('button', { name: 'Change the stock' }).press('Enter');
      await page.getByRole('dialog').getByLabel(/^Units/).first().fill('7');
      await page.getByRole('dialog').getByRole('textbox', { name: 'Reason' }).fill('Counted');
      await page.keyboard.press('Enter');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      await page.keyboard.press('Enter');
      const [first = 0, second = 0] = (await page.evaluate(() => document.body.dataset['pressed'] ?? '')).split(' ').slice(-2).map(Number);
      const isQuick = second - first < 300;
      await page.waitForTimeout(600);
      if (isQuick) break;
      assert.ok(tries < 10, 'the shop is too slow for two quick presses');
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
    }
    assert.equal(await page.getByRole('dialog').count(), 0);
    await page.waitForFunction(() => document.activeElement?.textContent === 'Change the stock');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    await visit.leave();
  });

  test('opens a dialog, which stays open', async () => {
    const { data: { id } } = await admin.POST('/store/order', { body: { plantId: await newPlant() } });
    const visit = await chrome.visit(await newPerson('staff'), { path: `/orders/${id}` });
    const { page } = visit;
    for (const delay of [0, 60]) {
      await page.getByRole('button', { name: 'Cancel the order' }).dblclick({ delay });
      await page.getByRole('dialog').waitFor();
      await page.waitForTimeout(500);
      assert.equal(await page.getByRole('dialog').count(), 1);
      // A click of its own beside it closes it.
      await page.mouse.click(5, 5);
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      await page.waitForFunction(() => document.activeElement?.textContent === 'Cancel the order');
    }
    await visit.leave();
  });

  test('ships once', async () => {
    const { data: { id } } = await admin.POST('/store/order', { body: { plantId: await newPlant() } });
    await admin.POST('/store/order/{orderId}/payment', { params: { path: { orderId: id } }, body: { outcome: 'succeeded', reference: fresh('payment') } });
    const visit = await chrome.visit(await newPerson('staff'), { path: `/orders/${id}` });
    const { page } = visit;
    await page.getByRole('button', { name: 'Ship', exact: true }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Carrier').fill('Green Post');
    await dialog.getByLabel('Tracking number').fill('1');
    const counted = countRequests(page, /\/shipment$/);
    await clickTwice(dialog.getByRole('button', { name: 'Ship', exact: true }));
    await page.getByText(`Order ${id} is shipped.`).waitFor();
    assert.equal(counted.requests, 1);
    await visit.leave();
  });
});
