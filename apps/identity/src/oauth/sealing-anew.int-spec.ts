import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { identity } from '@plant-shop/contracts/identity';
import { expectPage, expectRedirect } from '@plant-shop/testing/browser';
import { until } from '@plant-shop/testing/until';
import { manager, type Replica, testEnvironment, testSecret } from '../identity.spec.fixture.js';
import { runEntry } from '../process.spec.fixture.js';
import { TestOAuth } from './oauth.spec.fixture.js';

const [former, present] = [testSecret, 'the present secret of 32 characters and more'];

describe('IDENTITY_SECRET is changed', () => {
  let oauth: TestOAuth;
  let client: Awaited<ReturnType<TestOAuth['register']>>;
  let user: Awaited<ReturnType<TestOAuth['shop']['enter']>>;
  beforeEach(async () => {
    oauth = await TestOAuth.start({ identitySecrets: [former] }, { keysLookMs: 50 });
    client = await oauth.register();
    user = await oauth.shop.enter();
  });
  afterEach(() => oauth.shop.stop());

  const addReplica = (...identitySecrets: string[]): Promise<Replica> =>
    oauth.shop.addReplica({ identitySecrets }, { keysLookMs: 50 });
  /** All requests of applications go to it from now on. */
  const askOnly = ({ httpPort }: Replica): void => {
    oauth.shop.httpPort = httpPort;
  };
  const leftToSeal = async ({ service }: Replica): Promise<number | undefined> =>
    (await service.metrics.getSingleMetric('identity_secrets_to_seal_anew')?.get())?.values[0]?.value;
  const keysIn = async (table: 'oauth_payloads' | 'signing_keys'): Promise<(string | null)[]> =>
    (await oauth.shop.sql.query<{ key: string | null }>(`SELECT DISTINCT key_id AS key FROM ${table}`)).rows.map(({ key }) => key);
  const ciphertexts = async (): Promise<Set<string>> => {
    const { rows } = await oauth.shop.sql.query<{ hex: string }>(
      `SELECT encode(payload, 'hex') AS hex FROM oauth_payloads UNION ALL SELECT encode(private_jwk, 'hex') FROM signing_keys`,
    );
    return new Set(rows.map(({ hex }) => hex));
  };

  it('and nobody notices: replicas of both orders read what the others make, and the former one is not needed in the end', async () => {
    const tokens = await oauth.tokens(client, user);
    const registration = { user: { username: 'registered-before', password: 'a-good-password' } };
    const registered = await oauth.shop.callOnce(identity.createUser, registration, 'registration', manager);
    const before = await ciphertexts();
    await oauth.shop.stopReplicas();

    // During the roll-out, which puts the new one first.
    const [late, early] = [await addReplica(former, present), await addReplica(present, former)];
    for (const [one, other] of [[late, early], [early, late]] as const) {
      const at = (replica: Replica): string => `http://127.0.0.1:${replica.httpPort}`;
      const browser = oauth.browser();
      askOnly(one);
      const asked = await oauth.request(client);
      browser.servedAt = at(one);
      const login = expectPage(await browser.open(asked.url));
      browser.servedAt = at(other);
      const consent = expectPage(await browser.submit(login, 'action=login', { username: user.username, password: user.password }));
      expect(consent.text).toContain('Place and cancel own orders');
      browser.servedAt = at(one);
      const back = expectRedirect(await browser.submit(consent, 'action=allow'));
      askOnly(other);
      const made = await oauth.redeem(client, asked, back);
      askOnly(one);
      await oauth.refresh(client, made.refresh_token!);
      await expect(oauth.introspect(client, made.access_token)).resolves.toMatchObject({ active: true });
    }
    // Whichever of both takes it.
    for (let n = 0; n < 8; n++) {
      const request = { user: { username: `registered-${n}`, password: 'a-good-password' } };
      for (let times = 0; times < 4; times++) await oauth.shop.callOnce(identity.createUser, request, `registration-${n}`, manager);
      const again = await oauth.shop.callOnce(identity.createUser, registration, 'registration', manager);
      expect(again).toMatchObject({ replayed: true, answer: registered.answer });
    }

    // All have the new one first.
    await oauth.shop.stopReplicas();
    const last = await addReplica(present, former);
    await until(async () => (await keysIn('oauth_payloads')).length === 1 && (await keysIn('signing_keys')).length === 1);
    expect(await keysIn('signing_keys')).toEqual(await keysIn('oauth_payloads'));
    await until(async () => (await leftToSeal(last)) === 0);
    const after = await ciphertexts();
    expect([...before].filter((one) => after.has(one))).toEqual([]);
    const again = await oauth.shop.callOnce(identity.createUser, registration, 'registration', manager);
    expect(again).toMatchObject({ replayed: true, answer: registered.answer });

    // And nobody has the former one.
    await oauth.shop.stopReplicas();
    askOnly(await addReplica(present));
    await expect(oauth.introspect(client, tokens.access_token)).resolves.toMatchObject({ active: true });
    const refreshed = await oauth.refresh(client, tokens.refresh_token!);
    await expect(oauth.introspect(client, refreshed.access_token)).resolves.toMatchObject({ active: true });
    const command = { ...testEnvironment(oauth.shop.databaseUrl), IDENTITY_SECRET: present };
    await expect(runEntry('rotate-signing-key', [], command)).resolves.toMatchObject({ code: 0 });
    await expect(addReplica(former)).rejects.toThrow(/IDENTITY_SECRET/);
  }, 60_000);

  it('after a release that knew of one alone, whose rows do not say which one it was', async () => {
    const { refresh_token } = await oauth.tokens(client, user);
    await oauth.shop.stopReplicas();
    await oauth.shop.sql.query('UPDATE oauth_payloads SET key_id = NULL');
    await oauth.shop.sql.query('UPDATE signing_keys SET key_id = NULL');
    const replica = await addReplica(present, former);
    await until(async () => !(await keysIn('oauth_payloads')).includes(null) && !(await keysIn('signing_keys')).includes(null));
    await until(async () => (await leftToSeal(replica)) === 0);
    await oauth.shop.stopReplicas();
    askOnly(await addReplica(present));
    await oauth.refresh(client, refresh_token!);
  });

  it('and what none of the secrets opens is counted, and keeps nothing else from being encrypted anew', async () => {
    for (let n = 0; n < 3; n++) await oauth.tokens(client, user);
    await oauth.shop.stopReplicas();
    const { rows } = await oauth.shop.sql.query<{ total: string }>('SELECT count(*) AS total FROM oauth_payloads');
    // One that nobody knows the key of, and one of a key that is not among ours.
    await oauth.shop.sql.query(`UPDATE oauth_payloads SET key_id = NULL, payload = '\\x01ff' WHERE ctid = (SELECT ctid FROM oauth_payloads ORDER BY model, id_hash LIMIT 1)`);
    await oauth.shop.sql.query(`UPDATE oauth_payloads SET key_id = 'lost' WHERE ctid = (SELECT ctid FROM oauth_payloads WHERE key_id IS NOT NULL LIMIT 1)`);
    const replica = await addReplica(present, former);
    await until(async () => (await leftToSeal(replica)) === 2);
    const sealed = `SELECT 1 FROM oauth_payloads WHERE key_id = (SELECT key_id FROM signing_keys)`;
    expect((await oauth.shop.sql.query(sealed)).rowCount).toBe(Number(rows[0]?.total) - 2);
  });
});
