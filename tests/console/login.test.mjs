import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Chrome, logIn } from './kit/console.mjs';
import { address, admin, newPerson } from './kit/people.mjs';

describe('logging in and out', () => {
  const chrome = new Chrome();
  before(() => chrome.open());
  after(() => chrome.close());

  test('leads to the page that was asked for, and leaves no code and no token behind', async () => {
    const staff = await newPerson('staff');
    const visit = await chrome.stranger();
    const { page } = visit;
    await page.goto(`${address}/console/orders?status=placed`);
    await logIn(page, staff);
    await page.getByRole('heading', { name: 'Orders', level: 1 }).waitFor();
    assert.equal(page.url(), `${address}/console/orders?status=placed`);
    const kept = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie]));
    assert.doesNotMatch(kept, /eyJ|verifier|token|code/);
    await visit.leave();
  });

  test('lasts when the page is loaded again, without another question', async () => {
    const visit = await chrome.visit(await newPerson('staff'), { path: '/webhooks' });
    await visit.page.reload();
    await visit.page.getByRole('heading', { name: 'Webhooks', level: 1 }).waitFor();
    await visit.leave();
  });

  test('ends for good: neither loading the page nor logging in again goes without the password', async () => {
    const staff = await newPerson('staff');
    const visit = await chrome.visit(staff);
    const { page } = visit;
    await page.getByRole('button', { name: 'Log out' }).click();
    await page.getByText('You are logged out.').waitFor();
    await page.reload();
    await page.getByText('You are logged out.').waitFor();
    // Also for whoever opens it in another tab.
    const tab = await page.context().newPage();
    await tab.goto(`${address}/console`);
    await tab.getByLabel('Password').waitFor();
    await page.getByRole('button', { name: 'Log in' }).click();
    await logIn(page, staff);
    await page.getByRole('heading', { name: 'Today', level: 1 }).waitFor();
    await visit.leave();
  });

  test('offers only what the person may do', async () => {
    const visit = await chrome.visit(await newPerson('customer'));
    const pages = await visit.page.getByRole('navigation', { name: 'Pages' }).getByRole('link').allTextContents();
    assert.deepEqual(pages, ['Today', 'Orders', 'Stream', 'Webhooks']);
    await visit.leave();
  });

  test('a person who says no is told so, and may try again', async () => {
    const staff = await newPerson('staff');
    const visit = await chrome.stranger();
    const { page } = visit;
    await page.goto(`${address}/console`);
    await page.getByLabel('Username').fill(staff.username);
    await page.getByLabel('Password').fill(staff.password);
    await page.getByRole('button', { name: 'Log in', exact: true }).click();
    await page.getByRole('button', { name: 'Do not allow' }).click();
    await page.getByText('You are not logged in.').waitFor();
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.getByRole('button', { name: 'Allow', exact: true }).click();
    await page.getByRole('heading', { name: 'Today', level: 1 }).waitFor();
    await visit.leave();
  });

  test('a log-in that somebody ends elsewhere ends here', async () => {
    const staff = await newPerson('staff');
    const visit = await chrome.visit(staff);
    await admin.DELETE('/user/{username}/sessions', { params: { path: { username: staff.username } } });
    // The event stream is closed with it, so the page knows at once.
    await visit.page.getByText('Your log-in has ended').waitFor();
    await visit.leave(/401|400/);
  });
});
