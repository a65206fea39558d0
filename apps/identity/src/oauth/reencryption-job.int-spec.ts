import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { identity } from '@plant-shop/contracts/identity';
import { expectPage, expectRedirect } from '@plant-shop/testing/browser';
import { until } from '@plant-shop/testing/until';
import { manager, type Replica, testEnvironment, testSecret } from '../identity.spec.fixture.js';
import { runOperatorCommand } from '../process.spec.fixture.js';
import { TestOAuth } from './oauth.spec.fixture.js';

const [former, current] = [testSecret, 'the current secret of 32 characters or more'];

describe('rotating IDENTITY_SECRET', () => {
  let oauth: TestOAuth;
  let client: Awaited<ReturnType<TestOAuth['register']>>;
  let user: Awaited<ReturnType<TestOAuth['shop']['registerAndLogin']>>;
  beforeEach(async () => {
    oauth = await TestOAuth.start({ identitySecrets: [former] }, { signingKeysRefreshMs: 50 });
    client = await oauth.register();
    user = await oauth.shop.registerAndLogin();
  });
  afterEach(() => oauth.shop.stop());

  const addReplica = (...identitySecrets: string[]): Promise<Replica> =>
    oauth.shop.addReplica({ identitySecrets }, { signingKeysRefreshMs: 50 });
  /** Sends all later requests of applications to this replica. */
  const useOnly = ({ httpPort }: Replica): void => {
    oauth.shop.httpPort = httpPort;
  };
  const remaining = async ({ service }: Replica): Promise<number | undefined> =>
    (await service.metrics.getSingleMetric('identity_secrets_to_reencrypt')?.get())?.values[0]?.value;
  const keysIn = async (table: 'oauth_payloads' | 'signing_keys'): Promise<(string | null)[]> =>
    (await oauth.shop.sql.query<{ key: string | null }>(`SELECT DISTINCT key_id AS key FROM ${table}`)).rows.map(({ key }) => key);
  const ciphertexts = async (): Promise<Set<string>> => {
    const { rows } = await oauth.shop.sql.query<{ hex: string }>(
      `SELECT encode(payload, 'hex') AS hex FROM oauth_payloads UNION ALL SELECT encode(private_jwk, 'hex') FROM signing_keys`,
    );
    return new Set(rows.map(({ hex }) => hex));
  };

  it('is not noticed by clients: replicas with either order read all data, and the former secret is not needed at the end (slow)', async () => {
    const tokens = await oauth.tokens(client, user);
    const registration = { user: { username: 'registered-before', password: 'a-good-password' } };
    const registered = await oauth.shop.callOnce(identity.createUser, registration, 'registration', manager);
    const before = await ciphertexts();
    await oauth.shop.stopReplicas();

    // During the roll-out, which puts the new secret first.
    const [late, early] = [await addReplica(former, current), await addReplica(current, former)];
    for (const [one, other] of [[late, early], [early, late]] as const) {
      const at = (replica: Replica): string => `http://127.0.0.1:${replica.httpPort}`;
      const browser = oauth.browser();
      useOnly(one);
      const request = await oauth.request(client);
      browser.servedAt = at(one);
      const login = expectPage(await browser.open(request.url));
      browser.servedAt = at(other);
      const consent = expectPage(await browser.submit(login, 'action=login', { username: user.username, password: user.password }));
      expect(consent.text).toContain('Place and cancel own orders');
      browser.servedAt = at(one);
      const back = expectRedirect(await browser.submit(consent, 'action=allow'));
      useOnly(other);
      const issued = await oauth.redeem(client, request, back);
      useOnly(one);
      await oauth.refresh(client, issued.refresh_token!);
      await expect(oauth.introspect(client, issued.access_token)).resolves.toMatchObject({ active: true });
    }
    // Either replica may answer.
    for (let n = 0; n < 8; n++) {
      const request = { user: { username: `registered-${n}`, password: 'a-good-password' } };
      for (let times = 0; times < 4; times++) await oauth.shop.callOnce(identity.createUser, request, `registration-${n}`, manager);
      const again = await oauth.shop.callOnce(identity.createUser, registration, 'registration', manager);
      expect(again).toMatchObject({ replayed: true, answer: registered.answer });
    }

    // After the roll-out, all replicas have the new secret first.
    await oauth.shop.stopReplicas();
    const last = await addReplica(current, former);
    await until(async () => (await keysIn('oauth_payloads')).length === 1 && (await keysIn('signing_keys')).length === 1);
    expect(await keysIn('signing_keys')).toEqual(await keysIn('oauth_payloads'));
    await until(async () => (await remaining(last)) === 0);
    const after = await ciphertexts();
    expect([...before].filter((one) => after.has(one))).toEqual([]);
    const again = await oauth.shop.callOnce(identity.createUser, registration, 'registration', manager);
    expect(again).toMatchObject({ replayed: true, answer: registered.answer });

    // At the end, no replica has the former secret.
    await oauth.shop.stopReplicas();
    useOnly(await addReplica(current));
    await expect(oauth.introspect(client, tokens.access_token)).resolves.toMatchObject({ active: true });
    const refreshed = await oauth.refresh(client, tokens.refresh_token!);
    await expect(oauth.introspect(client, refreshed.access_token)).resolves.toMatchObject({ active: true });
    const command = { ...testEnvironment(oauth.shop.databaseUrl), IDENTITY_SECRET: current };
    await expect(runOperatorCommand('rotate-signing-key', [], command)).resolves.toMatchObject({ code: 0 });
    await expect(addReplica(former)).rejects.toThrow(/IDENTITY_SECRET/);
  }, 60_000);

  it('counts rows that no secret decrypts and mails that wait, and re-encrypts the others (slow)', async () => {
    await oauth.shop.register({ email: 'ada@shop.test' });
    for (let n = 0; n < 3; n++) await oauth.tokens(client, user);
    await oauth.shop.stopReplicas();
    const { rows } = await oauth.shop.sql.query<{ total: string }>('SELECT count(*) AS total FROM oauth_payloads');
    // One row with an invalid ciphertext of the former key, and one with an unknown key id.
    await oauth.shop.sql.query(`UPDATE oauth_payloads SET payload = '\\x01ff' WHERE ctid = (SELECT ctid FROM oauth_payloads ORDER BY model, id_hash LIMIT 1)`);
    await oauth.shop.sql.query(`UPDATE oauth_payloads SET key_id = 'lost' WHERE ctid = (SELECT ctid FROM oauth_payloads ORDER BY model DESC, id_hash DESC LIMIT 1)`);
    const replica = await addReplica(current, former);
    await until(async () => (await remaining(replica)) === 3);
    const reencrypted = `SELECT 1 FROM oauth_payloads WHERE key_id = (SELECT key_id FROM signing_keys)`;
    expect((await oauth.shop.sql.query(reencrypted)).rowCount).toBe(Number(rows[0]?.total) - 2);
  });
});
