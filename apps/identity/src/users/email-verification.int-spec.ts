import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { identity, type User } from '@plant-shop/contracts/identity';
import { until } from '@plant-shop/testing/until';
import { manager, TestIdentity } from '../identity.spec.fixture.js';
import { Mailbox } from '../mail/mail.spec.fixture.js';
import { expectPage } from '@plant-shop/testing/browser';
import { TestOAuth } from '../oauth/oauth.spec.fixture.js';

const newAddress = (): string => `${randomUUID()}@shop.test`;

describe('e-mail addresses', () => {
  let oauth: TestOAuth;
  let shop: TestIdentity;
  let box: Mailbox;
  beforeAll(async () => {
    oauth = await TestOAuth.start();
    shop = oauth.shop;
    box = await Mailbox.start(shop.natsUrl);
  });
  afterAll(async () => {
    await box.stop();
    await shop.stop();
  });

  const profile = (username: string): Promise<User> => shop.call(identity.getUser, { username }, manager);
  const outboxIsEmpty = (): Promise<void> => until(async () => ((await shop.sql.query('SELECT 1 FROM mail_outbox')).rowCount ?? 0) === 0);

  /** Opens the link of a mail and presses its button. */
  const follow = async (code: string): Promise<string> => {
    const browser = oauth.browser();
    const page = expectPage(await browser.open(`/account/email?code=${code}`));
    if (page.forms.length === 0) return page.text;
    return expectPage(await browser.submit(page, 'action=verify')).text;
  };
  /** A user with a verified address, logged in. */
  const verified = async (): Promise<Awaited<ReturnType<TestIdentity['registerAndLogin']>> & { email: string }> => {
    const email = newAddress();
    const person = await shop.registerAndLogin();
    await shop.call(identity.updateUser, { username: person.username, user: { email } }, person.principal);
    await follow(await box.code(email, 'verify-address'));
    return { ...person, email };
  };

  it('are unverified until the link of the mail is followed, which works once', async () => {
    const email = newAddress();
    const { user, username } = await shop.register({ email });
    expect(user).toMatchObject({ email, emailVerified: false, orderMails: false });
    const code = await box.code(email, 'verify-address');
    const version = await shop.versionOf(username);
    const opened = await oauth.browser().send('GET', `/account/email?code=${code}`);
    expect(opened.status).toBe(200);
    // Programs that look into mails open links.
    expect(await profile(username)).toMatchObject({ emailVerified: false });
    expect(await follow(code)).toContain('is verified');
    expect(await profile(username)).toMatchObject({ email, emailVerified: true });
    expect(await shop.versionOf(username)).toBeGreaterThan(version);
    expect(await follow(code)).toContain('does not work');
  });

  it('are verified by a form that its browser sends twice, as both answers say while that is true', async () => {
    const email = newAddress();
    const { username } = await shop.register({ email });
    const browser = oauth.browser();
    const page = expectPage(await browser.open(`/account/email?code=${await box.code(email, 'verify-address')}`));
    const press = async (): Promise<string> => expectPage(await browser.submit(page, 'action=verify')).text;
    const done = expect.stringContaining(`<strong>${email}</strong> is verified`);
    expect([...(await Promise.all([press(), press()])), await press()]).toEqual([done, done, done]);
    await shop.call(identity.patchUser, { username, user: { email: newAddress() } }, manager);
    expect(await press()).toContain('does not work');
  });

  it('are verified only for the account that the link is for, whoever follows it', async () => {
    const [mine, theirs] = [newAddress(), newAddress()];
    const [{ username: me }, { username: they }] = [await shop.register({ email: mine }), await shop.register({ email: theirs })];
    const browser = oauth.browser();
    const page = expectPage(await browser.open(`/account/email?code=${await box.code(mine, 'verify-address')}`));
    expectPage(await browser.submit(page, 'action=verify', { code: await box.code(theirs, 'verify-address'), username: me, email: mine }));
    expect([await profile(me), await profile(they)]).toMatchObject([{ email: mine, emailVerified: false }, { email: theirs, emailVerified: true }]);
  });

  it('are shown as verified only to the user and to callers with write:users', async () => {
    const { username, principal } = await verified();
    expect(await shop.call(identity.getUser, { username })).toEqual({ id: expect.any(Number), username });
    expect(await shop.call(identity.getUser, { username }, principal)).toMatchObject({ emailVerified: true });
  });

  it('change to unverified ones: mail goes to the new one, a notice to the old one', async () => {
    const { username, email, principal } = await verified();
    const next = newAddress();
    expect(await shop.call(identity.patchUser, { username, user: { email: next } }, principal)).toMatchObject({ emailVerified: false });
    expect((await box.receive(email, 'address-changed')).data).toMatchObject({ username });
    await box.receive(next, 'verify-address');
    // That one was never verified, so it gets no notice.
    await shop.call(identity.patchUser, { username, user: { email: null } }, principal);
    await outboxIsEmpty();
    expect(box.of(next).map(({ kind }) => kind)).toEqual(['verify-address']);
    expect(await profile(username)).not.toHaveProperty('emailVerified');
  });

  it('are unverified also when a process of the last release changes them', async () => {
    const { username, userId } = await verified();
    await shop.sql.query(`UPDATE users SET email = 'other@shop.test' WHERE user_id = $1`, [userId]);
    expect(await profile(username)).toMatchObject({ emailVerified: false });
  });

  it.each(['expired', 'altered', 'of a former address', 'of another purpose'])('are not verified by a link that is %s', async (fault) => {
    const email = newAddress();
    const { username, userId, principal } = await shop.registerAndLogin();
    await shop.call(identity.updateUser, { username, user: { email } }, principal);
    let code = await box.code(email, 'verify-address');
    if (fault === 'expired') await shop.sql.query('UPDATE one_time_links SET expires_at = now() WHERE user_id = $1', [userId]);
    if (fault === 'altered') code = `${code.startsWith('A') ? 'B' : 'A'}${code.slice(1)}`;
    if (fault === 'of a former address') await shop.call(identity.updateUser, { username, user: { email: newAddress() } }, principal);
    if (fault === 'of another purpose') await shop.sql.query(`UPDATE one_time_links SET purpose = 'recovery' WHERE user_id = $1`, [userId]);
    expect(await follow(code)).toContain('does not work');
    expect(await profile(username)).toMatchObject({ emailVerified: false });
  });

  it('get the mail again on request, a few times, and only if they can be mailed', async () => {
    const email = newAddress();
    const { username, principal } = await shop.registerAndLogin();
    const again = (by = principal): Promise<unknown> => shop.call(identity.sendEmailVerification, { username, address: '192.0.2.7' }, by);
    await expect(again()).rejects.toMatchObject({ code: 'email-not-mailable' });
    await shop.call(identity.updateUser, { username, user: { email } }, principal);
    for (let n = 0; n < 4; n++) expect(await again()).toEqual({ email });
    await expect(again()).rejects.toMatchObject({ code: 'too-many-mails', details: { retryAfter: expect.any(Number) } });
    await box.receive(email, 'verify-address', 5);
    // Each of them works, so that nobody can end a link by asking for others.
    expect(await follow(await box.code(email, 'verify-address'))).toContain('is verified');
    expect(await again()).toEqual({ email });
    await outboxIsEmpty();
    expect(box.of(email)).toHaveLength(5);
    const other = await shop.registerAndLogin();
    await expect(again(other.principal)).rejects.toMatchObject({ code: 'forbidden' });
  });

  it('are audited: a verification, and mail that others asked for', async () => {
    const email = newAddress();
    const { username, userId } = await shop.registerAndLogin();
    await shop.call(identity.patchUser, { username, user: { email } }, manager);
    await shop.call(identity.sendEmailVerification, { username }, manager);
    await follow(await box.code(email, 'verify-address'));
    const entries = (await shop.call(identity.readAudit, {})).filter(({ target }) => target === userId);
    expect(entries.map(({ operation, subject }) => [operation, subject])).toEqual([
      ['identity.verifyEmail', userId],
      ['identity.sendEmailVerification', manager.subject],
      ['identity.patchUser', manager.subject],
    ]);
    expect(JSON.stringify(entries)).not.toContain(email);
  });

  it.each([
    'ada', 'ada@', '@shop.test', 'ada@shop', 'ada @shop.test', '"ada"@shop.test', 'ada@[192.0.2.1]', 'ada@shop.test\r\nBcc: eve@shop.test', 'ada@shop.test,eve@shop.test',
    'Ada <ada@shop.test>', 'älice@shop.test', 'ada@pflänzchen.test', 'ada..b@shop.test', '.ada@shop.test', 'ada@-shop.test', `${'a'.repeat(65)}@shop.test`, 'ada@shop.test\n',
  ])('may be any text, of which %j gets no mail', async (email) => {
    const { username } = await shop.register({ email });
    expect(await profile(username)).toMatchObject({ email, emailVerified: false });
    await expect(shop.call(identity.sendEmailVerification, { username }, manager)).rejects.toMatchObject({ code: 'email-not-mailable' });
  });

  it.each(["o'neill+plants@shop.test", 'ADA@shop.test', 'a@b.c.shop.test', 'x!#$%&*/=?^_`{|}~-@xn--pflnzchen-1za.test'])('such as %s get mail as they are written', async (local) => {
    const email = local.replace('@', `.${randomUUID()}@`);
    await shop.register({ email });
    expect(await follow(await box.code(email, 'verify-address'))).toContain('is verified');
  });

  it('get a few mails at most, from however many registrations and changes (slow)', async () => {
    const email = newAddress();
    const { username, principal } = await shop.registerAndLogin();
    const list = Array.from({ length: 50 }, () => ({ username: `u-${randomUUID()}`, password: 'a-good-password', email }));
    for (let n = 0; n < 4; n++) await shop.call(identity.createUsers, { users: list.map((one) => ({ ...one, username: `u-${randomUUID()}` })) });
    for (let n = 0; n < 8; n++) await shop.call(identity.patchUser, { username, user: { email: n % 2 === 0 ? email : null } }, principal);
    await outboxIsEmpty();
    expect(box.of(email)).toHaveLength(5);
    // And one user mails a few addresses at most.
    const others = Array.from({ length: 10 }, newAddress);
    for (const one of others) await shop.call(identity.patchUser, { username, user: { email: one } }, principal);
    await outboxIsEmpty();
    expect(others.filter((one) => box.of(one).length > 0).length).toBeLessThan(5);
    // Staff who enter the addresses of customers may do so.
    const entered = Array.from({ length: 10 }, newAddress);
    for (const email of entered) await shop.call(identity.patchUser, { username: (await shop.register()).username, user: { email } }, manager);
    await outboxIsEmpty();
    expect(entered.filter((one) => box.of(one).length === 1)).toEqual(entered);
  });

  it('that want mail about orders are told to notifications, as long as they are verified', async () => {
    const email = newAddress();
    const { username, userId, principal } = await shop.registerAndLogin();
    const change = (user: object): Promise<User> => shop.call(identity.patchUser, { username, user }, principal);
    const told = async (): Promise<unknown[]> => {
      await outboxIsEmpty();
      return box.recipients.filter((one) => one.userId === userId).map(({ address, username: name }) => (address === undefined ? 'none' : [address, name]));
    };
    expect(await change({ email, orderMails: true })).toMatchObject({ orderMails: true });
    expect(await told()).toEqual([]);
    await follow(await box.code(email, 'verify-address'));
    const all: unknown[] = [[email, username]];
    expect(await told()).toEqual(all);
    await change({ phone: '1' });
    const renamed = `${username}-2`;
    await change({ username: renamed });
    all.push([email, renamed]);
    expect(await told()).toEqual(all);
    await shop.call(identity.patchUser, { username: renamed, user: { orderMails: false } }, principal);
    await shop.call(identity.patchUser, { username: renamed, user: { orderMails: true } }, principal);
    await shop.call(identity.patchUser, { username: renamed, user: { email: newAddress() } }, principal);
    all.push('none', [email, renamed], 'none');
    expect(await told()).toEqual(all);
    const versions = box.recipients.filter((one) => one.userId === userId).map(({ version }) => version);
    expect(versions).toEqual([...new Set(versions)].sort((a, b) => a - b));
  });

  it('are in the claims of the application with what is known of them (slow)', async () => {
    const user = await verified();
    const client = await oauth.register({ scopes: ['write:orders'] });
    const tokens = await oauth.tokens(client, user, 'openid email write:orders');
    const answer = await fetch(`${oauth.servedAt}/oauth/userinfo`, { headers: { authorization: `Bearer ${tokens.access_token}` } });
    expect(await answer.json()).toMatchObject({ email: user.email, email_verified: true });
  });
});
