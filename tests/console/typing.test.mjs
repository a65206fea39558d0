import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Chrome } from './kit/console.mjs';
import { address, admin, demoAdmin, fresh, newPerson, newPlant } from './kit/people.mjs';

/** @param {number} plantId */
const freeOf = async (plantId) => (await admin.GET('/store/inventory/{plantId}', { params: { path: { plantId } } })).data.free;

describe('what is typed', () => {
  const chrome = new Chrome();
  before(() => chrome.open());
  after(() => chrome.close());

  test('into the stock stays as it is, and nothing is set that was not meant', async () => {
    const plantId = await newPlant(100);
    const visit = await chrome.visit(demoAdmin, { path: `/plants/${plantId}` });
    const { page } = visit;
    const field = page.getByLabel('Free units');
    let requests = 0;
    page.on('request', (request) => {
      if (request.method() === 'PUT') requests += 1;
    });
    for (const text of ['-5', '1.5', '1e3', '1,000', 'ten']) {
      await field.fill('');
      await field.pressSequentially(text);
      await field.press('Enter');
      assert.equal(await field.inputValue(), text);
      await page.getByText('Write a whole number in digits').waitFor();
    }
    await visit.assertAccessible();
    await field.fill('1000000001');
    await page.getByText('At most 1,000,000,000.').waitFor();
    await field.press('Enter');
    assert.deepEqual([requests, await freeOf(plantId)], [0, 100]);
    await field.fill('40');
    await field.press('Enter');
    await page.getByText('40 units can be ordered.').waitFor();
    assert.equal(await freeOf(plantId), 40);
    await visit.leave();
  });

  test('into a new plant’s units is refused unless it is a number', async () => {
    const visit = await chrome.visit(demoAdmin, { path: '/plants/new' });
    const { page } = visit;
    const name = fresh('Typed');
    await page.getByLabel('Name').fill(name);
    await page.getByLabel('Units in stock').pressSequentially('-5');
    await page.keyboard.press('Enter');
    await page.getByText('Write a whole number in digits').waitFor();
    await page.getByLabel('Units in stock').fill('5');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name, level: 1, exact: true }).waitFor();
    assert.equal(await freeOf(Number(new URL(page.url()).pathname.split('/').at(-1))), 5);
    await visit.leave();
  });

  test('as a plant’s name finds the plant, in filters and in a webhook’s form', async () => {
    const name = fresh('Marsh marigold');
    const plantId = await newPlant(10, name);
    const { data: order } = await admin.POST('/store/order', { body: { plantId } });
    const visit = await chrome.visit(await newPerson('staff'), { path: '/orders?tab=all' });
    const { page } = visit;
    await page.getByRole('combobox', { name: 'Plant' }).pressSequentially(name);
    assert.equal(await page.getByRole('combobox', { name: 'Plant' }).inputValue(), name);
    await page.getByRole('option', { name: `${name} · ${plantId}` }).click();
    await page.waitForURL((url) => url.searchParams.get('plantId') === String(plantId));
    await page.getByText('1 order', { exact: true }).waitFor();
    await page.getByRole('link', { name: String(order.id), exact: true }).waitFor();
    await page.getByRole('combobox', { name: 'Plant' }).fill('no plant is called like this');
    await page.getByText('No plant is called that.').waitFor();
    await visit.assertAccessible();

    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Webhooks' }).click();
    await page.getByRole('button', { name: 'New webhook' }).click();
    await page.getByLabel('Address').fill('https://receiver.example/hooks');
    await page.getByRole('combobox', { name: 'Only plant' }).fill('marigold that nobody sells');
    await page.getByRole('button', { name: 'Create the webhook' }).click();
    // A webhook for one plant must not become one for all.
    assert.equal(await page.getByRole('combobox', { name: 'Only plant' }).evaluate((input) => /** @type {HTMLInputElement} */ (input).validity.valid), false);
    await page.getByRole('dialog', { name: 'New webhook' }).waitFor();
    await visit.leave();
  });

  test('of an owner’s name is no error before it is complete', async () => {
    const owner = await newPerson('customer');
    const visit = await chrome.visit(await newPerson('staff'), { path: '/orders' });
    const { page } = visit;
    await page.getByRole('combobox', { name: 'Owner' }).fill(owner.username.slice(0, 4));
    await page.getByRole('heading', { name: 'No user is called' }).waitFor();
    assert.equal(await page.getByRole('alert').count(), 0);
    await page.getByRole('combobox', { name: 'Owner' }).fill(owner.username);
    await page.getByRole('heading', { name: 'No order matches' }).waitFor();
    await visit.leave(/404/);
  });

  test('while the shop answers is not lost', async () => {
    const plantId = await newPlant(5);
    const { data: order } = await admin.POST('/store/order', { body: { plantId } });
    const visit = await chrome.visit(demoAdmin, { path: `/orders/${order.id}` });
    const { page } = visit;
    await page.route(/\/note$|\/inventory\/\d+$/, async (route) => {
      await new Promise((resolve) => void setTimeout(resolve, route.request().method() === 'GET' ? 0 : 1_000));
      await route.continue();
    });
    const note = page.getByLabel('Note', { exact: true });
    await note.fill('first');
    await page.getByRole('button', { name: 'Add the note' }).click();
    await note.press('End');
    await note.pressSequentially(' and second');
    await page.getByText('The note is added.').waitFor();
    await page.waitForFunction(() => document.querySelector('textarea')?.value === 'and second');
    await page.goto(`${address}/console/plants/${plantId}`);
    const units = page.getByLabel('Free units');
    await units.fill('20');
    await page.getByRole('button', { name: 'Set the stock' }).click();
    await units.press('End');
    await units.pressSequentially('5');
    await page.getByText('20 units can be ordered.').waitFor();
    assert.equal(await units.inputValue(), '205');
    await page.getByRole('button', { name: 'Set the stock' }).click();
    await page.getByText('205 units can be ordered.').waitFor();
    assert.equal(await freeOf(plantId), 205);
    // A dialog, which closes then, takes nothing more.
    const { data: webhook } = await admin.POST('/webhooks', { body: { url: 'https://receiver.example/hooks', name: 'Typed', eventTypes: ['order.placed'] } });
    await page.goto(`${address}/console/webhooks/${webhook.id}`);
    await page.route(/\/webhooks\/[\da-f-]+$/, async (route) => {
      await new Promise((resolve) => void setTimeout(resolve, route.request().method() === 'PUT' ? 1_000 : 0));
      await route.continue();
    });
    await page.getByRole('button', { name: 'Edit' }).click();
    const field = page.getByRole('dialog').getByLabel('Name');
    await field.fill('Saved');
    await field.press('Enter');
    await page.waitForTimeout(200);
    await field.pressSequentially(' and more');
    assert.equal(await field.inputValue(), 'Saved');
    await page.getByRole('heading', { name: 'Saved', level: 1 }).waitFor();
    await visit.leave();
  });

  test('over a usual reason for a change of stock replaces it', async () => {
    const plantId = await newPlant(4);
    const visit = await chrome.visit(demoAdmin, { path: `/plants/${plantId}` });
    const { page } = visit;
    await page.getByRole('button', { name: 'Change the stock' }).click();
    await page.getByRole('dialog').getByText('Count', { exact: true }).first().click();
    await page.getByRole('dialog').getByLabel('Units on the shelf').focus();
    await page.keyboard.press('Tab');
    await page.keyboard.type('Broken pot');
    assert.equal(await page.getByRole('textbox', { name: 'Reason' }).inputValue(), 'Broken pot');
    await visit.leave();
  });

  test('over a tracking number replaces it', async () => {
    const { data: { id } } = await admin.POST('/store/order', { body: { plantId: await newPlant() } });
    const params = { path: { orderId: id } };
    await admin.POST('/store/order/{orderId}/payment', { params, body: { outcome: 'succeeded', reference: fresh('payment') } });
    await admin.POST('/store/order/{orderId}/shipment', { params, body: { carrier: 'Green Post', trackingNumber: 'OLD-1' } });
    const visit = await chrome.visit(await newPerson('staff'), { path: `/orders/${id}` });
    const { page } = visit;
    await page.getByRole('button', { name: 'Correct the shipment' }).click();
    await page.getByLabel('Carrier').and(page.locator(':focus')).waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.type('NEW-2');
    await page.keyboard.press('Enter');
    await page.getByRole('region', { name: 'Details' }).getByText('NEW-2', { exact: true }).waitFor();
    await page.getByRole('region', { name: 'Timeline' }).getByText('Shipment corrected').waitFor();
    await visit.leave();
  });
});
