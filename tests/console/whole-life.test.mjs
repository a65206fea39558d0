import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createShop } from '@plant-shop/client';
import { Authenticator } from './kit/authenticator.mjs';
import { allow, Chrome } from './kit/console.mjs';
import { mailsTo } from './kit/mails.mjs';
import { address, admin, fresh, shopAddresses } from './kit/people.mjs';
import { startStorefront } from './kit/storefront.mjs';

/** @typedef {import('playwright-core').Page} Page */

describe('a person', () => {
  const chrome = new Chrome();
  /** @type {Awaited<ReturnType<typeof startStorefront>> | undefined} */
  let storefront;
  before(async () => {
    storefront = await startStorefront(shopAddresses);
    await chrome.open();
  });
  after(async () => {
    await chrome.close();
    await storefront?.stop();
  });

  /** @param {Page} page @param {string} name */
  const heading = (page, name) => page.getByRole('heading', { level: 1, name, exact: true }).waitFor();
  /** The link in the newest mail to an address. @param {string} email @param {number} count of mails so far @param {string} path */
  const linkTo = async (email, count, path) => {
    const [mail] = await mailsTo(email, count);
    const link = mail?.text.split(/\s/).find((word) => word.startsWith(`${address}${path}?code=`));
    return link ?? assert.fail(`there is no such link in: ${mail?.text}`);
  };
  /** On the page of the log-in. @param {Page} page */
  const usePasskey = async (page) => {
    await page.getByRole('link', { name: 'Log in with a passkey' }).click();
    await page.getByRole('button', { name: 'Use a passkey' }).click();
  };
  /** Leaves the storefront's page, and the session at the shop. @param {Page} page */
  const leaveStorefront = async (page) => {
    await page.getByRole('button', { name: 'Log out' }).click();
    await heading(page, 'Log out of the plant shop?');
    await page.getByRole('button', { name: 'Log out' }).click();
    await page.getByRole('button', { name: 'Log in', exact: true }).waitFor();
  };

  test('signs up, verifies, forgets, recovers, logs in everywhere by a passkey, is asked again, and loses the device', async () => {
    const [username, email] = [fresh('ada'), `${fresh('ada')}+plants@shop.test`];
    const visit = await chrome.newVisit();
    const { page } = visit;
    const shop = storefront?.address ?? '';

    await page.goto(shop);
    await page.getByRole('button', { name: 'Log in', exact: true }).click();
    await page.getByRole('link', { name: 'Create an account' }).click();
    await page.getByLabel('Username').fill(username);
    await page.getByLabel('E-mail address').fill(email);
    await page.getByLabel('Password').fill('a password that is forgotten');
    await page.getByRole('button', { name: 'Create the account' }).dblclick();
    await allow(page);
    await page.getByText(username).waitFor();
    // As people read it, and with a double click: the browser shows only the answer to the second form.
    const [mail] = await mailsTo(email, 1);
    await page.goto(mail?.page ?? '');
    const [opened] = await Promise.all([page.waitForEvent('popup'), page.frameLocator('iframe').getByRole('link', { name: 'Confirm the address' }).click()]);
    await opened.getByRole('button', { name: 'Yes, verify the address' }).dblclick();
    await heading(opened, 'The address is verified');
    await opened.close();

    await page.goto(shop);
    await page.getByRole('button', { name: 'Log in', exact: true }).click();
    await allow(page);
    await leaveStorefront(page);
    await page.getByRole('button', { name: 'Log in', exact: true }).click();
    await page.getByRole('link', { name: 'Forgot your password?' }).click();
    await page.getByLabel('Username or e-mail address').fill(email);
    await page.getByRole('button', { name: 'Send a link' }).click();
    await heading(page, 'Look for our mail');
    await page.goto(await linkTo(email, 2, '/account/password'));
    const password = 'a password on a note';
    await page.getByLabel('New password').fill(password);
    await page.getByRole('button', { name: 'Set the password', exact: true }).dblclick();
    await heading(page, 'The password is set');
    const subjects = async (/** @type {number} */ count) => (await mailsTo(email, count)).map(({ subject }) => subject);
    assert.match((await subjects(3))[0] ?? '', /password was changed/);

    await page.goto(`${address}/account`);
    await page.getByLabel('Username').fill(username);
    await page.getByLabel('Password').fill(password);
    await page.getByRole('button', { name: 'Log in', exact: true }).click();
    await page.getByRole('link', { name: 'Passkeys, app and recovery codes' }).click();
    const device = await Authenticator.for(page);
    await page.getByRole('button', { name: 'Add a passkey' }).click();
    await heading(page, 'Your recovery codes');
    const [code = ''] = await page.locator('.codes code').allTextContents();
    assert.match((await subjects(4))[0] ?? '', /second factor was added/);
    await page.goto(`${address}/account`);
    await page.getByRole('button', { name: 'Log out of this browser' }).click();

    await page.goto(shop);
    await page.getByRole('button', { name: 'Log in', exact: true }).click();
    await usePasskey(page);
    await allow(page);
    await page.getByText(username).waitFor();
    await leaveStorefront(page);

    await admin.PUT('/user/{username}/role', { params: { path: { username } }, body: { role: 'admin' } });
    await page.goto(`${address}/console/people/${username}`);
    await usePasskey(page);
    await heading(page, username);
    await page.getByRole('button', { name: 'New API key' }).click();
    await page.getByLabel('Name').fill('greenhouse');
    await page.getByRole('button', { name: 'Create the key' }).click();
    const question = page.getByRole('dialog', { name: 'Your password, please' });
    await question.getByRole('button', { name: 'Use a passkey' }).click();
    const made = page.getByRole('dialog', { name: 'The new API key' });
    const apiKey = (await made.getByLabel('Secret', { exact: true }).textContent()) ?? '';
    await createShop({ url: address, credential: { apiKey } }).GET('/user/me');
    await made.getByRole('button', { name: 'I have stored it' }).click();
    await page.getByRole('button', { name: 'Log out', exact: true }).click();
    await page.getByText('You are logged out.').waitFor();

    await device.remove();
    await page.getByRole('button', { name: 'Log in', exact: true }).click();
    await page.getByLabel('Username').fill(username);
    await page.getByLabel('Password').fill(password);
    await page.getByRole('button', { name: 'Log in', exact: true }).click();
    await heading(page, 'Your second factor');
    await page.getByLabel('Code of your app, or a recovery code').fill(code);
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('navigation', { name: 'Pages' }).waitFor();
    assert.deepEqual((await subjects(7)).slice(0, 3), ['A recovery code of your account was used', 'An API key was added to your account', 'The role of your account was changed']);
    await visit.leave(/403/);
  });
});
