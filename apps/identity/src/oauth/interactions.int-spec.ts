import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Browser, type BrowserPage, expectPage, expectRedirect } from '@plant-shop/testing/browser';
import { until } from '@plant-shop/testing/until';
import { testEnvironment } from '../identity.spec.fixture.js';
import { runOperatorCommand } from '../process.spec.fixture.js';
import { type AuthorizationRequest, issuer, TestOAuth } from './oauth.spec.fixture.js';

type Client = Awaited<ReturnType<TestOAuth['register']>>;
type User = Awaited<ReturnType<TestOAuth['shop']['registerAndLogin']>>;

describe('OAuth 2.0 pages', () => {
  let oauth: TestOAuth;
  let client: Client;
  let user: User;
  beforeAll(async () => {
    oauth = await TestOAuth.start({}, { signingKeysRefreshMs: 50 });
    client = await oauth.register({ name: '<script>alert(1)</script> & "friends"' });
    user = await oauth.shop.registerAndLogin();
  });
  afterAll(() => oauth.shop.stop());

  const open = async (browser: Browser, changed: Record<string, string> = {}): Promise<BrowserPage> =>
    expectPage(await browser.open((await oauth.request(client, changed)).url));
  const typed = (): Record<string, string> => ({ username: user.username, password: user.password });
  const loggedIn = async (browser: Browser): Promise<BrowserPage> =>
    expectPage(await browser.submit(await open(browser), 'action=login', typed()));
  /** Sends the form of a page with changed fields or headers, as an attacker might. */
  const post = (browser: Browser, page: BrowserPage, fields: Record<string, string>, headers = {}): Promise<Response> => {
    const { action, fields: own } = page.forms[0]!;
    return browser.send('POST', action, { body: new URLSearchParams({ ...own, ...fields }), headers });
  };

  it('have no script but the shop\'s own, a language, labels and one heading', async () => {
    const browser = oauth.browser();
    const login = await open(browser, { login_hint: 'ada' });
    const consent = expectPage(await browser.submit(login, 'action=login', typed()));
    for (const { text } of [login, consent]) {
      expect(text).toMatch(/^<!doctype html>\n<html lang="en">/);
      expect(text).toMatch(/<title>[^<]+<\/title>/);
      expect(text.match(/<h1>/g)).toHaveLength(1);
      expect(text).toContain('<main>');
      expect(text).not.toMatch(/<script(?! src="http:\/\/shop\.test\/oauth\/passkey\.js" integrity)|javascript:|\son\w+=|style="|https?:\/\/(?!shop\.test)/);
      const ids = [...text.matchAll(/<input id="(\w+)"/g)].map(([, id]) => id);
      for (const id of ids) expect(text).toContain(`<label for="${id}">`);
    }
    expect(login.text).toContain('value="ada"');
    expect(login.text).toContain('autocomplete="username"');
    expect(login.text).toContain('autocomplete="current-password"');
    expect(consent.text).toContain('<li>Place and cancel own orders</li>');
  });

  it('show names as text, never as markup', async () => {
    const browser = oauth.browser();
    const pages = [await open(browser, { login_hint: '"><img src=x onerror=alert(1)>' }), await loggedIn(browser)];
    for (const { text } of pages) {
      expect(text).toContain('&lt;script&gt;alert(1)&lt;/script&gt; &amp; &quot;friends&quot;');
      expect(text).not.toMatch(/<script>|<img/);
    }
  });

  it('forbid foreign content, frames and caching', async () => {
    const { headers } = await open(oauth.browser());
    const policy = headers.get('content-security-policy') ?? '';
    expect(policy).toMatch(/^default-src 'none'; script-src http:\/\/shop\.test\/oauth\/passkey\.js; style-src 'sha256-[\w+/]{43}='; form-action 'self' https:; /);
    expect(policy).toMatch(/base-uri 'none'; frame-ancestors 'none'$/);
    expect(Object.fromEntries(headers)).toMatchObject({
      'x-frame-options': 'DENY',
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
      'referrer-policy': 'same-origin',
    });
  });

  it('set cookies that scripts cannot read and other sites do not send', async () => {
    const response = await oauth.browser().send('GET', (await oauth.request(client)).url);
    const cookies = response.headers.getSetCookie();
    expect(cookies.filter((one) => one.startsWith('plant_shop_step')).length).toBe(2);
    for (const one of cookies) expect(one).toMatch(/; httponly/i);
    for (const one of cookies) expect(one).toMatch(/; samesite=lax/i);
    // The public URL is http here; with https they are secure.
    for (const one of cookies) expect(one).not.toMatch(/; secure/i);
  });

  it('set secure cookies bound to this host if the public URL is https', async () => {
    const secure = await oauth.shop.addReplica({ publicUrl: 'https://shop.test' });
    const address = `http://127.0.0.1:${secure.httpPort}${new URL((await oauth.request(client)).url).pathname}`;
    const response = await fetch(address + new URL((await oauth.request(client)).url).search, { redirect: 'manual' });
    const cookies = response.headers.getSetCookie();
    expect(cookies.length).toBeGreaterThan(0);
    for (const one of cookies) expect(one).toMatch(/^__Secure-plant_shop_(step|resume)(\.sig)?=[^;]+; .*; secure/i);
  });

  describe('refuse a form', () => {
    it('from another browser', async () => {
      const page = await open(oauth.browser());
      expect((await post(oauth.browser(), page, { action: 'login', ...typed() })).status).toBe(400);
    });

    it.each([
      ['another origin', { origin: 'https://evil.example' }],
      ['an opaque origin', { origin: 'null' }],
      ['another site by Sec-Fetch-Site', { 'sec-fetch-site': 'cross-site' }],
      ['the same site but another origin', { 'sec-fetch-site': 'same-site' }],
    ])('from %s', async (_, headers) => {
      const browser = oauth.browser();
      for (const page of [await open(browser), await loggedIn(browser)]) {
        expect((await post(browser, page, { action: 'login', ...typed() }, headers)).status).toBe(403);
        expect((await post(browser, page, { action: 'allow' }, headers)).status).toBe(403);
      }
    });

    it.each([['', 'no proof'], ['x'.repeat(43), 'a made-up proof']])('with the proof %p', async (proof) => {
      const browser = oauth.browser();
      const page = await loggedIn(browser);
      expect((await post(browser, page, { action: 'allow', proof })).status).toBe(403);
    });

    it('with the proof of another interaction', async () => {
      const browser = oauth.browser();
      const first = await loggedIn(browser);
      const other = await loggedIn(oauth.browser());
      expect((await post(browser, first, { action: 'allow', proof: other.forms[0]!.fields['proof']! })).status).toBe(403);
    });

    it('for an action of another page, and for an unknown action', async () => {
      const browser = oauth.browser();
      const login = await open(browser);
      expect((await post(browser, login, { action: 'allow' })).status).toBe(403);
      expect((await post(browser, login, { action: 'destroy' })).status).toBe(403);
      const consent = expectPage(await browser.submit(login, 'action=login', typed()));
      expect((await post(browser, consent, { action: 'login', ...typed() })).status).toBe(403);
      // The login page was already submitted.
      expect((await post(browser, login, { action: 'login', ...typed() })).status).toBe(400);
    });

    it('with a repeated field or one that is too long', async () => {
      const browser = oauth.browser();
      const { action, fields } = (await loggedIn(browser)).forms[0]!;
      const repeated = new URLSearchParams([...Object.entries(fields), ['action', 'deny'], ['action', 'allow']]);
      expect((await browser.send('POST', action, { body: repeated })).status).toBe(403);
      const endless = new URLSearchParams({ ...fields, action: 'allow', more: 'x'.repeat(10_000) });
      const refused = await browser.send('POST', action, { body: endless });
      expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining('What you entered is too long.')]);
    });

    it('with a NUL character in a name', async () => {
      const browser = oauth.browser();
      const page = await open(browser);
      expect((await post(browser, page, { action: 'login', ...typed(), username: 'a\0b' })).status).toBe(403);
    });

    it('after the interaction expired', async () => {
      const browser = oauth.browser();
      const page = await loggedIn(browser);
      await oauth.shop.sql.query(`UPDATE oauth_payloads SET expires_at = now() WHERE model = 'Interaction'`);
      const answer = expectPage(await browser.submit(page, 'action=allow'));
      expect(answer.status).toBe(400);
      // Someone who kept the address knows no application.
      expect(answer.text).toMatch(/This page has expired[^]*<a href="\/account">/);
    });
  });

  describe('open twice in one browser', () => {
    const twice = async (browser: Browser): Promise<[BrowserPage, BrowserPage]> => [await open(browser), await open(browser)];
    const logIn = async (browser: Browser, page: BrowserPage, as: User): Promise<BrowserPage> =>
      expectPage(await browser.submit(page, 'action=login', { username: as.username, password: as.password }));

    it.each(['the same user', 'another user'])('let %s log in on the second page; the last login counts', async (who) => {
      const browser = oauth.browser();
      const [one, other] = await twice(browser);
      const before = await logIn(browser, one, user);
      const last = who === 'the same user' ? user : await oauth.shop.registerAndLogin();
      const consent = await logIn(browser, other, last);
      expect(consent.text).toContain(`logged in as <strong>${last.username}</strong>`);
      // The first page belongs to the session that the second login ended.
      expect(expectPage(await browser.submit(before, 'action=allow')).text).toContain('This page has expired');
      expect(expectRedirect(await browser.submit(consent, 'action=allow')).searchParams.has('code')).toBe(true);
    });

    it('tell the second of two concurrent users to start again, and let the first continue', async () => {
      const browser = oauth.browser();
      const pages = await twice(browser);
      const last = await oauth.shop.registerAndLogin();
      const answers = [
        await post(browser, pages[0], { action: 'login', ...typed() }),
        await post(browser, pages[1], { action: 'login', username: last.username, password: last.password }),
      ];
      const [first, second] = [
        expectPage(await browser.open(answers[0]!.headers.get('location') ?? '')),
        expectPage(await browser.open(answers[1]!.headers.get('location') ?? '')),
      ];
      expect(first.text).toContain(`logged in as <strong>${user.username}</strong>`);
      expect(second).toMatchObject({ status: 409, forms: [] });
      expect(second.text).toContain('Go back to the application and start again.');
      expect(expectRedirect(await browser.submit(first, 'action=allow')).searchParams.has('code')).toBe(true);
    });

    it('let the same user log in on both concurrently', async () => {
      const browser = oauth.browser();
      const pages = await twice(browser);
      // Both logins are checked before either authorization resumes.
      const answers = [];
      for (const page of pages) answers.push(await post(browser, page, { action: 'login', ...typed() }));
      for (const { headers } of answers) {
        expect(expectPage(await browser.open(headers.get('location') ?? '')).text).toContain('Allow');
      }
    });
  });

  describe('grant exactly what they show', () => {
    const grantedBy = async (browser: Browser, request: AuthorizationRequest, page: BrowserPage): Promise<string[]> => {
      const back = expectRedirect(await browser.submit(page, 'action=allow'));
      return ((await oauth.redeem(client, request, back)).scope ?? '').split(' ').sort();
    };
    const consentTo = async (browser: Browser, request: AuthorizationRequest, who: User): Promise<BrowserPage> => {
      const login = expectPage(await browser.open(request.url));
      return expectPage(await browser.submit(login, 'action=login', { username: who.username, password: who.password }));
    };
    const setRole = (who: User, role: string) =>
      oauth.shop.sql.query('UPDATE users SET role = $2 WHERE user_id = $1', [who.userId, role]);

    it('while another authorization with more scopes starts in the same browser', async () => {
      const browser = oauth.browser();
      const request = await oauth.request(client, { scope: 'webhooks' });
      const page = await consentTo(browser, request, user);
      expect(page.text).toContain('Receive order events by webhook');
      expect(page.text).not.toContain('Place and cancel own orders');
      await browser.open((await oauth.request(client, { scope: 'write:orders webhooks' })).url);
      expect(await grantedBy(browser, request, page)).toEqual(['webhooks']);
    });

    it('after showing new permissions of the user first', async () => {
      const [browser, clerk] = [oauth.browser(), await oauth.shop.registerAndLogin()];
      const request = await oauth.request(client, { scope: 'write:orders write:plants' });
      const page = await consentTo(browser, request, clerk);
      expect(page.text).toContain('permissions that your account does not have');
      await setRole(clerk, 'staff');
      const again = expectPage(await browser.submit(page, 'action=allow'));
      expect(again.status).toBe(200);
      expect(again.text).not.toContain('permissions that your account does not have');
      expect(await grantedBy(browser, request, again)).toEqual(['write:orders', 'write:plants']);
    });

    it('after showing lost permissions of the user, or a new client name, first', async () => {
      const [browser, clerk] = [oauth.browser(), await oauth.shop.registerAndLogin()];
      await setRole(clerk, 'staff');
      const request = await oauth.request(client, { scope: 'write:orders write:plants' });
      const page = await consentTo(browser, request, clerk);
      await setRole(clerk, 'customer');
      const less = expectPage(await browser.submit(page, 'action=allow'));
      expect(less.text).toContain('permissions that your account does not have');
      await oauth.shop.sql.query(`UPDATE oauth_clients SET name = 'Another name' WHERE client_id = $1`, [client.clientId]);
      const renamed = expectPage(await browser.submit(less, 'action=allow'));
      expect(renamed.text).toContain('Another name');
      expect(await grantedBy(browser, request, renamed)).toEqual(['write:orders']);
    });

    it('even if the form is forged', async () => {
      const browser = oauth.browser();
      const request = await oauth.request(client, { scope: 'webhooks' });
      const page = await consentTo(browser, request, user);
      const other = await consentTo(oauth.browser(), await oauth.request(client, { scope: 'write:orders' }), user);
      for (const forged of [{ shown: 'x' }, { shown: '' }, { shown: other.forms[0]!.fields['shown']! }]) {
        const answer = await post(browser, page, { action: 'allow', scope: 'write:orders', ...forged });
        expect([answer.status, answer.headers.get('location')]).toEqual([200, null]);
      }
      expect(await grantedBy(browser, request, page)).toEqual(['webhooks']);
    });
  });

  it('are not started by HEAD, which stores nothing', async () => {
    const count = async () => (await oauth.shop.sql.query('SELECT 1 FROM oauth_payloads')).rowCount;
    const before = await count();
    const { url } = await oauth.request(client);
    for (const address of [url, url.replace('/oauth/authorize', '/oauth/authorize/x')]) {
      const answer = await oauth.browser().send('HEAD', address);
      expect([answer.status, answer.headers.get('allow'), answer.headers.getSetCookie()]).toEqual([405, 'GET', []]);
    }
    expect(await count()).toBe(before);
  });

  it('redirect back to the application only', async () => {
    const browser = oauth.browser();
    const page = await loggedIn(browser);
    const { action, fields } = page.forms[0]!;
    const body = new URLSearchParams({ ...fields, action: 'deny', redirect_uri: 'https://evil.example/', returnTo: 'https://evil.example/' });
    const first = await browser.send('POST', action, { body });
    expect(first.status).toBe(303);
    const resume = first.headers.get('location') ?? '';
    expect(resume).toMatch(/^http:\/\/shop\.test\/oauth\/authorize\//);
    const back = expectRedirect(await browser.open(resume));
    expect(back.origin).toBe('https://app.example');
    expect(Object.fromEntries(back.searchParams)).toMatchObject({ error: 'access_denied', iss: 'http://shop.test' });
  });

  it('respond with a form for response_mode=form_post, and allow only the script that sends it', async () => {
    const browser = oauth.browser();
    const login = await open(browser, { response_mode: 'form_post' });
    const consent = expectPage(await browser.submit(login, 'action=login', typed()));
    const page = expectPage(await browser.submit(consent, 'action=allow'));
    const [, script = ''] = /<script>([\s\S]*)<\/script>/.exec(page.text) ?? [];
    const hash = createHash('sha256').update(script).digest('base64');
    expect(page.headers.get('content-security-policy')).toContain(`'sha256-${hash}'`);
    expect(page.forms[0]).toMatchObject({ action: 'https://app.example/callback', fields: { code: expect.any(String) } });
    expect(page.text).toContain('<noscript>');
  });

  it('stay valid when the signing keys are rotated (slow)', async () => {
    const browser = oauth.browser();
    const consent = await loggedIn(browser);
    const environment = testEnvironment(oauth.shop.databaseUrl);
    await expect(runOperatorCommand('rotate-signing-key', [], environment)).resolves.toMatchObject({ code: 0 });
    await oauth.shop.sql.query('UPDATE signing_keys SET signs_from = now()');
    const publishedKeys = async (): Promise<number> => {
      const jwks = (await (await fetch(`${oauth.servedAt}/oauth/jwks`)).json()) as { keys: { kid: string }[] };
      return jwks.keys.length;
    };
    await until(async () => (await publishedKeys()) === 2);
    expect(expectRedirect(await browser.submit(consent, 'action=allow')).searchParams.has('code')).toBe(true);
    // The browser's session survives too.
    expect(expectRedirect(await browser.open((await oauth.request(client)).url)).searchParams.has('code')).toBe(true);
  });

  it('cannot be opened by URL in another browser', async () => {
    const page = await open(oauth.browser());
    const other = oauth.browser();
    await open(other);
    expect(expectPage(await other.open(page.url)).status).toBe(400);
  });

  it('do not include pages of the library', async () => {
    for (const path of ['/interaction/x', '/interaction/x/abort', '/oauth/reg', '/oauth/me', '/oauth/par', '/oauth/device/auth']) {
      expect((await oauth.browser().send('GET', path)).status).toBe(404);
    }
  });

  it('create a session that its user can list and end', async () => {
    const browser = oauth.browser();
    const whose = await oauth.shop.registerAndLogin();
    await oauth.authorize(browser, await oauth.request(client), whose);
    const { rows } = await oauth.shop.sql.query<{ id: string }>(
      'SELECT id FROM sessions WHERE user_id = $1 AND oauth_session IS NOT NULL',
      [whose.userId],
    );
    expect(rows).toHaveLength(1);
    await oauth.shop.sql.query('DELETE FROM sessions WHERE id = $1', [rows[0]!.id]);
    expect(expectPage(await browser.open((await oauth.request(client)).url)).text).toContain('Log in to the plant shop');
  });

  describe("for the shop's own pages", () => {
    const logOut = (browser: Browser, headers: Record<string, string> = {}): Promise<Response> =>
      browser.send('POST', `${issuer}/oauth/interaction/logout`, { headers });
    const opened = async (userId: string): Promise<number> =>
      (await oauth.shop.sql.query('SELECT id FROM sessions WHERE user_id = $1 AND oauth_session IS NOT NULL', [userId])).rows.length;

    it('end the session of this browser only on log-out (slow)', async () => {
      const [browser, other] = [oauth.browser(), oauth.browser()];
      const whose = await oauth.shop.registerAndLogin();
      await oauth.authorize(browser, await oauth.request(client), whose);
      await oauth.authorize(other, await oauth.request(client), whose);
      expect(await opened(whose.userId)).toBe(2);
      expect((await logOut(browser)).status).toBe(204);
      expect(await opened(whose.userId)).toBe(1);
      expect(expectPage(await browser.open((await oauth.request(client)).url)).text).toContain('Log in to the plant shop');
      expect((await logOut(browser)).status).toBe(204);
      expect(await other.open((await oauth.request(client)).url)).toHaveProperty('location');
    });

    it.each([
      ['another origin', { origin: 'https://evil.example' }],
      ['another site by Sec-Fetch-Site', { 'sec-fetch-site': 'cross-site' }],
    ])('do not end it for a request of %s', async (_, headers) => {
      const browser = oauth.browser();
      const whose = await oauth.shop.registerAndLogin();
      await oauth.authorize(browser, await oauth.request(client), whose);
      expect((await logOut(browser, headers)).status).toBe(403);
      expect(await opened(whose.userId)).toBe(1);
    });

    it.each([
      ["never at the shop's own origin", `${issuer}/console/`, undefined, [false, false]],
      ["when it asks for that at the shop's own origin", `${issuer}/console/`, 'consent', [true, false]],
      ['each time at another loopback origin', 'http://127.0.0.1:9999/console/', undefined, [true, true]],
    ])('ask for consent %s', async (_, redirectUri, prompt, isAsked) => {
      const { clientId } = await oauth.register({ public: true, redirectUris: ['http://127.0.0.1:9999/console/'] });
      // http redirect URIs can be registered on loopback hosts only, so set the shop's own origin directly.
      await oauth.shop.sql.query('UPDATE oauth_clients SET redirect_uris = $2 WHERE client_id = $1', [clientId, [redirectUri]]);
      const browser = oauth.browser();
      const request = async (asked?: string): Promise<string> => (await oauth.request(client, { client_id: clientId, redirect_uri: redirectUri, prompt: asked })).url;
      const login = expectPage(await browser.open(await request(prompt)));
      // The test browser follows the redirect to the shop's own page, which does not exist here.
      const next = await browser.submit(login, 'action=login', typed()).catch(() => undefined);
      const page = next && 'forms' in next && next.text.includes('Allow <strong>') ? next : undefined;
      if (page) await browser.submit(page, 'action=allow').catch(() => undefined);
      const again = await browser.send('GET', await request());
      const location = new URL(again.headers.get('location') ?? '', issuer);
      const isAskedAgain = location.pathname.startsWith('/oauth/interaction/');
      expect([page !== undefined, isAskedAgain, location.searchParams.has('code')]).toEqual([...isAsked, !isAskedAgain]);
    });
  });
});
