import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { expectPage, expectRedirect } from '@plant-shop/testing/browser';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { type AuthorizationRequest, redirectUri, TestOAuth } from './oauth.spec.fixture.js';

type Client = Awaited<ReturnType<TestOAuth['register']>>;
type User = Awaited<ReturnType<TestOAuth['shop']['registerAndLogin']>>;

const credentials = ({ username, password }: User): Record<string, string> => ({ username, password });

describe('OAuth 2.0 authorization code', () => {
  let oauth: TestOAuth;
  let client: Client;
  let user: User;
  beforeAll(async () => {
    oauth = await TestOAuth.start({ loginLimitPerUser: 5 });
    client = await oauth.register();
    user = await oauth.shop.registerAndLogin();
  });
  afterAll(() => oauth.shop.stop());

  const isActive = async (token: string): Promise<boolean> => (await oauth.introspect(client, token)).active;
  const refused = (error: string): object => ({ error });
  /** Sends an authorization request that needs no page, and returns the parameters of the response. */
  async function respondTo(request: AuthorizationRequest): Promise<URLSearchParams> {
    const { search, hash } = expectRedirect(await oauth.browser().open(request.url));
    return new URLSearchParams(search || hash.slice(1));
  }

  it('issues tokens that act for the user after login and consent', async () => {
    const request = await oauth.request(client, { scope: 'write:orders webhooks' });
    const back = await oauth.authorize(oauth.browser(), request, user);
    expect(back.origin + back.pathname).toBe(redirectUri);
    expect([...back.searchParams.keys()].sort()).toEqual(['code', 'iss', 'state']);
    expect(back.searchParams.get('iss')).toBe('http://shop.test');
    const tokens = await oauth.redeem(client, request, back);
    expect(tokens).toMatchObject({ token_type: 'bearer', expires_in: 3600, scope: 'write:orders webhooks' });
    expect(tokens).not.toHaveProperty('id_token');
    expect(decodeProtectedHeader(tokens.access_token)).toMatchObject({ alg: 'ES256', typ: 'at+jwt' });
    expect(decodeJwt(tokens.access_token)).toMatchObject({
      iss: 'http://shop.test',
      aud: 'http://shop.test/v3',
      sub: user.userId,
      client_id: client.clientId,
      scope: 'write:orders webhooks',
      grant_id: expect.any(String),
      secret_id: expect.any(String),
    });
  });

  it('issues an ID token for the scope openid, which contains only the username, and how and when the user logged in', async () => {
    const tokens = await oauth.tokens(client, user, 'openid write:orders');
    const claims = decodeJwt(tokens.id_token ?? '');
    expect(claims).toMatchObject({ iss: 'http://shop.test', aud: client.clientId, sub: user.userId, preferred_username: user.username });
    expect(Object.keys(claims).sort()).toEqual(['acr', 'amr', 'aud', 'auth_time', 'exp', 'iat', 'iss', 'preferred_username', 'sub']);
    expect(claims).toMatchObject({ acr: 'urn:plant-shop:acr:one-factor', amr: ['pwd'] });
    expect(decodeProtectedHeader(tokens.id_token ?? '')).toMatchObject({ alg: 'ES256' });
    expect(tokens.scope).toBe('openid write:orders');
    expect(decodeJwt(tokens.access_token)).toMatchObject({ scope: 'openid write:orders', aud: 'http://shop.test/v3' });
  });

  describe('authorization request', () => {
    it.each([
      ['another redirect URI', { redirect_uri: 'https://evil.example/callback' }],
      ['a redirect URI below the registered one', { redirect_uri: `${redirectUri}/more` }],
      ['the registered redirect URI with a query', { redirect_uri: `${redirectUri}?a=b` }],
      ['the registered redirect URI in another case', { redirect_uri: redirectUri.toUpperCase() }],
      ['the registered redirect URI with a port', { redirect_uri: 'https://app.example:443/callback' }],
      ['a redirect URI with user information', { redirect_uri: 'https://app.example@evil.example/callback' }],
      ['no redirect URI', { redirect_uri: undefined }],
      ['an unknown client', { client_id: 'unknown' }],
    ])('with %s is refused without a redirect', async (_, changed) => {
      const page = expectPage(await oauth.browser().open((await oauth.request(client, changed)).url));
      expect(page.status).toBe(400);
      expect(page.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
      expect(page.headers.get('content-type')).toContain('text/html');
    });

    it.each<[string, Record<string, string | undefined>, string]>([
      ['no PKCE', { code_challenge: undefined, code_challenge_method: undefined }, 'invalid_request'],
      ['plain PKCE', { code_challenge_method: 'plain' }, 'invalid_request'],
      ['PKCE without its method', { code_challenge_method: undefined }, 'invalid_request'],
      ['an invalid challenge', { code_challenge: 'short' }, 'invalid_request'],
      ['a scope that the client lacks', { scope: 'write:users' }, 'invalid_scope'],
      ['an unknown scope', { scope: 'write:orders no:such' }, 'invalid_scope'],
      ['another resource', { resource: 'https://elsewhere.example/' }, 'invalid_target'],
      ['another response type', { response_type: 'token' }, 'unsupported_response_type'],
      ['a request object', { request: 'eyJhbGciOiJub25lIn0.e30.' }, 'request_not_supported'],
      ['no login and prompt=none', { prompt: 'none', scope: 'openid write:orders' }, 'login_required'],
    ])('with %s is refused by a redirect to the application', async (_, changed, error) => {
      const request = await oauth.request(client, changed);
      const response = await respondTo(request);
      expect(Object.fromEntries(response)).toMatchObject({ error, state: request.state, iss: 'http://shop.test' });
      expect(response.has('code')).toBe(false);
    });

    it('without a scope requests all scopes of the client, and gets those that the user may have', async () => {
      const request = await oauth.request(client, { scope: undefined });
      const tokens = await oauth.redeem(client, request, await oauth.authorize(oauth.browser(), request, user));
      expect(tokens.scope?.split(' ').sort()).toEqual(['webhooks', 'write:orders']);
    });

    it('with only scopes that the user may not have ends in access_denied', async () => {
      const browser = oauth.browser();
      const request = await oauth.request(client, { scope: 'write:plants' });
      const login = expectPage(await browser.open(request.url));
      const consent = expectPage(await browser.submit(login, 'action=login', credentials(user)));
      expect(consent.forms.flatMap(({ buttons }) => buttons)).not.toContain('action=allow');
      const back = expectRedirect(await browser.submit(consent, 'action=deny'));
      expect(back.searchParams.get('error')).toBe('access_denied');
    });

    it('is refused for a client without the authorization code grant', async () => {
      const program = await oauth.register({
        grantTypes: ['client_credentials'],
        redirectUris: [],
        owner: user.username,
        scopes: ['write:orders'],
      });
      expect(expectPage(await oauth.browser().open((await oauth.request(program)).url)).status).toBe(400);
    });
  });

  describe('login', () => {
    it('is remembered in the browser, also for other applications', async () => {
      const browser = oauth.browser();
      await oauth.authorize(browser, await oauth.request(client), user);
      expect(expectRedirect(await browser.open((await oauth.request(client)).url)).searchParams.has('code')).toBe(true);
      const other = await oauth.register({ name: 'Another application' });
      expect(expectPage(await browser.open((await oauth.request(other)).url)).text).toContain('Another application');
    });

    it.each([
      ['prompt=login', { prompt: 'login' }],
      ['max_age=0', { max_age: '0', scope: 'openid write:orders' }],
    ])('is required again with %s (slow)', async (_, changed) => {
      const browser = oauth.browser();
      await oauth.authorize(browser, await oauth.request(client, { scope: 'openid write:orders' }), user);
      if ('max_age' in changed) await new Promise((resolve) => setTimeout(resolve, 1_100));
      const page = expectPage(await browser.open((await oauth.request(client, changed)).url));
      expect(page.text).toContain('Log in to the plant shop');
      const consent = expectPage(await browser.submit(page, 'action=login', credentials(user)));
      expect(expectRedirect(await browser.submit(consent, 'action=allow')).searchParams.has('code')).toBe(true);
    });

    it('is remembered, but not the consent for an application that any local program could impersonate (slow)', async () => {
      const redirectUris = ['http://127.0.0.1:4321/callback'];
      const local = await oauth.register({ public: true, redirectUris });
      const browser = oauth.browser();
      const to = { redirect_uri: redirectUris[0] };
      await oauth.authorize(browser, await oauth.request(local, to), user);
      const page = expectPage(await browser.open((await oauth.request(local, to)).url));
      expect(page.text).toContain('to access your account?');
      expect(expectRedirect(await browser.submit(page, 'action=allow')).searchParams.has('code')).toBe(true);
      const unseen = expectRedirect(await browser.open((await oauth.request(local, { ...to, prompt: 'none' })).url));
      expect(unseen.searchParams.get('error')).toBe('consent_required');
    });

    it('with prompt=consent shows the consent page again', async () => {
      const browser = oauth.browser();
      await oauth.authorize(browser, await oauth.request(client), user);
      const page = expectPage(await browser.open((await oauth.request(client, { prompt: 'consent' })).url));
      expect(expectRedirect(await browser.submit(page, 'action=allow')).searchParams.has('code')).toBe(true);
    });

    it('can be changed to another account on the consent page (slow)', async () => {
      const browser = oauth.browser();
      const request = await oauth.request(client);
      const login = expectPage(await browser.open(request.url));
      const consent = expectPage(await browser.submit(login, 'action=login', credentials(user)));
      const again = expectPage(await browser.submit(consent, 'action=switch'));
      expect(again.text).toContain('Log in to the plant shop');
      const other = await oauth.shop.registerAndLogin();
      const theirs = expectPage(await browser.submit(again, 'action=login', credentials(other)));
      expect(theirs.text).toContain(other.username);
      const tokens = await oauth.redeem(client, request, expectRedirect(await browser.submit(theirs, 'action=allow')));
      expect(decodeJwt(tokens.access_token).sub).toBe(other.userId);
    });

    it('takes a name with the space that phones add, and says what to type instead of an e-mail address', async () => {
      const user = await oauth.shop.registerAndLogin();
      const browser = oauth.browser();
      const login = expectPage(await browser.open((await oauth.request(client)).url));
      const failed = expectPage(await browser.submit(login, 'action=login', { ...credentials(user), username: 'ada@shop.test' }));
      expect([failed.status, failed.text]).toEqual([401, expect.stringContaining('type your username: the mail for a forgotten password names it.')]);
      const known = expectPage(await browser.submit(failed, 'action=login', { ...credentials(user), username: `${user.username} ` }));
      expect(known.text).toContain(`logged in as <strong>${user.username}</strong>`);
    });

    it('fails with the same text for a wrong password and an unknown name, and failures are limited (slow)', async () => {
      const { username } = await oauth.shop.register();
      const tryAs = async (name: string): Promise<{ status: number; headers: Headers; text: string }> => {
        const browser = oauth.browser();
        const login = expectPage(await browser.open((await oauth.request(client)).url));
        return expectPage(await browser.submit(login, 'action=login', { username: name, password: 'wrong-guess' }));
      };
      for (const name of [username, 'unknown-user']) {
        const page = await tryAs(name);
        expect(page.status).toBe(401);
        expect(page.text).toContain('The username or the password is wrong.');
        expect(page.text).toMatch(/role="alert"/);
        expect(page.text).not.toContain('wrong-guess');
      }
      for (let n = 1; n < 5; n++) expect((await tryAs(username)).status).toBe(401);
      const locked = await tryAs(username);
      expect(locked.status).toBe(429);
      expect(Number(locked.headers.get('retry-after'))).toBeGreaterThan(800);
      // The API's login shares the limit.
      await expect(oauth.shop.login(username, 'a-good-password')).rejects.toMatchObject({ code: 'too-many-logins' });
    });
  });

  describe('authorization code', () => {
    async function codeFor(by: Client): Promise<{ request: AuthorizationRequest; back: URL }> {
      const request = await oauth.request(by);
      return { request, back: await oauth.authorize(oauth.browser(), request, user) };
    }

    it('can be used once: a second use ends the tokens of the first', async () => {
      const { request, back } = await codeFor(client);
      const tokens = await oauth.redeem(client, request, back);
      await expect(oauth.redeem(client, request, back)).rejects.toMatchObject(refused('invalid_grant'));
      expect(await isActive(tokens.access_token)).toBe(false);
      await expect(oauth.refresh(client, tokens.refresh_token ?? '')).rejects.toMatchObject(refused('invalid_grant'));
    });

    it('yields tokens for at most one of many concurrent requests, which then end', async () => {
      const { request, back } = await codeFor(client);
      const all = await Promise.allSettled([1, 2, 3, 4].map(() => oauth.redeem(client, request, back)));
      const got = all.flatMap((one) => (one.status === 'fulfilled' ? one.value : []));
      expect(got.length).toBeLessThanOrEqual(1);
      for (const { access_token: token } of got) expect(await isActive(token)).toBe(false);
    });

    it('can be used only by the client that requested it, with its verifier', async () => {
      const { request, back } = await codeFor(client);
      const other = await oauth.register();
      await expect(oauth.redeem(other, request, back)).rejects.toMatchObject(refused('invalid_grant'));
      const wrong = { ...request, verifier: 'x'.repeat(43) };
      await expect(oauth.redeem(client, wrong, back)).rejects.toMatchObject(refused('invalid_grant'));
    });

    it('expires after a minute', async () => {
      const { request, back } = await codeFor(client);
      await oauth.shop.sql.query(`UPDATE oauth_payloads SET expires_at = now() WHERE model = 'AuthorizationCode'`);
      await expect(oauth.redeem(client, request, back)).rejects.toMatchObject(refused('invalid_grant'));
    });
  });
});
