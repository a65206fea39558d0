import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { expectPage, expectRedirect } from '@plant-shop/testing/browser';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { type Asked, redirectUri, TestOAuth } from './oauth.spec.fixture.js';

type Client = Awaited<ReturnType<TestOAuth['register']>>;
type User = Awaited<ReturnType<TestOAuth['shop']['enter']>>;

const credentials = ({ username, password }: User): Record<string, string> => ({ username, password });

describe('OAuth 2.0 authorization code', () => {
  let oauth: TestOAuth;
  let client: Client;
  let user: User;
  beforeAll(async () => {
    oauth = await TestOAuth.start({ loginLimitPerUser: 5 });
    client = await oauth.register();
    user = await oauth.shop.enter();
  });
  afterAll(() => oauth.shop.stop());

  const isActive = async (token: string): Promise<boolean> => (await oauth.introspect(client, token)).active;
  const refused = (error: string): object => ({ error });
  /** The application's request, answered to the application. */
  async function answerTo(asked: Asked): Promise<URLSearchParams> {
    const { search, hash } = expectRedirect(await oauth.browser().open(asked.url));
    return new URLSearchParams(search || hash.slice(1));
  }

  it('leads over login and consent to tokens that act for the user', async () => {
    const asked = await oauth.request(client, { scope: 'write:orders webhooks' });
    const back = await oauth.authorize(oauth.browser(), asked, user);
    expect(back.origin + back.pathname).toBe(redirectUri);
    expect([...back.searchParams.keys()].sort()).toEqual(['code', 'iss', 'state']);
    expect(back.searchParams.get('iss')).toBe('http://shop.test');
    const tokens = await oauth.redeem(client, asked, back);
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

  it('gives an ID token with openid, which names the user and nothing else', async () => {
    const tokens = await oauth.tokens(client, user, 'openid write:orders');
    const claims = decodeJwt(tokens.id_token ?? '');
    expect(claims).toMatchObject({ iss: 'http://shop.test', aud: client.clientId, sub: user.userId, preferred_username: user.username });
    expect(Object.keys(claims).sort()).toEqual(['aud', 'exp', 'iat', 'iss', 'preferred_username', 'sub']);
    expect(decodeProtectedHeader(tokens.id_token ?? '')).toMatchObject({ alg: 'ES256' });
    expect(decodeJwt(tokens.access_token)['scope']).toBe('write:orders');
  });

  describe('of the request', () => {
    it.each([
      ['another address', { redirect_uri: 'https://evil.example/callback' }],
      ['an address below it', { redirect_uri: `${redirectUri}/more` }],
      ['its address with a query', { redirect_uri: `${redirectUri}?a=b` }],
      ['its address in another case', { redirect_uri: redirectUri.toUpperCase() }],
      ['its address with a port', { redirect_uri: 'https://app.example:443/callback' }],
      ['another user in the address', { redirect_uri: 'https://app.example@evil.example/callback' }],
      ['no address', { redirect_uri: undefined }],
      ['an unknown client', { client_id: 'nobody' }],
    ])('refuses %s, and sends nobody there', async (_, changed) => {
      const page = expectPage(await oauth.browser().open((await oauth.request(client, changed)).url));
      expect(page.status).toBe(400);
      expect(page.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
      expect(page.headers.get('content-type')).toContain('text/html');
    });

    it.each<[string, Record<string, string | undefined>, string]>([
      ['no PKCE', { code_challenge: undefined, code_challenge_method: undefined }, 'invalid_request'],
      ['plain PKCE', { code_challenge_method: 'plain' }, 'invalid_request'],
      ['PKCE without its method', { code_challenge_method: undefined }, 'invalid_request'],
      ['a challenge that is none', { code_challenge: 'short' }, 'invalid_request'],
      ['a scope that the client lacks', { scope: 'write:users' }, 'invalid_scope'],
      ['a scope that nobody has', { scope: 'write:orders no:such' }, 'invalid_scope'],
      ['another resource', { resource: 'https://elsewhere.example/' }, 'invalid_target'],
      ['another response type', { response_type: 'token' }, 'unsupported_response_type'],
      ['a request object', { request: 'eyJhbGciOiJub25lIn0.e30.' }, 'request_not_supported'],
      ['no login where none may be asked for', { prompt: 'none', scope: 'openid write:orders' }, 'login_required'],
    ])('tells the application of %s', async (_, changed, error) => {
      const asked = await oauth.request(client, changed);
      const answer = await answerTo(asked);
      expect(Object.fromEntries(answer)).toMatchObject({ error, state: asked.state, iss: 'http://shop.test' });
      expect(answer.has('code')).toBe(false);
    });

    it('takes no scope for all that the client has, and gives what the user may do of it', async () => {
      const asked = await oauth.request(client, { scope: undefined });
      const tokens = await oauth.redeem(client, asked, await oauth.authorize(oauth.browser(), asked, user));
      expect(tokens.scope?.split(' ').sort()).toEqual(['webhooks', 'write:orders']);
    });

    it('without anything that the user may do leads to access_denied', async () => {
      const browser = oauth.browser();
      const asked = await oauth.request(client, { scope: 'write:plants' });
      const login = expectPage(await browser.open(asked.url));
      const consent = expectPage(await browser.submit(login, 'action=login', credentials(user)));
      expect(consent.forms.flatMap(({ buttons }) => buttons)).not.toContain('action=allow');
      const back = expectRedirect(await browser.submit(consent, 'action=deny'));
      expect(back.searchParams.get('error')).toBe('access_denied');
    });

    it('of another kind of client is refused', async () => {
      const alone = await oauth.register({
        grantTypes: ['client_credentials'],
        redirectUris: [],
        owner: user.username,
        scopes: ['write:orders'],
      });
      expect(expectPage(await oauth.browser().open((await oauth.request(alone)).url)).status).toBe(400);
    });
  });

  describe('of the login', () => {
    it('is remembered in the browser, for other applications as well', async () => {
      const browser = oauth.browser();
      await oauth.authorize(browser, await oauth.request(client), user);
      expect(expectRedirect(await browser.open((await oauth.request(client)).url)).searchParams.has('code')).toBe(true);
      const other = await oauth.register({ name: 'Another one' });
      expect(expectPage(await browser.open((await oauth.request(other)).url)).text).toContain('Another one');
    });

    it.each([
      ['prompt=login', { prompt: 'login' }],
      ['max_age=0', { max_age: '0', scope: 'openid write:orders' }],
    ])('is asked for again with %s', async (_, changed) => {
      const browser = oauth.browser();
      await oauth.authorize(browser, await oauth.request(client, { scope: 'openid write:orders' }), user);
      if ('max_age' in changed) await new Promise((resolve) => setTimeout(resolve, 1_100));
      const page = expectPage(await browser.open((await oauth.request(client, changed)).url));
      expect(page.text).toContain('Log in to the plant shop');
      const consent = expectPage(await browser.submit(page, 'action=login', credentials(user)));
      expect(expectRedirect(await browser.submit(consent, 'action=allow')).searchParams.has('code')).toBe(true);
    });

    it('is remembered without what was allowed to an application that any program on the machine could pose as', async () => {
      const redirectUris = ['http://127.0.0.1:4321/callback'];
      const local = await oauth.register({ public: true, redirectUris });
      const browser = oauth.browser();
      const to = { redirect_uri: redirectUris[0] };
      await oauth.authorize(browser, await oauth.request(local, to), user);
      const page = expectPage(await browser.open((await oauth.request(local, to)).url));
      expect(page.text).toContain('to act for you?');
      expect(expectRedirect(await browser.submit(page, 'action=allow')).searchParams.has('code')).toBe(true);
      const unseen = expectRedirect(await browser.open((await oauth.request(local, { ...to, prompt: 'none' })).url));
      expect(unseen.searchParams.get('error')).toBe('consent_required');
    });

    it('with prompt=consent asks what may be done once more', async () => {
      const browser = oauth.browser();
      await oauth.authorize(browser, await oauth.request(client), user);
      const page = expectPage(await browser.open((await oauth.request(client, { prompt: 'consent' })).url));
      expect(expectRedirect(await browser.submit(page, 'action=allow')).searchParams.has('code')).toBe(true);
    });

    it('can be changed for that of somebody else on the way', async () => {
      const browser = oauth.browser();
      const asked = await oauth.request(client);
      const login = expectPage(await browser.open(asked.url));
      const consent = expectPage(await browser.submit(login, 'action=login', credentials(user)));
      const again = expectPage(await browser.submit(consent, 'action=switch'));
      expect(again.text).toContain('Log in to the plant shop');
      const other = await oauth.shop.enter();
      const theirs = expectPage(await browser.submit(again, 'action=login', credentials(other)));
      expect(theirs.text).toContain(other.username);
      const tokens = await oauth.redeem(client, asked, expectRedirect(await browser.submit(theirs, 'action=allow')));
      expect(decodeJwt(tokens.access_token).sub).toBe(other.userId);
    });

    it('fails in the same words for a wrong password and an unknown name, and counts', async () => {
      const { username } = await oauth.shop.register();
      const tryAs = async (name: string): Promise<{ status: number; headers: Headers; text: string }> => {
        const browser = oauth.browser();
        const login = expectPage(await browser.open((await oauth.request(client)).url));
        return expectPage(await browser.submit(login, 'action=login', { username: name, password: 'wrong-guess' }));
      };
      for (const name of [username, 'nobody-at-all']) {
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
      // The same limit, whatever is logged in to.
      await expect(oauth.shop.login(username, 'a-good-password')).rejects.toMatchObject({ code: 'too-many-logins' });
    });
  });

  describe('of the code', () => {
    async function codeFor(by: Client): Promise<{ asked: Asked; back: URL }> {
      const asked = await oauth.request(by);
      return { asked, back: await oauth.authorize(oauth.browser(), asked, user) };
    }

    it('is good once: a second use ends what the first has brought', async () => {
      const { asked, back } = await codeFor(client);
      const tokens = await oauth.redeem(client, asked, back);
      await expect(oauth.redeem(client, asked, back)).rejects.toMatchObject(refused('invalid_grant'));
      expect(await isActive(tokens.access_token)).toBe(false);
      await expect(oauth.refresh(client, tokens.refresh_token ?? '')).rejects.toMatchObject(refused('invalid_grant'));
    });

    it('is good for one of many at the same moment at most, and then for none', async () => {
      const { asked, back } = await codeFor(client);
      const all = await Promise.allSettled([1, 2, 3, 4].map(() => oauth.redeem(client, asked, back)));
      const got = all.flatMap((one) => (one.status === 'fulfilled' ? one.value : []));
      expect(got.length).toBeLessThanOrEqual(1);
      for (const { access_token: token } of got) expect(await isActive(token)).toBe(false);
    });

    it('is good for the client that asked only, with the verifier that it has', async () => {
      const { asked, back } = await codeFor(client);
      const other = await oauth.register();
      await expect(oauth.redeem(other, asked, back)).rejects.toMatchObject(refused('invalid_grant'));
      const wrong = { ...asked, verifier: 'x'.repeat(43) };
      await expect(oauth.redeem(client, wrong, back)).rejects.toMatchObject(refused('invalid_grant'));
    });

    it('ends after a minute', async () => {
      const { asked, back } = await codeFor(client);
      await oauth.shop.sql.query(`UPDATE oauth_payloads SET expires_at = now() WHERE model = 'AuthorizationCode'`);
      await expect(oauth.redeem(client, asked, back)).rejects.toMatchObject(refused('invalid_grant'));
    });
  });
});
