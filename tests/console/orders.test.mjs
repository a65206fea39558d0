import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { assertShows, Chrome } from './kit/console.mjs';
import { repeatOrder } from './kit/many-orders.mjs';
import { address, admin, fresh, newPerson, newPlant, paidOrder, pay, placeOrder, shopOf } from './kit/people.mjs';

describe('the orders pages', () => {
  const chrome = new Chrome();
  /** @type {import('./kit/people.mjs').Person} */
  let staff;
  before(async () => {
    await chrome.open();
    staff = await newPerson('staff');
  });
  after(() => chrome.close());

  test('an order leads to the others of its basket, which one payment pays', async () => {
    const plantId = await newPlant();
    const { data: { id: basketId, orders } } = await admin.POST('/store/basket', { body: { lines: [{ plantId }, { plantId }], externalId: fresh('web'), metadata: { note: 'ring twice' } } });
    const [one, other] = orders.map(({ id }) => id);
    const visit = await chrome.visit(staff, { path: `/orders/${one}` });
    const { page } = visit;
    const details = page.getByRole('region', { name: 'Details' });
    await details.getByText(`${basketId}, with `).waitFor();
    await page.getByRole('button', { name: 'Report a payment' }).click();
    await page.getByLabel('Reference').fill(fresh('pay'));
    await page.getByRole('dialog').getByText(`Otherwise of all orders of basket ${basketId}`).waitFor();
    await page.getByRole('button', { name: 'Report it' }).click();
    await page.getByText(`The payment of basket ${basketId} is reported.`).first().waitFor();
    await page.getByText('approved', { exact: true }).first().waitFor();
    await details.getByRole('link', { name: String(other), exact: true }).click();
    await page.getByRole('heading', { level: 1, name: `Order ${other}` }).waitFor();
    await page.getByText('approved', { exact: true }).first().waitFor();
    await visit.assertAccessible();
    await visit.leave();
  });

  test('an order can be paid, shipped and delivered', async () => {
    const id = await placeOrder(await newPlant(), 3);
    const visit = await chrome.visit(staff, { path: `/orders/${id}` });
    const { page } = visit;
    await page.getByText('3 units').waitFor();
    await page.getByRole('button', { name: 'Report a payment' }).click();
    await page.getByLabel('Reference').fill(fresh('pay'));
    await page.getByRole('button', { name: 'Report it' }).click();
    await page.getByText(`The payment of order ${id} is reported.`).waitFor();
    await page.getByRole('button', { name: 'Ship', exact: true }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Carrier').fill('Green Post');
    await dialog.getByLabel('Tracking number').fill('GP 42');
    await dialog.getByRole('button', { name: 'Ship', exact: true }).click();
    await page.getByRole('region', { name: 'Details' }).getByText('GP 42').waitFor();
    await page.getByText('shipped', { exact: true }).waitFor();
    await visit.assertAccessible();
    await page.getByRole('button', { name: 'Report the delivery' }).click();
    await page.getByText('it can be neither cancelled nor transferred afterwards').waitFor();
    await visit.assertAccessible();
    await page.getByRole('button', { name: 'It was delivered' }).click();
    const happened = page.getByRole('region', { name: 'Timeline' });
    await happened.getByText('Delivered', { exact: true }).waitFor();
    await happened.getByText(`by ${staff.username}, staff`).first().waitFor();
    await happened.getByLabel('Note').fill('Left with the neighbour.');
    await happened.getByRole('button', { name: 'Add the note' }).dblclick();
    await happened.getByText('Left with the neighbour.', { exact: true }).waitFor();
    await happened.getByRole('button', { name: 'Add the note', disabled: true }).waitFor();
    // Once, also after the timeline was read again.
    await happened.getByText('Left with the neighbour.', { exact: true }).waitFor();
    await happened.getByText('Left with the neighbour.', { exact: true }).nth(1).waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Cancel the order' }).waitFor({ state: 'detached' });
    // A colleague's appears by itself.
    await admin.POST('/store/order/{orderId}/note', { params: { path: { orderId: id } }, body: { text: 'The customer called.' } });
    await happened.getByText('The customer called.', { exact: true }).waitFor();
    await visit.leave();
  });

  test('names the application that acted for a person, and not the console (slow)', async () => {
    const id = await placeOrder(await newPlant());
    await pay(id);
    const name = fresh('Label printer');
    const { data: client } = await admin.POST('/oauth/clients', { body: { name, grantTypes: ['client_credentials'], scopes: ['write:shipments', 'write:orders'], owner: staff.username } });
    const body = new URLSearchParams({ grant_type: 'client_credentials', client_id: client.clientId, client_secret: client.secret ?? '' });
    const { access_token: token } = /** @type {any} */ (await (await fetch(`${address}/oauth/token`, { method: 'POST', body })).json());
    const shipped = await fetch(`${address}/v3/store/order/${id}/shipment`, { method: 'POST', headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' }, body: JSON.stringify({ carrier: 'Green Post', trackingNumber: '7' }) });
    assert.equal(shipped.status, 200, await shipped.text());
    const visit = await chrome.visit(staff, { path: `/orders/${id}` });
    const { page } = visit;
    const happened = page.getByRole('region', { name: 'Timeline' });
    await happened.getByText(`by ${staff.username}, staff, by ${name}`).waitFor();
    await happened.getByLabel('Note').fill('Checked.');
    await happened.getByRole('button', { name: 'Add the note' }).click();
    await happened.getByText(new RegExp(`by ${staff.username}, staff$`)).waitFor();
    await happened.and(page.locator(':focus')).waitFor();
    await visit.leave();
  });

  test('a paid order can be cancelled until it is shipped, and its refund is found from the Today page (slow)', async () => {
    const plantId = await newPlant(10);
    const [id, shipped] = [await placeOrder(plantId, 2), await placeOrder(plantId)];
    await pay(id);
    await pay(shipped);
    await admin.POST('/store/order/{orderId}/shipment', { params: { path: { orderId: shipped } }, body: { carrier: 'Green Post', trackingNumber: '1' } });
    const visit = await chrome.visit(staff, { path: `/orders/${shipped}` });
    const { page } = visit;
    const actions = page.getByRole('group', { name: 'Actions' }).getByRole('button');
    await actions.first().waitFor();
    assert.deepEqual(await actions.allTextContents(), ['Correct the shipment', 'Report the delivery', 'Print', 'Transfer']);
    await page.getByRole('button', { name: 'Print' }).click();
    await page.getByRole('dialog', { name: 'Print for 1 order' }).waitFor();
    assert.match((await page.locator('[data-papers]').textContent()) ?? '', new RegExp(`Order ${shipped}.*Green Post.*${plantId}`));
    await page.goto(`${address}/console/orders/${id}`);
    await page.getByRole('button', { name: 'Cancel the order' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Reason').fill('The leaves are damaged.');
    await dialog.getByLabel('Its 2 units can be sold again').uncheck();
    await visit.assertAccessible();
    await dialog.getByRole('button', { name: 'Cancel the order' }).click();
    await page.getByText(`Order ${id} is cancelled.`).waitFor();
    await page.getByRole('region', { name: 'Timeline' }).getByText('The leaves are damaged.').waitFor();
    assert.equal((await admin.GET('/store/inventory/{plantId}', { params: { path: { plantId } } })).data.free, 7);

    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Today' }).click();
    await page.getByRole('region', { name: 'Refunds due' }).getByRole('link').click();
    await page.getByRole('tab', { name: /^Refund due/, selected: true }).waitFor();
    await page.getByRole('combobox', { name: 'Plant' }).fill(String(plantId));
    await page.getByText('1 order', { exact: true }).waitFor();
    await page.getByRole('link', { name: String(id), exact: true }).waitFor();
    await visit.leave();
  });

  test('the orders to ship are those that the Today page counts, the oldest first (slow)', async () => {
    const customer = await newPerson('customer');
    const plantId = await newPlant();
    const place = async () => (await shopOf(customer).POST('/store/order', { body: { plantId } })).data.id;
    const [first, second, shipped] = [await place(), await place(), await place()];
    await place();
    for (const id of [first, second, shipped]) await pay(id);
    await admin.POST('/store/order/{orderId}/shipment', { params: { path: { orderId: shipped } }, body: { carrier: 'Green Post', trackingNumber: '1' } });
    const visit = await chrome.visit(customer);
    const { page } = visit;
    const card = page.getByRole('region', { name: 'To ship' });
    await card.getByText('2', { exact: true }).waitFor();
    await card.getByRole('link').click();
    await page.getByText('2 orders', { exact: true }).waitFor();
    const links = page.getByRole('table', { name: 'Orders' }).getByRole('link');
    await assertShows(links, [String(first), String(second)]);
    // Shipped while the list is open, it leaves it.
    await page.getByText('Live', { exact: true }).filter({ visible: true }).waitFor();
    await admin.POST('/store/order/{orderId}/shipment', { params: { path: { orderId: first } }, body: { carrier: 'Green Post', trackingNumber: '2' } });
    await assertShows(links, [String(second)]);
    await visit.leave();
  });

  test('the filters follow the address, and a plant is reached from its order', async () => {
    const name = fresh('Plant');
    const plantId = await newPlant(10, name);
    const id = await placeOrder(plantId);
    const visit = await chrome.visit(staff, { path: '/orders?status=approved' });
    const { page } = visit;
    const chip = page.getByRole('checkbox', { name: 'approved, shipped' });
    assert.equal(await chip.isChecked(), true);
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Orders' }).click();
    await page.getByRole('tab', { name: /^To ship/, selected: true }).waitFor();
    await page.getByRole('tab', { name: /^All/ }).click();
    assert.equal(await chip.isChecked(), false);
    await page.getByRole('link', { name: String(id), exact: true }).click();
    await page.getByRole('region', { name: 'Details' }).getByRole('link', { name }).click();
    await page.getByRole('heading', { level: 1, name }).waitFor();
    await visit.leave();
  });

  test('the list is live: new orders appear, and changes are shown at once', async () => {
    const plantId = await newPlant(100, 'Live fern');
    const first = await placeOrder(plantId);
    const visit = await chrome.visit(staff, { path: `/orders?plantId=${plantId}` });
    const { page } = visit;
    const rows = page.getByRole('table', { name: 'Orders' }).getByRole('row');
    await rows.filter({ hasText: String(first) }).getByText('placed').waitFor();
    await page.getByText('Live', { exact: true }).waitFor();
    const second = await placeOrder(plantId);
    await rows.filter({ hasText: String(second) }).getByText('placed').waitFor();
    await pay(first);
    await rows.filter({ hasText: String(first) }).getByText('approved').waitFor();
    await page.getByText('2 orders').waitFor();
    await visit.assertAccessible();
    await visit.leave();
  });

  test('the list can be filtered by status, plant and owner, and the URL contains the filters (slow)', async () => {
    const plantId = await newPlant();
    const [unpaid, paid] = [await placeOrder(plantId), await placeOrder(plantId)];
    await pay(paid);
    const visit = await chrome.visit(staff, { path: '/orders?tab=all' });
    const { page } = visit;
    await page.getByRole('combobox', { name: 'Plant' }).fill(String(plantId));
    await page.getByText('2 orders').waitFor();
    await page.getByText('approved, shipped', { exact: true }).click();
    await page.getByText('1 order', { exact: true }).waitFor();
    await page.getByRole('link', { name: String(paid) }).waitFor();
    assert.deepEqual(Object.fromEntries(new URL(page.url()).searchParams), { plantId: `${plantId}`, status: 'approved', tab: 'all' });
    await page.getByText('approved, shipped', { exact: true }).click();
    await page.getByRole('link', { name: String(unpaid) }).waitFor();
    await page.getByRole('combobox', { name: 'Owner' }).fill((await newPerson('customer')).username);
    await page.getByRole('heading', { name: 'No order matches' }).waitFor();
    await page.getByRole('button', { name: 'Show all orders' }).click();
    await page.waitForURL('**/console/orders?tab=all');
    await visit.leave();
  });

  test('a refusal is shown in the dialog, with a remedy and the request id (slow)', async () => {
    const id = await placeOrder(await newPlant());
    const visit = await chrome.visit(staff, { path: `/orders/${id}` });
    const { page } = visit;
    await page.getByRole('button', { name: 'Transfer' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('combobox', { name: 'New owner' }).fill('nobody-here');
    await dialog.getByRole('button', { name: 'Transfer' }).click();
    const alert = dialog.getByRole('alert');
    await alert.getByText('No user is called that.').waitFor();
    assert.doesNotMatch(await alert.innerText(), /errors|fields named|user-not-found|\/problems|There is no user/);
    assert.match(await alert.innerText(), /Request [\w-]{8}/);
    await visit.assertAccessible();
    const newOwner = await newPerson('customer');
    await dialog.getByRole('combobox', { name: 'New owner' }).fill(newOwner.username);
    await dialog.getByRole('button', { name: 'Transfer' }).click();
    await page.getByRole('region', { name: 'Details' }).getByText(newOwner.username).waitFor();
    await visit.leave(/40\d/);
  });

  test('a payment after the cancellation makes a refund due, which can be completed (slow)', async () => {
    const id = await placeOrder(await newPlant());
    const late = fresh('late');
    const visit = await chrome.visit(staff, { path: `/orders/${id}` });
    const { page } = visit;
    await page.getByRole('button', { name: 'Cancel the order' }).click();
    const question = page.getByRole('dialog');
    await question.getByText('can be ordered again at once').waitFor();
    await question.getByRole('button', { name: 'Cancel the order' }).click();
    await page.getByText(`Order ${id} is cancelled.`).waitFor();
    await page.getByRole('button', { name: 'Report a payment' }).click();
    await page.getByLabel('Reference').fill(late);
    await page.getByRole('button', { name: 'Report it' }).click();
    await page.getByRole('dialog').getByRole('alert').waitFor();
    await page.getByRole('button', { name: 'Back', exact: true }).click();
    const refund = page.getByRole('region', { name: 'Refund' });
    await refund.getByText(late).waitFor();
    await refund.getByRole('button', { name: 'Mark as refunded' }).click();
    await page.getByLabel('Reference').fill(fresh('back'));
    await page.getByRole('button', { name: 'Complete the refund' }).click();
    await refund.getByText('completed').waitFor();
    await visit.leave(/409/);
  });

  test('a refund that somebody else completes while the dialog is open is said there, with its reference', async () => {
    const orderId = await paidOrder(await newPlant());
    await admin.POST('/store/order/{orderId}/cancellation', { params: { path: { orderId } }, body: { reason: 'Frost', restock: true } });
    const visit = await chrome.visit(staff, { path: `/orders/${orderId}` });
    const { page } = visit;
    await page.getByRole('button', { name: 'Mark as refunded' }).click();
    await page.getByLabel('Reference').fill('mine');
    const { data: timeline } = await admin.GET('/store/order/{orderId}/timeline', { params: { path: { orderId } } });
    const refundId = timeline.find((entry) => entry.refundId !== undefined)?.refundId ?? 0;
    const theirs = fresh('theirs');
    await admin.POST('/store/refund/{refundId}/completion', { params: { path: { refundId } }, body: { reference: theirs } });
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('alert').getByText(`Its reference is ${theirs}.`).waitFor();
    assert.ok(await dialog.getByRole('button', { name: 'Complete the refund' }).isDisabled());
    assert.equal(await page.getByLabel('Reference').inputValue(), 'mine');
    await visit.assertAccessible();
    await visit.leave();
  });

  test('an order’s page has one state, also while events stand still', async () => {
    const orderId = await placeOrder(await newPlant());
    const visit = await chrome.visit(staff);
    const { page } = visit;
    await page.routeWebSocket(/./, () => undefined);
    await page.goto(`${address}/console/orders/${orderId}`);
    await page.getByRole('region', { name: 'Timeline' }).getByText('Placed', { exact: true }).waitFor();
    await admin.POST('/store/order/{orderId}/payment', { params: { path: { orderId } }, body: { outcome: 'succeeded', reference: fresh('paid') } });
    await page.getByRole('region', { name: 'Timeline' }).getByText('Paid', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Ship', exact: true }).waitFor();
    await page.getByText('Expires if unpaid').waitFor({ state: 'detached' });
    await visit.leave();
  });

  test('what a dialog says of an order is true of this one', async () => {
    const plantId = await newPlant();
    const [cancelled, unshipped] = [await placeOrder(plantId), await paidOrder(plantId)];
    await admin.DELETE('/store/order/{orderId}', { params: { path: { orderId: cancelled } } });
    const visit = await chrome.visit(staff, { path: `/orders/${cancelled}` });
    const { page } = visit;
    await page.getByRole('button', { name: 'Report a payment' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('This creates a refund.').waitFor();
    await dialog.getByText('It failed').click();
    await dialog.getByText('This is only recorded.').waitFor();
    assert.equal(await dialog.getByText('can be paid').count(), 0);
    await page.goto(`${address}/console/orders/${unshipped}`);
    await page.getByRole('button', { name: 'Report the delivery' }).click();
    await dialog.getByText('It was not shipped, as far as the shop knows').waitFor();
    await visit.assertAccessible();
    await dialog.getByRole('button', { name: 'It was delivered' }).click();
    await page.getByText(`Order ${unshipped} is delivered.`).waitFor();
    assert.equal(await page.getByText('none yet').count(), 0);
    await visit.leave();
  });

  test('papers are of paid orders, a pick list of those to ship; what is left out is said', async () => {
    const plantId = await newPlant(20);
    const [unpaid, cancelled, toShip, shipped, delivered] = [await placeOrder(plantId), await placeOrder(plantId), await paidOrder(plantId), await paidOrder(plantId), await paidOrder(plantId)];
    await admin.DELETE('/store/order/{orderId}', { params: { path: { orderId: cancelled } } });
    await admin.POST('/store/order/{orderId}/shipment', { params: { path: { orderId: shipped } }, body: { carrier: 'DHL', trackingNumber: fresh('sent') } });
    await admin.POST('/store/order/{orderId}/delivery', { params: { path: { orderId: delivered } } });
    const visit = await chrome.visit(staff, { path: `/orders?tab=all&plantId=${plantId}` });
    const { page } = visit;
    await page.getByText('5 orders', { exact: true }).waitFor();
    await page.getByRole('checkbox', { name: 'Select all orders that are loaded' }).check();
    await page.getByRole('group', { name: 'Selected orders' }).getByRole('button', { name: 'Print' }).click();
    const dialog = page.getByRole('dialog', { name: 'Print for 3 orders' });
    await dialog.getByText('2 selected orders are left out: unpaid or cancelled.').waitFor();
    const papers = page.locator('[data-papers]');
    for (const id of [toShip, shipped, delivered]) await papers.getByRole('img', { name: `QR code of order ${id}`, includeHidden: true }).waitFor({ state: 'attached' });
    assert.ok(!(await papers.textContent())?.includes(String(unpaid)));
    await dialog.getByLabel('Pick list').check();
    await page.getByRole('dialog', { name: 'Print for 1 order' }).getByText('4 selected orders are left out: unpaid, cancelled, shipped or delivered.').waitFor();
    assert.match(await papers.textContent() ?? '', new RegExp(`${toShip} \\(1\\)`));
    assert.ok(!(await papers.textContent())?.includes(String(shipped)));
    await visit.assertAccessible();
    await visit.leave();
  });

  test('a refund that is completed is counted no more where the person goes back', async () => {
    const plantId = await newPlant();
    const ids = await Promise.all([1, 2].map(() => paidOrder(plantId)));
    for (const orderId of ids) await admin.POST('/store/order/{orderId}/cancellation', { params: { path: { orderId } }, body: { reason: 'Frost', restock: true } });
    const visit = await chrome.visit(staff, { path: `/orders?tab=refund&plantId=${plantId}` });
    const { page } = visit;
    await page.getByRole('tab', { name: 'Refund due 2' }).waitFor();
    await page.getByRole('table', { name: 'Orders' }).getByRole('link', { name: String(ids[0]), exact: true }).click();
    await page.getByRole('button', { name: 'Mark as refunded' }).click();
    await page.getByLabel('Reference').fill(fresh('back'));
    await page.getByRole('button', { name: 'Complete the refund' }).click();
    await page.getByRole('region', { name: 'Refund' }).getByText('completed').waitFor();
    // Nothing is read at intervals.
    await page.clock.install();
    await page.goBack();
    await page.getByRole('tab', { name: 'Refund due 1' }).waitFor();
    await visit.leave();
  });

  test('a refund that is completed elsewhere goes from the list', async () => {
    const plantId = await newPlant();
    const ids = await Promise.all([1, 2].map(() => paidOrder(plantId)));
    for (const orderId of ids) await admin.POST('/store/order/{orderId}/cancellation', { params: { path: { orderId } }, body: { reason: 'Frost', restock: true } });
    const visit = await chrome.visit(staff, { path: `/orders?tab=refund&plantId=${plantId}` });
    const { page } = visit;
    const links = page.getByRole('table', { name: 'Orders' }).getByRole('link', { name: /^\d+$/ });
    await page.getByRole('tab', { name: 'Refund due 2' }).waitFor();
    await assertShows(links, ids.map(String).sort());
    const { data: timeline } = await admin.GET('/store/order/{orderId}/timeline', { params: { path: { orderId: ids[0] ?? 0 } } });
    const refundId = timeline.find((entry) => entry.refundId !== undefined)?.refundId ?? 0;
    await admin.POST('/store/refund/{refundId}/completion', { params: { path: { refundId } }, body: { reference: fresh('elsewhere') } });
    await page.getByRole('tab', { name: 'Refund due 1' }).waitFor();
    await assertShows(links, [String(ids[1])]);
    await visit.leave();
  });

  test('the list stays where it is when a filter is set', async () => {
    const orderId = await paidOrder(await newPlant());
    for (const width of [1024, 1280, 1440]) {
      const visit = await chrome.visit(staff, { path: '/orders', viewport: { width, height: 900 } });
      const { page } = visit;
      const table = page.getByRole('table', { name: 'Orders' });
      await table.waitFor();
      const before = await table.boundingBox();
      await page.getByRole('searchbox', { name: 'Search' }).fill(String(orderId));
      await page.getByRole('button', { name: 'Clear', exact: true }).waitFor();
      await page.getByText('1 order', { exact: true }).waitFor();
      assert.equal((await table.boundingBox())?.y, before?.y, `at ${width} px`);
      await visit.leave();
    }
  });

  test('the filters that are cleared stay so, however early', async () => {
    const visit = await chrome.visit(staff, { path: '/orders?tab=all' });
    const { page } = visit;
    await page.getByRole('searchbox', { name: 'Search' }).fill('zzz');
    await page.getByRole('button', { name: 'Clear', exact: true }).click();
    await page.waitForTimeout(600);
    assert.equal(new URL(page.url()).searchParams.get('q'), null);
    await visit.leave();
  });

  test('a customer sees only own orders, and can only cancel them (slow)', async () => {
    const customer = await newPerson('customer');
    const plantId = await newPlant();
    const others = await placeOrder(plantId);
    const { data: own } = await shopOf(customer).POST('/store/order', { body: { plantId } });
    const visit = await chrome.visit(customer, { path: '/orders' });
    const { page } = visit;
    await page.getByRole('link', { name: String(own.id) }).click();
    await page.getByRole('heading', { name: `Order ${own.id}`, level: 1 }).waitFor();
    const actions = page.getByRole('group', { name: 'Actions' }).getByRole('button');
    await actions.first().waitFor();
    assert.deepEqual(await actions.allTextContents(), ['Cancel the order']);
    assert.equal(await page.getByRole('rowheader', { name: 'Owner' }).count(), 0);
    await page.getByRole('link', { name: 'Orders', exact: true }).first().click();
    await page.getByText('1 order', { exact: true }).waitFor();
    assert.equal(await page.getByRole('combobox', { name: 'Owner' }).count(), 0);
    assert.equal(await page.getByRole('link', { name: String(others) }).count(), 0);
    await visit.leave();
  });

  test("markup in a plant's name is shown as text", async () => {
    const name = '<img src=x onerror="document.title=1"> & <b>bold</b>';
    const id = await placeOrder(await newPlant(5, name));
    const visit = await chrome.visit(staff, { path: `/orders/${id}` });
    await visit.page.getByText(name).waitFor();
    await visit.leave();
  });

  test('a list of 10,000 orders scrolls, with few rows in the page (slow)', async () => {
    const plantId = await newPlant(20_000);
    const total = 10_000;
    await repeatOrder(await placeOrder(plantId), total - 1);
    const visit = await chrome.visit(staff, { path: `/orders?plantId=${plantId}` });
    const { page } = visit;
    const table = page.getByRole('table', { name: 'Orders' });
    await table.waitFor();
    await page.waitForFunction(() => {
      const [scrolled] = document.querySelectorAll('[role=table]');
      if (scrolled) scrolled.scrollTop = scrolled.scrollHeight;
      return [...document.querySelectorAll('[role=status]')].some(({ textContent }) => textContent === '10,000 orders');
    });
    const rowCount = await table.getByRole('row').count();
    assert.ok(rowCount > 5 && rowCount < 80, `${rowCount} rows are in the page`);
    assert.equal(await table.getAttribute('aria-rowcount'), `${total + 1}`);
    await table.getByRole('row').last().getByText('placed').waitFor();
    await visit.leave();
  });
});
