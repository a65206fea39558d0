import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { identity } from '@plant-shop/contracts/identity';
import { type Browser, type BrowserPage, expectPage } from '@plant-shop/testing/browser';
import { until } from '@plant-shop/testing/until';
import { manager, TestIdentity } from '../identity.spec.fixture.js';
import { Mailbox } from '../mail/mail.spec.fixture.js';
import type { TestAuthenticator } from '../factors/authenticator.spec.fixture.js';
import { codesIn, FactorUser, optionsIn } from '../oauth/factors.spec.fixture.js';
import { issuer, TestOAuth } from '../oauth/oauth.spec.fixture.js';

type Person = Awaited<ReturnType<TestIdentity['registerAndLogin']>> & { readonly email: string };

const newPassword = 'quite-another-password';

describe('recovery of an account', () => {
  let oauth: TestOAuth;
  let shop: TestIdentity;
  let box: Mailbox;
  beforeAll(async () => {
    oauth = await TestOAuth.start();
    shop = oauth.shop;
    box = await Mailbox.start(shop.natsUrl);
  });
  afterEach(() => void jest.restoreAllMocks());
  afterAll(async () => {
    await box.stop();
    await shop.stop();
  });

  let networks = 0;
  /** Another client address for each request, unless a test is about one. */
  const newNetwork = (): string => `198.51.${Math.floor(networks / 250)}.${networks++ % 250}`;
  const newAddress = (): string => `${randomUUID()}@shop.test`;
  const verified = async (email = newAddress()): Promise<Person> => {
    const person = await shop.registerAndLogin();
    await shop.sql.query('UPDATE users SET email = $2 WHERE user_id = $1', [person.userId, email]);
    await shop.sql.query('UPDATE users SET email_verified_at = now() WHERE user_id = $1', [person.userId]);
    return { ...person, email };
  };
  const ask = (account: { email?: string; username?: string }, address = newNetwork()): Promise<{ sent: string }> => shop.call(identity.requestRecovery, { account, address });
  /** Asks a thousand times, a hundred at a time: a busy machine answers each of more than that too late. @returns what each got */
  const askThousandTimes = async (one: (n: number) => Promise<unknown>): Promise<string[]> => {
    const outcomes: string[] = [];
    let next = 0;
    const client = async (): Promise<void> => {
      while (next < 1_000) outcomes.push(await one(next++).then(() => 'sent', (error: unknown) => (error as { code: string }).code));
    };
    await Promise.all(Array.from({ length: 100 }, client));
    return outcomes;
  };
  /** Waits until all requests were handled and all mails sent. */
  const isQuiet = (): Promise<void> =>
    until(async () => (await shop.sql.query('SELECT 1 FROM recovery_requests UNION ALL SELECT 1 FROM mail_outbox')).rowCount === 0);
  const codeFor = async ({ email, username }: Person, nth = 1): Promise<string> => {
    await ask({ username });
    return box.code(email, 'recovery', nth);
  };
  const open = async (browser: Browser, code: string): Promise<BrowserPage> => expectPage(await browser.open(`/account/password?code=${code}`));
  const recover = async (code: string, { password = newPassword, button = 'action=set' } = {}): Promise<BrowserPage> => {
    const browser = oauth.browser();
    const page = await open(browser, code);
    return page.forms.length === 0 ? page : expectPage(await browser.submit(page, button, { password }));
  };
  const fails = { code: 'login-failed' };

  it('sets a new password by the link of a mail, once; ends sessions and grants, says so, and is audited (slow)', async () => {
    const person = await verified();
    const client = await oauth.register();
    const tokens = await oauth.tokens(client, person);
    const { key } = await shop.call(identity.createApiKey, { username: person.username, apiKey: { name: 'k' } }, person.principal);
    const code = await codeFor(person);
    expect(box.of(person.email, 'recovery')[0]).toMatchObject({ userId: person.userId, data: { username: person.username, minutes: '15', link: `http://shop.test/account/password?code=${code}` } });
    const page = await open(oauth.browser(), code);
    expect(page.text).toContain(`value="${person.username}"`);
    // The reader of the mail may be on another device.
    expect((await recover(code)).text).toMatch(/The password is set[^]*<a href="\/account">/);
    await expect(shop.login(person.username, person.password)).rejects.toMatchObject(fails);
    await expect(shop.login(person.username, newPassword)).resolves.toBeDefined();
    await expect(shop.check('session', person.token)).rejects.toMatchObject({ code: 'credential-refused' });
    await expect(shop.check('apiKey', key)).resolves.toBeDefined();
    await expect(oauth.refresh(client, tokens.refresh_token ?? '')).rejects.toThrow();
    await box.receive(person.email, 'password-changed');
    const used = await recover(code, { password: 'a-third-password' });
    expect([used.status, used.text]).toEqual([400, expect.stringContaining('This link does not work')]);
    await expect(shop.login(person.username, newPassword)).resolves.toBeDefined();
    const entries = await shop.call(identity.readAudit, { operation: 'identity.recoverAccount' });
    expect(entries.filter(({ target }) => target === person.userId)).toEqual([expect.objectContaining({ subject: person.userId, credentials: [{ kind: 'mailLink' }] })]);
  });

  it('ends API keys, too, if the user wants that (slow)', async () => {
    const person = await verified();
    const { key } = await shop.call(identity.createApiKey, { username: person.username, apiKey: { name: 'k' } }, person.principal);
    await recover(await codeFor(person), { button: 'action=set-and-end-keys' });
    await expect(shop.check('apiKey', key)).rejects.toMatchObject({ code: 'credential-refused' });
  });

  it('lets the user log in at once, after however many wrong passwords (slow)', async () => {
    const person = await verified();
    const guess = (): Promise<string> => shop.login(person.username, 'wrong-password').then(() => '', (error: unknown) => (error as { code: string }).code);
    for (let n = 0; n < 20; n++) await guess();
    expect(await guess()).toBe('too-many-logins');
    await recover(await codeFor(person));
    await expect(shop.login(person.username, newPassword)).resolves.toBeDefined();
  });

  describe('of an account with a second factor', () => {
    const withFactor = async (): Promise<{ person: Person; key: TestAuthenticator; codes: string[] }> => {
      const person = await verified();
      const one = new FactorUser(oauth, await oauth.register(), person);
      const { key, page } = await one.addPasskey(await one.ownFactors());
      return { person, key, codes: codesIn(page) };
    };
    const isSet = async ({ username }: Person): Promise<boolean> => (await shop.login(username, newPassword).catch((error: unknown) => (error as { code: string }).code)) === 'second-factor-required';

    it('needs that too, and the link works until then (slow)', async () => {
      const { person, key, codes } = await withFactor();
      const code = await codeFor(person);
      for (const typed of [{}, { factor: '000000' }, { factor: codes[0]?.replace(/.$/, '') ?? '' }]) {
        const browser = oauth.browser();
        const refused = expectPage(await browser.submit(await open(browser, code), 'action=set', { password: newPassword, ...typed }));
        expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('The second factor was refused')]);
      }
      expect(await isSet(person)).toBe(false);
      const other = oauth.browser();
      const page = await open(other, code);
      const foreign = key.get(optionsIn(await open(oauth.browser(), code)));
      expect(expectPage(await other.submit(page, 'action=set', { password: newPassword, credential: foreign })).status).toBe(400);
      const done = expectPage(await other.submit(page, 'action=set', { password: newPassword, credential: key.get(optionsIn(page)) }));
      expect(done.text).toContain('The password is set');
      expect(await isSet(person)).toBe(true);
    });

    it('takes a recovery code', async () => {
      const { person, codes } = await withFactor();
      const browser = oauth.browser();
      const done = expectPage(await browser.submit(await open(browser, await codeFor(person)), 'action=set', { password: newPassword, factor: codes[3] ?? '' }));
      expect(done.text).toContain('The password is set');
      const { data } = await box.receive(person.email, 'recovery-code-used');
      expect(data).toMatchObject({ username: person.username, codesLeft: '9', network: expect.any(String), at: expect.any(String) });
    });
  });

  it('takes only passwords that others may have, and then still works', async () => {
    const person = await verified();
    const code = await codeFor(person);
    const browser = oauth.browser();
    const refused = expectPage(await browser.submit(await open(browser, code), 'action=set', { password: 'short' }));
    expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('The password must have at least 8 characters.')]);
    expect(refused.text).toMatch(/role="alert"/);
    expect(expectPage(await browser.submit(refused, 'action=set', { password: newPassword })).text).toContain('The password is set');
  });

  it('finds the account by name and by address, regardless of case, and all accounts of an address', async () => {
    const person = await verified(`o'neill+${randomUUID()}@shop.test`);
    const other = await verified(person.email.toUpperCase());
    await ask({ username: person.username.toUpperCase() });
    await box.receive(person.email, 'recovery');
    await ask({ email: person.email.toUpperCase() });
    await box.receive(person.email, 'recovery', 2);
    // To the address as the account has it.
    await box.receive(other.email, 'recovery');
    expect(await recover(await box.code(person.email, 'recovery', 2))).toMatchObject({ status: 200 });
  });

  it('answers the same for every name and address, and mails none but verified ones', async () => {
    const unverified = newAddress();
    const { username } = await shop.register({ email: unverified });
    const person = await verified();
    const answers = await Promise.all([ask({ username }), ask({ email: unverified }), ask({ username: 'nobody-at-all' }), ask({ email: 'nobody@shop.test' }), ask({ email: 'no address' }), ask({ username: person.username }),
      ...['"quoted"@shop.test', 'änne@plänts.test', `${person.email}\r\nBcc: eve@shop.test`, `${person.email},eve@shop.test`].map((email) => ask({ email }))]);
    expect(new Set(answers.map((one) => JSON.stringify(one))).size).toBe(1);
    await box.receive(person.email, 'recovery');
    await isQuiet();
    expect(box.mails.filter(({ kind, userId }) => kind === 'recovery' && userId === person.userId)).toHaveLength(1);
    expect(box.of(unverified).map(({ kind }) => kind)).toEqual(['verify-address']);
    for (const bad of [{}, { username, email: unverified }]) await expect(ask(bad)).rejects.toMatchObject({ code: 'invalid-input' });
  });

  it('does the same work in the request whether there is such an account or not (slow)', async () => {
    // With the loop stopped, a request leaves what it asked, and touches nothing that depends on accounts.
    const quiet = await TestIdentity.start({}, { mailIntervalMs: 3_600_000 });
    const email = newAddress();
    const { username } = await quiet.register({ email });
    await quiet.sql.query('UPDATE users SET email_verified_at = now()');
    const leaves = async (account: { username?: string; email?: string }): Promise<unknown> => {
      await quiet.sql.query('DELETE FROM recovery_requests');
      await quiet.sql.query('DELETE FROM mail_outbox');
      await quiet.sql.query('DELETE FROM one_time_links');
      await quiet.call(identity.requestRecovery, { account, address: newNetwork() });
      const { rows } = await quiet.sql.query(
        `SELECT (SELECT count(*) FROM recovery_requests)::int AS requests, (SELECT count(*) FROM mail_outbox)::int AS mails, (SELECT count(*) FROM one_time_links)::int AS links`,
      );
      return rows[0];
    };
    const nothingElse = { requests: 1, mails: 0, links: 0 };
    for (const account of [{ username }, { email }, { username: 'nobody-at-all' }, { email: 'nobody@shop.test' }]) expect(await leaves(account)).toEqual(nothingElse);
    await quiet.stop();
  });

  it.each(['expired', 'altered', 'of another purpose', 'empty', 'of a former password', 'of a former address', 'of an address that is unverified again'])(
    'refuses a link that is %s, with one page for all reasons, and hashes nothing',
    async (fault) => {
      const person = await verified();
      let code = await codeFor(person);
      const own = { username: person.username };
      if (fault === 'expired') await shop.sql.query('UPDATE one_time_links SET expires_at = now() WHERE user_id = $1', [person.userId]);
      if (fault === 'altered') code = `${code.startsWith('A') ? 'B' : 'A'}${code.slice(1)}`;
      if (fault === 'of another purpose') await shop.sql.query(`UPDATE one_time_links SET purpose = 'verify-address' WHERE user_id = $1`, [person.userId]);
      if (fault === 'empty') code = '';
      if (fault === 'of a former password') await shop.call(identity.updateUser, { ...own, user: { password: 'changed-by-oneself' } }, person.principal);
      if (fault === 'of a former address') await shop.call(identity.updateUser, { ...own, user: { email: newAddress() } }, person.principal);
      if (fault === 'of an address that is unverified again') await shop.sql.query('UPDATE users SET email_verified_at = NULL WHERE user_id = $1', [person.userId]);
      const shown = await open(oauth.browser(), code);
      expect([shown.status, shown.forms]).toEqual([400, []]);
      expect(shown.text).toContain('<a href="/account/recovery">Ask for another link</a>');
      expect(shown.text).not.toContain(person.username);
      // Also if the form is sent without its page.
      const browser = oauth.browser();
      const form = await open(browser, await codeFor(await verified()));
      const sent = expectPage(await browser.submit(form, 'action=set', { code, password: newPassword }));
      expect([sent.status, sent.text.replace('<span data-loads-as="/account/password"></span>', '')]).toEqual([400, shown.text]);
      await expect(shop.login(person.username, newPassword)).rejects.toMatchObject(fails);
    },
  );

  it('sets the password of the account that the link is for, whatever the form says', async () => {
    const [person, other] = [await verified(), await verified()];
    const browser = oauth.browser();
    const page = await open(browser, await codeFor(person));
    await browser.submit(page, 'action=set', { username: other.username, password: newPassword });
    await expect(shop.login(other.username, newPassword)).rejects.toMatchObject(fails);
    await expect(shop.login(person.username, newPassword)).resolves.toBeDefined();
  });

  it('lets one of two concurrent uses of a link set the password', async () => {
    const person = await verified();
    const code = await codeFor(person);
    const passwords = ['the-first-of-two', 'the-second-of-two'];
    const answers = await Promise.all(passwords.map((password) => recover(code, { password })));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400]);
  });

  it('answers a form that its browser sends twice with what the first one did: only the second answer is shown', async () => {
    const person = await verified();
    const code = await codeFor(person);
    const browser = oauth.browser();
    const page = await open(browser, code);
    const press = async (button = 'action=set', password = newPassword): Promise<string> => expectPage(await browser.submit(page, button, { password })).text;
    const done = expect.stringContaining('The password is set');
    // At the same time, and again from the page to which "back" leads.
    expect([...(await Promise.all([press(), press()])), await press()]).toEqual([done, done, done]);
    for (const other of [press('action=set', 'another-good-password'), press('action=set-and-end-keys')]) expect(await other).toContain('This link does not work');
    const elsewhere = oauth.browser();
    const foreign = await open(elsewhere, await codeFor(await verified()));
    expect(expectPage(await elsewhere.submit(foreign, 'action=set', { code, password: newPassword })).status).toBe(400);
    await isQuiet();
    expect(box.of(person.email, 'password-changed')).toHaveLength(1);
  });

  it('judges links by the clock of the database, whatever that of the host says', async () => {
    const person = await verified();
    const code = await codeFor(person);
    const now = Date.now.bind(Date);
    for (const seconds of [-600, 600]) {
      jest.spyOn(Date, 'now').mockImplementation(() => now() + seconds * 1_000);
      expect((await open(oauth.browser(), code)).forms).toHaveLength(1);
      jest.restoreAllMocks();
    }
    await shop.sql.query(`UPDATE one_time_links SET expires_at = expires_at - interval '15 minutes' WHERE user_id = $1`, [person.userId]);
    jest.spyOn(Date, 'now').mockImplementation(() => now() - 600_000);
    expect((await open(oauth.browser(), code)).forms).toEqual([]);
  });

  it('sends one account a few mails, whoever asks, and leaves the links before them alone (slow)', async () => {
    const person = await verified();
    const first = await codeFor(person);
    const outcomes = await askThousandTimes(() => ask({ username: person.username }));
    expect(outcomes.filter((one) => one === 'sent')).toHaveLength(4);
    expect(new Set(outcomes)).toEqual(new Set(['sent', 'too-many-mails']));
    // Its address counts apart, but the account has ten links at most.
    for (let n = 0; n < 5; n++) await ask({ email: person.email });
    await isQuiet();
    expect(box.of(person.email, 'recovery').length).toBeLessThanOrEqual(10);
    expect((await recover(first)).status).toBe(200);
  });

  it('refuses mails beyond the limit without waiting for the counts, which a flood would queue for', async () => {
    const person = await verified();
    for (let n = 0; n < 5; n++) await ask({ username: person.username });
    const locker = await shop.sql.connect();
    try {
      await locker.query('BEGIN');
      await locker.query('SELECT 1 FROM login_failures FOR UPDATE');
      const outcomes = await Promise.all(Array.from({ length: 50 }, () => ask({ username: person.username }).then(() => 'sent', (error: unknown) => (error as { code: string }).code)));
      expect(new Set(outcomes)).toEqual(new Set(['too-many-mails']));
    } finally {
      await locker.query('ROLLBACK');
      locker.release();
    }
  });

  it('lets one network ask for a few accounts, and stores no more than it handles (slow)', async () => {
    const network = '203.0.113.9';
    const outcomes = await askThousandTimes((n) => ask({ email: `${n}@nowhere.test` }, network));
    expect(outcomes.filter((one) => one === 'sent')).toHaveLength(50);
    await isQuiet();
    const counted = await shop.sql.query('SELECT 1 FROM login_failures');
    // A refused request counts nothing.
    expect(counted.rowCount).toBeLessThan(500);
  });

  it('does not answer a request that waited too long', async () => {
    const person = await verified();
    await shop.sql.query(`ALTER TABLE recovery_requests ALTER requested_at SET DEFAULT now() - interval '16 minutes'`);
    try {
      await ask({ username: person.username });
      await isQuiet();
      expect(box.of(person.email)).toEqual([]);
    } finally {
      await shop.sql.query('ALTER TABLE recovery_requests ALTER requested_at SET DEFAULT now()');
    }
    await ask({ username: person.username });
    await box.receive(person.email, 'recovery');
  });

  it('drops a request that cannot be decrypted, which holds up no other', async () => {
    const person = await verified();
    await shop.sql.query(`INSERT INTO recovery_requests (asked, key_id) VALUES ('x', 'lost')`);
    await ask({ username: person.username });
    await box.receive(person.email, 'recovery');
    await isQuiet();
  });

  it('is asked for on a page, which tells nothing about accounts', async () => {
    const person = await verified();
    const texts = [];
    for (const account of [person.username, person.email, 'nobody-at-all']) {
      const browser = oauth.browser();
      const page = expectPage(await browser.open('/account/recovery'));
      texts.push(expectPage(await browser.submit(page, 'action=send', { account })).text);
    }
    expect(new Set(texts).size).toBe(1);
    expect(texts[0]).toContain('15 minutes');
    await box.receive(person.email, 'recovery', 2);
    const browser = oauth.browser();
    const empty = expectPage(await browser.submit(expectPage(await browser.open('/account/recovery')), 'action=send', { account: ' ' }));
    expect([empty.status, empty.text]).toEqual([400, expect.stringContaining('role="alert"')]);
    for (let n = 0; n < 5; n++) await ask({ username: 'nobody-else' });
    const many = expectPage(await browser.submit(empty, 'action=send', { account: 'nobody-else' }));
    expect([many.status, Number(many.headers.get('retry-after')), many.text]).toEqual([429, expect.any(Number), expect.stringMatching(/or ask again in \d+ minutes?\./)]);
  });

  describe('refuses a form', () => {
    const send = async (browser: Browser, page: BrowserPage, fields: Record<string, string>, headers = {}): Promise<number> => {
      const { action, fields: own } = page.forms[0]!;
      return (await browser.send('POST', action, { body: new URLSearchParams({ ...own, ...fields }), headers })).status;
    };

    it.each(['/account/recovery', '/account/password', '/account/email'])('of %s from another origin, browser or page', async (path) => {
      const person = await verified();
      await shop.sql.query(`UPDATE users SET email_verified_at = NULL WHERE user_id = $1`, [person.userId]);
      await shop.call(identity.sendEmailVerification, { username: person.username, address: newNetwork() }, manager);
      const code = path === '/account/password' ? await codeFor(await verified()) : await box.code(person.email, 'verify-address');
      const browser = oauth.browser();
      const page = expectPage(await browser.open(`${path}?code=${code}`));
      const fields = { account: person.username, password: newPassword };
      expect(await send(browser, page, fields, { origin: 'https://evil.example' })).toBe(403);
      expect(await send(browser, page, fields, { 'sec-fetch-site': 'cross-site' })).toBe(403);
      const refused = await browser.send('POST', path, { body: new URLSearchParams(page.forms[0]?.fields), headers: { origin: oauth.servedAt } });
      expect(await refused.text()).toContain(`not sent from a page of ${issuer}.`);
      expect(await send(oauth.browser(), page, fields)).toBe(403);
      expect(await send(browser, page, { ...fields, proof: 'x'.repeat(43) })).toBe(403);
      const elsewhere = oauth.browser();
      await elsewhere.open('/account/recovery');
      expect(await send(elsewhere, page, fields)).toBe(403);
      expect(await send(browser, page, fields)).toBe(200);
    });
  });

  it('has pages with no script but the shop\'s own, and with labels, that are stored nowhere', async () => {
    const code = await codeFor(await verified());
    for (const path of ['/account/recovery', `/account/password?code=${code}`, '/account/password?code=x', '/account/email?code=x']) {
      const { text, headers } = expectPage(await oauth.browser().open(path));
      expect(text.match(/<h1>/g)).toHaveLength(1);
      expect(text).not.toMatch(/<script(?! src="http:\/\/shop\.test\/oauth\/passkey\.js" integrity)|javascript:|\son\w+=|style="|https?:\/\/(?!shop\.test\/oauth\/passkey\.js)/);
      for (const [, id] of text.matchAll(/<input id="(\w+)"/g)) expect(text).toContain(`<label for="${id}">`);
      expect(headers.get('content-security-policy')).toMatch(/^default-src 'none'; script-src http:\/\/shop\.test\/oauth\/passkey\.js; style-src 'sha256-[\w+/]{43}='; form-action 'self'; /);
      expect(headers.get('cache-control')).toBe('no-store');
      for (const cookie of headers.getSetCookie()) expect(cookie).toMatch(/^plant_shop_form=[\w-]{43}; path=\/; samesite=lax; httponly$/i);
    }
  });

  it('shows names as text', async () => {
    const browser = oauth.browser();
    const page = expectPage(await browser.open('/account/password?code="><img src=x>'));
    expect(page.text).not.toContain('<img');
    const evil = await verified(`x'"<b>@shop.test`);
    await ask({ username: evil.username });
    await isQuiet();
    // What is no address gets no mail, even if the database says that it is verified.
    expect(box.mails.filter(({ userId }) => userId === evil.userId)).toEqual([]);
  });
});
