import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Chrome } from './kit/console.mjs';
import { focusByKey } from './kit/keyboard.mjs';
import { address, admin, newPerson, pay } from './kit/people.mjs';

describe('the stream page', () => {
  const chrome = new Chrome();
  /** @type {import('./kit/people.mjs').Person} */
  let staff;
  before(async () => {
    staff = await newPerson('staff');
    await chrome.open();
  });
  after(() => chrome.close());

  const newPlant = async () => (await admin.POST('/plant', { body: { name: '<b>bold</b>', photoUrls: [], status: 'available', quantity: 500 } })).data;
  const newOrder = async (/** @type {number} */ plantId) => (await admin.POST('/store/order', { body: { plantId } })).data;

  test('shows matching events as they happen, and a frame as JSON', async () => {
    const [plant, other] = [await newPlant(), await newPlant()];
    const visit = await chrome.visit(staff, { path: `/stream?plant=${plant.id}&types=["order.placed"]` });
    const { page } = visit;
    await page.getByRole('status').getByText('Live').waitFor();
    await newOrder(other.id);
    const order = await newOrder(plant.id);
    await page.getByRole('option', { name: `Order ${order.id}, plant ${plant.id}` }).waitFor();
    assert.equal(await page.getByRole('option').count(), 1);
    await focusByKey(page.getByRole('listbox', { name: 'Events' }));
    await page.keyboard.press('ArrowDown');
    const frame = JSON.parse((await page.getByRole('region', { name: 'Frame' }).locator('pre').textContent()) ?? '');
    assert.deepEqual([frame.event, frame.data.orderId, frame.data.quantity], ['order.placed', order.id, 1]);
    await visit.assertAccessible();
    await visit.leave();
  });

  test('can be paused and continued without losing an event', async () => {
    const plant = await newPlant();
    const visit = await chrome.visit(staff, { path: `/stream?plant=${plant.id}&types=["order.placed"]`, scheme: 'dark' });
    const { page } = visit;
    await page.getByRole('status').getByText('Live').waitFor();
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByRole('status').getByText('Paused').waitFor();
    const missed = [await newOrder(plant.id), await newOrder(plant.id)];
    assert.equal(await page.getByRole('option').count(), 0);
    await visit.assertAccessible();
    await page.getByRole('button', { name: 'Continue' }).click();
    for (const { id } of missed) await page.getByRole('option', { name: `Order ${id}` }).waitFor();
    await visit.leave();
  });

  test('can start from the oldest event, or after a frame', async () => {
    const plant = await newPlant();
    const orders = [await newOrder(plant.id), await newOrder(plant.id)];
    const visit = await chrome.visit(staff, { path: `/stream?plant=${plant.id}&types=["order.placed"]&from=earliest` });
    const { page } = visit;
    await page.getByRole('option', { name: `Order ${orders[0]?.id}` }).click();
    await page.getByRole('option', { name: `Order ${orders[1]?.id}` }).waitFor();
    await page.getByRole('button', { name: 'Start after this one' }).click();
    await page.getByRole('option', { name: `Order ${orders[0]?.id}` }).waitFor({ state: 'detached' });
    await page.getByRole('option', { name: `Order ${orders[1]?.id}` }).waitFor();
    assert.notEqual(await page.getByLabel('Cursor', { exact: true }).inputValue(), '');
    await visit.leave();
  });

  test('shows a message for an invalid cursor', async () => {
    const visit = await chrome.visit(staff, { path: '/stream?from=nonsense' });
    await visit.page.getByRole('alert').getByText('choose “Now” or “The oldest event kept” under “From”').waitFor();
    await visit.assertAccessible();
    await visit.leave(/400/);
  });

  test('keeps its filters in the URL, so that links show the same', async () => {
    const plant = await newPlant();
    const visit = await chrome.visit(staff, { path: '/stream' });
    const { page } = visit;
    // Changes in quick succession must not overwrite each other.
    await page.getByLabel('Order', { exact: true }).fill('1');
    await page.getByRole('combobox', { name: 'Plant' }).fill(String(plant.id));
    await page.waitForURL((url) => url.searchParams.get('order') === '1' && url.searchParams.get('plant') === String(plant.id));
    await page.getByLabel('Order', { exact: true }).fill('');
    await page.waitForURL((url) => !url.searchParams.has('order'));
    await page.getByRole('combobox', { name: 'Changes to' }).click();
    await page.getByRole('option', { name: 'approved' }).click();
    await page.waitForURL((url) => url.searchParams.get('plant') === String(plant.id) && url.searchParams.get('status') === 'approved');
    await page.reload();
    await page.getByRole('status').getByText('Live').waitFor();
    // With the plant's name, once it is known.
    assert.match(await page.getByRole('combobox', { name: 'Plant' }).inputValue(), new RegExp(`\\b${plant.id}$`));
    const order = await newOrder(plant.id);
    await page.getByRole('option', { name: `Order ${order.id}` }).first().waitFor();
    await visit.leave();
  });

  test('has no cursor any more after Back', async () => {
    const visit = await chrome.visit(staff, { path: '/stream' });
    const { page } = visit;
    await page.getByRole('combobox', { name: 'From' }).click();
    await page.getByRole('option', { name: 'After a cursor' }).click();
    await page.getByLabel('Cursor', { exact: true }).fill('nonsense');
    await page.waitForURL(/from=nonsense/);
    await page.getByRole('status').getByText('Ended').waitFor();
    await page.goBack();
    await page.getByRole('status').getByText('Live').waitFor();
    await page.getByLabel('Cursor', { exact: true }).waitFor({ state: 'detached' });
    assert.equal(await page.getByRole('combobox', { name: 'From' }).inputValue(), 'Now');
    // On a phone, the rows can be scrolled sideways.
    await page.setViewportSize({ width: 390, height: 844 });
    const list = page.getByRole('listbox', { name: 'Events' });
    await page.goto(`${address}/console/stream?from=earliest`);
    await list.getByRole('option').first().waitFor();
    assert.deepEqual(await list.evaluate((one) => [...one.querySelectorAll('[role=option]')].filter((row) => row.getBoundingClientRect().width > one.scrollWidth || row.scrollWidth > row.clientWidth).map((row) => row.textContent)), []);
    await visit.leave(/400/);
  });

  test('stays paused until it continues, with other filters and after other pages', async () => {
    const visit = await chrome.visit(staff, { path: '/stream' });
    const { page } = visit;
    const badge = page.getByRole('status').getByText('Paused');
    await page.getByRole('button', { name: 'Pause' }).click();
    await badge.waitFor();
    await page.getByLabel('Order', { exact: true }).fill('1');
    await page.waitForURL(/order=1/);
    await badge.waitFor();
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Orders' }).click();
    await page.getByRole('heading', { name: 'Orders', level: 1 }).waitFor();
    await page.goBack();
    await badge.waitFor();
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('status').getByText('Live').waitFor();
    await visit.leave();
  });

  test('has its events, the one that is selected and what waits, when Back opens it again', async () => {
    const plant = await newPlant();
    const visit = await chrome.visit(staff, { path: `/stream?plant=${plant.id}&types=["order.placed"]` });
    const { page } = visit;
    const option = page.getByRole('option', { name: /^\d+:/ });
    await page.getByRole('status').getByText('Live').waitFor();
    const order = await newOrder(plant.id);
    await page.getByRole('option', { name: `Order ${order.id}` }).click();
    await page.getByRole('button', { name: 'Pause' }).click();
    await newOrder(plant.id);
    await page.getByText('1 event waits.').waitFor();
    await page.getByRole('region', { name: 'Frame' }).getByRole('link').click();
    await page.getByRole('heading', { name: `Order ${order.id}`, level: 1 }).waitFor();
    await newOrder(plant.id);
    await page.goBack();
    await page.getByText('2 events wait.').waitFor();
    await page.locator('[role=option][aria-selected=true]').filter({ hasText: `Order ${order.id}` }).waitFor();
    await page.getByRole('region', { name: 'Frame' }).getByText('"order.placed"').waitFor();
    await page.getByRole('button', { name: 'Clear' }).click();
    await page.getByRole('heading', { name: 'Paused, 2 events wait' }).waitFor();
    await page.getByRole('button', { name: 'Continue' }).click();
    await option.nth(1).waitFor();
    assert.equal(await option.count(), 2);
    await visit.leave();
  });

  test('cuts off a long tracking number, and says so', async () => {
    const plant = await newPlant();
    const { id: orderId } = await newOrder(plant.id);
    await pay(orderId);
    await admin.POST('/store/order/{orderId}/shipment', { params: { path: { orderId } }, body: { carrier: 'Green Post', trackingNumber: 'W'.repeat(100) } });
    const visit = await chrome.visit(staff, { path: `/stream?plant=${plant.id}&types=["order.shipped"]&from=earliest` });
    const { page } = visit;
    const row = page.getByRole('option', { name: `Order ${orderId}` });
    await row.waitFor();
    const text = row.locator('span').filter({ hasText: /^Green Post/ }).last();
    assert.ok(await text.evaluate((one) => getComputedStyle(one).textOverflow === 'ellipsis' && one.scrollWidth > one.clientWidth));
    const [inner, outer] = await Promise.all([text.boundingBox(), page.getByRole('listbox', { name: 'Events' }).boundingBox()]);
    assert.ok(inner && outer && inner.x + inner.width <= outer.x + outer.width, JSON.stringify({ inner, outer }));
    await visit.leave();
  });

  test('renders only visible events, no matter how many there are', async () => {
    const plant = await newPlant();
    await Promise.all(Array.from({ length: 120 }, () => newOrder(plant.id)));
    const visit = await chrome.visit(staff, { path: `/stream?plant=${plant.id}&types=["order.placed"]&from=earliest` });
    const { page } = visit;
    await page.getByText('120 events received').waitFor();
    assert.ok((await page.getByRole('option').count()) < 60);
    assert.equal(await page.getByRole('option').first().getAttribute('aria-setsize'), '120');
    await page.getByRole('listbox', { name: 'Events' }).focus();
    await page.keyboard.press('End');
    await page.locator('[role=option][aria-posinset="120"][aria-selected=true]').waitFor();
    await visit.leave();
  });
});
