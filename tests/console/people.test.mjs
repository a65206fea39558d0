import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { createShop, ShopProblem } from '@plant-shop/client';
import { assertShows, Chrome, givePassword } from './kit/console.mjs';
import { focusByKey, pressEnterOn } from './kit/keyboard.mjs';
import { address, admin, fresh, newPerson, newPlant, paidOrder, shopOf } from './kit/people.mjs';

/** @param {string} apiKey */
const isValid = async (apiKey) => {
  try {
    await createShop({ url: address, credential: { apiKey } }).GET('/store/order');
    return true;
  } catch (error) {
    if (error instanceof ShopProblem && error.status === 401) return false;
    throw error;
  }
};

describe('people', () => {
  const chrome = new Chrome();
  /** An administrator for this file only: the demo's must not change. @type {import('./kit/people.mjs').Person} */
  let boss;
  before(async () => {
    boss = await newPerson('admin');
    await chrome.open();
  });
  after(() => chrome.close());

  test('a user can be found by name and role, and given another role, by keyboard alone', async () => {
    const ada = await newPerson('customer');
    await admin.PUT('/user/{username}', { params: { path: { username: ada.username } }, body: { firstName: '<img src=x onerror=alert(1)>' } });
    const visit = await chrome.visit(boss, { path: '/people?role=customer' });
    const { page } = visit;
    await focusByKey(page.getByLabel('Name or e-mail address'));
    await page.keyboard.type(ada.username);
    await page.waitForURL((url) => url.searchParams.get('q') === ada.username);
    await page.getByText('<img src=x onerror=alert(1)>').waitFor();
    await pressEnterOn(page.getByRole('link', { name: ada.username, exact: true }));
    await focusByKey(page.getByRole('combobox', { name: 'New role' }));
    await page.keyboard.press('Enter');
    await pressEnterOnOption(page, 'staff');
    await pressEnterOn(page.getByRole('button', { name: 'Change the role' }));
    await page.getByRole('dialog', { name: `Make ${ada.username} staff?` }).waitFor();
    await visit.assertAccessible();
    await pressEnterOn(page.getByRole('dialog').getByRole('button', { name: 'Change the role' }));
    await givePassword(page, { ...boss, password: 'not the password' });
    await page.getByText('The current password is wrong. Nothing was changed.').waitFor();
    await givePassword(page, boss);
    await page.getByText(`${ada.username} is staff now.`).waitFor();
    await page.getByRole('region', { name: 'Role' }).getByText('staff').first().waitFor();
    const { data } = await admin.GET('/user/{username}', { params: { path: { username: ada.username } } });
    assert.equal(data.role, 'staff');
    await visit.leave(/403/);
  });

  test('when a role is revoked while the page is open, its pages are neither shown nor offered', async () => {
    const other = await newPerson('admin');
    const visit = await chrome.visit(other, { path: '/people' });
    const { page } = visit;
    await page.getByRole('table', { name: 'Users' }).waitFor();
    await admin.PUT('/user/{username}/role', { params: { path: { username: other.username } }, body: { role: 'customer' } });
    await page.getByRole('tab', { name: 'OAuth clients' }).click();
    await page.getByRole('heading', { name: 'Only administrators see people' }).waitFor();
    await visit.assertAccessible();
    assert.equal(await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'People' }).count(), 0);
    await page.goto(`${address}/console/people`);
    await page.getByRole('heading', { name: 'Only administrators see people' }).waitFor();
    await visit.leave(/403/);
  });

  test('when a session is ended elsewhere, the page says so, and a new login returns to it', async () => {
    const owner = await newPerson('customer');
    const visit = await chrome.visit(owner, { path: '/orders' });
    const { page } = visit;
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Webhooks' }).click();
    await page.getByRole('heading', { name: 'No webhooks yet' }).waitFor();
    const { data: sessions } = await admin.GET('/user/{username}/sessions', { params: { path: { username: owner.username } } });
    const sessionId = sessions.find((/** @type {any} */ { kind }) => kind === 'application')?.id ?? '';
    await admin.DELETE('/user/{username}/sessions/{sessionId}', { params: { path: { username: owner.username, sessionId } } });
    await page.getByText('Your session has ended.').waitFor();
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.getByLabel('Username').fill(owner.username);
    await page.getByLabel('Password').fill(owner.password);
    await page.getByRole('button', { name: 'Log in', exact: true }).click();
    await page.getByRole('heading', { name: 'No webhooks yet' }).waitFor();
    // The pages of the log-in have expired: Back passes them.
    await page.goBack();
    await page.getByRole('heading', { name: 'Orders', level: 1 }).waitFor();
    assert.equal(await page.getByText('This page has expired').count(), 0);
    await visit.leave(/40[01]/);
  });

  test('what others change about a person is seen without a reload', async () => {
    const person = await newPerson('customer');
    const visit = await chrome.visit(boss, { path: `/people/${person.username}` });
    const { page } = visit;
    const list = await chrome.visit(boss, { path: `/people?q=${person.username}` });
    await page.getByText('customer', { exact: true }).first().waitFor();
    await list.page.getByRole('row', { name: new RegExp(`${person.username}.*customer`) }).waitFor();
    const name = fresh('theirs');
    await shopOf(person).POST('/user/{username}/apiKeys', { params: { path: { username: person.username } }, body: { name, currentPassword: person.password } });
    await admin.PUT('/user/{username}/role', { params: { path: { username: person.username } }, body: { role: 'admin' } });
    await page.getByText(name, { exact: true }).waitFor();
    await page.getByRole('region', { name: 'Role' }).getByText('admin', { exact: true }).first().waitFor();
    await list.page.getByRole('row', { name: new RegExp(`${person.username}.*admin`) }).waitFor();
    await list.leave();
    await visit.leave();
  });

  test('a session can be ended', async () => {
    const ada = await newPerson('customer');
    const { data: before } = await shopOf(ada).GET('/user/{username}/sessions', { params: { path: { username: ada.username } } });
    assert.equal(before.length, 1);
    const visit = await chrome.visit(boss, { path: `/people/${ada.username}`, scheme: 'dark' });
    const { page } = visit;
    await page.getByRole('button', { name: /^End the session/ }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'End the session' }).click();
    await givePassword(page, boss);
    await page.getByText(`${ada.username} has no open session.`).waitFor();
    await visit.assertAccessible();
    await visit.leave(/403/);
  });

  test('who loses a role is told what is missing, and keeps what was typed', async () => {
    const [staff, id] = [await newPerson('staff'), await paidOrder()];
    const visit = await chrome.visit(staff, { path: `/orders/${id}` });
    const { page } = visit;
    const entries = page.getByRole('navigation', { name: 'Pages' }).getByRole('link');
    await page.getByRole('button', { name: 'Ship', exact: true }).click();
    await page.getByLabel('Carrier').fill('Green Post');
    await page.getByLabel('Tracking number').fill('KEPT-1');
    await admin.PUT('/user/{username}/role', { params: { path: { username: staff.username } }, body: { role: 'customer' } });
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Ship', exact: true }).click();
    await dialog.getByRole('alert').getByText(/^Your role was changed: you may no longer .*report shipments/).waitFor();
    await assertShows(entries, ['Today', 'Orders', 'Stream', 'Webhooks', 'Your account']);
    await dialog.getByRole('button', { name: 'Back' }).click();
    await page.getByText(/^Your role was changed: you may no longer .*report shipments/).first().waitFor();
    await page.getByText('What you typed is kept. If you need the permission, ask an administrator.').first().waitFor();
    await visit.assertAccessible();
    assert.equal(await page.getByRole('button', { name: 'Ship', exact: true }).count(), 0);
    await page.getByRole('main').getByRole('button', { name: 'Close' }).click();
    await page.getByText('You may do less than before').waitFor({ state: 'detached' });
    await admin.PUT('/user/{username}/role', { params: { path: { username: staff.username } }, body: { role: 'staff' } });
    await page.reload();
    await page.getByRole('button', { name: 'Ship', exact: true }).click();
    assert.equal(await page.getByLabel('Tracking number').inputValue(), 'KEPT-1');
    await visit.leave(/40[34]/);
  });

  test('an administrator who becomes staff is offered what staff are', async () => {
    const visit = await chrome.visit(await newPerson('admin'), { path: '/people' });
    const { page } = visit;
    await page.getByLabel('Name or e-mail address').waitFor();
    const username = (await page.getByRole('banner').getByText(/^admin-/).textContent()) ?? '';
    await admin.PUT('/user/{username}/role', { params: { path: { username } }, body: { role: 'staff' } });
    await page.getByLabel('Name or e-mail address').fill('any');
    await page.getByRole('heading', { name: 'Only administrators see people' }).waitFor();
    await page.getByText('Your role was changed: you may no longer manage people.').waitFor();
    await assertShows(page.getByRole('navigation', { name: 'Pages' }).getByRole('link'), ['Today', 'Orders', 'Plants', 'Stream', 'Webhooks', 'Your account']);
    await visit.leave(/403/);
  });

  test('an API key can be created, rotated and revoked, and is shown only once', async () => {
    const ada = await newPerson('customer');
    const visit = await chrome.visit(boss, { path: `/people/${ada.username}` });
    const { page } = visit;
    const shownKey = async () => (await page.getByRole('dialog', { name: 'The new API key' }).getByLabel('Secret', { exact: true }).textContent()) ?? '';
    const row = page.getByRole('row', { name: /<b>warehouse/ });

    await page.getByRole('button', { name: 'New API key' }).click();
    await page.getByLabel('Name').fill('<b>warehouse</b>');
    await page.getByLabel('what you choose').check();
    await page.getByLabel('Place and cancel own orders').check();
    await visit.assertAccessible();
    await page.getByRole('button', { name: 'Create the key' }).click();
    await givePassword(page, boss);
    const key = await shownKey();
    assert.ok(await isValid(key));
    await page.getByRole('button', { name: 'I have stored it' }).click();
    await row.getByText('place orders').waitFor();
    assert.ok(!(await page.content()).includes(key), 'the key is no longer in the page');

    await row.getByRole('button', { name: 'Replace' }).click();
    await page.getByRole('combobox', { name: 'The old key expires' }).click();
    await page.getByRole('option', { name: 'at once' }).click();
    await page.getByRole('button', { name: 'Replace the key' }).click();
    await givePassword(page, boss);
    const next = await shownKey();
    assert.ok(await isValid(next));
    await page.getByRole('button', { name: 'I have stored it' }).click();
    await row.getByRole('button', { name: 'Revoke' }).first().waitFor();
    const { data: keys } = await admin.GET('/user/{username}/apiKeys', { params: { path: { username: ada.username } } });
    assert.deepEqual(keys.map(({ prefix }) => next.startsWith(prefix)), [true], 'only the new key is left');

    await row.getByRole('button', { name: 'Revoke' }).click();
    await page.getByRole('button', { name: 'Revoke the API key' }).click();
    await page.getByText('No API keys.').waitFor();
    await visit.leave(/403/);
  });

  test('an OAuth client can be registered, given a new secret and deleted; secrets are shown only once', async () => {
    const name = fresh('Garden <planner>');
    const visit = await chrome.visit(boss, { path: '/people?tab=clients' });
    const { page } = visit;
    await page.getByRole('button', { name: 'New client' }).click();
    await page.getByLabel('Name').fill(name);
    await page.getByLabel('Redirect addresses').fill('https://planner.example/callback');
    await page.getByLabel('Place and cancel own orders').check();
    await visit.assertAccessible();
    await page.getByRole('button', { name: 'Register the client' }).click();
    await givePassword(page, boss);
    const secret = await page.getByRole('dialog', { name: 'The client secret' }).getByLabel('Secret', { exact: true }).textContent();
    await page.getByRole('button', { name: 'I have stored it' }).click();
    const row = page.getByRole('row', { name });
    await row.getByText('https://planner.example/callback').waitFor();
    await row.getByRole('button', { name: 'New secret' }).click();
    await page.getByRole('button', { name: 'Replace the secret' }).click();
    await givePassword(page, boss);
    const next = await page.getByRole('dialog', { name: 'The new client secret' }).getByLabel('Secret', { exact: true }).textContent();
    assert.ok(secret && next && secret !== next);
    await page.getByRole('button', { name: 'I have stored it' }).click();
    await page.getByRole('button', { name: 'Delete plant-admin' }).click();
    await page.getByText('It gets no more tokens').waitFor();
    await page.keyboard.press('Escape');
    await row.getByRole('button', { name: 'Delete' }).click();
    await page.getByText('Users can no longer log in to it').waitFor();
    await page.getByRole('button', { name: 'Delete the client' }).click();
    await row.waitFor({ state: 'detached' });
    await visit.leave(/403/);
  });

  test('the audit log shows who assigned a role, and can be filtered by user and by what was done', async () => {
    const { username } = await newPerson('customer');
    await shopOf(boss).PUT('/user/{username}/role', { params: { path: { username } }, body: { role: 'staff' } });
    const visit = await chrome.visit(boss, { path: '/people?tab=audit' });
    const { page } = visit;
    await page.getByRole('combobox', { name: 'Done by' }).fill(boss.username);
    await page.getByRole('combobox', { name: 'What' }).fill('role');
    await page.getByRole('option', { name: 'Changed a role' }).click();
    await page.waitForURL((url) => url.searchParams.get('by') === boss.username && url.searchParams.get('operation') === 'identity.setUserRole');
    const row = page.getByRole('row', { name: new RegExp(`${username} customer → staff`) });
    await row.getByRole('cell', { name: 'Changed a role' }).waitFor();
    await row.getByRole('link', { name: username, exact: true }).waitFor();
    assert.doesNotMatch(await page.getByRole('table', { name: 'Audit log' }).innerText(), /setUserRole/);
    const plantId = await newPlant(5, fresh('Audited aloe'));
    await shopOf(boss).POST('/store/inventory/{plantId}/adjustment', { params: { path: { plantId } }, body: { by: -2, reason: 'Frost' } });
    await page.getByRole('combobox', { name: 'What' }).fill('adjusted');
    await page.getByRole('option', { name: 'Adjusted the stock' }).click();
    await page.getByRole('row', { name: /Audited aloe\S* 5 → 3/ }).waitFor();
    await page.getByRole('combobox', { name: 'What' }).fill('role');
    await page.getByRole('option', { name: 'Changed a role' }).click();
    await row.waitFor();
    await page.getByRole('link', { name: boss.username }).first().waitFor();
    await visit.assertAccessible();
    const saving = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Export' }).click();
    const file = readFileSync(await (await saving).path(), 'utf8');
    assert.match(file, /^\ufeffWhen \(UTC\),Who,What,To,/);
    assert.match(file, new RegExp(`\\n[-\\d]+ [:\\d]+,${boss.username},Changed a role,${username},customer → staff,`));
    const tomorrow = new Date(Date.now() + 86_400_000).toLocaleDateString('sv', { timeZone: 'Europe/Berlin' });
    await page.getByLabel('Before', { exact: true }).fill(tomorrow);
    await page.waitForURL((url) => url.searchParams.has('to'));
    await row.waitFor();
    await page.getByLabel('From', { exact: true }).fill(tomorrow);
    await page.getByRole('heading', { name: 'No entry matches' }).waitFor();
    assert.equal(await page.getByLabel('Before', { exact: true }).inputValue(), tomorrow);
    await page.getByLabel('From', { exact: true }).fill('');
    await page.getByRole('combobox', { name: 'Done by' }).fill(boss.username.slice(0, -2));
    await page.getByRole('option', { name: boss.username, exact: true }).click();
    await row.waitFor();
    await page.getByRole('combobox', { name: 'Done by' }).fill('no-such-user');
    await page.getByRole('heading', { name: 'No user is called no-such-user' }).waitFor();
    await visit.leave(/404/);
  });

  test('a role that somebody else changes meanwhile is said, not passed over', async () => {
    const { username } = await newPerson('customer');
    const visit = await chrome.visit(boss, { path: `/people/${username}` });
    const { page } = visit;
    await page.getByRole('combobox', { name: 'New role' }).click();
    await page.getByRole('option', { name: 'admin', exact: true }).click();
    await page.getByRole('button', { name: 'Change the role' }).click();
    const dialog = page.getByRole('dialog', { name: `Make ${username} an admin?` });
    await dialog.getByText(`At present ${username} is a customer.`).waitFor();
    await admin.PUT('/user/{username}/role', { params: { path: { username } }, body: { role: 'staff' } });
    await dialog.getByRole('button', { name: 'Change the role' }).click();
    const refusal = dialog.getByText('Someone else has changed it meanwhile.');
    const question = page.getByRole('dialog', { name: 'Your password, please' });
    await question.or(refusal).first().waitFor();
    if (await question.isVisible()) await givePassword(page, boss);
    await refusal.waitFor();
    await dialog.getByText(`Someone else has made ${username} staff.`).waitFor();
    await dialog.getByText(`At present ${username} is staff.`).waitFor();
    await visit.leave(/403|412/);
  });

  test('a role whose answer was lost is said to be given once the page knows it', async () => {
    const { username } = await newPerson('customer');
    const visit = await chrome.visit(boss, { path: `/people/${username}` });
    const { page } = visit;
    await page.getByRole('combobox', { name: 'New role' }).click();
    await page.getByRole('option', { name: 'staff', exact: true }).click();
    await page.getByRole('button', { name: 'Change the role' }).click();
    const dialog = page.getByRole('dialog', { name: `Make ${username} staff?` });
    await page.route('**/role', async (route) => {
      const response = await route.fetch();
      if (response.ok()) await route.abort();
      else await route.fulfill({ response });
    });
    await dialog.getByRole('button', { name: 'Change the role' }).click();
    const [question, done] = [page.getByRole('dialog', { name: 'Your password, please' }), page.getByText(`${username} is staff now.`)];
    await question.or(done).first().waitFor();
    if (await question.isVisible()) await givePassword(page, boss);
    await done.waitFor();
    await dialog.waitFor({ state: 'detached' });
    await visit.leave(/403|ERR_FAILED/);
  });

  test('names from right to left leave what stands beside them', async () => {
    const { username } = await newPerson('customer');
    const name = '\u202eتجربة';
    const { data: { prefix } } = await admin.POST('/user/{username}/apiKeys', { params: { path: { username } }, body: { name } });
    const visit = await chrome.visit(boss, { path: `/people/${username}` });
    const { page } = visit;
    await page.getByRole('button', { name: /^Revoke/ }).click();
    // Where the prefix is drawn: its first letter left of its last.
    const [first, last] = await page.getByRole('dialog').getByRole('heading').evaluate((title, wanted) => {
      const text = /** @type {Text} */ (document.createTreeWalker(title, NodeFilter.SHOW_TEXT).nextNode());
      const at = (text.textContent ?? '').indexOf(wanted);
      return [at, at + wanted.length - 1].map((n) => {
        const range = new Range();
        range.setStart(text, n);
        range.setEnd(text, n + 1);
        return range.getBoundingClientRect().left;
      });
    }, prefix);
    assert.ok(first !== undefined && last !== undefined && first < last, `${first} ${last}`);
    await visit.leave();
  });

  test('a long name leaves room in a dialog on a phone', async () => {
    const username = `q${process.pid}_${'w'.repeat(50)}`;
    await admin.POST('/user', { body: { username, password: 'a good password' } });
    const visit = await chrome.visit(boss, { path: `/people/${username}`, viewport: { width: 390, height: 780 } });
    const { page } = visit;
    await page.getByRole('button', { name: 'Delete the user' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('heading', { name: username }).waitFor();
    const [close, title] = await Promise.all([dialog.getByRole('button', { name: 'Close' }).boundingBox(), dialog.getByRole('heading', { name: username }).evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)]);
    assert.ok(close && close.x + close.width < 390 && title <= 0, JSON.stringify({ close, title }));
    await visit.leave();
  });

  test('of a key and the one that replaced it, each says which it is', async () => {
    const { username } = await newPerson('customer');
    const { data: old } = await admin.POST('/user/{username}/apiKeys', { params: { path: { username } }, body: { name: 'till' } });
    const { data: replacement } = await admin.POST('/user/{username}/apiKeys/{apiKeyId}/rotation', { params: { path: { username, apiKeyId: old.id } }, body: { graceSeconds: 3_600 } });
    const visit = await chrome.visit(boss, { path: `/people/${username}` });
    const { page } = visit;
    await page.getByRole('button', { name: `Revoke till (${replacement.prefix}, the new key)`, exact: true }).waitFor();
    await page.getByRole('button', { name: `Revoke till (${old.prefix}, the old key)`, exact: true }).click();
    await page.getByRole('dialog', { name: `Revoke till (${old.prefix}, the old key)?` }).getByRole('button', { name: 'Revoke the API key' }).click();
    await page.getByRole('button', { name: `Revoke till (${replacement.prefix})`, exact: true }).waitFor();
    await visit.leave();
  });

  test('a user whom somebody else has just deleted is deleted, not refused', async () => {
    const { username } = await newPerson('customer');
    const visit = await chrome.visit(boss, { path: `/people/${username}` });
    const { page } = visit;
    await page.getByRole('button', { name: 'Delete the user' }).click();
    await admin.DELETE('/user/{username}', { params: { path: { username } } });
    await page.getByRole('dialog').getByRole('button', { name: 'Delete the user' }).click();
    const [question, done] = [page.getByRole('dialog', { name: 'Your password, please' }), page.getByText(`${username} is deleted.`)];
    await question.or(done).first().waitFor();
    if (await question.isVisible()) await givePassword(page, boss);
    await done.waitFor();
    await page.getByRole('heading', { level: 1, name: 'People' }).waitFor();
    await visit.leave(/40[34]/);
  });

  test('a key that somebody else has just revoked is revoked, not refused', async () => {
    const { username } = await newPerson('customer');
    const { data: { id } } = await admin.POST('/user/{username}/apiKeys', { params: { path: { username } }, body: { name: 'till' } });
    const visit = await chrome.visit(boss, { path: `/people/${username}` });
    const { page } = visit;
    await page.getByRole('button', { name: /^Revoke/ }).click();
    await admin.DELETE('/user/{username}/apiKeys/{apiKeyId}', { params: { path: { username, apiKeyId: id } } });
    await page.getByRole('button', { name: 'Revoke the API key' }).click();
    await page.getByText('The API key is revoked.').waitFor();
    await visit.leave(/404/);
  });
});

/** Chooses an option of a combobox, which keeps the focus. @param {import('playwright-core').Page} page @param {string} name */
async function pressEnterOnOption(page, name) {
  const option = page.getByRole('option', { name, exact: true });
  await option.waitFor();
  // When the list opens, a timer notes the present value. Keys that come before it are undone.
  await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 0)));
  for (let presses = 0; presses < 10 && (await option.getAttribute('data-combobox-selected')) === null; presses += 1) await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
}
