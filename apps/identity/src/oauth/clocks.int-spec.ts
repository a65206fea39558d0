import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { identity } from '@plant-shop/contracts/identity';
import { type Browser, expectPage, expectRedirect } from '@plant-shop/testing/browser';
import { decodeJwt } from 'jose';
import { TestOAuth } from './oauth.spec.fixture.js';

const tenMinutes = 600;

/**
 * The provider reads this host's clock by `Date.now` alone. A request that meets another clock than the one before it is what meets
 * another replica, or one whose clock stepped while it ran; the database's clock stays what it is.
 */
describe('OAuth 2.0 between replicas whose clocks differ', () => {
  let oauth: TestOAuth;
  let client: Awaited<ReturnType<TestOAuth['register']>>;
  let user: Awaited<ReturnType<TestOAuth['shop']['enter']>>;
  beforeAll(async () => {
    oauth = await TestOAuth.start();
    client = await oauth.register();
    user = await oauth.shop.enter();
  });
  afterEach(() => void jest.restoreAllMocks());
  afterAll(() => oauth.shop.stop());

  const trueTime = (): number => performance.timeOrigin + performance.now();
  /** The host that answers from now on has a clock that is so far ahead of the database's. */
  const hostAhead = (seconds: number): void => {
    jest.restoreAllMocks();
    jest.spyOn(Date, 'now').mockImplementation(() => Math.floor(trueTime() + seconds * 1_000));
  };
  const nowSeconds = (): number => trueTime() / 1_000;
  /** Rounded to seconds twice. */
  const near = (seconds: number): unknown => {
    const expected = nowSeconds() + seconds;
    return { asymmetricMatch: (actual: unknown) => typeof actual === 'number' && Math.abs(actual - expected) <= 3, toString: () => `near ${expected}` };
  };

  const bothWays: [number, number][] = [
    [0, tenMinutes],
    [0, -tenMinutes],
    [tenMinutes, -tenMinutes],
    [-tenMinutes, tenMinutes],
  ];

  it.each(bothWays)('a code of one %d s ahead is redeemed at one %d s ahead, for tokens in the time of the database', async (issuedAt, redeemedAt) => {
    hostAhead(issuedAt);
    const asked = await oauth.request(client, { scope: 'openid write:orders', max_age: '3600' });
    const back = await oauth.authorize(oauth.browser(), asked, user);
    hostAhead(redeemedAt);
    const at = { client_id: client.clientId };
    const response = await oauth.codeGrant(client, asked, back);
    expect(response.status).toBe(200);
    const tokens = (await response.json()) as { access_token: string; id_token: string; refresh_token: string; expires_in: number };
    expect(tokens.expires_in).toBe(3_600);
    for (const token of [tokens.access_token, tokens.id_token]) {
      expect(decodeJwt(token)).toMatchObject({ iat: near(0), exp: near(3_600) });
    }
    expect(decodeJwt(tokens.id_token)).toMatchObject({ auth_time: near(0), aud: at.client_id });
    hostAhead(issuedAt);
    await expect(oauth.introspect(client, tokens.access_token)).resolves.toMatchObject({ active: true, exp: near(3_600), iat: near(0) });
    await expect(oauth.introspect(client, tokens.refresh_token)).resolves.toMatchObject({ active: true, exp: near(30 * 86_400) });
    const refreshed = await oauth.refresh(client, tokens.refresh_token);
    hostAhead(redeemedAt);
    await expect(oauth.introspect(client, refreshed.access_token)).resolves.toMatchObject({ active: true });
    await oauth.revoke(client, refreshed.access_token);
    await expect(oauth.introspect(client, refreshed.access_token)).resolves.toMatchObject({ active: false });
  });

  it('a code ends after a minute of the database, wherever it is shown', async () => {
    hostAhead(tenMinutes);
    const asked = await oauth.request(client);
    const back = await oauth.authorize(oauth.browser(), asked, user);
    await oauth.shop.sql.query(
      `UPDATE oauth_payloads SET expires_at = expires_at - interval '61 seconds' WHERE model = 'AuthorizationCode' AND consumed_at IS NULL`,
    );
    hostAhead(-tenMinutes);
    expect((await oauth.codeGrant(client, asked, back)).status).toBe(400);
  });

  it.each<[number, number]>([
    [0, 3_600],
    [3_600, -3_600],
  ])('the pages of a login, good for half an hour, go on when the clock steps from %d s to %d s ahead between any two of them', async (first, second) => {
    const browser: Browser = oauth.browser();
    const asked = await oauth.request(client);
    hostAhead(first);
    const login = expectPage(await browser.open(asked.url));
    hostAhead(second);
    const consent = expectPage(await browser.submit(login, 'action=login', { username: user.username, password: user.password }));
    expect(consent.status).toBe(200);
    hostAhead(first);
    const back = expectRedirect(await browser.submit(consent, 'action=allow'));
    expect(back.searchParams.get('code')).toEqual(expect.any(String));
    hostAhead(second);
    // The login of before is remembered: no page is shown for what was allowed.
    expect(expectRedirect(await browser.open((await oauth.request(client)).url)).searchParams.get('code')).toEqual(expect.any(String));
  });

  it.each([tenMinutes, -tenMinutes])('cookies of the pages of a replica %d s ahead end after the half hour that the page is good for', async (ahead) => {
    hostAhead(ahead);
    const response = await oauth.browser().send('GET', (await oauth.request(client)).url);
    const cookies = response.headers.getSetCookie().filter((one) => one.startsWith('plant_shop_'));
    expect(cookies.length).toBeGreaterThanOrEqual(2);
    for (const cookie of cookies) {
      expect(cookie).not.toMatch(/expires=/i);
      const age = Number(/max-age=(\d+)/.exec(cookie)?.[1]);
      expect(Math.abs(age - 1_800)).toBeLessThanOrEqual(3);
    }
  });

  it.each([tenMinutes, -tenMinutes])('the end of an API key is judged by the database at a replica %d s ahead', async (ahead) => {
    const create = (inSeconds: number) =>
      oauth.shop.call(
        identity.createApiKey,
        { username: user.username, apiKey: { name: 'brief', expiresAt: new Date(trueTime() + inSeconds * 1_000).toISOString() } },
        user.inPerson,
      );
    hostAhead(ahead);
    const { key } = await create(300);
    await expect(oauth.shop.check('apiKey', key)).resolves.toMatchObject({ kind: 'apiKey' });
    await expect(create(-300)).rejects.toMatchObject({ code: 'invalid-input' });
  });
});
