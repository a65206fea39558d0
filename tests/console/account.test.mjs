import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createShop, ShopProblem } from '@plant-shop/client';
import { Authenticator } from './kit/authenticator.mjs';
import { Chrome } from './kit/console.mjs';
import { focusByKey, pressEnterOn, untilRefusalIsSeen } from './kit/keyboard.mjs';
import { address, admin, newPerson, newPlant, shopOf } from './kit/people.mjs';

const phone = { width: 320, height: 640 };

/** Opens the page and logs in. @param {import('playwright-core').Page} page @param {import('./kit/people.mjs').Person} person */
async function openAccount(page, { username, password }) {
  await page.goto(`${address}/account`);
  await page.getByLabel('Username').fill(username);
  await page.getByLabel('Password').fill(password);
  await page.getByLabel('Password').press('Enter');
  await page.getByRole('heading', { level: 1, name: 'Your account' }).waitFor();
}

/** Whether the shop still takes a session's token. @param {ReturnType<typeof shopOf>} shop */
async function isLoggedIn(shop) {
  try {
    await shop.GET('/store/order');
    return true;
  } catch (error) {
    if (error instanceof ShopProblem && error.status === 401) return false;
    throw error;
  }
}

describe('the page "Your account"', () => {
  const chrome = new Chrome();
  before(() => chrome.open());
  after(() => chrome.close());

  for (const scheme of /** @type {const} */ (['light', 'dark'])) {
    for (const viewport of [phone, { width: 1024, height: 768 }]) {
      test(`is accessible and fits into ${viewport.width} px, ${scheme}`, async () => {
        const person = await newPerson('admin');
        await admin.POST('/user/{username}/apiKeys', { params: { path: { username: person.username } }, body: { name: `<b>${'x'.repeat(190)}</b>` } });
        await admin.PATCH('/user/{username}', { params: { path: { username: person.username } }, body: { email: `${person.username}@shop.test` } });
        const visit = await chrome.newVisit({ scheme, viewport });
        const { page } = visit;
        await openAccount(page, person);
        const check = async () => {
          await visit.assertAccessible();
          assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), viewport.width);
        };
        await check();
        await page.getByRole('button', { name: 'Get mails about orders' }).click();
        await page.getByRole('status').getByText('You get mails about your orders').waitFor();
        await check();
        await page.getByLabel('Name of the new key').fill('greenhouse');
        await page.getByRole('button', { name: 'Make an API key' }).click();
        await page.getByRole('alert').getByText('Choose at least one thing that the key may do.').waitFor();
        await untilRefusalIsSeen(page);
        assert.equal(await page.getByLabel('Name of the new key').inputValue(), 'greenhouse');
        await check();
        await page.getByLabel('Place and cancel own orders').check();
        await page.getByRole('button', { name: 'Make an API key' }).click();
        await page.getByRole('heading', { level: 1, name: 'Your new API key' }).waitFor();
        await check();
        const key = (await page.locator('#key').textContent()) ?? '';
        assert.ok(await isLoggedIn(createShop({ url: address, credential: { apiKey: key } })));
        await page.getByRole('link', { name: 'Back to your account' }).click();
        await page.getByRole('status').getByText('The API key works.').waitFor();
        assert.ok(!(await page.content()).includes(key));
        await page.getByRole('button', { name: 'End the API key greenhouse' }).click();
        await page.getByRole('status').getByText('The API key has ended.').waitFor();
        assert.ok(!(await isLoggedIn(createShop({ url: address, credential: { apiKey: key } }))));
        await visit.leave(/400/);
      });
    }
  }

  test('shows times in the zone of its reader', async () => {
    const person = await newPerson('customer');
    const program = shopOf(person);
    await program.GET('/store/order');
    const visit = await chrome.newVisit();
    const { page } = visit;
    await openAccount(page, person);
    const times = page.getByRole('region', { name: 'Sessions' }).locator('time');
    assert.ok((await times.count()) >= 2);
    for (const time of await times.all()) {
      const at = new Date((await time.getAttribute('datetime')) ?? '');
      assert.equal(await time.textContent(), new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short', timeZone: 'Europe/Berlin' }).format(at));
    }
    await visit.leave();
  });

  test('shows a new key and new recovery codes once: not after a reload, and not by Back', async () => {
    const person = await newPerson('customer');
    const visit = await chrome.newVisit();
    const { page } = visit;
    await openAccount(page, person);
    await page.getByLabel('Name of the new key').fill('greenhouse');
    await page.getByLabel('Place and cancel own orders').check();
    await page.getByRole('button', { name: 'Make an API key' }).dblclick();
    const key = (await page.locator('#key').textContent()) ?? '';
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    const copied = async () => {
      await page.getByRole('button', { name: 'Copy', exact: true }).click();
      await page.getByRole('button', { name: 'Copied', exact: true }).waitFor();
      return page.evaluate(() => navigator.clipboard.readText());
    };
    assert.equal(await copied(), key);
    await page.reload();
    await page.getByRole('heading', { level: 1, name: 'Your account' }).waitFor();
    assert.ok(!(await page.content()).includes(key));
    await page.getByRole('link', { name: 'Passkeys, app and recovery codes' }).click();
    await Authenticator.for(page);
    await page.getByRole('button', { name: 'Add a passkey' }).click();
    const codes = page.getByRole('heading', { level: 1, name: 'Your recovery codes' });
    await codes.waitFor();
    const shown = await page.locator('.codes code').allTextContents();
    assert.equal(shown.length, 10);
    assert.equal(await copied(), shown.join('\n'));
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: 'Download them as a text file' }).click()]);
    assert.equal(download.suggestedFilename(), 'plant-shop-recovery-codes.txt');
    assert.equal(Buffer.concat(await (await download.createReadStream()).toArray()).toString(), `${shown.join('\n')}\n`);
    await page.reload();
    await page.getByRole('heading', { level: 1, name: 'Your second factors' }).waitFor();
    await page.getByRole('button', { name: 'Make new recovery codes' }).click();
    await codes.waitFor();
    await page.getByRole('link', { name: 'Back to your second factors' }).click();
    await page.getByRole('heading', { level: 1, name: 'Your second factors' }).waitFor();
    await page.goBack();
    await page.waitForLoadState();
    assert.equal(await codes.count(), 0);
    const { data: keys } = await admin.GET('/user/{username}/apiKeys', { params: { path: { username: person.username } } });
    assert.equal(keys.length, 1);
    await visit.leave();
  });

  test('sends a form once until its answer comes, however often it is sent, and again after Back', async () => {
    const person = await newPerson('customer');
    const visit = await chrome.newVisit();
    const { page } = visit;
    await openAccount(page, person);
    const pressed = page.waitForEvent('console', (message) => message.text() === 'pressed');
    let requests = 0;
    await page.route(`${address}/account`, async (route) => {
      if (route.request().method() === 'POST') {
        requests += 1;
        await pressed;
      }
      await route.continue();
    });
    await page.getByRole('button', { name: 'Get mails about orders' }).evaluate((/** @type {HTMLButtonElement} */ button) => {
      const send = () => button.form?.requestSubmit(button);
      // As Back does if the browser has kept the page.
      const comeBack = () => window.dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }));
      for (const [n, step] of [send, send, send, comeBack, send, () => console.info('pressed')].entries()) setTimeout(step, n * 150);
    });
    await pressed;
    await page.getByRole('status').getByText('You get mails about your orders').waitFor();
    assert.equal(requests, 2);
    await visit.leave();
  });

  test('asks for a passkey in place of an old log-in, and loses nothing typed', async () => {
    const person = await newPerson('customer');
    const visit = await chrome.newVisit({ viewport: phone });
    const { page } = visit;
    await openAccount(page, person);
    // The passkey is added with another browser: this one has proved only the password.
    const other = await chrome.newVisit();
    await openAccount(other.page, person);
    await other.page.getByRole('link', { name: 'Passkeys, app and recovery codes' }).click();
    const key = await Authenticator.for(other.page);
    await other.page.getByRole('button', { name: 'Add a passkey' }).click();
    await other.page.getByRole('heading', { level: 1, name: 'Your recovery codes' }).waitFor();
    const credential = await key.credential();
    await other.leave();
    await page.getByLabel('Name of the new key').fill('greenhouse');
    await page.getByLabel('Place and cancel own orders').check();
    await page.getByLabel('It ends').selectOption('after 90 days');
    const make = page.getByRole('button', { name: 'Make an API key' });
    await make.click();
    await page.getByRole('alert').getByText('Nothing was changed: show again that it is you.').waitFor();
    await untilRefusalIsSeen(page, 'api-keys-factor');
    await visit.assertAccessible();
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), phone.width);
    await page.keyboard.type('000000');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').getByText('The code is wrong, or was used before.').waitFor();
    await untilRefusalIsSeen(page, 'api-keys-factor');
    const same = await Authenticator.for(page, credential);
    await same.verifiesUser(false);
    await make.click();
    await page.getByRole('alert').getByText('No passkey was used.').waitFor();
    await same.verifiesUser(true);
    await make.click();
    await page.getByRole('heading', { level: 1, name: 'Your new API key' }).waitFor();
    const { data: [made] = [] } = await admin.GET('/user/{username}/apiKeys', { params: { path: { username: person.username } } });
    assert.deepEqual([made?.name, made?.permissions], ['greenhouse', ['write:orders']]);
    assert.equal(Math.round((Date.parse(made?.expiresAt ?? '') - Date.parse(made?.createdAt ?? '')) / 86_400_000), 90);
    await page.getByRole('link', { name: 'Back to your account' }).click();
    assert.equal(await page.getByLabel('Code of your app, or a recovery code').count(), 0);
    await visit.leave(/403/);
  });

  test('ends a session by keyboard alone, and shows the focus', async () => {
    const person = await newPerson('customer');
    const program = shopOf(person);
    await program.GET('/store/order');
    const visit = await chrome.newVisit();
    const { page } = visit;
    await openAccount(page, person);
    await page.getByText('Chrome on Linux').waitFor();
    const end = page.getByRole('button', { name: /^End the session of/ });
    await focusByKey(end);
    assert.deepEqual(await end.evaluate((element) => [window.getComputedStyle(element).outlineStyle, window.getComputedStyle(element).outlineWidth]), ['solid', '2px']);
    await pressEnterOn(end);
    await page.getByRole('status').getByText('The session has ended.').waitFor();
    assert.equal(await end.count(), 0);
    await visit.leave();
  });

  test('is linked in the console, whose log-in is enough, and lists and ends what the console may do', async () => {
    const person = await newPerson('staff');
    const visit = await chrome.visit(person);
    const { page } = visit;
    await page.getByRole('link', { name: 'Your account' }).click();
    await page.getByRole('heading', { level: 1, name: 'Your account' }).waitFor();
    await page.getByRole('region', { name: 'Applications' }).getByText('Console', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'End the access of Console' }).click();
    await page.getByRole('region', { name: 'Applications' }).getByText('No application has access.').waitFor();
    await visit.leave();
  });

  test('gives the user their data, and deletes the account', async () => {
    const person = await newPerson('customer');
    const { data: order } = await shopOf(person).POST('/store/order', { body: { plantId: await newPlant(), quantity: 1 } });
    const visit = await chrome.newVisit({ viewport: phone });
    const { page } = visit;
    await openAccount(page, person);
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Download your data' }).click()]);
    assert.equal(download.suggestedFilename(), 'plant-shop-account.json');
    const chunks = await (await download.createReadStream()).toArray();
    const data = JSON.parse(Buffer.concat(chunks).toString());
    assert.deepEqual([data.profile.username, data.orders.map((/** @type {{ id: number }} */ { id }) => id), data.webhooks], [person.username, [order.id], []]);
    const remove = async (/** @type {string} */ name) => {
      await page.getByLabel('Your username, to confirm').fill(name);
      await page.getByRole('button', { name: 'Delete the account permanently' }).click();
    };
    await remove('somebody else');
    await page.getByRole('alert').getByText('must be your username').waitFor();
    await remove(person.username);
    await page.getByRole('alert').getByText(`You have open orders: ${order.id}.`).waitFor();
    await visit.assertAccessible();
    await shopOf(person).DELETE('/store/order/{orderId}', { params: { path: { orderId: order.id } } });
    await remove(person.username);
    await page.getByRole('heading', { level: 1, name: 'Your account is deleted' }).waitFor();
    await visit.assertAccessible();
    await assert.rejects(admin.GET('/user/{username}', { params: { path: { username: person.username } } }), { status: 404 });
    await visit.leave(/400|409/);
  });

  test('sets a password, after which only that one works', async () => {
    const person = await newPerson('customer');
    const visit = await chrome.newVisit();
    const { page } = visit;
    await openAccount(page, person);
    await page.getByLabel('New password').fill('another good password');
    await page.getByLabel('New password').press('Enter');
    await page.getByRole('heading', { level: 1, name: 'The password is set' }).waitFor();
    await page.getByRole('link', { name: 'Log in to your account' }).click();
    await page.getByLabel('Username').fill(person.username);
    await page.getByLabel('Password').fill(person.password);
    await page.getByLabel('Password').press('Enter');
    await page.getByRole('alert').waitFor();
    await page.getByLabel('Password').fill('another good password');
    await page.getByLabel('Password').press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Your account' }).waitFor();
    await page.getByRole('button', { name: 'Log out of this browser' }).click();
    await page.getByRole('heading', { level: 1, name: 'You are logged out' }).waitFor();
    await visit.leave(/401/);
  });
});
