import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Receiver } from '@plant-shop/testing/receiver';
import { until } from '@plant-shop/testing/until';
import { Chrome } from './kit/console.mjs';
import { pressEnterOn } from './kit/keyboard.mjs';
import { address, admin, demoAdmin, newPerson, newPlant, pay, shopOf } from './kit/people.mjs';

describe('the webhooks pages', () => {
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

  /** Creates a user with a webhook and one event for it. @param {number} [status] answer of the receiver; without one the test has set it */
  async function endpoint(status) {
    if (status !== undefined) receiver.answerWith(status);
    const owner = await newPerson('staff');
    const shop = shopOf(owner);
    const { data: plant } = await admin.POST('/plant', { body: { name: '<img src=x onerror=alert(1)>', photoUrls: [], status: 'available', quantity: 50 } });
    const { data: webhook } = await shop.POST('/webhooks', { body: { url: receiver.url, plantId: plant.id, eventTypes: ['order.placed'], description: '<script>alert(1)</script>' } });
    const { data: order } = await shop.POST('/store/order', { body: { plantId: plant.id } });
    return { owner, shop, webhook, order, plant };
  }

  test('a webhook can be created, tested and deleted by keyboard alone; its secret is shown only once', async () => {
    receiver.answerWith(200);
    // A customer's webhook gets events of own orders alone; one of staff would get those of other tests, too.
    const visit = await chrome.visit(await newPerson('customer'), { path: '/webhooks' });
    const { page } = visit;
    await page.getByRole('heading', { name: 'No webhooks yet' }).waitFor();
    await pressEnterOn(page.getByRole('button', { name: 'New webhook' }));
    await page.getByLabel('Address').and(page.locator(':focus')).waitFor();
    assert.equal(await page.getByText('stock.low').count(), 0, 'a customer may not have these');
    await page.keyboard.type(receiver.url);
    await page.keyboard.press('Tab');
    await page.keyboard.type('Potting machine');
    await page.keyboard.press('Enter');
    const secret = (await page.getByRole('dialog', { name: "The webhook's secret" }).getByLabel('Secret', { exact: true }).textContent()) ?? '';
    assert.match(secret, /^whsec_/);
    await visit.assertAccessible();
    await pressEnterOn(page.getByRole('button', { name: 'I have stored it' }));
    await page.getByText('Nothing was sent yet').filter({ visible: true }).waitFor();
    await page.getByRole('heading', { name: 'Potting machine', level: 1 }).waitFor();
    assert.match(await page.title(), /^Potting machine/);
    // It keeps the focus, however late the answer is.
    const test = page.getByRole('button', { name: 'Send a test' });
    let isSent = () => {};
    const sent = new Promise((resolve) => (isSent = () => resolve(undefined)));
    await page.route(/\/test$/, (route) => sent.then(() => route.continue()));
    await pressEnterOn(test);
    await test.and(page.locator('[data-loading][aria-disabled=true]:focus')).waitFor();
    await page.keyboard.press('Enter');
    isSent();
    await page.getByRole('row', { name: /delivered Test/ }).waitFor();
    await test.and(page.locator(':focus:not([data-loading])')).waitFor();
    assert.equal(await page.getByRole('row', { name: /Test/ }).count(), 1);
    await page.getByText('Healthy').filter({ visible: true }).waitFor();
    assert.ok(!(await page.content()).includes(secret), 'the secret is no longer in the page');
    await pressEnterOn(page.getByRole('button', { name: 'More actions' }));
    await pressEnterOn(page.getByRole('menuitem', { name: 'Delete' }), 'ArrowDown');
    await page.getByRole('dialog').getByText(`Potting machine (${receiver.url})`).waitFor();
    await pressEnterOn(page.getByRole('button', { name: 'Delete the webhook' }));
    await page.getByRole('heading', { name: 'No webhooks yet' }).waitFor();
    await page.goBack();
    assert.match(page.url(), /\/webhooks$/);
    await visit.leave();
  });

  test('a change by somebody else is seen before it can be replaced, also in a low window and by keyboard', async () => {
    const { data: webhook } = await admin.POST('/webhooks', { body: { url: receiver.url, plantId: await newPlant(), name: 'Before' } });
    const visit = await chrome.visit(demoAdmin, { path: `/webhooks/${webhook.id}`, viewport: { width: 1280, height: 600 } });
    const { page } = visit;
    await page.getByRole('button', { name: 'Edit' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('Mine');
    // Not of that plant alone any more.
    const theirs = { url: receiver.url, name: 'Theirs', eventTypes: webhook.eventTypes };
    await admin.PUT('/webhooks/{webhookId}', { params: { path: { webhookId: webhook.id } }, body: theirs });
    await dialog.getByLabel('Name').press('Enter');
    const notice = dialog.getByRole('alert').filter({ hasText: 'Someone else has changed it' });
    await notice.and(page.locator(':focus')).waitFor();
    const box = await notice.boundingBox();
    assert.ok(box && box.y >= 0 && box.y + box.height <= 600, 'the notice is in view');
    await page.keyboard.press('Enter');
    await page.waitForTimeout(300);
    assert.equal((await admin.GET('/webhooks/{webhookId}', { params: { path: { webhookId: webhook.id } } })).data.name, 'Theirs');
    await pressEnterOn(dialog.getByRole('button', { name: 'Replace it' }));
    await dialog.waitFor({ state: 'detached' });
    const { data: { name, plantId } } = await admin.GET('/webhooks/{webhookId}', { params: { path: { webhookId: webhook.id } } });
    assert.deepEqual({ name, plantId }, { name: 'Mine', plantId: undefined });
    await visit.leave(/412/);
  });

  test('a failing webhook shows every attempt with its error, and its deliveries can be resent', async () => {
    const { owner, order, webhook } = await endpoint(503);
    const visit = await chrome.visit(owner, { path: `/webhooks?owner=${owner.username}` });
    const { page } = visit;
    await page.getByRole('row', { name: /Failing The receiver answered 503/ }).waitFor();
    await page.getByText('<script>alert(1)</script>').filter({ visible: true }).waitFor();
    await page.getByRole('link', { name: receiver.url }).click();
    const pending = page.getByRole('row', { name: new RegExp(`pending Order ${order.id}`) });
    await pending.getByRole('button', { name: /Attempts/ }).click();
    await page.getByRole('listitem').getByText('The receiver answered 503.').first().waitFor();
    assert.match(await page.getByRole('region', { name: /^Payload of/ }).innerText(), new RegExp(`"event": "order.placed"[^]*"orderId": ${order.id}`));
    assert.match(await page.getByRole('region', { name: 'Headers of attempt 1' }).innerText(), /webhook-timestamp: \d+\nwebhook-signature: v1,/);
    await page.getByText(/^Next attempt .* \d attempts are left\.$/).waitFor();
    assert.ok(!(await page.content()).includes(webhook.secret), 'the page never has the secret');
    await visit.assertAccessible();
    receiver.answerWith(200);
    await pending.getByRole('button', { name: /Send now/ }).click();
    await page.getByRole('row', { name: new RegExp(`delivered Order ${order.id}`) }).first().waitFor();
    await page.getByRole('radiogroup').getByText('failed').click();
    await page.getByText('No failed deliveries').waitFor();
    assert.match(page.url(), /state=failed/);
    await page.reload();
    await page.getByText('No failed deliveries').waitFor();
    assert.match(page.url(), /state=failed/);
    await visit.leave();
  });

  test('what a receiver said is shown, in the room of a phone', async () => {
    receiver.answer = (_received, response) => response.writeHead(422, { 'content-type': 'application/json', 'x-request-id': 'r-77', 'set-cookie': 'a=hunter2' }).end('{"problem":"no such pot"}');
    const { owner, order, webhook } = await endpoint();
    const visit = await chrome.visit(owner, { path: `/webhooks/${webhook.id}`, viewport: { width: 390, height: 844 } });
    const { page } = visit;
    await page.getByRole('row', { name: new RegExp(`Order ${order.id} An order is placed`) }).getByRole('button', { name: /Attempts/ }).click();
    const answer = page.getByRole('region', { name: 'Answer to attempt 1' });
    assert.match(await answer.innerText(), /x-request-id: r-77[^]*"problem": "no such pot"/);
    assert.ok(!(await page.content()).includes('hunter2'));
    const box = await answer.boundingBox();
    assert.ok(box && box.x >= 0 && box.x + box.width <= 390, JSON.stringify(box));
    await visit.assertAccessible();
    await visit.leave();
  });

  test('several deliveries are sent again, with a result for each', async () => {
    const { owner, shop, webhook, order, plant } = await endpoint(200);
    const { data: other } = await shop.POST('/store/order', { body: { plantId: plant.id } });
    const visit = await chrome.visit(owner, { path: `/webhooks/${webhook.id}` });
    const { page } = visit;
    for (const { id } of [order, other]) await page.getByRole('row', { name: new RegExp(`delivered Order ${id}`) }).waitFor();
    await page.getByLabel('Select all that are shown').check();
    await page.getByText('2 selected').waitFor();
    receiver.answer = ({ body }, response) => response.writeHead(body.includes(`"orderId":${other.id},`) ? 500 : 200).end();
    await page.getByRole('button', { name: 'Send them again' }).click();
    const dialog = page.getByRole('dialog', { name: 'Send 2 events again' });
    const send = dialog.getByRole('button', { name: 'Send 2 events again' });
    await send.evaluate((/** @type {HTMLElement} */ button) => [button.click(), button.click()]);
    await dialog.getByText('2 of 2 events sent again, 1 delivered so far.').waitFor();
    await dialog.getByRole('listitem').filter({ hasText: `order ${order.id}` }).getByText('Delivered.').waitFor();
    await dialog.getByRole('listitem').filter({ hasText: `order ${other.id}` }).getByText('The receiver answered 500. It is tried again.').waitFor();
    await visit.assertAccessible();
    await dialog.getByRole('button', { name: 'Close' }).last().click();
    const { data: all } = await shop.GET('/webhooks/{webhookId}/deliveries', { params: { path: { webhookId: webhook.id } } });
    assert.equal(all.length, 4);
    await page.getByRole('row', { name: /Order/ }).nth(3).waitFor();
    await page.getByLabel('Select all that are shown').check();
    await page.getByText('4 selected').waitFor();
    // What is selected stays while others are shown, and on the way back.
    await page.getByText('pending', { exact: true }).first().click();
    await page.getByText('4 selected').waitFor();
    await page.getByText('all', { exact: true }).first().click();
    await page.getByRole('link', { name: `Order ${order.id}` }).first().click();
    await page.getByRole('heading', { level: 1, name: `Order ${order.id}` }).waitFor();
    await page.goBack();
    await page.getByText('4 selected').waitFor();
    await page.getByRole('button', { name: 'Send them again' }).click();
    await dialog.getByText('Deliveries of the same event count once.').waitFor();
    await visit.leave();
  });

  test('what failed in a period is found, and sent again once', async () => {
    const { owner, shop, webhook, order, plant } = await endpoint(200);
    await shop.POST('/store/order', { body: { plantId: plant.id } });
    const visit = await chrome.visit(owner, { path: `/webhooks/${webhook.id}` });
    const { page } = visit;
    // Ten attempts take days: the list is changed on its way.
    await page.route(/\/deliveries\?limit=1000/, async (route) => {
      const response = await route.fetch();
      const list = await response.json();
      await route.fulfill({ response, json: list.map((/** @type {{ orderId: number }} */ one) => (one.orderId === order.id && list.length === 2 ? { ...one, state: 'failed' } : one)) });
    });
    await page.getByRole('button', { name: 'Send again what failed' }).click();
    await page.getByLabel('Since').waitFor();
    await visit.assertAccessible();
    await page.getByRole('button', { name: 'Find them' }).click();
    const dialog = page.getByRole('dialog', { name: 'Send 1 event again' });
    await dialog.getByText(`order ${order.id}`).waitFor();
    await dialog.getByRole('button', { name: 'Send 1 event again' }).click();
    await dialog.getByText('1 of 1 event sent again, 1 delivered so far.').waitFor();
    await dialog.getByRole('button', { name: 'Close' }).last().click();
    await page.getByRole('button', { name: 'Send again what failed' }).click();
    await page.getByRole('button', { name: 'Find them' }).click();
    await page.getByText('Nothing of this period failed for good, or all of it was sent again.').waitFor();
    await page.goto(`${address}/console/orders/${order.id}`);
    const rows = page.getByRole('region', { name: 'Webhook deliveries' }).getByRole('row').filter({ hasText: 'delivered' });
    await rows.nth(1).getByText('sent again since').waitFor();
    assert.deepEqual([await rows.count(), await rows.first().getByText('sent again since').count()], [2, 0]);
    await visit.leave();
  });

  test('what waits behind a failed event is sent again, too, after it, and the page says what still waits until when', async () => {
    receiver.answerWith(500);
    const owner = await newPerson('customer');
    const shop = shopOf(owner);
    const plantId = await newPlant();
    const { data: webhook } = await shop.POST('/webhooks', { body: { url: receiver.url, eventTypes: ['order.placed', 'order.status_changed'] } });
    const orders = [];
    for (let n = 0; n < 3; n++) orders.push((await shop.POST('/store/order', { body: { plantId } })).data.id);
    for (const id of orders) await pay(id);
    // The third attempt is minutes later.
    await until(async () => {
      const { data } = await shop.GET('/webhooks/{webhookId}/deliveries', { params: { path: { webhookId: webhook.id } } });
      return data.length === 6 && data.filter(({ attempts }) => attempts.length === 2).length === 3;
    }, 30_000);
    receiver.answerWith(200);
    const visit = await chrome.visit(owner, { path: `/webhooks/${webhook.id}` });
    const { page } = visit;
    await page.getByRole('button', { name: 'Send a test' }).click();
    await page.getByText(/^It answers again\. 3 events wait to be tried again, 3 others behind them\. The last attempt of these is in \d+ min\.$/).waitFor();
    const [row, find] = [page.getByRole('dialog').getByRole('listitem'), page.getByRole('button', { name: 'Find them' })];
    await page.getByRole('button', { name: 'Send again what failed' }).click();
    await find.click();
    const dialog = page.getByRole('dialog', { name: 'Send 6 events again' });
    await dialog.getByText(/The shop tries 6 events again without you, the last in \d+ min\./).waitFor();
    const subjects = (await row.allInnerTexts()).map((text) => text.trim());
    for (const id of orders) assert.deepEqual(subjects.filter((text) => text.endsWith(`order ${id}`)), [`An order is placed · order ${id}`, `An order changes its status · order ${id}`]);
    await dialog.getByRole('button', { name: 'Send 6 events again' }).click();
    await dialog.getByText('6 of 6 events sent again, 6 delivered so far.').waitFor();
    await dialog.getByRole('button', { name: 'Close' }).last().click();
    await page.getByText(/What waits to be tried again has arrived: it was sent again\. The last attempt of these is in \d+ min\.$/).waitFor();
    await page.getByRole('button', { name: 'Send again what failed' }).click();
    await find.click();
    await page.getByText(/^Nothing of this period failed for good, or all of it was sent again\. The shop tries 6 events again without you, the last in \d+ min\.$/).waitFor();
    await visit.leave();
  });

  test('a disabled webhook shows that its events are held, and gets them when it is enabled again', async () => {
    const { owner, order } = await endpoint(410);
    const visit = await chrome.visit(owner, { path: `/webhooks?owner=${owner.username}` });
    const { page } = visit;
    await page.getByRole('row', { name: /Disabled It answered 410 Gone/ }).getByRole('link').click();
    await page.getByText('Its events are held for 30 days.').waitFor();
    await page.getByRole('row', { name: new RegExp(`held Order ${order.id}`) }).waitFor();
    await visit.assertAccessible();
    receiver.answerWith(200);
    // What it refused meanwhile is no longer true.
    const refused = page.getByRole('alert').filter({ hasText: 'Nothing is sent to a webhook that is disabled.' });
    await page.getByRole('button', { name: 'Send a test' }).click();
    await page.getByRole('button', { name: /^Send again delivery/ }).click();
    await refused.nth(1).waitFor();
    // What could not be sent stays selected.
    await page.getByRole('checkbox', { name: 'Select all that are shown' }).check();
    await page.getByRole('button', { name: 'Send them again' }).click();
    await page.getByRole('dialog').getByRole('button', { name: /^Send .*again$/ }).click();
    await page.getByRole('dialog').getByText('Nothing is sent to a webhook that is disabled.').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).last().click();
    await page.getByRole('group', { name: 'Selected deliveries' }).getByText(/^[1-9]\d* selected$/).waitFor();
    await page.getByRole('button', { name: 'Enable the webhook' }).click();
    await page.getByRole('row', { name: new RegExp(`delivered Order ${order.id}`) }).waitFor();
    await refused.first().waitFor({ state: 'detached' });
    await page.getByText('Its events are held for 30 days.').waitFor({ state: 'detached' });
    await visit.leave(/409/);
  });

  test('staff find the failing webhook of a partner and why it fails, and may not use it', async () => {
    receiver.answer = (_received, response) => response.writeHead(401).end('the secret has changed');
    const partner = await newPerson('customer');
    const shop = shopOf(partner);
    const { data: webhook } = await shop.POST('/webhooks', { body: { url: receiver.url, name: 'Partner', eventTypes: ['order.placed'] } });
    const { data: order } = await shop.POST('/store/order', { body: { plantId: await newPlant() } });
    const visit = await chrome.visit(await newPerson('staff'));
    const { page } = visit;
    await page.getByRole('region', { name: 'Failing webhooks' }).getByText('no answer or an error').waitFor();
    await page.getByRole('region', { name: 'Failing webhooks' }).getByRole('link').click();
    await page.getByRole('combobox', { name: 'Owner' }).fill(partner.username);
    await page.getByRole('row', { name: new RegExp(`Partner.* ${partner.username} Failing The receiver answered 401`) }).waitFor();
    await page.waitForURL((url) => url.searchParams.get('owner') === partner.username && url.searchParams.get('failing') === 'true');
    await page.getByRole('row').nth(2).waitFor({ state: 'detached' });
    await visit.assertAccessible();
    await page.getByRole('radiogroup', { name: 'Which webhooks' }).getByText('All').click();
    await page.waitForURL((url) => !url.searchParams.has('failing'));
    await page.getByRole('link', { name: 'Partner' }).click();
    await page.getByText(`It belongs to ${partner.username}`).waitFor();
    await page.getByRole('button', { name: /^Attempts/ }).click();
    await page.getByRole('region', { name: 'Answer to attempt 1' }).getByText('the secret has changed').waitFor();
    assert.equal(await page.getByRole('checkbox').count(), 0);
    for (const name of ['Send a test', 'Replay', 'Edit', 'More actions', 'Send again what failed', /^Send again/]) assert.equal(await page.getByRole('button', { name }).count(), 0, String(name));
    await visit.assertAccessible();
    await shop.PUT('/webhooks/{webhookId}', { params: { path: { webhookId: webhook.id } }, body: { url: receiver.url, name: 'Partner', eventTypes: ['order.placed'], state: 'disabled' } });
    await page.getByText('It was disabled by its owner.').first().waitFor();
    await page.goBack();
    await page.getByRole('row', { name: /Partner.* Disabled/ }).waitFor();
    const other = await newPerson('customer');
    const { data: quiet } = await shopOf(other).POST('/webhooks', { body: { url: receiver.url } });
    await page.getByRole('radiogroup', { name: 'Which webhooks' }).getByText('Failing').click();
    await page.getByRole('combobox', { name: 'Owner' }).fill(other.username);
    await page.getByRole('heading', { name: `No webhook of ${other.username} fails` }).waitFor();
    await page.getByRole('radiogroup', { name: 'Which webhooks' }).getByText('All').click();
    await page.locator(`a[href$="${quiet.id}"]`).click();
    // Only its owner can send it something.
    await page.getByText('No event has matched it so far.').nth(1).waitFor();
    assert.equal(await page.getByText('Send a test').count(), 0);
    await page.goBack();
    await page.getByRole('combobox', { name: 'Owner' }).fill(`${partner.username}x`);
    await page.getByText(`No user is called ${partner.username}x`).waitFor();
    await page.goto(`${address}/console/orders/${order.id}`);
    await page.getByRole('row', { name: `Partner ${partner.username} · Placed` }).waitFor();
    // The order may be in deliveries of its owner’s webhooks, and of the reader’s.
    await page.getByRole('link', { name: 'all webhooks' }).click();
    await page.getByRole('row', { name: /^Partner http/ }).waitFor();
    assert.equal(await page.getByRole('combobox', { name: 'Owner' }).inputValue(), '');
    await visit.leave(/404/);
  });

  test('a period can be replayed, with progress', async () => {
    const { owner, webhook, order } = await endpoint(200);
    const visit = await chrome.visit(owner, { path: `/webhooks/${webhook.id}` });
    const { page } = visit;
    const delivered = page.getByRole('row', { name: new RegExp(`delivered Order ${order.id}`) });
    await delivered.waitFor();
    await page.getByRole('button', { name: 'Replay' }).click();
    await page.getByLabel('Since').waitFor();
    await visit.assertAccessible();
    // What is only emptied is no draft.
    const since = Date.parse(await page.getByLabel('Since').inputValue());
    await page.getByLabel('Since').fill('');
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Replay' }).click();
    // Of a day ago, which may be in the next minute by now.
    assert.ok([0, 60_000].includes(Date.parse(await page.getByLabel('Since').inputValue()) - since));
    assert.equal(await page.getByText('What you typed before is here again.').count(), 0);
    await page.getByLabel('Since').fill('2020-01-01');
    await page.getByLabel('Before').fill('2020-01-02T00:00');
    await page.getByText('No event of the period would be sent.').waitFor();
    assert.ok(await page.getByRole('dialog').getByRole('button', { name: 'Replay', exact: false }).isDisabled());
    await page.getByLabel('Before').fill('');
    const [counted, replay] = [page.getByText(/would get 1 event: an order is placed of plant \d+\.$/), page.getByRole('dialog').getByRole('button', { name: /^Replay/ })];
    // While it is typed, and is no time or none after the other, nothing is counted.
    for (const text of ['gestern', '2020-01-01']) {
      await counted.waitFor();
      await page.getByLabel('Before').fill(text);
      await counted.waitFor({ state: 'detached' });
      assert.ok(await replay.isDisabled());
      await page.getByLabel('Before').fill('');
    }
    await page.getByRole('radio', { name: 'a cursor of the stream' }).check();
    await page.getByLabel('After the cursor').fill('nonsense');
    await page.getByRole('alert').getByText('Write another cursor, or choose “a time” under “From”.').waitFor();
    await page.getByRole('radio', { name: 'a time' }).check();
    await counted.waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Replay 1 event' }).click();
    await page.getByText('1 event is scheduled.').waitFor();
    await page.getByText('No event is waiting any more.').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).last().click();
    await delivered.nth(1).waitFor();
    await visit.leave(/400/);
  });

  test('an edit that conflicts with a newer version offers a choice and keeps the input', async () => {
    const { owner, shop, webhook } = await endpoint(200);
    const visit = await chrome.visit(owner, { path: `/webhooks/${webhook.id}` });
    const { page } = visit;
    await page.getByRole('button', { name: 'Edit' }).click();
    await page.getByLabel('Description').fill('mine');
    await shop.PUT('/webhooks/{webhookId}', { params: { path: { webhookId: webhook.id } }, body: { url: receiver.url, name: 'Theirs', description: 'theirs' } });
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('“theirs”').waitFor();
    await visit.assertAccessible();
    assert.equal(await page.getByLabel('Description').inputValue(), 'mine');
    await page.getByRole('button', { name: 'Replace it' }).click();
    await page.getByText('The webhook is changed.').waitFor();
    // What only the other one changed stays.
    const { data: { name, description } } = await shop.GET('/webhooks/{webhookId}', { params: { path: { webhookId: webhook.id } } });
    assert.deepEqual({ name, description }, { name: 'Theirs', description: 'mine' });
    // The browser logs the refusal.
    await visit.leave(/412/);
  });

  test('what is typed into an edit of a webhook that somebody deletes stays, and is not saved', async () => {
    const { owner, shop, webhook } = await endpoint(200);
    const visit = await chrome.visit(owner, { path: `/webhooks/${webhook.id}` });
    const { page } = visit;
    await page.getByRole('button', { name: 'Edit' }).click();
    const dialog = page.getByRole('dialog', { name: 'Edit the webhook' });
    await dialog.getByLabel('Name').fill('Mine');
    await shop.DELETE('/webhooks/{webhookId}', { params: { path: { webhookId: webhook.id } } });
    await dialog.getByRole('alert').getByText('It was deleted meanwhile').waitFor();
    await visit.assertAccessible();
    assert.equal(await dialog.getByLabel('Name').inputValue(), 'Mine');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.getByText('There is no such webhook.').waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('heading', { name: 'Webhook not found' }).waitFor();
    await visit.leave(/404/);
  });

  test('a new secret is shown only once, with the end of the old one', async () => {
    const { owner, webhook } = await endpoint(200);
    const visit = await chrome.visit(owner, { path: `/webhooks/${webhook.id}` });
    const { page } = visit;
    await page.getByRole('button', { name: 'More actions' }).click();
    await page.getByRole('menuitem', { name: 'Replace the secret' }).click();
    await page.getByRole('button', { name: 'Replace the secret' }).click();
    const secret = (await page.getByRole('dialog', { name: 'The new secret' }).getByLabel('Secret', { exact: true }).textContent()) ?? '';
    assert.match(secret, /^whsec_/);
    assert.notEqual(secret, webhook.secret);
    await page.getByText('The old one signs too until').waitFor();
    await page.getByRole('button', { name: 'I have stored it' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    assert.ok(!(await page.content()).includes(secret), 'the secret is no longer in the page');
    await visit.leave();
  });

  test('a forbidden URL is refused at its field', async () => {
    const visit = await chrome.visit(await newPerson('staff'), { path: '/webhooks' });
    const { page } = visit;
    await page.getByRole('button', { name: 'New webhook' }).click();
    await page.getByLabel('Address').fill('http://192.168.0.1/hooks');
    await page.getByRole('button', { name: 'Create the webhook' }).click();
    await page.locator('[aria-invalid=true]').waitFor();
    await visit.assertAccessible();
    await visit.leave(/400/);
  });
});
