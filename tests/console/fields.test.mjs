import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Chrome } from './kit/console.mjs';
import { address, admin, demoAdmin, fresh, newPerson, newPlant, shopOf } from './kit/people.mjs';

/** @typedef {import('playwright-core').Page} Page */

/** @param {Page} page @param {string} name */
const field = (page, name) => page.getByRole('combobox', { name, exact: true });

describe('a field for', () => {
  const chrome = new Chrome();
  /** @type {import('./kit/people.mjs').Person} */
  let staff;
  before(async () => {
    staff = await newPerson('staff');
    await chrome.open();
  });
  after(() => chrome.close());

  test('a plant shows its name when the address names it, and takes its number as it is', async () => {
    const name = fresh('Named nerine');
    const plantId = await newPlant(10, name);
    const visit = await chrome.visit(staff, { path: `/orders?tab=all&plantId=${plantId}` });
    const { page } = visit;
    const plant = field(page, 'Plant');
    await page.waitForFunction((text) => [...document.querySelectorAll('input')].some(({ value }) => value === text), `${name} · ${plantId}`);
    await plant.fill(String(plantId));
    assert.equal(await plant.inputValue(), String(plantId));
    await page.waitForURL((url) => url.searchParams.get('plantId') === String(plantId));
    // Words and Enter choose the only plant of that name; a changed digit makes it words again, not another plant's number under its name.
    await plant.fill(name);
    await page.getByRole('option', { name }).waitFor();
    await plant.press('Enter');
    await page.waitForURL((url) => url.searchParams.get('plantId') === String(plantId));
    assert.equal(await plant.inputValue(), `${name} · ${plantId}`);
    await plant.press('End');
    await plant.press('Backspace');
    await page.waitForURL((url) => !url.searchParams.has('plantId'));
    await plant.press('Enter');
    await page.locator('[role=combobox][aria-invalid=true]').waitFor();
    await plant.fill(String(plantId));
    await page.getByLabel('Placed from').fill('in May');
    await page.getByRole('button', { name: 'Clear' }).click();
    await page.waitForURL((url) => !url.searchParams.has('plantId'));
    assert.deepEqual([await plant.inputValue(), await page.getByLabel('Placed from').inputValue()], ['', '']);
    await visit.leave();
  });

  test('a plant shows no error while its name is typed, and says afterwards what is missing', async () => {
    const name = fresh('Typed tulip');
    await newPlant(10, name);
    const visit = await chrome.visit(staff, { path: '/stream' });
    const { page } = visit;
    const plant = field(page, 'Plant');
    await plant.pressSequentially(name.slice(0, 8));
    await page.getByRole('option', { name }).waitFor();
    assert.notEqual(await plant.getAttribute('aria-invalid'), 'true');
    await plant.fill('nothing is called like this');
    await page.getByText('No plant is called that.').waitFor();
    assert.notEqual(await plant.getAttribute('aria-invalid'), 'true');
    await page.keyboard.press('Tab');
    await page.locator('[role=combobox][aria-invalid=true]').waitFor();
    assert.equal(await plant.inputValue(), 'nothing is called like this');
    await visit.assertAccessible();
    await visit.leave();
  });

  test('a plant keeps the words in a form that is left and opened again', async () => {
    const visit = await chrome.visit(staff, { path: '/webhooks' });
    const { page } = visit;
    await page.getByRole('button', { name: 'New webhook' }).click();
    await field(page, 'Only plant').fill('half a na');
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'New webhook' }).click();
    assert.equal(await field(page, 'Only plant').inputValue(), 'half a na');
    await visit.leave();
  });

  test('a user finds owners of orders for those who may not list users, and takes other names as they are', async () => {
    const owner = await newPerson('customer');
    const { data: { id } } = await shopOf(owner).POST('/store/order', { body: { plantId: await newPlant(10) } });
    const visit = await chrome.visit(staff, { path: '/orders?tab=all' });
    const { page } = visit;
    /** @type {string[]} */
    const asked = [];
    page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    await field(page, 'Owner').pressSequentially(owner.username.slice(0, -1).toUpperCase());
    await page.getByRole('option', { name: owner.username, exact: true }).click();
    await page.waitForURL((url) => url.searchParams.get('owner') === owner.username);
    await page.getByRole('link', { name: String(id), exact: true }).click();
    assert.ok(!asked.includes('/v3/user'), 'the users are not listed');

    // Has no orders, so no list has the name.
    const next = await newPerson('customer');
    await page.getByRole('button', { name: 'Transfer' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('combobox', { name: 'New owner' }).fill('no-such-user');
    await dialog.getByRole('button', { name: 'Transfer' }).click();
    await dialog.getByText('No user is called that.').waitFor();
    assert.equal(await dialog.getByRole('combobox', { name: 'New owner' }).inputValue(), 'no-such-user');
    await dialog.getByRole('combobox', { name: 'New owner' }).fill(next.username);
    await dialog.getByRole('button', { name: 'Transfer' }).click();
    await page.getByText(`Order ${id} is transferred to ${next.username}.`).waitFor();
    await visit.leave(/40[04]/);
  });

  test('a user finds all users for administrators', async () => {
    const { username } = await newPerson('customer');
    const visit = await chrome.visit(demoAdmin, { path: '/people?tab=clients' });
    const { page } = visit;
    await page.getByRole('button', { name: 'New client' }).click();
    await page.getByLabel('a program that gets tokens for itself').check();
    await field(page, 'Acts for the user').pressSequentially(username.slice(0, -1));
    await page.getByRole('option', { name: username, exact: true }).click();
    assert.equal(await field(page, 'Acts for the user').inputValue(), username);
    await visit.assertAccessible();
    await visit.leave();
  });

  test('a time that the clocks leave out is refused, and of one that they show twice the page says which is meant', async () => {
    const visit = await chrome.visit(staff, { path: '/orders?from=2026-10-25T01:30:00Z' });
    const { page } = visit;
    const from = page.getByLabel('Placed from');
    const isFrom = (/** @type {string | null} */ at) => page.waitForURL((url) => url.searchParams.get('from') === at);
    assert.equal(await from.inputValue(), '2026-10-25 02:30 +01:00');
    await from.fill('2026-10-25 02:30');
    await isFrom('2026-10-25T00:30:00.000Z');
    await page.getByText('The clocks show 02:30 twice on this day. The first is meant; for the second write 2026-10-25 02:30 +01:00.').waitFor();
    await visit.assertAccessible();
    await from.fill('2026-10-25 2:30 +01:00');
    await isFrom('2026-10-25T01:30:00.000Z');
    await from.fill('2026-03-29 02:30');
    await isFrom(null);
    await page.keyboard.press('Tab');
    await page.getByText('The clocks leave 02:30 out on this day. Choose another time.').waitFor();
    await from.fill('2026-03-29 03:30');
    await isFrom('2026-03-29T01:30:00.000Z');
    await from.fill('2026-05-01 10:00 +01:00');
    await page.keyboard.press('Tab');
    await page.getByText('At this time the clocks are at +02:00.').waitFor();
    await visit.leave();
  });

  test('a time is written in the language of the pages, and checked at Enter and when it is left', async () => {
    const visit = await chrome.visit(staff, { path: '/orders?from=2026-05-01T08:00:00Z', locale: 'de-DE' });
    const { page } = visit;
    const from = page.getByLabel('Placed from');
    // The browser is in Berlin, in summer two hours before UTC.
    assert.equal(await from.inputValue(), '2026-05-01 10:00');
    await from.fill('2026-02-30 1');
    await page.waitForURL((url) => !url.searchParams.has('from'));
    assert.notEqual(await from.getAttribute('aria-invalid'), 'true');
    await page.keyboard.press('Enter');
    await page.getByText('Write a time such as 2026-05-01 10:00.').waitFor();
    await from.fill('30/11/2026');
    await page.getByText('Write a time such as').waitFor({ state: 'detached' });
    await page.keyboard.press('Tab');
    await page.getByText('Write a time such as 2026-05-01 10:00.').waitFor();
    assert.equal(await from.inputValue(), '30/11/2026');
    await from.fill('2026-05-01');
    await page.waitForURL((url) => url.searchParams.get('from') === '2026-04-30T22:00:00.000Z');
    await page.locator('input[type=datetime-local]').first().evaluate((input) => {
      Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value')?.set?.call(input, '2026-05-03T12:30');
      input.dispatchEvent(new Event('input', { bubbles: true }));
    });
    await page.waitForURL((url) => url.searchParams.get('from') === '2026-05-03T10:30:00.000Z');
    assert.equal(await from.inputValue(), '2026-05-03 12:30');
    await visit.leave();
  });

  test('a time with seconds shows them, and a number that is too large is said to be so', async () => {
    const visit = await chrome.visit(staff, { path: '/orders?tab=all&from=2026-05-01T08:00:37.500Z&before=2026-06-01T08:00:05Z' });
    const { page } = visit;
    const [from, before] = [page.getByLabel('Placed from'), page.getByLabel('Placed before')];
    assert.deepEqual([await from.inputValue(), await before.inputValue()], ['2026-05-01 10:00:37.500', '2026-06-01 10:00:05']);
    await from.fill('2026-05-01 10:00:59');
    await page.waitForURL((url) => url.searchParams.get('from') === '2026-05-01T08:00:59.000Z');
    await from.fill('2026-05-01 10:00:60');
    await page.keyboard.press('Enter');
    await page.getByText('Write a time such as 2026-05-01 10:00.').waitFor();
    await page.goto(`${address}/console/plants/new`);
    await page.getByRole('textbox', { name: 'Units in stock' }).fill('99999999999999999999');
    await page.getByText('At most 1,000,000,000.').waitFor();
    await visit.leave();
  });

  test('a time shows the browser’s calendar', async () => {
    const visit = await chrome.visit(staff, { path: '/orders' });
    const { page } = visit;
    await page.evaluate(() => {
      const shown = Object.assign(window, { calendars: 0 });
      HTMLInputElement.prototype.showPicker = () => {
        shown.calendars += 1;
      };
    });
    await page.getByRole('button', { name: 'Choose in a calendar' }).last().click();
    assert.equal(await page.evaluate(() => /** @type {any} */ (window).calendars), 1);
    await visit.leave();
  });

  test('a password that nobody gives, however late it is closed, leaves nothing unknown', async () => {
    const { username } = await newPerson('customer');
    const visit = await chrome.visit(demoAdmin, { path: `/people/${username}` });
    const { page } = visit;
    await page.getByRole('button', { name: 'New API key' }).click();
    await page.getByLabel('Name').fill('till');
    await page.clock.install();
    await page.getByRole('button', { name: 'Create the key' }).click();
    const dialog = page.getByRole('dialog', { name: 'Your password, please' });
    await dialog.getByRole('textbox', { name: 'Password' }).waitFor();
    // What the request may take passes while the question is open.
    await page.clock.fastForward(60_000);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Create the key' }).and(page.locator(':focus')).waitFor();
    assert.equal(await page.getByRole('alert').count(), 0);
    await visit.leave(/403/);
  });

  test('a key’s end takes a time of the reader’s zone', async () => {
    const { username } = await newPerson('customer');
    const visit = await chrome.visit(demoAdmin, { path: `/people/${username}` });
    const { page } = visit;
    await page.getByRole('button', { name: 'New API key' }).click();
    await page.getByLabel('Name').fill('until summer');
    const expires = page.getByLabel('Expires');
    await expires.fill('in summer');
    await page.getByRole('button', { name: 'Create the key' }).click();
    assert.equal(await expires.evaluate((input) => /** @type {HTMLInputElement} */ (input).validity.valid), false);
    await expires.fill('2020-01-01 10:00');
    await page.getByRole('button', { name: 'Create the key' }).click();
    await page.getByText(/^Write a time after 20/).waitFor();
    await expires.fill('2099-07-01 12:00');
    await page.getByRole('button', { name: 'Create the key' }).click();
    const dialog = page.getByRole('dialog', { name: 'Your password, please' });
    await dialog.getByRole('textbox', { name: 'Password' }).waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Create the key' }).and(page.locator(':focus')).waitFor();
    // Whoever closed it knows that there is no key.
    assert.equal(await page.getByRole('alert').count(), 0);
    await page.getByRole('button', { name: 'Create the key' }).click();
    await dialog.getByRole('textbox', { name: 'Password' }).fill(demoAdmin.password);
    await dialog.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('button', { name: 'I have stored it' }).click();
    const { data: [key] } = await admin.GET('/user/{username}/apiKeys', { params: { path: { username } } });
    assert.equal(key?.expiresAt, '2099-07-01T10:00:00.000Z');
    await visit.leave(/403/);
  });
});
