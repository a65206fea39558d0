import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Chrome } from './kit/console.mjs';
import { address, applicationAddress, consentAddress, newPerson } from './kit/people.mjs';

const narrow = { width: 320, height: 640 };

describe('login, consent and problem pages', () => {
  const chrome = new Chrome();
  before(() => chrome.open());
  after(() => chrome.close());

  for (const scheme of /** @type {const} */ (['light', 'dark'])) {
    test(`are accessible and fit into 320 px, ${scheme}`, async () => {
      const staff = await newPerson('staff');
      const visit = await chrome.newVisit({ scheme, viewport: narrow });
      const { page } = visit;
      const check = async (/** @type {string} */ heading) => {
        await page.getByRole('heading', { level: 1, name: heading }).waitFor();
        await visit.assertAccessible();
        assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), narrow.width, heading);
      };
      await page.goto(`${address}/console`);
      await check('Log in to the plant shop');
      await page.getByRole('link', { name: 'Create an account' }).click();
      await check('Create an account');
      await page.getByLabel('Username').fill('me');
      await page.getByLabel('E-mail address').fill('ada@shop.test');
      await page.getByLabel('Password').fill('a-good-password');
      await page.getByLabel('Password').press('Enter');
      await page.getByRole('alert').waitFor();
      await check('Create an account');
      await page.getByRole('link', { name: 'Log in' }).click();
      await page.getByRole('link', { name: 'Forgot your password?' }).click();
      await check('Forgot your password?');
      await page.getByLabel('Username or e-mail address').fill('nobody-at-all');
      await page.getByLabel('Username or e-mail address').press('Enter');
      await check('Look for our mail');
      await page.goto(`${address}/account/password?code=made-up`);
      await check('This link does not work');
      await page.goto(`${address}/console`);
      await check('Log in to the plant shop');
      await page.getByLabel('Username').fill(staff.username);
      await page.getByLabel('Password').fill('not the password');
      await page.getByLabel('Password').press('Enter');
      await page.getByRole('alert').waitFor();
      await check('Log in to the plant shop');
      await page.getByLabel('Password').fill(staff.password);
      await page.getByLabel('Password').press('Enter');
      await page.getByRole('navigation', { name: 'Pages' }).waitFor();
      await page.goto(await consentAddress(['write:orders', 'write:users']));
      await check('Allow Garden planner to access your account?');
      await page.goto(`${address}/oauth/authorize?client_id=nobody`);
      await check('Invalid request');
      await page.goto(`${address}/problems`);
      await check('Problems');
      await page.getByRole('link', { name: 'plant-has-pending-orders' }).click();
      await check('Plant has pending orders');
      await visit.leave(/400|401|403/);
    });

    test(`look like the console, ${scheme}`, async () => {
      const visit = await chrome.visit(await newPerson('staff'), { scheme });
      const { page } = visit;
      await page.getByRole('button', { name: 'Log out' }).click();
      const button = page.getByRole('button', { name: 'Log in', exact: true });
      await page.getByText('You are logged out.').waitFor();
      const ofConsole = await lookOf(button);
      await button.click();
      await page.getByLabel('Password').waitFor();
      assert.deepEqual(await lookOf(button), ofConsole);
      await button.hover();
      assert.equal((await lookOf(button)).button.color, ofConsole.button.color);
      await visit.leave();
    });
  }

  test('have the logo of the console', async () => {
    const logo = await (await fetch(`${address}/console/leaf.svg`)).text();
    const shapes = logo.slice(logo.indexOf('>') + 1, logo.indexOf('</svg>'));
    assert.match(shapes, /^<rect/);
    for (const path of ['/problems', '/oauth/authorize?client_id=nobody']) {
      const response = await fetch(address + path, { headers: { accept: 'text/html' } });
      assert.ok((await response.text()).includes(shapes), path);
    }
  });

  test('show the focus, and work by keyboard', async () => {
    const staff = await newPerson('staff');
    const visit = await chrome.newVisit();
    const { page } = visit;
    await page.goto(`${address}/console`);
    await page.getByLabel('Username').waitFor();
    // It has the focus.
    await page.keyboard.type(staff.username);
    await page.keyboard.press('Tab');
    await page.keyboard.type(staff.password);
    await page.keyboard.press('Tab');
    assert.deepEqual(await page.evaluate(() => {
      const { outlineStyle, outlineWidth } = window.getComputedStyle(document.activeElement ?? document.body);
      return [document.activeElement?.textContent, outlineStyle, outlineWidth];
    }), ['Log in', 'solid', '2px']);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Today' }).waitFor();
    await page.goto(await consentAddress(['write:orders']));
    await page.getByRole('button', { name: 'Allow', exact: true }).waitFor();
    await page.keyboard.press('Tab');
    const back = page.waitForRequest(`${applicationAddress}/callback?code=*`);
    await page.keyboard.press('Enter');
    await back;
    await visit.leave(/ERR_NAME_NOT_RESOLVED/);
  });
});

/** Colours, font and corners of a page with a main button. @param {import('playwright-core').Locator} button */
const lookOf = (button) =>
  button.evaluate((element) => {
    const card = element.closest('main > div') ?? element.closest('main') ?? element;
    const at = (/** @type {Element} */ one) => window.getComputedStyle(one);
    return {
      page: { background: at(document.body).backgroundColor, font: at(document.body).fontFamily, color: at(card).color },
      card: { border: at(card).borderTopColor, radius: at(card).borderTopLeftRadius, width: card.getBoundingClientRect().width },
      button: { background: at(element).backgroundColor, color: at(element).color, radius: at(element).borderTopLeftRadius, weight: at(element).fontWeight },
    };
  });
