import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Chrome, logIn } from './kit/console.mjs';
import { address, admin, newPerson } from './kit/people.mjs';

describe('logging in and out', () => {
  const chrome = new Chrome();
  before(() => chrome.open());
  after(() => chrome.close());

  test('returns to the requested page, and stores no code or token in the browser', async () => {
    const staff = await newPerson('staff');
    const visit = await chrome.newVisit();
    const { page } = visit;
    await page.goto(`${address}/console/orders?status=placed`);
    await logIn(page, staff);
    await page.getByRole('heading', { name: 'Orders', level: 1 }).waitFor();
    assert.equal(page.url(), `${address}/console/orders?status=placed`);
    const stored = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie]));
    assert.doesNotMatch(stored, /eyJ|verifier|token|code/);
    await visit.leave();
  });

  test('survives a reload without another login (slow)', async () => {
    const visit = await chrome.visit(await newPerson('staff'), { path: '/webhooks' });
    await visit.page.reload();
    await visit.page.getByRole('heading', { name: 'Webhooks', level: 1 }).waitFor();
    await visit.leave();
  });

  test('ends for good: neither a reload nor a new login works without the password', async () => {
    const staff = await newPerson('staff');
    const visit = await chrome.visit(staff);
    const { page } = visit;
    await page.getByRole('button', { name: 'Log out' }).click();
    const logInAgain = page.getByRole('button', { name: 'Log in' }).and(page.locator(':focus'));
    await page.getByText('You are logged out.').waitFor();
    await logInAgain.waitFor();
    await page.reload();
    await page.getByText('You are logged out.').waitFor();
    await logInAgain.waitFor();
    // Another tab asks for the password too.
    const tab = await page.context().newPage();
    await tab.goto(`${address}/console`);
    await tab.getByLabel('Password').waitFor();
    await page.getByRole('button', { name: 'Log in' }).click();
    await logIn(page, staff);
    await page.getByRole('heading', { name: 'Today', level: 1 }).waitFor();
    await visit.leave();
  });

  test('offers only the pages that the user may see (slow)', async () => {
    const visit = await chrome.visit(await newPerson('customer'));
    const pages = await visit.page.getByRole('navigation', { name: 'Pages' }).getByRole('link').allTextContents();
    assert.deepEqual(pages, ['Today', 'Orders', 'Stream', 'Webhooks', 'Your account']);
    // This shop is not a sandbox.
    assert.equal(await visit.page.getByText('Sandbox').count(), 0);
    await visit.leave();
  });

  test('a user who cancels the log-in can try again (slow)', async () => {
    const staff = await newPerson('staff');
    const visit = await chrome.newVisit();
    const { page } = visit;
    await page.goto(`${address}/console`);
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByText('You are not logged in.').waitFor();
    await page.getByRole('button', { name: 'Log in' }).click();
    await logIn(page, staff);
    await page.getByRole('heading', { name: 'Today', level: 1 }).waitFor();
    await visit.leave();
  });

  test('a session that is ended elsewhere ends in the console (slow)', async () => {
    const staff = await newPerson('staff');
    const visit = await chrome.visit(staff);
    await admin.DELETE('/user/{username}/sessions', { params: { path: { username: staff.username } } });
    // The event stream closes with the session, so the page notices at once.
    await visit.page.getByText('Your session has ended').waitFor();
    await visit.page.getByRole('button', { name: 'Log in' }).and(visit.page.locator(':focus')).waitFor();
    await visit.leave(/401|400/);
  });
});
