import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { createServer } from 'node:http';
import { after, before, describe, test } from 'node:test';
import { Authenticator } from './kit/authenticator.mjs';
import { Chrome, givePassword, logIn } from './kit/console.mjs';
import { untilRefusalIsSeen } from './kit/keyboard.mjs';
import { address, newPerson } from './kit/people.mjs';

const phone = { width: 320, height: 640 };

/** @typedef {import('playwright-core').Page} Page */

/** The code of an authenticator app (RFC 6238). @param {string} secret in base32 @param {number} [steps] from the present one */
function codeOf(secret, steps = 0) {
  const bits = [...secret].map((one) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(one).toString(2).padStart(5, '0')).join('');
  const key = Buffer.from((bits.match(/.{8}/g) ?? []).map((one) => Number.parseInt(one, 2)));
  const step = Buffer.alloc(8);
  step.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000) + steps));
  const hash = createHmac('sha1', key).update(step).digest();
  return String((hash.readUInt32BE((hash.at(-1) ?? 0) & 15) & 0x7fffffff) % 1_000_000).padStart(6, '0');
}

describe('second factors', () => {
  const chrome = new Chrome();
  before(() => chrome.open());
  after(() => chrome.close());

  const heading = (/** @type {Page} */ page, /** @type {string} */ name) => page.getByRole('heading', { level: 1, name, exact: true }).waitFor();
  /** A new browser at the log-in. */
  const newVisit = async (/** @type {Parameters<Chrome['newVisit']>[0]} */ options = {}) => {
    const visit = await chrome.newVisit(options);
    await visit.page.goto(`${address}/console`);
    await heading(visit.page, 'Log in to the plant shop');
    return visit;
  };
  const typePassword = async (/** @type {Page} */ page, /** @type {import('./kit/people.mjs').Person} */ { username, password }) => {
    await page.getByLabel('Username').fill(username);
    await page.getByLabel('Password').fill(password);
    await page.getByLabel('Password').press('Enter');
  };
  const isIn = (/** @type {Page} */ page) => page.getByRole('navigation', { name: 'Pages' }).waitFor();
  const refused = (/** @type {Page} */ page) => page.getByRole('alert').filter({ hasText: 'refused' }).waitFor();
  /** Logs in by the password and opens the page of the own factors. */
  const ownFactors = async (/** @type {import('./kit/people.mjs').Person} */ person, /** @type {Parameters<Chrome['newVisit']>[0]} */ options = {}) => {
    const visit = await newVisit(options);
    await logIn(visit.page, person);
    await visit.page.getByRole('navigation', { name: 'Pages' }).waitFor();
    await visit.page.goto(`${address}/account/factors`);
    await heading(visit.page, 'Your second factors');
    return visit;
  };
  /** A person with a passkey, and the recovery codes. */
  const withPasskey = async () => {
    const person = await newPerson('customer');
    const visit = await ownFactors(person);
    const key = await Authenticator.for(visit.page);
    await visit.page.getByRole('button', { name: 'Add a passkey' }).press('Enter');
    await heading(visit.page, 'Your recovery codes');
    const codes = await visit.page.locator('.codes code').allTextContents();
    const credential = await key.credential();
    await visit.leave();
    return { person, credential, codes };
  };

  test('that are lost are removed by an administrator', async () => {
    const { person } = await withPasskey();
    const boss = await newPerson('admin');
    const visit = await chrome.visit(boss, { path: `/people/${person.username}`, viewport: phone });
    const { page } = visit;
    const section = page.getByRole('region', { name: 'Second factors' });
    await section.getByRole('button', { name: /^Remove Passkey/ }).click();
    await page.getByRole('dialog').getByText('can log in without a second factor').waitFor();
    await visit.assertAccessible();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove it' }).click();
    await givePassword(page, boss);
    await page.getByText('The second factor is removed.').first().waitFor();
    await section.getByText(`${person.username} logs in with the password alone.`).waitFor();
    await visit.leave(/403/);
    const again = await newVisit();
    await typePassword(again.page, person);
    await isIn(again.page);
    await again.leave();
  });

  test('keep the name of an app whose code was wrong, and have no page that Back cannot open', async () => {
    const visit = await ownFactors(await newPerson('customer'), { viewport: phone });
    const { page } = visit;
    await page.getByLabel('Name, to recognise it').last().fill('Work phone');
    for (let n = 0; n < 2; n += 1) {
      await page.getByLabel('Code of six digits').fill('000000');
      await page.getByRole('button', { name: 'Add the app' }).click();
      await page.getByRole('alert').filter({ hasText: 'The code is wrong.' }).waitFor();
      assert.equal(await page.getByLabel('Name, to recognise it').last().inputValue(), 'Work phone');
      await untilRefusalIsSeen(page, 'code');
      await page.waitForLoadState();
    }
    await page.goBack();
    await heading(page, 'Your second factors');
    const secret = (await page.locator('p code').first().textContent()) ?? '';
    await page.getByLabel('Code of six digits').fill(codeOf(secret.replaceAll(' ', '')));
    await page.getByRole('button', { name: 'Add the app' }).click();
    await heading(page, 'Your recovery codes');
    await page.getByRole('link', { name: 'Back to your second factors' }).click();
    await page.getByRole('listitem').filter({ hasText: 'Authenticator app (authenticator app), added' }).locator('time').first().waitFor();
    await page.getByRole('link', { name: 'Back to your account' }).click();
    await page.waitForURL(/\/account$/);
    await visit.leave(/400/);
  });

  test('let a log-in with two wrong passwords be left by Back', async () => {
    const visit = await newVisit();
    const { page } = visit;
    for (let n = 0; n < 2; n += 1) {
      await typePassword(page, { username: 'nobody', password: `wrong password ${n}` });
      await page.getByRole('alert').waitFor();
      await page.waitForLoadState();
    }
    await page.goBack();
    await heading(page, 'Log in to the plant shop');
    await visit.leave(/401/);
  });

  for (const scheme of /** @type {const} */ (['light', 'dark'])) {
    test(`have pages that are accessible and fit into 320 px, ${scheme}`, async () => {
      const person = await newPerson('customer');
      const visit = await ownFactors(person, { scheme, viewport: phone });
      const { page } = visit;
      const check = async (/** @type {string} */ name) => {
        await heading(page, name);
        await visit.assertAccessible();
        assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), phone.width, name);
      };
      const key = await Authenticator.for(page);
      await check('Your second factors');
      await page.getByRole('button', { name: 'Add a passkey' }).click();
      await check('Your recovery codes');
      const credential = await key.credential();
      await page.getByRole('link', { name: 'Back to your second factors' }).click();
      await page.getByText('10 are left.').waitFor();
      await check('Your second factors');
      await visit.leave();
      const other = await newVisit({ scheme, viewport: phone });
      await Authenticator.for(other.page, credential);
      await other.page.getByRole('link', { name: 'Log in with a passkey' }).click();
      await heading(other.page, 'Log in with a passkey');
      await other.assertAccessible();
      await other.page.getByRole('link', { name: 'Log in with the password' }).click();
      await typePassword(other.page, person);
      await heading(other.page, 'Your second factor');
      await other.assertAccessible();
      assert.equal(await other.page.evaluate(() => document.documentElement.scrollWidth), phone.width);
      await other.page.getByLabel('Code of your app, or a recovery code').fill('wrong');
      await other.page.getByRole('button', { name: 'Continue' }).click();
      await other.page.getByRole('alert').filter({ hasText: 'wrong' }).waitFor();
      await other.assertAccessible();
      await other.leave(/401/);
    });
  }

  test('a passkey is asked for after the password, and is enough alone, by keyboard', async () => {
    const { person, credential, codes } = await withPasskey();
    assert.equal(new Set(codes).size, 10);
    const visit = await newVisit();
    const key = await Authenticator.for(visit.page, credential);
    await typePassword(visit.page, person);
    await heading(visit.page, 'Your second factor');
    await visit.page.getByRole('button', { name: 'Use a passkey' }).and(visit.page.locator(':focus')).waitFor();
    await visit.page.keyboard.press('Enter');
    await isIn(visit.page);
    const used = await key.credential();
    await visit.leave();
    const alone = await newVisit();
    await Authenticator.for(alone.page, used);
    await alone.page.getByRole('link', { name: 'Log in with a passkey' }).click();
    await heading(alone.page, 'Log in with a passkey');
    await alone.page.getByRole('button', { name: 'Use a passkey' }).and(alone.page.locator(':focus')).waitFor();
    await alone.page.keyboard.press('Enter');
    await isIn(alone.page);
    await alone.page.getByText(person.username).waitFor();
    await alone.leave();
  });

  test('a copy of a passkey, whose counter goes back, is refused, and the passkey is locked', async () => {
    const { person, credential, codes } = await withPasskey();
    for (const [isCopy, signCount] of /** @type {const} */ ([[false, 100], [true, 50], [true, 1_000]])) {
      const visit = await newVisit();
      await Authenticator.for(visit.page, { ...credential, signCount });
      await visit.page.getByRole('link', { name: 'Log in with a passkey' }).click();
      await visit.page.getByRole('button', { name: 'Use a passkey' }).click();
      if (isCopy) await refused(visit.page);
      else await isIn(visit.page);
      await visit.leave(/401/);
    }
    const visit = await newVisit();
    await typePassword(visit.page, person);
    await heading(visit.page, 'Your second factor');
    assert.equal(await visit.page.getByRole('button', { name: 'Use a passkey' }).count(), 0);
    await visit.page.getByLabel('Code of your app, or a recovery code').fill(codes[0] ?? '');
    await visit.page.keyboard.press('Enter');
    await isIn(visit.page);
    await visit.leave();
  });

  test('a passkey works neither for another origin nor without user verification', async () => {
    const { person, credential } = await withPasskey();
    const visit = await newVisit();
    const { page } = visit;
    const key = await Authenticator.for(page, credential);
    const passkeyForm = async () => {
      await typePassword(page, person);
      await heading(page, 'Your second factor');
    };
    await passkeyForm();
    const options = await page.locator('form[data-passkey]').getAttribute('data-options');
    // Another program on this machine, to whose page the victim was lured.
    const elsewhere = createServer((_, response) => response.setHeader('content-type', 'text/html').end('<title>Elsewhere</title><form data-passkey="get"><input name="credential"><p role="alert"></p><button>Go</button></form>'));
    await new Promise((resolve) => elsewhere.listen(0, 'localhost', () => resolve(undefined)));
    const { port } = /** @type {import('node:net').AddressInfo} */ (elsewhere.address());
    const trap = await page.context().newPage();
    await trap.goto(`http://localhost:${port}/`);
    await Authenticator.for(trap, await key.credential());
    const answer = await trap.evaluate(async (text) => {
      const asked = JSON.parse(text ?? '');
      const bytes = (/** @type {string} */ one) => Uint8Array.from(atob(one.replaceAll('-', '+').replaceAll('_', '/')), (letter) => letter.charCodeAt(0));
      const made = await navigator.credentials.get({ publicKey: { ...asked, challenge: bytes(asked.challenge), allowCredentials: asked.allowCredentials.map((/** @type {any} */ one) => ({ ...one, id: bytes(one.id) })) } });
      return JSON.stringify(made);
    }, options);
    elsewhere.close();
    assert.match(answer, /"signature"/);
    await page.evaluate((text) => {
      const form = /** @type {HTMLFormElement} */ (document.querySelector('form[data-passkey]'));
      /** @type {HTMLInputElement} */ (form.elements.namedItem('credential')).value = text;
      form.submit();
    }, answer);
    await refused(page);
    await key.verifiesUser(false);
    await page.getByRole('button', { name: 'Use a passkey' }).click();
    await page.getByRole('alert').filter({ hasText: 'No passkey was used' }).waitFor();
    // A browser that does not insist on it.
    await page.evaluate(() => {
      const form = /** @type {HTMLElement} */ (document.querySelector('form[data-passkey]'));
      form.dataset['options'] = JSON.stringify({ ...JSON.parse(form.dataset['options'] ?? ''), userVerification: 'discouraged' });
    });
    await page.getByRole('button', { name: 'Use a passkey' }).click();
    await refused(page);
    await key.verifiesUser(true);
    await page.getByRole('button', { name: 'Use a passkey' }).click();
    await isIn(page);
    await visit.leave(/401/);
  });

  test('a code of an app works once, and recovery codes replace a lost device once', async () => {
    const person = await newPerson('customer');
    const own = await ownFactors(person);
    await own.page.getByRole('img', { name: 'QR code for the app' }).waitFor();
    const secret = ((await own.page.locator('main p > code').textContent()) ?? '').replaceAll(' ', '');
    await own.page.getByLabel('Code of six digits').fill(codeOf(secret));
    await own.page.keyboard.press('Enter');
    await heading(own.page, 'Your recovery codes');
    const codes = await own.page.locator('.codes code').allTextContents();
    await own.leave();
    const next = codeOf(secret, 1);
    for (const [code, works] of /** @type {[string, boolean][]} */ ([[next, true], [next, false], [codes[0], true], [codes[0], false], [codes[1]?.toLowerCase(), true]])) {
      const visit = await newVisit();
      await typePassword(visit.page, person);
      await heading(visit.page, 'Your second factor');
      // It has the focus.
      await visit.page.keyboard.type(code);
      await visit.page.keyboard.press('Enter');
      if (works) await isIn(visit.page);
      else await visit.page.getByRole('alert').filter({ hasText: 'Type the next code of your app, or another recovery code.' }).waitFor();
      await visit.leave(/401/);
    }
  });
});
