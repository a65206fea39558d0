import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { identity } from '@plant-shop/contracts/identity';
import { notifications } from '@plant-shop/contracts/notifications';
import { sampleOf } from '@plant-shop/contracts/samples';
import { type Order, store } from '@plant-shop/contracts/store';
import { CodedError } from '@plant-shop/platform/errors';
import { Page } from '@plant-shop/platform/rpc/answer';
import { fake, startFake } from '@plant-shop/service-testing/service';
import { type Browser, type BrowserPage, expectPage, expectRedirect, type PageForm } from '@plant-shop/testing/browser';
import { manager, type Registered } from '../identity.spec.fixture.js';
import { codesIn, FactorUser, optionsIn } from '../oauth/factors.spec.fixture.js';
import { TestOAuth } from '../oauth/oauth.spec.fixture.js';

const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';

describe('the page "Your account"', () => {
  let oauth: TestOAuth;
  const stops: (() => Promise<void>)[] = [];
  /** Pages of orders that the store answers, by the cursor of the request; a missing page is an outage. */
  let orders: Record<string, Page<Order> | undefined> = {};
  let openOrders: number[] = [];
  beforeAll(async () => {
    oauth = await TestOAuth.start();
    const { natsUrl } = oauth.shop;
    const listOrdersOf = fake(store.listOrdersOf, ({ cursor = '' }) => {
      const page = orders[cursor];
      if (!page) throw new CodedError('invalid-cursor', 'no such page');
      return page;
    });
    stops.push((await startFake(natsUrl, 'store', [listOrdersOf, fake(store.closeCustomer, () => ({ openOrders }))])).stop);
    stops.push((await startFake(natsUrl, 'notifications', [fake(notifications.listWebhooksOf), fake(notifications.acceptMails, () => ({}))])).stop);
  });
  afterAll(async () => {
    for (const stop of stops) await stop();
    await oauth.shop.stop();
  });
  beforeEach(() => {
    orders = { '': new Page([]) };
    openOrders = [];
  });

  const sql = (text: string, values: unknown[] = []) => oauth.shop.sql.query<Record<string, unknown>>(text, values);
  const logIn = async (browser: Browser, user: Registered, page?: BrowserPage): Promise<BrowserPage> =>
    expectPage(await browser.submit(page ?? expectPage(await browser.open('/account')), 'action=login', { username: user.username, password: user.password }));
  /** A user in a browser that shows the page. */
  const visit = async () => {
    const user = await oauth.shop.registerAndLogin();
    const browser = oauth.browser();
    return { ...user, browser, page: await logIn(browser, user) };
  };
  const open = async (browser: Browser): Promise<BrowserPage> => expectPage(await browser.open('/account'));
  const formOf = (page: BrowserPage, action: string, nth = 0): PageForm => page.forms.filter(({ buttons }) => buttons.includes(`action=${action}`))[nth]!;
  const send = async (browser: Browser, { fields }: Pick<PageForm, 'fields'>, action: string, changed: Record<string, string> = {}) =>
    browser.send('POST', '/account', { body: new URLSearchParams({ ...fields, action, ...changed }) });
  const locationOf = (response: Response): string => `${response.status} ${response.headers.get('location') ?? ''}`;
  const makeOld = (userId: string) => sql(`UPDATE sessions SET created_at = created_at - interval '11 minutes' WHERE user_id = $1`, [userId]);
  const audited = async (userId: string): Promise<string[]> =>
    (await sql('SELECT operation, credentials FROM audit_log WHERE subject = $1 ORDER BY id', [userId])).rows.map(({ operation, credentials }) => {
      expect((credentials as string[]).map((one) => one.split(':')[0])).toEqual(['session', 'accountPage']);
      return String(operation);
    });

  it('takes the hosted log-in, asks for no consent, and is a page with no script but its own that names its fields', async () => {
    const user = await oauth.shop.register();
    const browser = oauth.browser();
    const login = await open(browser);
    expect(login.text).toContain('to continue to <strong>Your account</strong>');
    const page = await logIn(browser, user, login);
    expect([page.status, new URL(page.url).pathname, new URL(page.url).search]).toEqual([200, '/account', '']);
    expect(page.text).toContain(`You are logged in as <strong>${user.username}</strong>`);
    expect(page.headers.get('content-security-policy')).toMatch(/^default-src 'none'; script-src http:\/\/shop\.test\/oauth\/passkey\.js; style-src 'sha256-[\w+/]{43}='; form-action 'self'; img-src data:; base-uri 'none'; frame-ancestors 'none'$/);
    expect(page.headers.get('cache-control')).toBe('no-store');
    expect(page.text.match(/<script[^>]*/g)).toEqual([expect.stringContaining('src="http://shop.test/oauth/passkey.js" integrity="sha256-')]);
    expect(page.text).not.toMatch(/\son\w+=/);
    for (const [, id] of page.text.matchAll(/<(?:input|select) id="([\w-]+)"/g)) expect(page.text).toContain(`<label for="${id}">`);
    const ids = [...page.text.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
    expect(new Set(ids).size).toBe(ids.length);
    // Nothing lasts that the log-in to the page needed.
    expect((await sql(`SELECT 1 FROM oauth_payloads WHERE model = 'Grant' AND expires_at > now() + interval '2 minutes' AND user_id = (SELECT user_id FROM users WHERE username = $1)`, [user.username])).rowCount).toBe(0);
  });

  it('says so when the user does not log in', async () => {
    const browser = oauth.browser();
    const page = expectPage(await browser.submit(await open(browser), 'action=deny'));
    expect(page.text).toContain('You are not logged in');
  });

  it('shows names from outside as text (slow)', async () => {
    const { browser, userId, username, password } = await visit();
    const markup = '<b>&"\'</b><script>x()</script>';
    await oauth.shop.call(identity.createApiKey, { username, apiKey: { name: markup } }, manager);
    await oauth.shop.call(identity.login, { username, password, address: '203.0.113.7', userAgent: markup });
    await oauth.tokens(await oauth.register({ name: markup }), { username, password } as Registered);
    await sql('UPDATE users SET email = $2 WHERE user_id = $1', [userId, markup]);
    const { text } = await open(browser);
    expect(text).not.toMatch(/<script>|<b>/);
    expect(text.split('&lt;b&gt;&amp;&quot;&#39;&lt;/b&gt;').length).toBeGreaterThan(5);
  });

  it('lists sessions with device and network, and ends one of them', async () => {
    const { browser, username, password, userId } = await visit();
    const other = await oauth.shop.call(identity.login, { username, password, address: '203.0.113.7', userAgent: firefox });
    const { text, ...page } = await open(browser);
    expect(text).toContain('<strong>Firefox on Linux</strong>, network 203.0.113.0/24');
    expect(text).toContain('aria-label="End the session of Firefox on Linux"');
    expect(text.match(/>this browser</g)).toHaveLength(1);
    const form = formOf({ text, ...page }, 'end-session');
    const twice = await Promise.all([send(browser, form, 'end-session'), send(browser, form, 'end-session')]);
    expect(twice.map(locationOf)).toEqual(['303 /account?done=session-ended', '303 /account?done=session-ended']);
    expect(expectPage(await browser.open('/account?done=session-ended')).text).toContain('<p class="done" role="status">The session has ended.</p>');
    await expect(oauth.shop.check('session', other.token)).rejects.toMatchObject({ code: 'credential-refused' });
    expect(await audited(userId)).toEqual(['identity.endSession']);
  });

  it('says what was done only in its own words', async () => {
    const { browser } = await visit();
    expect(expectPage(await browser.open('/account?done=%3Cb%3Eyou+won%3C/b%3E')).text).not.toMatch(/you won|role="status"/);
  });

  it('ends nothing of other users, and reveals nothing about them (slow)', async () => {
    const { browser, page } = await visit();
    const victim = await oauth.shop.registerAndLogin();
    const client = await oauth.register();
    const tokens = await oauth.tokens(client, victim);
    const key = await oauth.shop.call(identity.createApiKey, { username: victim.username, apiKey: { name: 'theirs' } }, victim.principal);
    const { id: sessionId } = await oauth.shop.check('session', victim.token);
    const { rows } = await sql(`SELECT grant_id FROM oauth_payloads WHERE model = 'Grant' AND user_id = $1 AND client_id IS NOT NULL`, [victim.userId]);
    const { fields } = formOf(page, 'log-out');
    for (const [action, done, ids] of [
      ['end-session', 'session-ended', [sessionId, randomUUID(), 'no id']],
      ['end-key', 'key-ended', [key.id, randomUUID(), 'no id']],
      ['end-access', 'access-ended', [String(rows[0]?.['grant_id']), 'made-up', '']],
    ] as const) {
      for (const id of ids) expect([action, id, locationOf(await send(browser, { fields }, action, { id }))]).toEqual([action, id, `303 /account?done=${done}`]);
    }
    await expect(oauth.shop.check('session', victim.token)).resolves.toBeDefined();
    await expect(oauth.shop.check('apiKey', key.key)).resolves.toBeDefined();
    await expect(oauth.introspect(client, tokens.access_token)).resolves.toMatchObject({ active: true });
  });

  it('makes an API key, shows it once, and makes no second one from a form that is sent twice (slow)', async () => {
    const { browser, page, userId } = await visit();
    const { fields } = formOf(page, 'create-key');
    const wanted = { proof: fields['proof']!, once: fields['once']!, name: '<i>greenhouse</i>', 'may write:orders': 'yes', ends: new Date(Date.now() + 86_400_000).toISOString() };
    const texts = await Promise.all([1, 2].map(async () => (await send(browser, { fields: wanted }, 'create-key')).text()));
    const keys = texts.map((text) => /<code id="key">(pk_[\w-]+)<\/code>/.exec(text)?.[1] ?? '');
    expect(keys[0]).toBe(keys[1]);
    expect(texts[0]).toContain('&lt;i&gt;greenhouse&lt;/i&gt;');
    // A reload would send the form again.
    expect(texts[0]).toContain('data-loads-as="/account#api-keys"');
    expect(await oauth.shop.check('apiKey', keys[0]!)).toMatchObject({ permissions: ['write:orders'], expiresAt: wanted.ends });
    const after = await open(browser);
    expect(after.text).toContain(keys[0]!.slice(0, 10));
    expect(after.text).not.toContain(keys[0]);
    expect((await sql('SELECT 1 FROM api_keys WHERE user_id = $1', [userId])).rowCount).toBe(1);
    // As the browser's "Back" shows it again.
    const changed = await send(browser, { fields: { ...wanted, name: 'shed' } }, 'create-key');
    expect([changed.status, await changed.text()]).toEqual([200, expect.stringMatching(/<code id="key">pk_/)]);
    expect(locationOf(await send(browser, formOf(after, 'end-key'), 'end-key'))).toBe('303 /account?done=key-ended');
    await expect(oauth.shop.check('apiKey', keys[0]!)).rejects.toMatchObject({ code: 'credential-refused' });
    expect(await audited(userId)).toEqual(['identity.createApiKey', 'identity.createApiKey', 'identity.revokeApiKey']);
  });

  it('says what is wrong with a key, keeps what was typed, and gives none more than its user has', async () => {
    const { browser, page } = await visit();
    const { fields } = formOf(page, 'create-key');
    const base = { proof: fields['proof']!, once: fields['once']!, ends: '' };
    const nothing = await send(browser, { fields: { ...base, name: 'greenhouse' } }, 'create-key');
    const text = await nothing.text();
    expect([nothing.status, text]).toEqual([400, expect.stringContaining('Choose at least one thing that the key may do.')]);
    expect(text).toContain('value="greenhouse"');
    expect(text).toContain('<title>Error: Your account');
    const long = await send(browser, { fields: { ...base, name: 'n'.repeat(3_000), 'may write:orders': 'yes' } }, 'create-key');
    expect([long.status, await long.text()]).toEqual([400, expect.stringContaining('The name must be text of 1 to 200 characters.')]);
    const tooLong = await send(browser, { fields: { ...base, name: 'n'.repeat(10_000) } }, 'create-key');
    const refusal = await tooLong.text();
    expect([tooLong.status, refusal]).toEqual([400, expect.stringContaining('What you entered is too long. Go back and shorten it.')]);
    expect(refusal).not.toContain('was not sent from a page');
    expect(page.text).not.toContain('may write:users');
    const more = await send(browser, { fields: { ...base, name: 'greenhouse', 'may write:users': 'yes' } }, 'create-key');
    expect(more.status).toBe(403);
  });

  it('lists what applications may do, and ends the access of one (slow)', async () => {
    const { browser, username, password, userId } = await visit();
    const client = await oauth.register();
    const user = { username, password } as Registered;
    const [first, second] = [await oauth.tokens(client, user, 'openid write:orders'), await oauth.tokens(client, user, 'write:orders')];
    const page = await open(browser);
    expect(page.text).toContain('See your username; Place and cancel own orders. Since');
    const form = formOf(page, 'end-access');
    expect(locationOf(await send(browser, form, 'end-access'))).toBe('303 /account?done=access-ended');
    expect(locationOf(await send(browser, form, 'end-access'))).toBe('303 /account?done=access-ended');
    const active = await Promise.all([first, second].map(async ({ access_token }) => (await oauth.introspect(client, access_token)).active));
    expect(active.sort()).toEqual([false, true]);
    expect(formOf(await open(browser), 'end-access', 1)).toBeUndefined();
    expect(await audited(userId)).toEqual(['identity.endGrant']);
  });

  it('sets a password, which logs out everywhere, this browser too', async () => {
    const { browser, page, username, token, userId } = await visit();
    const weak = await send(browser, formOf(page, 'set-password'), 'set-password', { password: 'short' });
    expect([weak.status, await weak.text()]).toEqual([400, expect.stringContaining('The password must have at least 8 characters')]);
    const { fields } = formOf(page, 'set-password');
    const done = await send(browser, { fields: { proof: fields['proof']! } }, 'set-password', { password: 'another-good-password' });
    expect(await done.text()).toContain('The password is set');
    await expect(oauth.shop.check('session', token)).rejects.toMatchObject({ code: 'credential-refused' });
    expect((await open(browser)).text).toContain('Log in to the plant shop');
    await expect(oauth.shop.login(username, 'another-good-password')).resolves.toBeDefined();
    expect(await audited(userId)).toEqual(['identity.patchUser']);
    // Sent again.
    const again = await send(browser, formOf(page, 'set-password'), 'set-password', { password: 'another-good-password' });
    expect([again.status, await again.text()]).toEqual([403, expect.stringContaining('You are logged out')]);
  });

  it('changes the address, sends the link that verifies it, and turns mails about orders on', async () => {
    const { browser, page, userId } = await visit();
    const bad = await send(browser, formOf(page, 'set-address'), 'set-address', { email: 'ada"><b>' });
    const refusal = await bad.text();
    expect([bad.status, refusal]).toEqual([400, expect.stringContaining('value="ada&quot;&gt;&lt;b&gt;"')]);
    expect(refusal).toContain('The e-mail address must be one that mail can be sent to, such as ada@example.com.');
    const email = `${randomUUID()}@shop.test`;
    expect(locationOf(await send(browser, formOf(page, 'set-address'), 'set-address', { email }))).toBe('303 /account?done=address-changed');
    expect(locationOf(await send(browser, formOf(page, 'log-out'), 'verify-address'))).toBe('303 /account?done=mail-sent');
    expect((await sql(`SELECT 1 FROM one_time_links WHERE user_id = $1`, [userId])).rowCount).toBe(2);
    expect((await open(browser)).text).toContain(`<strong>${email}</strong> <span class="badge">not verified</span>`);
    expect(locationOf(await send(browser, formOf(page, 'mails-on'), 'mails-on'))).toBe('303 /account?done=mails-on');
    expect((await sql('SELECT email, order_mails FROM users WHERE user_id = $1', [userId])).rows).toEqual([{ email, order_mails: true }]);
    const on = await open(browser);
    expect(formOf(on, 'mails-off')).toBeDefined();
    expect(on.text).toContain('You get mails about your orders once your address is verified.');
  });

  it('gives the user all their data in one document without secrets, as the reader takes it', async () => {
    const { browser, page, username, token, userId } = await visit();
    const { key } = await oauth.shop.call(identity.createApiKey, { username, apiKey: { name: 'greenhouse' } }, manager);
    const [order] = sampleOf(store.listOrdersOf).answer;
    orders = { '': new Page([order!], 'second'), second: new Page([], 'third'), third: new Page([{ ...order!, id: 8 }]) };
    const response = await send(browser, formOf(page, 'download'), 'download');
    expect([response.status, response.headers.get('content-disposition'), response.headers.get('content-type')]).toEqual([200, 'attachment; filename="plant-shop-account.json"', 'application/json; charset=utf-8']);
    const text = await response.text();
    expect(JSON.parse(text)).toMatchObject({
      profile: { username },
      sessions: [{ kind: 'application' }, { kind: 'token' }],
      apiKeys: [{ name: 'greenhouse' }],
      applications: [],
      webhooks: sampleOf(notifications.listWebhooksOf).answer,
      orders: [order, { ...order, id: 8 }],
    });
    for (const secret of [token, key]) expect(text).not.toContain(secret);
    expect(await audited(userId)).toEqual(['identity.downloadOwnData']);
  });

  it('says that it cannot give the data while the store is away, and breaks off what it cannot complete (slow)', async () => {
    const { browser, page } = await visit();
    orders = {};
    const away = await send(browser, formOf(page, 'download'), 'download');
    expect([away.status, away.headers.get('content-type')]).toEqual([503, 'text/html; charset=utf-8']);
    const [order] = sampleOf(store.listOrdersOf).answer;
    orders = { '': new Page([order!], 'missing') };
    await expect(send(browser, formOf(page, 'download'), 'download').then((response) => response.text())).rejects.toThrow();
  });

  it('gives the data five times in 15 minutes', async () => {
    const { browser, page } = await visit();
    const statuses: number[] = [];
    for (let n = 0; n < 6; n++) statuses.push((await send(browser, formOf(page, 'download'), 'download')).status);
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429]);
    expect(await (await send(browser, formOf(page, 'download'), 'download')).text()).toMatch(/autofocus>You have downloaded your data several times. Try again in \d+ minutes?\.</);
  });

  it('deletes the account after the name was typed, unless orders are open', async () => {
    const { browser, page, username, userId } = await visit();
    const form = formOf(page, 'delete');
    const wrong = await send(browser, form, 'delete', { confirmed: 'somebody' });
    expect([wrong.status, await wrong.text()]).toEqual([400, expect.stringContaining('must be your username. Nothing was deleted')]);
    openOrders = [7, 8];
    const refused = await send(browser, form, 'delete', { confirmed: username });
    expect([refused.status, await refused.text()]).toEqual([409, expect.stringContaining('You have open orders: 7, 8.')]);
    openOrders = [];
    const deleted = await send(browser, form, 'delete', { confirmed: username.toUpperCase() });
    expect([deleted.status, await deleted.text()]).toEqual([200, expect.stringContaining('Your account is deleted')]);
    expect((await sql('SELECT 1 FROM users WHERE user_id = $1', [userId])).rowCount).toBe(0);
    expect(await audited(userId)).toEqual(['identity.deleteUser']);
    expect((await open(browser)).text).toContain('Log in to the plant shop');
  });

  it('asks for the password before sensitive changes after an old log-in, and then allows them (slow)', async () => {
    const { browser, page, userId, username, password } = await visit();
    await makeOld(userId);
    const sections = { 'set-password': 'password', 'set-address': 'email', 'create-key': 'api-keys', delete: 'deletion' };
    for (const [action, typed] of [
      ['set-password', { password: 'another-good-password' }],
      ['set-address', { email: 'eve@shop.test' }],
      ['create-key', { name: 'mine' }],
      ['delete', { confirmed: username }],
    ] as const) {
      for (const [proof, said] of [
        [{}, 'Nothing was changed: show again that it is you.'],
        [{ 'current-password': 'wrong-password' }, 'The password is wrong. Nothing was changed.'],
      ] as const) {
        const response = await send(browser, formOf(page, action), action, { ...typed, 'end-keys': 'yes', ...proof });
        const text = await response.text();
        expect([action, response.status, text]).toEqual([action, 403, expect.stringContaining(`role="alert">${said}</p>\n<label for="${sections[action]}-password">`)]);
        expect(text.match(/autofocus/g)).toHaveLength(1);
        expect(text).toContain(`id="${sections[action]}-password" name="current-password" type="password" autocomplete="current-password" required aria-describedby="error" aria-invalid="true" autofocus>`);
        expect(text.includes('name="end-keys" value="yes" checked')).toBe(action === 'set-password');
      }
    }
    expect((await sql('SELECT email FROM users WHERE user_id = $1', [userId])).rows).toEqual([{ email: null }]);
    const old = await open(browser);
    expect(old.text.match(/<label for="[\w-]+">Your present password<\/label>/g)).toHaveLength(4);
    const unknown = { email: 'no address', 'current-password': password };
    const typed = await (await send(browser, formOf(old, 'set-address'), 'set-address', unknown)).text();
    // Who it is was shown, so that only the address is left to be typed again.
    expect(typed).toContain('value="no address"');
    expect(typed).toContain('role="alert" tabindex="-1" autofocus>The e-mail address must be');
    expect(typed).not.toContain('Your present password');
    expect(locationOf(await send(browser, formOf(old, 'set-address'), 'set-address', { email: 'ada@shop.test' }))).toBe('303 /account?done=address-changed');
  });

  it('asks for the second factor before sensitive changes, if the user has one, and not for the password (slow)', async () => {
    const { browser, userId, username, password } = await visit();
    const one = new FactorUser(oauth, await oauth.register(), { username, password } as Registered);
    const { key, page: added } = await one.addPasskey(await one.ownFactors());
    const [code = ''] = codesIn(added);
    const wanted = { name: 'greenhouse', 'may write:orders': 'yes', ends: new Date(Date.now() + 365 * 86_400_000).toISOString() };
    const tryWith = async (page: BrowserPage, proof: Record<string, string>): Promise<Response> => send(browser, formOf(page, 'create-key'), 'create-key', { ...wanted, ...proof });
    const page = await open(browser);
    expect(page.text).not.toContain('Your present password');
    for (const [proof, said] of [
      [{}, 'Nothing was changed: show again that it is you.'],
      [{ 'current-password': password }, 'Nothing was changed: show again that it is you.'],
      [{ factor: '000000' }, 'The code is wrong, or was used before. Type the next code of your app, or another recovery code. Nothing was changed.'],
      [{ credential: key.get(optionsIn(page), { isVerified: false }) }, 'The passkey was refused. Try again within five minutes, or choose another way. Your browser must run scripts for it. Nothing was changed.'],
    ] as [Record<string, string>, string][]) {
      const refused = await tryWith(page, proof);
      const text = await refused.text();
      expect([refused.status, text]).toEqual([403, expect.stringContaining(`role="alert">${said}</p>`)]);
      for (const kept of ['value="greenhouse"', 'name="may write:orders" value="yes" checked', ' selected>after 365 days']) expect(text).toContain(kept);
    }
    expect(await (await tryWith(page, { credential: key.get(optionsIn(await open(browser))) })).text()).toContain('Your new API key');
    await sql(`UPDATE sessions SET created_at = created_at - interval '11 minutes', confirmed_at = NULL WHERE user_id = $1`, [userId]);
    expect(await (await tryWith(await open(browser), { factor: code })).text()).toContain('Your new API key');
    await sql('UPDATE sessions SET confirmed_at = NULL WHERE user_id = $1', [userId]);
    expect((await tryWith(await open(browser), { factor: code })).status).toBe(403);
  });

  it.each([
    ['another origin', { origin: 'https://evil.example' }, {}],
    ['another site', { 'sec-fetch-site': 'cross-site' }, {}],
    ['a page with another proof', {}, { proof: 'x'.repeat(43) }],
    ['a page with another action', {}, { action: 'constructor' }],
  ])('refuses a form from %s', async (_, headers, fields) => {
    const { browser, page, userId } = await visit();
    const body = new URLSearchParams({ ...formOf(page, 'end-all').fields, action: 'end-all', ...fields });
    expect((await browser.send('POST', '/account', { body, headers })).status).toBe(403);
    expect((await sql('SELECT 1 FROM sessions WHERE user_id = $1', [userId])).rowCount).toBe(2);
  });

  it('refuses the form of a page of another browser, and of an earlier log-in (slow)', async () => {
    const [one, other] = [await visit(), await visit()];
    expect((await send(other.browser, formOf(one.page, 'end-all'), 'end-all')).status).toBe(403);
    expect((await send(oauth.browser(), formOf(one.page, 'end-all'), 'end-all')).status).toBe(403);
    expect(await (await send(one.browser, formOf(one.page, 'log-out'), 'log-out')).text()).toContain('You are logged out');
    await logIn(one.browser, one);
    expect((await send(one.browser, formOf(one.page, 'end-all'), 'end-all')).status).toBe(403);
  });

  it('lets nobody redeem a code of its log-in for more than who the user is', async () => {
    const { browser } = await visit();
    const { searchParams } = expectRedirectWithin(await browser.send('GET', `/oauth/authorize?client_id=your-account&redirect_uri=http://shop.test/account&response_type=code&scope=openid&code_challenge=${'x'.repeat(43)}&code_challenge_method=S256`));
    expect(searchParams.get('code')).toBeTruthy();
    const other = await browser.send('GET', `/oauth/authorize?client_id=your-account&redirect_uri=http://shop.test/account&response_type=code&scope=${encodeURIComponent('openid write:orders')}&code_challenge=${'x'.repeat(43)}&code_challenge_method=S256`);
    expect(expectRedirectWithin(other).searchParams.get('error')).toBe('invalid_scope');
    const elsewhere = await browser.send('GET', `/oauth/authorize?client_id=your-account&redirect_uri=https://evil.example/&response_type=code&scope=openid&code_challenge=${'x'.repeat(43)}&code_challenge_method=S256`);
    expect(elsewhere.status).toBe(400);
  });

  const expectRedirectWithin = (response: Response): URL => expectRedirect({ location: new URL(response.headers.get('location') ?? '', 'http://shop.test') });
});
