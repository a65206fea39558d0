import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { identity } from '@plant-shop/contracts/identity';
import { permissionsOfRole } from '@plant-shop/contracts/permissions';
import { type BrowserPage, expectPage, expectRedirect } from '@plant-shop/testing/browser';
import { until } from '@plant-shop/testing/until';
import { decodeJwt } from 'jose';
import { type Behaviour, TestAuthenticator } from '../factors/authenticator.spec.fixture.js';
import { codeOf, codesIn, FactorUser, optionsIn, secretIn } from './factors.spec.fixture.js';
import { issuer, TestOAuth } from './oauth.spec.fixture.js';

const consent = 'Allow <strong>Garden planner</strong>';
const asked = '<h1>Your second factor</h1>';

describe('second factors', () => {
  let oauth: TestOAuth;
  let client: Awaited<ReturnType<TestOAuth['register']>>;
  beforeAll(async () => {
    oauth = await TestOAuth.start();
    client = await oauth.register();
  });
  afterEach(() => void jest.restoreAllMocks());
  afterAll(() => oauth.shop.stop());

  const person = async (): Promise<FactorUser> => new FactorUser(oauth, client, await oauth.shop.register());
  /** The same user with another browser. */
  const elsewhere = (one: FactorUser): FactorUser => new FactorUser(oauth, client, one.user);
  const withPasskey = async (key?: TestAuthenticator): Promise<{ one: FactorUser; key: TestAuthenticator; codes: string[] }> => {
    const one = await person();
    const added = await one.addPasskey(await one.ownFactors(), key);
    return { one: elsewhere(one), key: added.key, codes: codesIn(added.page) };
  };
  const withApp = async (): Promise<{ one: FactorUser; secret: string; codes: string[] }> => {
    const one = await person();
    const { secret, page } = await one.addApp(await one.ownFactors());
    return { one: elsewhere(one), secret, codes: codesIn(page) };
  };
  const audited = async (operation: string): Promise<string[]> =>
    (await oauth.shop.sql.query<{ target: string }>('SELECT target FROM audit_log WHERE operation = $1', [operation])).rows.map(({ target }) => target);
  const userIdOf = async ({ user: { username } }: FactorUser): Promise<string> =>
    (await oauth.shop.sql.query<{ id: string }>('SELECT user_id AS id FROM users WHERE username = $1', [username])).rows[0]!.id;
  /** Verifies an address, so that the user is told what happens to the account. @returns the kinds of mails from now on */
  const toldTo = async (one: FactorUser): Promise<() => Promise<string[]>> => {
    const userId = await userIdOf(one);
    await oauth.shop.sql.query('UPDATE users SET email = $2 WHERE user_id = $1', [userId, `${userId}@shop.test`]);
    await oauth.shop.sql.query('UPDATE users SET email_verified_at = now() WHERE user_id = $1', [userId]);
    return async () => (await oauth.shop.sql.query<{ kind: string }>('SELECT kind FROM mail_outbox WHERE user_id = $1 ORDER BY position', [userId])).rows.map(({ kind }) => kind);
  };
  /** Allows, and returns the claims of the ID token. */
  const claims = async (one: FactorUser, logIn: (page: BrowserPage) => Promise<BrowserPage>): Promise<Record<string, unknown>> => {
    const request = await oauth.request(client, { scope: 'openid write:orders' });
    const page = await logIn(expectPage(await one.browser.open(request.url)));
    const tokens = await oauth.redeem(client, request, expectRedirect(await one.browser.submit(page, 'action=allow')));
    return decodeJwt(tokens.id_token ?? '');
  };
  const typed = ({ user: { username, password } }: FactorUser): Record<string, string> => ({ username, password });

  describe('a passkey', () => {
    it('is asked for after the password, and named in the ID token (slow)', async () => {
      const { one, key } = await withPasskey();
      const found = await claims(one, async (page) => {
        const second = expectPage(await one.browser.submit(page, 'action=login', typed(one)));
        expect(second.text).toContain(asked);
        return one.usePasskey(second, key);
      });
      expect(found).toMatchObject({ acr: 'urn:plant-shop:acr:two-factors', amr: ['pwd', 'hwk', 'mfa'], auth_time: expect.any(Number) });
    });

    it('is enough alone, if the authenticator verifies its user (slow)', async () => {
      const { one, key } = await withPasskey(new TestAuthenticator(issuer, undefined, true));
      const found = await claims(one, async (page) => one.usePasskey(expectPage(await one.browser.open(`${page.url}/passkey`)), key));
      expect(found).toMatchObject({ acr: 'urn:plant-shop:acr:two-factors', amr: ['swk', 'user', 'mfa'] });
    });

    it('is locked and audited when its counter goes back, and its user is told (slow)', async () => {
      const { one, key } = await withPasskey();
      const told = await toldTo(one);
      expect((await one.usePasskey(await one.passkeyPage(), key)).text).toContain(consent);
      key.counter = 0;
      const copy = elsewhere(one);
      expect((await copy.usePasskey(await copy.passkeyPage(), key)).status).toBe(401);
      const { rows } = await oauth.shop.sql.query<{ id: string; userId: string; locked: boolean }>(
        'SELECT id, user_id AS "userId", locked_at IS NOT NULL AS locked FROM factors WHERE credential_id = $1',
        [key.id],
      );
      expect(rows).toMatchObject([{ locked: true }]);
      expect(await audited('identity.lockPasskey')).toContain(`${rows[0]?.userId}/${rows[0]?.id}`);
      key.counter = 1_000;
      expect((await copy.usePasskey(await copy.passkeyPage(), key)).status).toBe(401);
      expect(await told()).toEqual(['passkey-locked']);
      // It still counts as a factor: the password alone is not enough.
      expect((await elsewhere(one).logIn()).text).toContain(asked);
    });

    it.each([
      ['for another origin', { origin: 'https://shop.test.evil.example' }],
      ['without user verification', { isVerified: false }],
      ['with the handle of another user', { userHandle: Buffer.alloc(16, 7).toString('base64url') }],
    ])('is refused %s (slow)', async (_, behaviour) => {
      const { one, key } = await withPasskey();
      expect((await one.usePasskey(await one.passkeyPage(), key, behaviour)).status).toBe(401);
      expect((await one.usePasskey(await one.logIn(), key, behaviour)).status).toBe(401);
    });

    it('is refused twice, late, in another browser, and for another user (slow)', async () => {
      const { one, key } = await withPasskey();
      const page = await one.passkeyPage();
      const credential = key.get(optionsIn(page));
      expect((await one.usePasskey(page, key, { isVerified: false })).status).toBe(401);
      expect(expectPage(await one.browser.submit(page, '=', { credential })).status).toBe(401);
      const late = await one.passkeyPage();
      await oauth.shop.sql.query(`UPDATE passkey_challenges SET expires_at = expires_at - interval '5 minutes'`);
      expect((await one.usePasskey(late, key)).status).toBe(401);
      const other = elsewhere(one);
      const foreign = key.get(optionsIn(await one.passkeyPage()));
      expect(expectPage(await other.browser.submit(await other.passkeyPage(), '=', { credential: foreign })).status).toBe(401);
      const { one: stranger } = await withPasskey();
      expect((await stranger.usePasskey(await stranger.logIn(), key)).status).toBe(401);
    });

    it('is not added for another origin or without user verification (slow)', async () => {
      for (const behaviour of [{ origin: 'https://evil.example' }, { isVerified: false }]) {
        const one = await person();
        const { page } = await one.addPasskey(await one.ownFactors(), new TestAuthenticator(issuer), behaviour);
        expect(page.status).toBe(400);
        expect((await elsewhere(one).logIn()).text).toContain(consent);
      }
    });
  });

  describe('a code of an app', () => {
    it('is accepted once, also of the step before or after (slow)', async () => {
      const { one, secret } = await withApp();
      // So that the step does not change between a code and its check.
      await until(() => Date.now() % 30_000 < 22_000);
      expect(await claims(one, async (page) => one.typeCode(expectPage(await one.browser.submit(page, 'action=login', typed(one))), codeOf(secret)))).toMatchObject({ amr: ['pwd', 'otp', 'mfa'] });
      const again = elsewhere(one);
      const page = await again.logIn();
      expect((await again.typeCode(page, codeOf(secret))).status).toBe(401);
      expect((await again.typeCode(page, codeOf(secret, -1))).status).toBe(401);
      expect((await again.typeCode(page, codeOf(secret, 3))).status).toBe(401);
      expect((await again.typeCode(page, codeOf(secret, 1))).text).toContain(consent);
      const { one: other, secret: another } = await withApp();
      await until(() => Date.now() % 30_000 < 22_000);
      expect((await other.typeCode(await other.logIn(), codeOf(another, -2))).status).toBe(401);
      expect((await other.typeCode(await other.logIn(), codeOf(another, -1))).text).toContain(consent);
    });

    it('that is sent twice logs in: the browser shows only the second answer', async () => {
      const { one, secret } = await withApp();
      const page = await one.logIn();
      const { action, fields } = page.forms[0]!;
      // Its answer is lost.
      await one.browser.send('POST', action, { body: new URLSearchParams({ ...fields, code: codeOf(secret), action: 'code' }) });
      expect((await one.typeCode(page, codeOf(secret))).text).toContain(consent);
    });

    it('may be wrong five times, whatever the password (slow)', async () => {
      const { one, secret } = await withApp();
      for (let n = 0; n < 5; n++) expect((await one.typeCode(await one.logIn(), '000000')).status).toBe(401);
      const page = await one.typeCode(await one.logIn(), codeOf(secret));
      expect(page.status).toBe(429);
      const seconds = Number(page.headers.get('retry-after'));
      expect(seconds).toBeGreaterThan(600);
      expect(page.text).toContain(`Too many failed logins. Try again in ${Math.ceil(seconds / 60)} minutes.`);
    });

    it('is checked before the app is added, whose secret is stored encrypted', async () => {
      const one = await person();
      const page = await one.ownFactors();
      const secret = secretIn(page);
      const wrong = expectPage(await one.browser.submit(page, 'action=add-app', { code: '000000', name: 'Phone' }));
      expect(wrong.status).toBe(400);
      expect(secretIn(wrong)).toBe(secret);
      await one.addApp(wrong);
      const { rows } = await oauth.shop.sql.query<{ secret: Buffer }>('SELECT secret FROM factors WHERE secret IS NOT NULL');
      expect(rows.map((row) => row.secret.toString('latin1')).join()).not.toContain(secret);
    });
  });

  it('show recovery codes that work, if the form that adds an app is sent twice', async () => {
    const one = await person();
    const page = await one.ownFactors();
    // Its answer is lost.
    const { secret } = await one.addApp(page);
    const again = expectPage(await one.browser.submit(page, 'action=add-app', { code: codeOf(secret), name: 'Phone' }));
    expect(codesIn(again)).toHaveLength(10);
    const other = elsewhere(one);
    expect((await other.typeCode(await other.logIn(), codesIn(again)[0] ?? '')).text).toContain(consent);
  });

  describe('a recovery code', () => {
    it('replaces the second factor once, regardless of case and spaces, and its user is told', async () => {
      const { one, codes } = await withPasskey();
      const told = await toldTo(one);
      expect(codes).toHaveLength(10);
      expect(new Set(codes).size).toBe(10);
      expect((await one.typeCode(await one.logIn(), ` ${codes[0]?.toLowerCase().replaceAll('-', ' ')}`)).text).toContain(consent);
      const again = elsewhere(one);
      expect((await again.typeCode(await again.logIn(), codes[0] ?? '')).status).toBe(401);
      expect((await again.typeCode(await again.logIn(), codes[1] ?? '')).text).toContain(consent);
      expect(await told()).toEqual(['recovery-code-used', 'recovery-code-used']);
    });

    it('ends when new ones are made', async () => {
      const { one, secret, codes } = await withApp();
      await one.typeCode(await one.logIn(), codeOf(secret));
      const page = expectPage(await one.browser.submit(await one.reopen(), 'action=new-codes'));
      expect(codesIn(page)).toHaveLength(10);
      const again = elsewhere(one);
      expect((await again.typeCode(await again.logIn(), codes[0] ?? '')).status).toBe(401);
      expect((await again.typeCode(await again.logIn(), codesIn(page)[0] ?? '')).text).toContain(consent);
    });
  });

  describe('a passkey that a program of the browser exchanges for a code', () => {
    const exchange = async ({ browser }: FactorUser, key: TestAuthenticator, behaviour: Behaviour = {}, by = browser, headers = {}): Promise<Response> => {
      const { proof, options } = (await (await browser.send('GET', '/account/passkey')).json()) as { proof: string; options: { challenge: string; rpId: string } };
      return by.send('POST', '/account/passkey', { body: new URLSearchParams({ proof, credential: key.get(options, behaviour) }), headers });
    };
    const codeOfPasskey = async (one: FactorUser, key: TestAuthenticator): Promise<string> => ((await (await exchange(one, key)).json()) as { code: string }).code;
    /** Makes a key with an access token. */
    const makeKey = async (one: FactorUser, currentCode: string): Promise<unknown> => {
      const principal = { subject: await userIdOf(one), permissions: permissionsOfRole.admin, shown: ['accessToken'], shownIds: ['plant-console'] };
      return oauth.shop.call(identity.createApiKey, { username: one.user.username, apiKey: { name: 'k', currentCode } }, principal);
    };
    const refusal = { code: 'recent-login-required' };

    it('makes one sensitive change of its user possible, without the password', async () => {
      const { one, key } = await withPasskey();
      const { one: other } = await withPasskey();
      const code = await codeOfPasskey(one, key);
      await expect(makeKey(other, code)).rejects.toMatchObject(refusal);
      await expect(makeKey(one, code)).rejects.toMatchObject(refusal);
      const next = await codeOfPasskey(one, key);
      await expect(makeKey(one, next)).resolves.toBeDefined();
      await expect(makeKey(one, next)).rejects.toMatchObject(refusal);
      const late = await codeOfPasskey(one, key);
      await oauth.shop.sql.query(`UPDATE passkey_challenges SET expires_at = expires_at - interval '5 minutes'`);
      await expect(makeKey(one, late)).rejects.toMatchObject(refusal);
    });

    it('is refused without user verification, for another origin, in another browser, and from another site', async () => {
      const { one, key } = await withPasskey();
      for (const behaviour of [{ isVerified: false }, { origin: 'https://evil.example' }]) expect((await exchange(one, key, behaviour)).status).toBe(401);
      const { one: other } = await withPasskey();
      await other.browser.send('GET', '/account/passkey');
      expect((await exchange(one, key, {}, other.browser)).status).toBe(403);
      for (const headers of [{ origin: 'https://evil.example' }, { 'sec-fetch-site': 'cross-site' }]) expect((await exchange(one, key, {}, one.browser, headers)).status).toBe(403);
      expect((await exchange(one, key)).status).toBe(200);
    });
  });

  it.each([-600, 600])('are judged by the clock of the database, also if that of the host is %i s off (slow)', async (seconds) => {
    const [{ one: first, key }, { one: second, secret }] = [await withPasskey(), await withApp()];
    await until(() => Date.now() % 30_000 < 22_000);
    const [code, early] = [codeOf(secret), codeOf(secret, seconds / 30)];
    const now = Date.now.bind(Date);
    jest.spyOn(Date, 'now').mockImplementation(() => now() + seconds * 1_000);
    expect((await first.usePasskey(await first.passkeyPage(), key)).text).toContain(consent);
    expect((await second.typeCode(await second.logIn(), early)).status).toBe(401);
    expect((await second.typeCode(await second.logIn(), code)).text).toContain(consent);
  });

  it('cannot be left out by going on from the password', async () => {
    const { one } = await withApp();
    const page = await one.logIn();
    const resumed = expectPage(await one.browser.open(page.url.replace('/interaction/', '/authorize/').replace('/factor', '')));
    expect(resumed.text).toContain('<h1>Log in to the plant shop</h1>');
    expect((await one.reopen()).status).toBe(401);
  });

  it('are asked for again with prompt=login and max_age (slow)', async () => {
    const { one, secret } = await withApp();
    expect((await one.typeCode(await one.logIn(), codeOf(secret))).text).toContain(consent);
    for (const changed of [{ prompt: 'login' }, { max_age: '0', scope: 'openid write:orders' }]) {
      const page = expectPage(await one.browser.submit(await one.open(changed), 'action=login', typed(one)));
      expect(page.text).toContain(asked);
    }
  });

  it('end the log-in by the API, after the right password only', async () => {
    const { one } = await withApp();
    const { username, password } = one.user;
    await expect(oauth.shop.login(username, password)).rejects.toMatchObject({ code: 'second-factor-required', message: expect.stringContaining(`${issuer}/console`) });
    await expect(oauth.shop.login(username, 'wrong-password')).rejects.toMatchObject({ code: 'login-failed' });
    const { username: other, password: others } = await oauth.shop.register();
    await expect(oauth.shop.login(other, others)).resolves.toBeDefined();
  });

  it('have copies that are counted from 0, so that an alert sees the first one', async () => {
    const { service } = await oauth.shop.addReplica();
    expect(await service.metrics.metrics()).toContain('identity_passkeys_refused_total{reason="counter",service="identity"} 0\n');
  });

  it('need the script of the pages', async () => {
    const { one, key } = await withPasskey();
    const login = await one.open();
    const page = expectPage(await one.browser.open(`${login.url}/passkey`));
    expect(page.headers.get('content-security-policy')).toMatch(/^default-src 'none'; script-src http:\/\/shop\.test\/oauth\/passkey\.js; style-src 'sha256-[\w+/]{43}='; /);
    const [, address = '', hash = ''] = /<script src="([^"]+)" integrity="([^"]+)"/.exec(page.text) ?? [];
    const script = await one.browser.send('GET', address);
    const digest = await crypto.subtle.digest('SHA-256', await script.arrayBuffer());
    expect(`sha256-${Buffer.from(digest).toString('base64')}`).toBe(hash);
    expect(script.headers.get('content-type')).toContain('javascript');
    expect((await one.usePasskey(page, key)).text).toContain(consent);
  });
});

