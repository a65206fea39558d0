import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Receiver } from '@plant-shop/testing/receiver';
import { Chrome } from './kit/console.mjs';
import { misplaced } from './kit/boxes.mjs';
import { admin, demoAdmin, fresh, newPerson, newPlant, shopOf } from './kit/people.mjs';

/** @typedef {import('playwright-core').Page} Page */

/** @param {Page} page @param {'/' | 'Control+k'} [key] */
async function openPalette(page, key = 'Control+k') {
  await page.keyboard.press(key);
  const field = page.getByRole('dialog', { name: 'Find anything' }).getByRole('combobox');
  await field.and(page.locator(':focus')).waitFor();
  return field;
}
/** @param {Page} page @param {string} group @param {string | RegExp} name */
const offer = (page, group, name) => page.getByRole('listbox', { name: 'Found' }).getByRole('group', { name: group }).getByRole('option', { name });
/** @param {Page} page @param {string} name */
const heading = (page, name) => page.getByRole('heading', { name, level: 1, exact: true });

describe('the palette', () => {
  const chrome = new Chrome();
  /** @type {import('./kit/people.mjs').Person} */
  let staff;
  before(async () => {
    staff = await newPerson('staff');
    await chrome.open();
  });
  after(() => chrome.close());

  test('finds an order by its number, tracking number, external id and owner', async () => {
    const owner = await newPerson('customer');
    const plantId = await newPlant(10, fresh('Found fern'));
    const [tracking, externalId] = [fresh('TRACK'), fresh('web')];
    const { data: { id } } = await shopOf(owner).POST('/store/order', { body: { plantId, quantity: 2, externalId } });
    await admin.POST('/store/order/{orderId}/payment', { params: { path: { orderId: id } }, body: { outcome: 'succeeded', reference: fresh('payment') } });
    await admin.POST('/store/order/{orderId}/shipment', { params: { path: { orderId: id } }, body: { carrier: 'Green Post', trackingNumber: tracking } });
    const visit = await chrome.visit(staff);
    const { page } = visit;
    for (const words of [String(id), `#${id}`, tracking, externalId, owner.username]) {
      const field = await openPalette(page);
      await field.fill(words);
      await offer(page, 'Orders', new RegExp(`^Order ${id} 2 × Found fern.*${owner.username}.*shipped`)).waitFor();
      await page.keyboard.press('Enter');
      await heading(page, `Order ${id}`).waitFor();
      assert.equal(await page.evaluate(() => document.activeElement?.id), 'content');
      await page.goBack();
      await heading(page, 'Today').waitFor();
    }
    // Plants are looked up by this number, too.
    await visit.leave(/404/);
  });

  test('finds plants by name and number, people by name and webhooks by address, and opens them', async () => {
    const name = fresh('Velvet calathea');
    const plantId = await newPlant(5, name);
    const receiver = await Receiver.start();
    const { username } = await newPerson('customer');
    const address = `${receiver.url}/${fresh('warehouse')}`;
    await shopOf(demoAdmin).POST('/webhooks', { body: { url: address } });
    const visit = await chrome.visit(demoAdmin);
    const { page } = visit;
    /** @type {[words: string, group: string, title: string | RegExp][]} */
    const finds = [[name.toLowerCase(), 'Plants', name], [String(plantId), 'Plants', name], [username, 'People', username], [new URL(address).pathname.slice(-12), 'Webhooks', /^Webhook /]];
    for (const [words, group, title] of finds) {
      const field = await openPalette(page, '/');
      await field.fill(words);
      await offer(page, group, /./).first().click();
      await page.getByRole('heading', { name: title, level: 1 }).waitFor();
    }
    await receiver.stop();
    await visit.leave();
  });

  test('opens the order whose number is scanned, also if a saved view is called so, and takes signs alone for nothing', async () => {
    const { data: { id } } = await admin.POST('/store/order', { body: { plantId: await newPlant(3) } });
    const visit = await chrome.visit(staff, { path: '/orders?tab=all' });
    const { page } = visit;
    await page.evaluate(([username, name]) => localStorage.setItem(`console-views orders ${username}`, JSON.stringify([{ name, search: { tab: 'shipped' } }])), [staff.username, `${id}0 pots`]);
    await page.reload();
    await heading(page, 'Orders').waitFor();
    for (const waits of [false, true]) {
      const field = await openPalette(page);
      await field.fill(String(id));
      if (waits) {
        await offer(page, 'Saved views', `${id}0 pots`).waitFor();
        await offer(page, 'Orders', new RegExp(`^Order ${id}`)).and(page.locator('[aria-selected=true]')).waitFor();
      }
      await page.keyboard.press('Enter');
      await heading(page, `Order ${id}`).waitFor();
      await page.goBack();
      await heading(page, 'Orders').waitFor();
    }
    const field = await openPalette(page);
    for (const signs of ['🌵', '->']) {
      await field.fill(signs);
      await page.getByRole('dialog').getByText('Nothing matches.').waitFor();
    }
    await page.evaluate((username) => localStorage.removeItem(`console-views orders ${username}`), staff.username);
    // Plants are looked up by this number, too.
    await visit.leave(/404/);
  });

  test('finds a plant by its external id, in the list too, and its page shows it', async () => {
    const [name, externalId] = [fresh('Numbered palm'), fresh('ART')];
    const { data: { id } } = await admin.POST('/plant', { body: { name, externalId } });
    const visit = await chrome.visit(demoAdmin);
    const { page } = visit;
    const field = await openPalette(page);
    await field.fill(externalId);
    await offer(page, 'Plants', name).waitFor();
    await page.keyboard.press('Enter');
    await page.getByText(`Plant ${id} · external id ${externalId}`).waitFor();
    await page.goto(`${page.url().replace(/\/plants.*/, '')}/plants?q=${externalId}`);
    await page.getByText(`External id ${externalId}: ${name}`).waitFor();
    assert.equal(await page.getByText('No plant matches').count(), 0);
    await page.getByLabel('Search', { exact: true }).fill(String(id));
    await page.getByText(`Plant ${id}: ${name}`).getByRole('link').click();
    await heading(page, name).waitFor();
    await visit.leave();
  });

  test('opens pages and begins actions, by keyboard alone', async () => {
    const name = fresh('Palette palm');
    const plantId = await newPlant(5, name);
    const visit = await chrome.visit(demoAdmin);
    const { page } = visit;
    // What is typed before the palette is drawn is in its field, and Enter opens the best match.
    await page.evaluate((keys) => {
      for (const key of keys) document.body.dispatchEvent(new KeyboardEvent('keydown', { key, ctrlKey: key === 'k', bubbles: true, cancelable: true }));
    }, ['k', ...'audix', 'Backspace', 't', 'Enter']);
    await page.getByRole('tab', { name: 'Audit log', selected: true }).waitFor();
    await openPalette(page);
    await page.keyboard.type('new pl');
    await page.keyboard.press('Enter');
    await heading(page, 'New plant').waitFor();
    // In a field, "/" is a letter.
    await page.getByLabel('Name').pressSequentially('a/b');
    assert.equal(await page.getByLabel('Name').inputValue(), 'a/b');
    assert.equal(await page.getByRole('dialog').count(), 0);
    await openPalette(page);
    await page.keyboard.type('new webhook');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog', { name: 'New webhook' }).getByLabel('Address').waitFor();
    // Not over a dialog.
    await page.keyboard.press('Control+k');
    assert.equal(await page.getByRole('dialog').count(), 1);
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await openPalette(page);
    await page.keyboard.type('adjust');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog', { name: 'Adjust the stock of a plant' }).waitFor();
    await page.keyboard.type(name);
    await offer(page, 'Plants', new RegExp(name)).waitFor();
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog', { name: `Stock of ${name}` });
    await dialog.getByLabel('Units').fill('3');
    await dialog.getByRole('textbox', { name: 'Reason' }).fill('Count');
    await page.keyboard.press('Enter');
    await page.getByText(`8 units of ${name} can be ordered.`).waitFor();
    assert.equal((await admin.GET('/store/inventory/{plantId}', { params: { path: { plantId } } })).data.free, 8);
    await visit.leave();
  });

  test('shows no answer to what was typed before, and waits for an answer to Enter', async () => {
    const names = [fresh('Slowly found'), fresh('Quickly found')];
    const [slow = '', quick = ''] = names;
    for (const name of names) await newPlant(5, name);
    const visit = await chrome.visit(demoAdmin, { path: '/webhooks' });
    const { page } = visit;
    /** @type {(() => void)[]} */
    const held = [];
    await page.route(/\/plant\/search\?.*Slowly/, async (route) => {
      await new Promise((resolve) => held.push(() => resolve(undefined)));
      await route.continue().catch(() => undefined);
    });
    const field = await openPalette(page);
    await field.fill(slow);
    await page.getByText('Searching …').waitFor();
    await page.waitForRequest(/Slowly/).catch(() => undefined);
    await field.fill(quick);
    await offer(page, 'Plants', new RegExp(quick)).waitFor();
    for (const release of held) release();
    await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 300)));
    assert.equal(await offer(page, 'Plants', new RegExp(slow)).count(), 0);
    await field.fill('');
    // A scanner presses Enter at once.
    await page.keyboard.type(quick);
    await page.keyboard.press('Enter');
    await heading(page, quick).waitFor();
    await visit.leave();
  });

  /** Holds answers to a search until the test releases them. @param {Page} page @param {RegExp} url */
  async function hold(page, url) {
    /** @type {() => void} */
    let release = () => undefined;
    const isReleased = new Promise((resolve) => {
      release = () => resolve(undefined);
    });
    await page.route(url, async (route) => {
      await isReleased;
      await route.continue().catch(() => undefined);
    });
    return release;
  }

  /** A customer whose name without its last letter is the beginning of no other's. */
  async function newOwner() {
    const owner = { username: `${fresh('owner')}-y`, password: 'a good password' };
    await admin.POST('/user', { body: owner });
    return { owner, begin: owner.username.slice(0, -1) };
  }

  test('opens what an arrow key chose, although later answers come above it; otherwise the first of all answers', async () => {
    const { owner, begin } = await newOwner();
    const plantId = await newPlant(10, owner.username);
    const { data: { id } } = await shopOf(owner).POST('/store/order', { body: { plantId } });
    const visit = await chrome.visit(staff, { path: '/stream' });
    const { page } = visit;
    for (const [key = '', words = '', title = ''] of [['ArrowDown', begin, owner.username], ['Enter', begin.slice(0, -1), `Order ${id}`]]) {
      const release = await hold(page, /\/store\/order\?.*q=/);
      await (await openPalette(page)).fill(words);
      await offer(page, 'Plants', new RegExp(owner.username)).and(page.locator('[aria-selected=true]')).waitFor();
      await page.keyboard.press(key);
      if (key === 'Enter') await page.getByText('Opens the best match once all is searched').waitFor();
      release();
      if (key !== 'Enter') {
        await offer(page, 'Orders', /^Order/).first().waitFor();
        await page.keyboard.press('Enter');
      }
      await heading(page, title).waitFor();
      await page.unrouteAll({ behavior: 'wait' });
      await page.goBack();
      await heading(page, 'Stream').waitFor();
    }
    await visit.leave();
  });

  test('prefers what was typed exactly to what comes before it', async () => {
    const { owner, begin } = await newOwner();
    const plantId = await newPlant(10, begin);
    await shopOf(owner).POST('/store/order', { body: { plantId } });
    const visit = await chrome.visit(staff, { path: '/stream' });
    const { page } = visit;
    const release = await hold(page, /\/plant\/search\?/);
    await (await openPalette(page)).fill(begin.toUpperCase());
    await offer(page, 'Orders', /^Order/).first().waitFor();
    await page.keyboard.press('Enter');
    release();
    await heading(page, begin).waitFor();
    await visit.leave();
  });

  test('says what could not be searched, and shows the rest', async () => {
    const name = fresh('Lonely lily');
    await newPlant(5, name);
    const visit = await chrome.visit(staff, { path: '/stream' });
    const { page } = visit;
    await page.route(/\/store\/order\?.*q=/, (route) => route.fulfill({ status: 500, contentType: 'application/problem+json', body: JSON.stringify({ type: 'about:blank', title: 'Internal', status: 500, code: 'internal', requestId: 'r' }) }));
    await (await openPalette(page)).fill(name);
    await offer(page, 'Plants', new RegExp(name)).waitFor();
    await page.getByRole('alert').getByText('Orders could not be searched.').waitFor();
    await visit.assertAccessible();
    await page.unroute(/\/store\/order\?.*q=/);
    await page.getByRole('button', { name: 'Search orders again' }).click();
    await page.getByRole('alert').waitFor({ state: 'detached' });
    await page.getByRole('dialog').getByRole('combobox').fill('nothing is called like this');
    await page.getByText('Nothing matches.').waitFor();
    await visit.leave(/500/);
  });

  test('offers a customer their own orders, and nothing else', async () => {
    const [owner, other] = [await newPerson('customer'), await newPerson('customer')];
    const plantId = await newPlant(10, owner.username);
    const { data: own } = await shopOf(owner).POST('/store/order', { body: { plantId } });
    const { data: foreign } = await shopOf(other).POST('/store/order', { body: { plantId } });
    const visit = await chrome.visit(owner);
    const { page } = visit;
    const field = await openPalette(page);
    const options = page.getByRole('listbox', { name: 'Found' }).getByRole('option');
    const labels = (await options.allInnerTexts()).map((one) => one.trim());
    for (const name of ['Plants', 'People', 'Audit log', 'New plant', 'Import plants', 'Adjust the stock of a plant …', 'New OAuth client']) assert.ok(!labels.includes(name), `${name} is offered to a customer`);
    /** @type {string[]} */
    const asked = [];
    page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    await field.fill(String(own.id));
    await offer(page, 'Orders', new RegExp(`^Order ${own.id}`)).waitFor();
    await field.fill(String(foreign.id));
    await page.getByText('Nothing matches.').waitFor();
    assert.deepEqual(asked.filter((path) => /^\/v3\/(plant|user)/.test(path)), []);
    await visit.leave();
  });

  test('says that there is more than it shows', async () => {
    const word = fresh('Manifold').replaceAll('-', '');
    for (let n = 0; n < 7; n += 1) await newPlant(5, `${word} ${n}`);
    const visit = await chrome.visit(demoAdmin);
    const { page } = visit;
    await (await openPalette(page)).fill(word);
    await offer(page, 'Plants', 'All plants that match').click();
    await page.getByText('7 plants', { exact: true }).waitFor();
    await visit.leave();
  });

  for (const width of [390, 1024, 1440]) {
    test(`fits ${width} px, light and dark`, async () => {
      const long = fresh(`Long ${'X'.repeat(100)}`);
      await newPlant(5, long);
      for (const scheme of /** @type {const} */ (['light', 'dark'])) {
        const visit = await chrome.visit(demoAdmin, { scheme, viewport: { width, height: 800 } });
        const { page } = visit;
        await page.getByRole('button', { name: 'Find anything' }).click();
        await offer(page, 'Actions', 'New plant').waitFor();
        assert.deepEqual(await misplaced(page).then((found) => found.filter((one) => !one.includes('overlap'))), []);
        await visit.assertAccessible();
        await page.getByRole('combobox').fill(long);
        await offer(page, 'Plants', new RegExp(long)).waitFor();
        assert.deepEqual(await misplaced(page).then((found) => found.filter((one) => !one.includes('overlap'))), []);
        await visit.leave();
      }
    });
  }
});
