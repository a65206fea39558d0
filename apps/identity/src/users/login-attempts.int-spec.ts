import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { identity, type NewSession } from '@plant-shop/contracts/identity';
import { TestIdentity } from '../identity.spec.fixture.js';

describe('limits of failed logins', () => {
  let shop: TestIdentity;
  beforeAll(async () => {
    shop = await TestIdentity.start({ loginLimitPerUser: 5, loginLimitPerAddress: 8 });
  });
  afterAll(() => shop.stop());

  let hosts = 0;
  const freshAddress = (): string => `10.0.${hosts >> 8}.${hosts++ & 255}`;
  const endWindows = (): Promise<unknown> =>
    shop.sql.query(`UPDATE login_failures SET window_ends_at = now() - interval '1 second'`);

  async function codesOf(logins: readonly Promise<NewSession>[]): Promise<Record<string, number>> {
    const counts: Record<string, number> = {};
    for (const result of await Promise.allSettled(logins)) {
      const code = result.status === 'fulfilled' ? 'ok' : (result.reason as { code: string }).code;
      counts[code] = (counts[code] ?? 0) + 1;
    }
    return counts;
  }

  it('hold exactly for one name over many addresses, also for concurrent attempts', async () => {
    const { username, password } = await shop.register();
    const guesses = Array.from({ length: 40 }, () => shop.login(username, 'wrong-guess', freshAddress()));
    expect(await codesOf(guesses)).toEqual({ 'login-failed': 5, 'too-many-logins': 35 });
    // The right password is refused too: otherwise a guess could be told apart from a refusal.
    await expect(shop.login(username.toUpperCase(), password, freshAddress())).rejects.toMatchObject({
      code: 'too-many-logins',
      details: { retryAfter: expect.any(Number) },
    });
    await endWindows();
    await expect(shop.login(username, password)).resolves.toMatchObject({ attemptsLeft: 5 });
  });

  it('hold for unknown names as well', async () => {
    const guesses = Array.from({ length: 10 }, () => shop.login('unknown', 'wrong-guess', freshAddress()));
    expect(await codesOf(guesses)).toEqual({ 'login-failed': 5, 'too-many-logins': 5 });
  });

  it('hold for one network, and a blocked network uses up no attempts of any name', async () => {
    const { username, password } = await shop.register();
    const inNetwork = (n: number): string => `2001:db8:0:7::${n.toString(16)}`;
    const spray = Array.from({ length: 8 }, (_, n) => shop.login(`spray-${n}`, 'wrong-guess', inNetwork(n)));
    expect(await codesOf(spray)).toEqual({ 'login-failed': 8 });
    const blocked = Array.from({ length: 10 }, (_, n) => shop.login(username, 'wrong-guess', inNetwork(n + 100)));
    expect(await codesOf(blocked)).toEqual({ 'too-many-logins': 10 });
    await expect(shop.login(username, password, freshAddress())).resolves.toMatchObject({ attemptsLeft: 5 });
  });

  it('count only failures, and report the attempts left', async () => {
    const { username, password } = await shop.register();
    const address = freshAddress();
    for (let n = 0; n < 10; n++) await shop.login(username, password, address);
    await expect(shop.login(username, 'wrong-guess', address)).rejects.toMatchObject({ code: 'login-failed' });
    await expect(shop.login(username, password, address)).resolves.toMatchObject({ attemptsLeft: 4 });
  });

  it('hold across all replicas (slow)', async () => {
    await shop.addReplica({ loginLimitPerUser: 5, loginLimitPerAddress: 8 });
    await shop.addReplica({ loginLimitPerUser: 5, loginLimitPerAddress: 8 });
    const { username } = await shop.register();
    const guesses = Array.from({ length: 30 }, () => shop.login(username, 'wrong-guess', freshAddress()));
    expect(await codesOf(guesses)).toEqual({ 'login-failed': 5, 'too-many-logins': 25 });
  });

  it('begin again if the clock was set back: no one waits longer than a window', async () => {
    const { username, password } = await shop.register();
    for (let n = 0; n < 6; n++) await shop.login(username, 'wrong-guess', freshAddress()).catch(() => undefined);
    await shop.sql.query(`UPDATE login_failures SET window_ends_at = window_ends_at + interval '10 minutes'`);
    await expect(shop.login(username, password, freshAddress())).resolves.toMatchObject({ attemptsLeft: 5 });
    const guesses = Array.from({ length: 20 }, () => shop.login(username, 'wrong-guess', freshAddress()));
    expect(await codesOf(guesses)).toEqual({ 'login-failed': 5, 'too-many-logins': 15 });
  });

  it('report how many seconds to wait', async () => {
    const { username } = await shop.register();
    for (let n = 0; n < 5; n++) await shop.login(username, 'wrong-guess', freshAddress()).catch(() => undefined);
    const error = await shop.login(username, 'wrong-guess', freshAddress()).catch((refused: unknown) => refused);
    const { retryAfter } = (error as { details: { retryAfter: number } }).details;
    expect(retryAfter).toBeGreaterThan(890);
    expect(retryAfter).toBeLessThanOrEqual(900);
  });

  it('store only hashes of names and addresses', async () => {
    await shop.login('typed-my-password-here', 'wrong-guess', '198.51.100.99').catch(() => undefined);
    const { rows } = await shop.sql.query<{ row: string }>('SELECT f::text AS row FROM login_failures f');
    expect(rows.length).toBeGreaterThan(1);
    for (const { row } of rows) expect(row).toMatch(/^\("\\\\x[0-9a-f]{64}",\d+,/);
  });
});

describe('failed logins', () => {
  it('are logged with network, user agent and a keyed hash of the name, and counted (slow)', async () => {
    const shop = await TestIdentity.withoutReplica();
    const { service } = await shop.addReplica({ loginLimitPerUser: 2 });
    const lines = jest.spyOn(service.logger, 'info');
    const { username } = await shop.register();
    const attempt = (name: string, password: string): Promise<unknown> =>
      shop.call(identity.login, { username: name, password, address: '2001:db8::7', userAgent: 'guesser/1.0' }).catch(() => undefined);
    for (const [name, password] of [[username, 'wrong-guess'], [username.toUpperCase(), 'wrong-guess'], [username, 'blocked-guess'], ['my-secret-password', 'x']]) {
      await attempt(name ?? '', password ?? '');
    }
    const logged = lines.mock.calls.flatMap(([fields, text]) => (text === 'login failed' ? [fields as { name: string }] : []));
    const common = { network: '2001:db8:0:0::/64', userAgent: 'guesser/1.0', name: expect.stringMatching(/^[\w-]{16}$/) };
    expect(logged).toEqual([{ ...common, outcome: 'wrong' }, { ...common, outcome: 'wrong' }, { ...common, outcome: 'blocked' }, { ...common, outcome: 'wrong' }]);
    expect(new Set(logged.map(({ name }) => name)).size).toBe(2);
    expect(JSON.stringify(logged)).not.toContain('secret');
    const metric = await service.metrics.getSingleMetricAsString('identity_login_failures_total');
    expect(metric).toMatch(/outcome="wrong"[^\n]*\} 3/);
    expect(metric).toMatch(/outcome="blocked"[^\n]*\} 1/);
    await shop.stop();
  });
});
