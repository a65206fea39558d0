import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Chrome } from './kit/console.mjs';
import { address, admin, demoAdmin, fresh, newPerson, newPlant, shopOf } from './kit/people.mjs';
import { misplaced } from './kit/boxes.mjs';

const long = 'X'.repeat(120);
const words = 'a plant whose name tells what it is, where it grows and who has found it '.repeat(2).trim();

/** Pages with the longest contents that the shop takes. @returns {Promise<Record<string, string>>} paths by name */
async function fill() {
  // First, so that it fails to deliver the events of what follows, which the pages of the orders show.
  const { data: webhook } = await admin.POST('/webhooks', { body: { url: `https://receiver.example/${long}`, name: long.slice(0, 100), description: long } });
  const plantId = await newPlant(1_000_000_000, `${fresh('Long')} ${words}`);
  const unbroken = await newPlant(5, `${fresh('Long')}${long}`);
  const owner = { username: `o${process.pid}${'w'.repeat(56)}`, password: 'a good password' };
  await admin.POST('/user', { body: owner });
  const { data: order } = await shopOf(owner).POST('/store/order', { body: { plantId, quantity: 1_000 } });
  const params = { path: { orderId: order.id } };
  await admin.POST('/store/order/{orderId}/payment', { params, body: { outcome: 'succeeded', reference: fresh('payment') } });
  await admin.POST('/store/order/{orderId}/shipment', { params, body: { carrier: `Post ${long}`, trackingNumber: long } });
  const { data: refunded } = await admin.POST('/store/order', { body: { plantId: unbroken } });
  await admin.POST('/store/order/{orderId}/payment', { params: { path: { orderId: refunded.id } }, body: { outcome: 'succeeded', reference: `${fresh('payment')}${'r'.repeat(60)}` } });
  await admin.POST('/store/order/{orderId}/cancellation', { params: { path: { orderId: refunded.id } }, body: { reason: long, restock: true } });
  const { data: toShip } = await admin.POST('/store/order', { body: { plantId, quantity: 1_000, shipTo: { name: words, lines: [long], postalCode: '01067', city: long, country: 'Saxony' } } });
  await admin.POST('/store/order/{orderId}/payment', { params: { path: { orderId: toShip.id } }, body: { outcome: 'succeeded', reference: fresh('payment') } });
  const { username } = await newPerson('customer');
  await admin.POST('/user/{username}/apiKeys', { params: { path: { username } }, body: { name: long } });
  return {
    today: '/', orders: '/orders?tab=all', 'orders to ship': '/orders', 'shipped orders': '/orders?tab=shipped', 'refunds due': '/orders?tab=refund', order: `/orders/${order.id}`, 'cancelled order': `/orders/${refunded.id}`, plants: `/plants?q=Long-${process.pid}`, plant: `/plants/${plantId}`,
    'plant of one word': `/plants/${unbroken}`, 'new plant': '/plants/new', import: '/plants/import', stream: '/stream', webhooks: '/webhooks', webhook: `/webhooks/${webhook.id}`,
    people: '/people', clients: '/people?tab=clients', 'audit log': '/people?tab=audit', person: `/people/${username}`, mails: '/mails',
  };
}

describe('on every page, nothing overlaps, is cut or hidden', () => {
  const chrome = new Chrome();
  /** @type {Record<string, string>} */
  let pages;
  before(async () => {
    pages = await fill();
    await chrome.open();
  });
  after(() => chrome.close());

  for (const width of [390, 1024, 1440]) {
    test(`at ${width} px`, async () => {
      const visit = await chrome.visit(demoAdmin, { viewport: { width, height: 900 }, path: '/stream' });
      const { page } = visit;
      /** @type {string[]} */
      const found = [];
      for (const [name, path] of Object.entries(pages)) {
        await page.goto(`${address}/console${path}`);
        await page.getByRole('heading', { level: 1 }).waitFor();
        await page.getByRole('status', { name: 'Loading' }).first().waitFor({ state: 'detached' });
        await page.locator('.mantine-Skeleton-root').first().waitFor({ state: 'detached' });
        found.push(...(await misplaced(page)).map((one) => `${name}: ${one}`));
      }
      assert.deepEqual(found, []);
      await visit.leave();
    });
  }
});
