import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { misplaced } from './kit/boxes.mjs';
import { Chrome } from './kit/console.mjs';
import { mailsTo } from './kit/mails.mjs';
import { address, admin, fresh, newPerson, newPlant, shopOf } from './kit/people.mjs';

/** A customer with a verified address and a mail about an order. */
async function mailedCustomer() {
  const person = await newPerson('customer');
  const email = `${fresh('ada')}@shop.test`;
  await admin.PATCH('/user/{username}', { params: { path: { username: person.username } }, body: { email, orderMails: true } });
  const [{ text = '' } = {}] = await mailsTo(email, 1);
  const link = /https?:\S+\/account\/email\?code=[\w-]+/.exec(text)?.[0] ?? '';
  return { ...person, email, link };
}

describe('mails', () => {
  const chrome = new Chrome();
  /** @type {import('./kit/people.mjs').Person} */
  let boss;
  before(async () => {
    boss = await newPerson('admin');
    await chrome.open();
  });
  after(() => chrome.close());

  const verify = async (/** @type {{ link: string }} */ { link }) => {
    const customer = await chrome.newVisit();
    await customer.page.goto(link);
    await customer.page.getByRole('button', { name: 'Yes, verify the address' }).click();
    await customer.page.getByRole('heading', { name: 'The address is verified' }).waitFor();
    await customer.leave();
  };

  test('lead to pages to which one can go back', async () => {
    const ada = await mailedCustomer();
    const visit = await chrome.newVisit();
    const { page } = visit;
    const title = (/** @type {string} */ name) => page.getByRole('heading', { level: 1, name }).waitFor();
    await page.goto(ada.link);
    await page.getByRole('button', { name: 'Yes, verify the address' }).click();
    await title('The address is verified');
    await page.goto(`${address}/account/recovery`);
    await page.goBack();
    await title('Log in to the plant shop');
    await page.goto(`${address}/account/recovery`);
    await page.getByLabel('Username or e-mail address').fill(ada.username);
    await page.getByRole('button', { name: 'Send a link' }).click();
    await title('Look for our mail');
    await page.goto(`${address}/docs`);
    await page.goBack();
    await title('Forgot your password?');
    const [{ text = '' } = {}] = await mailsTo(ada.email, 2);
    await page.goto(/https?:\S+\/account\/password\?\S+/.exec(text)?.[0] ?? '');
    await page.getByLabel('New password').fill('another good password');
    await page.getByRole('button', { name: 'Set the password', exact: true }).click();
    await title('The password is set');
    await page.goto(`${address}/docs`);
    await page.goBack();
    await title('Log in to the plant shop');
    await visit.leave();
  });

  test('with a link for a new password are sent to a verified address only', async () => {
    const ada = await mailedCustomer();
    const visit = await chrome.visit(boss, { path: `/people/${ada.username}` });
    const { page } = visit;
    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'Send a link for a new password' }).click();
    await dialog.getByText(`${ada.email} is not verified`).waitFor();
    await dialog.getByRole('button', { name: 'Send the verification again' }).dblclick();
    await page.getByText(`The verification was sent to ${ada.email}.`).first().waitFor();
    await mailsTo(ada.email, 2);
    await verify(ada);
    await page.reload();
    await page.getByRole('button', { name: 'Send a link for a new password' }).click();
    await dialog.getByText(ada.email).waitFor();
    await visit.assertAccessible();
    await dialog.getByRole('button', { name: 'Send the link' }).dblclick();
    await page.getByText(`A link was sent to ${ada.email}.`).first().waitFor();
    const [{ text = '' } = {}, ...others] = await mailsTo(ada.email, 3);
    assert.match(text, /account\/password\?code=/);
    assert.equal(others.length, 2);
    await visit.leave();
  });

  test('are listed with their state, filtered, and sent again once', async () => {
    const ada = await mailedCustomer();
    await verify(ada);
    const plantId = await newPlant();
    // Identity tells notifications within a second where mails go. Orders before that get none.
    for (let tries = 1; ; tries++) {
      await shopOf(ada).POST('/store/order', { body: { plantId, quantity: 1 } });
      const came = await mailsTo(ada.email, 2, 5_000).catch((error) => tries < 3 ? undefined : Promise.reject(error));
      if (came) break;
    }

    const visit = await chrome.visit(boss, { path: `/people/${ada.username}` });
    const { page } = visit;
    await page.getByRole('main').getByRole('link', { name: 'Mails', exact: true }).click();
    await page.getByRole('heading', { level: 1, name: 'Mails' }).waitFor();
    assert.equal(await page.getByRole('combobox', { name: 'To' }).inputValue(), ada.username);
    const rows = page.getByRole('table', { name: 'Mails' }).getByRole('row');
    const placed = rows.filter({ hasText: 'Order placed' });
    await placed.getByText('sent', { exact: true }).waitFor();
    await rows.filter({ hasText: 'Verify the address' }).getByText(`${ada.email[0]}…@shop.test`).waitFor();
    assert.ok(!(await page.content()).includes(ada.email), 'the address is masked');
    // A sent mail about an account has no text any more.
    assert.equal(await rows.filter({ hasText: 'Verify the address' }).getByRole('button').count(), 0);
    await visit.assertAccessible();
    await placed.getByRole('button', { name: 'Send again' }).dblclick();
    await page.getByText('A copy of the mail waits to be sent').first().waitFor();
    // The button can be pressed no more.
    await page.waitForFunction(() => document.activeElement?.closest('table'));
    assert.equal((await mailsTo(ada.email, 3)).length, 3);
    await page.waitForFunction(() => [...document.querySelectorAll('tbody tr')].filter((row) => row.textContent?.includes('Order placed') && row.textContent.includes('sent')).length === 2);
    for (const width of [1024, 1440]) {
      await page.setViewportSize({ width, height: 900 });
      assert.deepEqual(await misplaced(page), [], `at ${width} px`);
    }
    const { data: entries } = await admin.GET('/audit', { params: { query: { operation: 'notifications.resendMail', subject: boss.username } } });
    assert.equal(entries.length, 1);

    await page.getByRole('radiogroup', { name: 'State of the mails' }).getByText('failed', { exact: true }).click();
    await page.getByRole('heading', { name: 'No mail matches' }).waitFor();
    await page.getByRole('radiogroup', { name: 'State of the mails' }).getByText('all', { exact: true }).click();
    await page.getByRole('combobox', { name: 'About' }).click();
    await page.getByRole('option', { name: 'Verify the address' }).click();
    await placed.first().waitFor({ state: 'detached' });
    await page.getByRole('combobox', { name: 'To' }).fill('nobody-at-all');
    await page.getByRole('heading', { name: 'No user is called nobody-at-all' }).waitFor();
    await visit.leave(/404/);
  });

  test('are not for those who may not manage users', async () => {
    const visit = await chrome.visit(await newPerson('staff'), { path: '/mails' });
    const { page } = visit;
    await page.getByRole('heading', { name: 'Only administrators see mails' }).waitFor();
    assert.equal(await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Mails' }).count(), 0);
    await visit.assertAccessible();
    await visit.leave();
  });

  for (const scheme of /** @type {const} */ (['light', 'dark'])) {
    test(`fit a phone, ${scheme}`, async () => {
      await mailedCustomer();
      const visit = await chrome.visit(boss, { path: '/mails', scheme, viewport: { width: 390, height: 844 } });
      const { page } = visit;
      await page.getByRole('table', { name: 'Mails' }).waitFor();
      await visit.assertAccessible();
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390);
      await visit.leave();
    });
  }
});
