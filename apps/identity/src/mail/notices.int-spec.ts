import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { identity } from '@plant-shop/contracts/identity';
import { store } from '@plant-shop/contracts/store';
import { fake, startFake } from '@plant-shop/service-testing/service';
import { until } from '@plant-shop/testing/until';
import { manager, testEnvironment, TestIdentity } from '../identity.spec.fixture.js';
import { runOperatorCommand } from '../process.spec.fixture.js';
import { Mailbox } from './mail.spec.fixture.js';

type Person = Awaited<ReturnType<TestIdentity['registerAndLogin']>> & { readonly email: string };

describe('notices about an account', () => {
  let shop: TestIdentity;
  let box: Mailbox;
  beforeAll(async () => {
    shop = await TestIdentity.start();
    box = await Mailbox.start(shop.natsUrl);
  });
  afterAll(async () => {
    await box.stop();
    await shop.stop();
  });

  const person = async ({ isVerified = true } = {}): Promise<Person> => {
    const email = `${randomUUID()}@shop.test`;
    const one = await shop.registerAndLogin();
    await shop.sql.query('UPDATE users SET email = $2 WHERE user_id = $1', [one.userId, email]);
    if (isVerified) await shop.sql.query('UPDATE users SET email_verified_at = now() WHERE user_id = $1', [one.userId]);
    return { ...one, email };
  };
  const isQuiet = (): Promise<void> => until(async () => (await shop.sql.query('SELECT 1 FROM mail_outbox')).rowCount === 0);
  const kinds = async ({ userId }: Person): Promise<unknown[]> => {
    await isQuiet();
    return box.mails.filter((mail) => mail.userId === userId).map(({ kind }) => kind);
  };
  const logIn = ({ username, password }: Person, address: string, userAgent?: string): Promise<unknown> =>
    shop.call(identity.login, { username, password, address, ...(userAgent !== undefined && { userAgent }) });

  const changes: [string, (by: Person) => Promise<unknown>, object][] = [
    ['password-changed', ({ username, principal }) => shop.call(identity.updateUser, { username, user: { password: 'another-good-password' }, address: '203.0.113.7' }, principal), { network: '203.0.113.0/24' }],
    ['key-added', ({ username, principal }) => shop.call(identity.createApiKey, { username, apiKey: { name: 'nightly' }, address: '203.0.113.7' }, principal), { keyName: 'nightly', network: '203.0.113.0/24' }],
    ['role-changed', ({ username }) => shop.call(identity.setUserRole, { username, assignment: { role: 'staff' } }, manager), { role: 'staff' }],
    ['address-changed', ({ username, principal }) => shop.call(identity.patchUser, { username, user: { email: null }, address: '203.0.113.7' }, principal), { network: '203.0.113.0/24' }],
    ['new-sign-in', (one) => logIn(one, '198.51.100.7', 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0'), { device: 'Firefox on Linux', network: '198.51.100.0/24' }],
  ];

  it.each(changes)('say %s, to a verified address only', async (kind, change, data) => {
    const one = await person();
    await change(one);
    const [mail] = await until(async () => (await kinds(one)).length > 0).then(() => box.mails.filter(({ userId }) => userId === one.userId));
    expect(mail).toMatchObject({ kind, address: one.email, data: { username: one.username, at: expect.stringMatching(/^\d{4}-.*Z$/), ...data } });
    const other = await person({ isVerified: false });
    await change(other);
    expect(await kinds(other)).toEqual([]);
  });

  it('say role-changed after an operator has changed the role (slow)', async () => {
    const one = await person();
    expect(await runOperatorCommand('set-role', [one.username, 'staff'], testEnvironment(shop.databaseUrl))).toMatchObject({ code: 0 });
    await box.receive(one.email, 'role-changed');
  });

  it('are not written for a change that is refused', async () => {
    const one = await person();
    await expect(shop.call(identity.updateUser, { username: one.username, user: { password: 'short' } }, one.principal)).rejects.toMatchObject({ code: 'invalid-input' });
    const { username: taken } = await shop.register();
    await expect(shop.call(identity.updateUser, { username: one.username, user: { password: 'another-good-password', username: taken } }, one.principal)).rejects.toMatchObject({ code: 'username-taken' });
    expect(await kinds(one)).toEqual([]);
  });

  it('say new-sign-in for another browser or network, and not for the first, a known, or a newer version', async () => {
    const one = await person();
    await shop.sql.query('DELETE FROM known_devices WHERE user_id = $1', [one.userId]);
    const firefox = (version: string): string => `Mozilla/5.0 (X11; Linux x86_64; rv:${version}) Gecko/20100101 Firefox/${version}`;
    await logIn(one, '198.51.100.7', firefox('140.0'));
    await logIn(one, '198.51.100.200', firefox('140.0'));
    await logIn(one, '198.51.100.7', firefox('141.0.2'));
    expect(await kinds(one)).toEqual([]);
    await logIn(one, '198.51.101.7', firefox('141.0.2'));
    await logIn(one, '198.51.100.7', 'curl/8');
    await logIn(one, '198.51.101.9', firefox('142.0'));
    expect(await kinds(one)).toEqual(['new-sign-in', 'new-sign-in']);
    await expect(shop.call(identity.login, { username: one.username, password: 'wrong-password', address: '203.0.113.4' })).rejects.toMatchObject({ code: 'login-failed' });
    expect(await kinds(one)).toHaveLength(2);
  });

  it('remember twenty devices of a user (slow)', async () => {
    const one = await person();
    for (let n = 0; n < 25; n++) await logIn(one, `198.51.${n}.1`);
    expect((await shop.sql.query('SELECT 1 FROM known_devices WHERE user_id = $1', [one.userId])).rowCount).toBe(20);
  });

  it('end with the user, whose mail about orders ends, too', async () => {
    const one = await person();
    await shop.call(identity.patchUser, { username: one.username, user: { orderMails: true } }, one.principal);
    await isQuiet();
    await box.stop();
    await shop.call(identity.updateUser, { username: one.username, user: { password: 'another-good-password' } }, one.principal);
    const storeFake = await startFake(shop.natsUrl, 'store', [fake(store.closeCustomer, () => ({ openOrders: [] }))]);
    await shop.call(identity.deleteUser, { username: one.username }, manager);
    await storeFake.stop();
    const before = box.recipients.filter(({ userId }) => userId === one.userId);
    box = await Mailbox.start(shop.natsUrl);
    await isQuiet();
    expect(before.at(-1)).toMatchObject({ address: one.email });
    expect(box.recipients.filter(({ userId }) => userId === one.userId)).toEqual([{ userId: one.userId, version: expect.any(Number) }]);
    expect(box.recipients.at(-1)?.version).toBeGreaterThan(before.at(-1)?.version ?? Infinity);
    expect(box.of(one.email)).toEqual([]);
  });
});
