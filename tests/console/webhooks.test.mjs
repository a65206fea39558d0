import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Receiver } from '@plant-shop/testing/receiver';
import { Chrome } from './kit/console.mjs';
import { pressEnterOn } from './kit/keyboard.mjs';
import { admin, newPerson, shopOf } from './kit/people.mjs';

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

  /** Creates a user with a webhook and one event for it. @param {number} status answer of the receiver */
  async function endpoint(status) {
    receiver.answerWith(status);
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
    await page.keyboard.type(receiver.url);
    await page.keyboard.press('Enter');
    const secret = (await page.getByRole('dialog', { name: "The webhook's secret" }).getByLabel('Secret', { exact: true }).textContent()) ?? '';
    assert.match(secret, /^whsec_/);
    await visit.assertAccessible();
    await pressEnterOn(page.getByRole('button', { name: 'I have stored it' }));
    await page.getByText('Nothing was sent yet').waitFor();
    await pressEnterOn(page.getByRole('button', { name: 'Send a test' }));
    await page.getByRole('row', { name: /delivered Test/ }).waitFor();
    await page.getByText('Healthy').waitFor();
    assert.ok(!(await page.content()).includes(secret), 'the secret is no longer in the page');
    await pressEnterOn(page.getByRole('button', { name: 'More actions' }));
    await pressEnterOn(page.getByRole('menuitem', { name: 'Delete' }), 'ArrowDown');
    await pressEnterOn(page.getByRole('button', { name: 'Delete the webhook' }));
    await page.getByRole('heading', { name: 'No webhooks yet' }).waitFor();
    await visit.leave();
  });

  test('a failing webhook shows every attempt with its error, and its deliveries can be resent', async () => {
    const { owner, order } = await endpoint(503);
    const visit = await chrome.visit(owner, { path: '/webhooks' });
    const { page } = visit;
    await page.getByRole('row', { name: /Failing The receiver answered 503/ }).waitFor();
    await page.getByText('<script>alert(1)</script>').waitFor();
    await page.getByRole('link', { name: receiver.url }).click();
    const pending = page.getByRole('row', { name: new RegExp(`pending Order ${order.id}`) });
    await pending.getByRole('button', { name: /Attempts/ }).click();
    await page.getByRole('listitem').getByText('The receiver answered 503.').first().waitFor();
    await visit.assertAccessible();
    receiver.answerWith(200);
    await pending.getByRole('button', { name: /Send again/ }).click();
    await page.getByRole('row', { name: new RegExp(`delivered Order ${order.id}`) }).first().waitFor();
    await page.getByRole('radiogroup').getByText('failed').click();
    await page.getByText('No failed deliveries').waitFor();
    assert.match(page.url(), /state=failed/);
    await visit.leave();
  });

  test('a disabled webhook shows that its events are held, and gets them when it is enabled again', async () => {
    const { owner, order } = await endpoint(410);
    const visit = await chrome.visit(owner, { path: '/webhooks' });
    const { page } = visit;
    await page.getByRole('row', { name: /Disabled It answered 410 Gone/ }).getByRole('link').click();
    await page.getByText('Its events are held for 30 days.').waitFor();
    await page.getByRole('row', { name: new RegExp(`held Order ${order.id}`) }).waitFor();
    await visit.assertAccessible();
    receiver.answerWith(200);
    await page.getByRole('button', { name: 'Enable the webhook' }).click();
    await page.getByRole('row', { name: new RegExp(`delivered Order ${order.id}`) }).waitFor();
    await page.getByText('Its events are held for 30 days.').waitFor({ state: 'detached' });
    await visit.leave();
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
    await page.getByRole('dialog').getByRole('button', { name: 'Replay' }).click();
    await page.getByText('1 event is scheduled.').waitFor();
    await page.getByText('No event is waiting any more.').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).last().click();
    await delivered.nth(1).waitFor();
    await visit.leave();
  });

  test('an edit that conflicts with a newer version offers a choice and keeps the input', async () => {
    const { owner, shop, webhook } = await endpoint(200);
    const visit = await chrome.visit(owner, { path: `/webhooks/${webhook.id}` });
    const { page } = visit;
    await page.getByRole('button', { name: 'Edit' }).click();
    await page.getByLabel('Description').fill('mine');
    await shop.PUT('/webhooks/{webhookId}', { params: { path: { webhookId: webhook.id } }, body: { url: receiver.url, description: 'theirs' } });
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('“theirs”').waitFor();
    await visit.assertAccessible();
    assert.equal(await page.getByLabel('Description').inputValue(), 'mine');
    await page.getByRole('button', { name: 'Replace it' }).click();
    await page.getByText('The webhook is changed.').waitFor();
    assert.equal((await shop.GET('/webhooks/{webhookId}', { params: { path: { webhookId: webhook.id } } })).data.description, 'mine');
    // The browser logs the refusal.
    await visit.leave(/412/);
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
