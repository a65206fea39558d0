import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { assertShows, Chrome } from './kit/console.mjs';
import { repeatOrder } from './kit/many-orders.mjs';
import { admin, fresh, newPerson, newPlant, shopOf } from './kit/people.mjs';

describe('the Today page', () => {
  const chrome = new Chrome();
  before(() => chrome.open());
  after(() => chrome.close());

  test('counts orders live, from placing to delivery', async () => {
    // A customer sees only own orders, so other tests do not change the numbers.
    const customer = await newPerson('customer');
    const plantId = await newPlant();
    const visit = await chrome.visit(customer);
    const { page } = visit;
    const number = (/** @type {string} */ label, /** @type {string} */ value) => page.getByRole('region', { name: label }).getByText(value, { exact: true }).waitFor();
    await number('Awaiting payment', '0');
    await page.getByRole('status').getByText('Live').waitFor();
    const { data: { id: orderId } } = await shopOf(customer).POST('/store/order', { body: { plantId } });
    await number('Awaiting payment', '1');
    const params = { path: { orderId } };
    await admin.POST('/store/order/{orderId}/payment', { params, body: { outcome: 'succeeded', reference: fresh('payment') } });
    await number('To ship', '1');
    await page.getByRole('region', { name: 'Waiting longest for shipment' }).getByRole('link', { name: String(orderId) }).waitFor();
    await admin.POST('/store/order/{orderId}/shipment', { params, body: { carrier: 'Green Post', trackingNumber: '1' } });
    await number('To ship', '0');
    await admin.POST('/store/order/{orderId}/delivery', { params });
    await page.getByRole('img', { name: /Median time from placing to delivery/ }).waitFor();
    await page.getByRole('img', { name: '1 order in the last hour, at most 1 per minute' }).waitFor();
    await page.getByRole('img', { name: '0 placed, 0 approved, 1 delivered, 0 cancelled' }).waitFor();
    await visit.assertAccessible();
    await visit.leave();
  });

  test('counts all orders, and knows the one that waits longest, however many came later', async () => {
    const customer = await newPerson('customer');
    const plantId = await newPlant(20_000);
    const place = async () => (await shopOf(customer).POST('/store/order', { body: { plantId } })).data.id;
    const oldest = await place();
    await admin.POST('/store/order/{orderId}/payment', { params: { path: { orderId: oldest } }, body: { outcome: 'succeeded', reference: fresh('payment') } });
    await repeatOrder(await place(), 5_200);
    const visit = await chrome.visit(customer);
    const { page } = visit;
    await page.getByRole('region', { name: 'Awaiting payment' }).getByText('5,201', { exact: true }).waitFor();
    await page.getByRole('region', { name: 'To ship' }).getByText('1', { exact: true }).waitFor();
    await page.getByRole('region', { name: 'Waiting longest for shipment' }).getByRole('link', { name: String(oldest) }).waitFor();
    await page.getByRole('img', { name: '5,201 placed, 1 approved, 0 delivered, 0 cancelled' }).waitFor();
    await page.getByRole('img', { name: /^the newest 5,000 orders in the last hour/ }).waitFor();
    await visit.assertAccessible();
    await visit.leave();
  });

  test('shows staff the units, the five services, the refunds and the webhooks', async () => {
    const visit = await chrome.visit(await newPerson('staff'));
    const { page } = visit;
    await page.getByRole('img', { name: /available, .* pending, .* sold/ }).waitFor();
    const services = page.getByRole('region', { name: 'Services' }).getByRole('listitem');
    await services.filter({ hasText: 'ready' }).nth(4).waitFor();
    assert.equal(await services.count(), 5);
    await page.getByRole('region', { name: 'Refunds due' }).waitFor();
    await page.getByRole('region', { name: 'Failing webhooks' }).getByText(/^(none|no answer or an error)$/).waitFor();
    // What people come for is above what they look at now and then.
    const topOf = async (/** @type {string} */ name) => (await page.getByRole('region', { name }).boundingBox())?.y ?? 0;
    const tops = [await topOf('To ship'), await topOf('Waiting longest for shipment'), await topOf('The shop’s units by status')];
    assert.deepEqual(tops, [...tops].sort((a, b) => a - b));
    await visit.leave();
  });

  test('says when the shop is unreachable, and refreshes when it is back', async () => {
    const customer = await newPerson('customer');
    const plantId = await newPlant();
    const visit = await chrome.visit(customer);
    const { page } = visit;
    const waiting = page.getByRole('region', { name: 'Awaiting payment' });
    await waiting.getByText('0', { exact: true }).waitFor();
    await page.context().setOffline(true);
    await page.getByText('This computer has no network', { exact: true }).waitFor();
    await visit.assertAccessible();
    await shopOf(customer).POST('/store/order', { body: { plantId } });
    await page.context().setOffline(false);
    await page.getByText('This computer has no network', { exact: true }).waitFor({ state: 'detached' });
    await waiting.getByText('1', { exact: true }).waitFor();
    await visit.leave(/ERR_INTERNET_DISCONNECTED|ERR_NETWORK_CHANGED/);
  });

  test('says of each service what is known of it, and that the shop is away when the gateway hangs', async () => {
    const visit = await chrome.visit(await newPerson('staff'));
    const { page } = visit;
    const services = page.getByRole('region', { name: 'Services' }).getByRole('listitem').locator('.mantine-Badge-root');
    await assertShows(services, ['ready', 'ready', 'ready', 'ready', 'ready']);
    await page.getByText('Live', { exact: true }).waitFor();
    await page.route('**/readyz', () => undefined);
    await page.getByText('The shop cannot be reached').waitFor({ timeout: 16_000 });
    assert.equal(await page.getByText('Live', { exact: true }).count(), 0);
    await assertShows(services, ['no answer', 'unknown', 'unknown', 'unknown', 'unknown']);
    await page.unroute('**/readyz');
    await page.route('**/readyz', (route) => route.fulfill({ status: 503, json: { ready: false, services: { gateway: 'ready', catalog: 'ready', store: 'slow: no answer in 1.5 s', identity: 'no answer', notifications: 'ready' } } }));
    await assertShows(services, ['ready', 'ready', 'slow: no answer in 1.5 s', 'no answer', 'ready']);
    await page.unroute('**/readyz');
    await assertShows(services, ['ready', 'ready', 'ready', 'ready', 'ready']);
    await visit.assertAccessible();
    await visit.leave();
  });
});
