import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { identity } from '@plant-shop/contracts/identity';
import { type Browser, expectPage, expectRedirect } from '@plant-shop/testing/browser';
import { decodeJwt } from 'jose';
import { Secret, TOTP } from 'otpauth';
import { FactorUser } from './factors.spec.fixture.js';
import { TestOAuth } from './oauth.spec.fixture.js';

const tenMinutes = 600;

/**
 * The provider reads this host's clock only with `Date.now`. Changing it between two requests simulates replicas with different
 * clocks, or a step of one clock. The database's clock is not changed.
 */
describe('OAuth 2.0 with different clocks of replicas', () => {
  let oauth: TestOAuth;
  let client: Awaited<ReturnType<TestOAuth['register']>>;
  let user: Awaited<ReturnType<TestOAuth['shop']['registerAndLogin']>>;
  beforeAll(async () => {
    oauth = await TestOAuth.start();
    client = await oauth.register();
    user = await oauth.shop.registerAndLogin();
  });
  afterEach(() => void jest.restoreAllMocks());
  afterAll(() => oauth.shop.stop());

  const trueTime = (): number => performance.timeOrigin + performance.now();
  /** Sets this host's clock ahead of the database's for the next requests. */
  const hostAhead = (seconds: number): void => {
    jest.restoreAllMocks();
    jest.spyOn(Date, 'now').mockImplementation(() => Math.floor(trueTime() + seconds * 1_000));
  };
  const nowSeconds = (): number => trueTime() / 1_000;
  /** Matches a time this far in the future, within 3 s: times are rounded to seconds twice. */
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

  it.each(bothWays)("a code issued %d s ahead is redeemed %d s ahead, for tokens in the database's time", async (issuedAt, redeemedAt) => {
    hostAhead(issuedAt);
    const request = await oauth.request(client, { scope: 'openid write:orders', max_age: '3600' });
    const back = await oauth.authorize(oauth.browser(), request, user);
    hostAhead(redeemedAt);
    const at = { client_id: client.clientId };
    const response = await oauth.codeGrant(client, request, back);
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

  it("a code expires after a minute of the database's time on every replica", async () => {
    hostAhead(tenMinutes);
    const request = await oauth.request(client);
    const back = await oauth.authorize(oauth.browser(), request, user);
    await oauth.shop.sql.query(
      `UPDATE oauth_payloads SET expires_at = expires_at - interval '61 seconds' WHERE model = 'AuthorizationCode' AND consumed_at IS NULL`,
    );
    hostAhead(-tenMinutes);
    expect((await oauth.codeGrant(client, request, back)).status).toBe(400);
  });

  it.each<[number, number]>([
    [0, 3_600],
    [3_600, -3_600],
  ])('login and consent pages, valid for 30 minutes, survive clock steps between %d s and %d s ahead', async (first, second) => {
    const browser: Browser = oauth.browser();
    const request = await oauth.request(client);
    hostAhead(first);
    const login = expectPage(await browser.open(request.url));
    hostAhead(second);
    const consent = expectPage(await browser.submit(login, 'action=login', { username: user.username, password: user.password }));
    expect(consent.status).toBe(200);
    hostAhead(first);
    const back = expectRedirect(await browser.submit(consent, 'action=allow'));
    expect(back.searchParams.get('code')).toEqual(expect.any(String));
    hostAhead(second);
    // The browser remembers login and consent, so no page is shown.
    expect(expectRedirect(await browser.open((await oauth.request(client)).url)).searchParams.get('code')).toEqual(expect.any(String));
  });

  it.each([tenMinutes, -tenMinutes])('cookies of a replica %d s ahead expire with their page after 30 minutes', async (ahead) => {
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

  it.each([tenMinutes, -tenMinutes])("a replica %d s ahead judges the expiry of an API key by the database's time", async (ahead) => {
    const create = (inSeconds: number) =>
      oauth.shop.call(
        identity.createApiKey,
        { username: user.username, apiKey: { name: 'brief', expiresAt: new Date(trueTime() + inSeconds * 1_000).toISOString() } },
        user.principal,
      );
    hostAhead(ahead);
    const { key } = await create(300);
    await expect(oauth.shop.check('apiKey', key)).resolves.toMatchObject({ kind: 'apiKey' });
    await expect(create(-300)).rejects.toMatchObject({ code: 'invalid-input' });
  });

  it.each(bothWays)('a passkey and a code of an app work between clocks %d s and %d s ahead', async (first, second) => {
    const one = new FactorUser(oauth, client, await oauth.shop.register());
    const page = await one.ownFactors();
    hostAhead(first);
    const { key } = await one.addPasskey(page);
    jest.restoreAllMocks();
    const { secret } = await one.addApp(await one.reopen());
    const other = new FactorUser(oauth, client, one.user);
    hostAhead(first);
    const asked = await other.logIn();
    hostAhead(second);
    expect((await other.usePasskey(asked, key)).text).toContain('<strong>Garden planner</strong> to access your account?');
    const third = new FactorUser(oauth, client, one.user);
    hostAhead(first);
    const again = await third.logIn();
    // The app has the right time; the replica does not.
    const code = new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: trueTime() });
    hostAhead(second);
    expect((await third.typeCode(again, code)).text).toContain('<strong>Garden planner</strong> to access your account?');
  });
});