describe('with REQUIRE_SECOND_FACTOR=staff', () => {
  let oauth: TestOAuth;
  let client: Awaited<ReturnType<TestOAuth['register']>>;
  beforeAll(async () => {
    oauth = await TestOAuth.start({ requireSecondFactor: 'staff' });
    client = await oauth.register();
  });
  afterAll(() => oauth.shop.stop());

  const staff = async (): Promise<FactorUser> => {
    const user = await oauth.shop.register();
    await oauth.shop.sql.query(`UPDATE users SET role = 'staff' WHERE username = $1`, [user.username]);
    return new FactorUser(oauth, client, user);
  };

  it.each(['a passkey', 'an app'])('staff add %s before they get in', async (what) => {
    const one = await staff();
    const enrol = await one.logIn();
    expect(enrol.text).toContain('<h1>Add a second factor</h1>');
    expect((await one.reopen()).status).toBe(401);
    const { page } = what === 'an app' ? await one.addApp(enrol) : await one.addPasskey(enrol);
    expect(codesIn(page)).toHaveLength(10);
    expect((await one.reopen()).status).toBe(401);
    expect(expectPage(await one.browser.submit(page, 'action=continue')).text).toContain(consent);
    expect((await new FactorUser(oauth, client, one.user).logIn()).text).toContain(asked);
  });

  it('staff see recovery codes, and get in, if the form that adds an app is sent twice', async () => {
    const one = await staff();
    const enrol = await one.logIn();
    await one.addApp(enrol);
    const { page } = await one.addApp(enrol);
    expect(codesIn(page)).toHaveLength(10);
    expect(expectPage(await one.browser.submit(page, 'action=continue')).text).toContain(consent);
  });

  it('who knows only the password cannot add another factor', async () => {
    const one = await staff();
    const thief = new FactorUser(oauth, client, one.user);
    const page = await thief.logIn();
    await one.addApp(await one.logIn());
    const { page: answer } = await thief.addPasskey(page);
    expect(answer.text).not.toContain('recovery codes</h1>');
    expect((await oauth.shop.sql.query('SELECT 1 FROM factors JOIN users USING (user_id) WHERE username = $1', [one.user.username])).rowCount).toBe(1);
  });

  it('staff without one cannot log in by the API; their keys work, and customers log in', async () => {
    const one = await staff();
    const { username, password } = one.user;
    await expect(oauth.shop.login(username, password)).rejects.toMatchObject({ code: 'second-factor-required', message: expect.stringContaining('staff') });
    await expect(oauth.shop.login(username, 'wrong-password')).rejects.toMatchObject({ code: 'login-failed' });
    const customer = await oauth.shop.registerAndLogin();
    const { key } = (await oauth.shop.call(identity.createApiKey, { username: customer.username, apiKey: { name: 'k' } }, customer.principal));
    await oauth.shop.sql.query(`UPDATE users SET role = 'staff' WHERE user_id = $1`, [customer.userId]);
    await expect(oauth.shop.check('apiKey', key)).resolves.toBeDefined();
  });
});
