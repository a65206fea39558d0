import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { identity } from '@plant-shop/contracts/identity';
import { type Browser, type BrowserPage, expectPage, expectRedirect } from '@plant-shop/testing/browser';
import { manager } from '../identity.spec.fixture.js';
import { Mailbox } from '../mail/mail.spec.fixture.js';
import { TestOAuth } from './oauth.spec.fixture.js';

describe('the page to sign up', () => {
  let oauth: TestOAuth;
  let box: Mailbox;
  let client: Awaited<ReturnType<TestOAuth['register']>>;
  beforeAll(async () => {
    oauth = await TestOAuth.start();
    box = await Mailbox.start(oauth.shop.natsUrl);
    client = await oauth.register({ name: '<b>Garden</b> planner' });
  });
  afterAll(async () => {
    await box.stop();
    await oauth.shop.stop();
  });

  const open = async (browser: Browser, request: { url: string }): Promise<BrowserPage> => {
    const login = expectPage(await browser.open(request.url));
    const link = /<a href="([^"]+)">Create an account<\/a>/.exec(login.text)?.[1] ?? '';
    return expectPage(await browser.open(link));
  };
  const newPerson = () => ({ username: `user-${randomUUID()}`, email: `${randomUUID()}@shop.test`, password: 'a-good-password' });
  const count = async (username: string): Promise<number> => (await oauth.shop.sql.query('SELECT 1 FROM users WHERE username = $1', [username])).rowCount ?? 0;

  it('creates the account, sends the mail that verifies its address, and continues to the application', async () => {
    const browser = oauth.browser();
    const person = newPerson();
    const request = await oauth.request(client);
    const consent = expectPage(await browser.submit(await open(browser, request), 'action=sign-up', person));
    expect(consent.text).toContain(`logged in as <strong>${person.username}</strong>`);
    const back = expectRedirect(await browser.submit(consent, 'action=allow'));
    const tokens = await oauth.redeem(client, request, back);
    expect(tokens.access_token).toBeDefined();
    expect((await box.receive(person.email, 'verify-address')).data).toMatchObject({ username: person.username });
    expect(await oauth.shop.call(identity.getUser, { username: person.username }, manager)).toMatchObject({ email: person.email, emailVerified: false, role: 'customer' });
  });

  it('creates one account from a form that is sent twice, and continues: the browser shows only the second answer', async () => {
    const browser = oauth.browser();
    const person = newPerson();
    const page = await open(browser, await oauth.request(client));
    const press = async (fields: object = {}): Promise<BrowserPage> => expectPage(await browser.submit(page, 'action=sign-up', { ...person, username: ` ${person.username} `, ...fields }));
    const { action, fields } = page.forms[0]!;
    // Its answer is lost.
    await browser.send('POST', action, { body: new URLSearchParams({ ...fields, ...person, action: 'sign-up' }) });
    expect((await press({ email: `${randomUUID()}@shop.test` })).text).toContain('The username is already taken');
    expect((await press()).text).toContain(`logged in as <strong>${person.username}</strong>`);
    expect(await count(person.username)).toBe(1);
  });

  it('is linked with the page to log in and that for forgotten passwords, and shows names as text', async () => {
    const browser = oauth.browser();
    const login = expectPage(await browser.open((await oauth.request(client)).url));
    expect(login.text).toContain('<a href="/account/recovery">Forgot your password?</a>');
    const page = await open(browser, await oauth.request(client));
    expect(page.text).toContain('&lt;b&gt;Garden&lt;/b&gt; planner');
    expect(page.text).not.toMatch(/<script>|<b>/);
    for (const [, id] of page.text.matchAll(/<input id="(\w+)"/g)) expect(page.text).toContain(`<label for="${id}">`);
    expect(page.text.match(/<h1>/g)).toHaveLength(1);
    expect(page.headers.get('content-security-policy')).toMatch(/^default-src 'none'; script-src http:\/\/shop\.test\/oauth\/passkey\.js; style-src 'sha256-[\w+/]{43}='; form-action 'self' https:; /);
    const back = /<a href="([^"]+)">Log in<\/a>/.exec(page.text)?.[1] ?? '';
    expect(expectPage(await browser.open(back)).text).toContain('Log in to the plant shop');
  });

  it.each([
    ['username', { username: 'me' }, 400, /The username must begin with a letter from A to Z/],
    ['username', { username: 'a b' }, 400, /The username must begin with a letter from A to Z/],
    ['e-mail address', { email: 'ada' }, 400, /The e-mail address must be one that mail can be sent to, such as ada@example.com/],
    ['e-mail address', { email: 'ada@shop.test\r\nBcc: eve@shop.test' }, 400, /The e-mail address must be/],
    ['password', { password: 'short' }, 400, /The password must have at least 8 characters/],
  ])('says what is wrong with the %s, and keeps what was typed', async (_, fault, status, text) => {
    const browser = oauth.browser();
    const person = { ...newPerson(), ...fault };
    const answer = expectPage(await browser.submit(await open(browser, await oauth.request(client)), 'action=sign-up', person));
    expect([answer.status, answer.text]).toEqual([status, expect.stringMatching(text)]);
    expect(answer.text).toMatch(/<p class="error" id="error" role="alert">/);
    expect(answer.text).not.toContain(person.password);
    expect(await count(person.username)).toBe(0);
    const right = { ...newPerson() };
    expect(expectPage(await browser.submit(answer, 'action=sign-up', right)).text).toContain(`logged in as <strong>${right.username}</strong>`);
  });

  it('does not take a name that another user has', async () => {
    const browser = oauth.browser();
    const { username } = await oauth.shop.register();
    const answer = expectPage(await browser.submit(await open(browser, await oauth.request(client)), 'action=sign-up', { ...newPerson(), username }));
    expect([answer.status, answer.text]).toEqual([409, expect.stringContaining('The username is already taken; choose another.')]);
  });

  it.each([
    ['another origin', { origin: 'https://evil.example' }, {}],
    ['another site', { 'sec-fetch-site': 'cross-site' }, {}],
    ['a page with another proof', {}, { proof: 'x'.repeat(43) }],
    ['an action of another page', {}, { action: 'login' }],
  ])('refuses a form from %s', async (_, headers, fields) => {
    const browser = oauth.browser();
    const page = await open(browser, await oauth.request(client));
    const person = newPerson();
    const { action, fields: own } = page.forms[0]!;
    const body = new URLSearchParams({ ...own, ...person, action: 'sign-up', ...fields });
    expect((await browser.send('POST', action, { body, headers })).status).toBe(403);
    expect((await oauth.browser().send('POST', action, { body: new URLSearchParams({ ...own, ...person, action: 'sign-up' }) })).status).toBe(400);
    // Where the gateway does not count registrations.
    expect((await browser.send('POST', action.replace('/sign-up', ''), { body: new URLSearchParams({ ...own, ...person, action: 'sign-up' }) })).status).toBe(403);
    expect(await count(person.username)).toBe(0);
  });
});
