import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { identity } from '@plant-shop/contracts/identity';
import { type Browser, expectPage, expectRedirect } from '@plant-shop/testing/browser';
import * as oauth4webapi from 'oauth4webapi';
import { manager } from '../identity.spec.fixture.js';
import { issuer, TestOAuth } from './oauth.spec.fixture.js';

const afterLogout = 'https://app.example/goodbye';

describe('OpenID Connect', () => {
  let oauth: TestOAuth;
  let client: Awaited<ReturnType<TestOAuth['register']>>;
  let user: Awaited<ReturnType<TestOAuth['shop']['registerAndLogin']>>;
  beforeAll(async () => {
    oauth = await TestOAuth.start();
    client = await oauth.register({ postLogoutRedirectUris: [afterLogout] });
    user = await oauth.shop.registerAndLogin();
    const changes = { firstName: 'Ada', lastName: 'Fern', email: 'ada@example.org' };
    await oauth.shop.call(identity.updateUser, { username: user.username, user: changes }, manager);
  });
  afterAll(() => oauth.shop.stop());

  const ask = (init: RequestInit): Promise<Response> => fetch(`${oauth.servedAt}/oauth/userinfo`, init);
  const bearer = (token: string, scheme = 'Bearer'): RequestInit => ({ headers: { authorization: `${scheme} ${token}` } });

  describe('user information', () => {
    const names = { given_name: 'Ada', family_name: 'Fern' };
    const mail = { email: 'ada@example.org', email_verified: false };

    it.each([
      ['openid', {}],
      ['openid write:orders', {}],
      ['openid profile', names],
      ['openid email webhooks', mail],
      ['openid profile email', { ...names, ...mail }],
    ])('of the scopes %s has their claims (slow)', async (scope, claims) => {
      const { access_token: token } = await oauth.tokens(client, user, scope);
      const response = await oauth4webapi.userInfoRequest(oauth.server, { client_id: client.clientId }, token, oauth.options);
      const answer = await oauth4webapi.processUserInfoResponse(oauth.server, { client_id: client.clientId }, user.userId, response);
      expect(answer).toEqual({ sub: user.userId, preferred_username: user.username, ...claims });
    });

    it('is returned to GET and POST, for a token in the header or the form', async () => {
      const { access_token: token } = await oauth.tokens(client, user, 'openid');
      const form = { method: 'POST', body: new URLSearchParams({ access_token: token }) };
      for (const init of [bearer(token), bearer(token, 'bearer'), { ...bearer(token), method: 'POST' }, form]) {
        const response = await ask(init);
        expect([response.status, await response.json()]).toEqual([200, { sub: user.userId, preferred_username: user.username }]);
      }
    });

    it('is refused without the scope openid, without a token and to programs that act for themselves', async () => {
      const { access_token: withoutScope } = await oauth.tokens(client, user, 'write:orders');
      const refused = await ask(bearer(withoutScope));
      expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([403, expect.stringContaining('insufficient_scope')]);
      const missing = await ask({});
      expect([missing.status, missing.headers.get('www-authenticate')]).toEqual([401, expect.stringMatching(/^Bearer/)]);
      const program = await oauth.register({ grantTypes: ['client_credentials'], redirectUris: [], owner: user.username });
      const body = new URLSearchParams({ grant_type: 'client_credentials', client_id: program.clientId, client_secret: program.secret ?? '' });
      const { access_token: own } = (await (await fetch(`${oauth.servedAt}/oauth/token`, { method: 'POST', body })).json()) as { access_token: string };
      for (const token of [own, 'nonsense', `${withoutScope}x`]) expect((await ask(bearer(token))).status).toBe(401);
    });

    it('is refused for a token that was revoked', async () => {
      const { access_token: token } = await oauth.tokens(client, user, 'openid');
      await oauth.revoke(client, token);
      expect((await ask(bearer(token))).status).toBe(401);
    });

    it('is refused for a token of a deleted client', async () => {
      const other = await oauth.register();
      const { access_token: token } = await oauth.tokens(other, user, 'openid');
      await oauth.shop.call(identity.deleteOAuthClient, { clientId: other.clientId }, manager);
      expect((await ask(bearer(token))).status).toBe(401);
    });
  });

  it('answers a revocation without a body and without a content type, which clients would expect to be JSON', async () => {
    const { access_token: token } = await oauth.tokens(client, user);
    const { clientId, secret = '' } = client;
    const form = new URLSearchParams({ token, client_id: clientId, client_secret: secret });
    const response = await fetch(`${oauth.servedAt}/oauth/revoke`, { method: 'POST', body: form });
    expect([response.status, response.headers.get('content-type'), await response.text()]).toEqual([200, null, '']);
  });

  describe('a logout by an application', () => {
    interface LoggedIn {
      readonly browser: Browser;
      readonly tokens: oauth4webapi.TokenEndpointResponse;
    }
    async function logIn(by = client): Promise<LoggedIn> {
      const browser = oauth.browser();
      const request = await oauth.request(by, { scope: 'openid write:orders' });
      return { browser, tokens: await oauth.redeem(by, request, await oauth.authorize(browser, request, user)) };
    }
    const logoutUrl = (parameters: Record<string, string>): string => `${oauth.server.end_session_endpoint}?${new URLSearchParams(parameters).toString()}`;
    const isLoggedIn = async (browser: Browser): Promise<boolean> => {
      const { url } = await oauth.request(client, { prompt: 'none' });
      return expectRedirect(await browser.open(url)).searchParams.has('code');
    };
    const isActive = async (token: string, by = client): Promise<boolean> => (await oauth.introspect(by, token)).active;
    const openSessions = async (): Promise<number> =>
      (await oauth.shop.sql.query('SELECT FROM sessions WHERE user_id = $1 AND oauth_session IS NOT NULL', [user.userId])).rowCount ?? 0;

    it.each(['id_token_hint', 'client_id'])("with %s asks the user, ends the login and the application's grant, and returns to it", async (named) => {
      const { browser, tokens } = await logIn();
      const before = await openSessions();
      const by = named === 'client_id' ? client.clientId : (tokens.id_token ?? '');
      const page = expectPage(await browser.open(logoutUrl({ [named]: by, post_logout_redirect_uri: afterLogout, state: 'a b' })));
      expect(page.text).toContain(client.name);
      expect(page.text).toContain('<script src="http://shop.test/oauth/passkey.js"');
      expect(page.headers.get('content-security-policy')).toContain("form-action 'self' https:");
      expect(await openSessions()).toBe(before);
      const back = expectRedirect(await browser.submit(page, 'logout=yes'));
      expect(back.href).toBe(`${afterLogout}?state=a+b`);
      expect(await openSessions()).toBe(before - 1);
      expect(await isLoggedIn(browser)).toBe(false);
      expect(await isActive(tokens.access_token)).toBe(false);
      await expect(oauth.refresh(client, tokens.refresh_token ?? '')).rejects.toMatchObject({ error: 'invalid_grant' });
    });

    it("leaves other applications' grants, and the login if the user wants (slow)", async () => {
      const { browser, tokens } = await logIn();
      const other = await oauth.register({ name: 'Another application' });
      const request = await oauth.request(other, { scope: 'write:orders' });
      const consent = expectPage(await browser.open(request.url));
      const theirs = await oauth.redeem(other, request, expectRedirect(await browser.submit(consent, 'action=allow')));
      const asked = expectPage(await browser.open(logoutUrl({ client_id: client.clientId })));
      expect(expectPage(await browser.submit(asked, 'logout=')).text).toContain('Logged out');
      expect([await isActive(tokens.access_token), await isActive(theirs.access_token, other)]).toEqual([false, true]);
      expectPage(await browser.open(logoutUrl({})));
      const page = expectPage(await browser.open(logoutUrl({})));
      expect(expectPage(await browser.submit(page, 'logout=yes')).text).toContain('Logged out');
      expect(await isLoggedIn(browser)).toBe(false);
      expect(await isActive(theirs.access_token, other)).toBe(true);
    });

    it('without a login returns at once', async () => {
      const browser = oauth.browser();
      const page = expectPage(await browser.open(logoutUrl({ client_id: client.clientId, post_logout_redirect_uri: afterLogout })));
      const [form] = page.forms;
      expect(page.headers.get('content-security-policy')).toMatch(/script-src [^;]*'sha256-/);
      const response = await browser.send('POST', form?.action ?? '', { body: new URLSearchParams(form?.fields) });
      expect([response.status, response.headers.get('location')]).toEqual([303, afterLogout]);
    });

    it.each([
      ['an address that is not registered', { post_logout_redirect_uri: 'https://evil.example/' }],
      ['a redirect URI of log-ins', { post_logout_redirect_uri: 'https://app.example/callback' }],
      ['an unknown client', { client_id: 'unknown', post_logout_redirect_uri: afterLogout }],
      ['a forged hint', { id_token_hint: 'eyJhbGciOiJub25lIn0.e30.', post_logout_redirect_uri: afterLogout }],
    ])('with %s is refused', async (_, changed) => {
      const { browser } = await logIn();
      expect(expectPage(await browser.open(logoutUrl({ client_id: client.clientId, ...changed }))).status).toBe(400);
      expect(await isLoggedIn(browser)).toBe(true);
    });

    it('cannot be confirmed by another page', async () => {
      const { browser } = await logIn();
      expectPage(await browser.open(logoutUrl({})));
      const response = await browser.send('POST', `${issuer}/oauth/logout/confirm`, { body: new URLSearchParams({ xsrf: 'guess', logout: 'yes' }) });
      expect(response.status).toBe(400);
      expect(await isLoggedIn(browser)).toBe(true);
    });
  });
});
