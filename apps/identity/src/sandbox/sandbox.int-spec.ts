import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { identity } from '@plant-shop/contracts/identity';
import { decodeProtectedHeader } from 'jose';
import { manager, TestIdentity } from '../identity.spec.fixture.js';

let shop: TestIdentity;
beforeAll(async () => {
  // The replica reloads its signing keys only when it has to.
  shop = await TestIdentity.start({ sandbox: true, sessionTtlHours: 2, demoData: true }, { signingKeysRefreshMs: 3_600_000 });
});
afterAll(() => shop.stop());

const advance = (advanceSeconds: number, scope?: 'due' | 'all') => shop.call(identity.advanceClock, { clock: { advanceSeconds, ...(scope && { scope }) } }, manager);
const kids = async (): Promise<unknown[]> => (await shop.call(identity.readSigningKeys, {})).keys.map(({ kid }) => kid);
const head = async (): Promise<number> => (await shop.call(identity.readRevocations, { after: 0 })).head;
const revokedSince = async (after: number): Promise<string[]> => (await shop.call(identity.readRevocations, { after })).entries.map(({ kind, id }) => `${kind}:${id}`);

it('a clock that is moved for due times alone leaves credentials as they are', async () => {
  const { token } = await shop.registerAndLogin();
  const [position, keys] = [await head(), await kids()];
  await advance(86_400);
  await advance(86_400, 'due');
  await expect(shop.check('session', token)).resolves.toBeDefined();
  expect([await revokedSince(position), await kids()]).toEqual([[], keys]);
});

it('a clock that is moved for all ends sessions and keys earlier, which is logged, and keys without an expiry never', async () => {
  const { username, token, principal, userId } = await shop.registerAndLogin();
  const inThreeHours = new Date(Date.now() + 3 * 3_600_000).toISOString();
  const { key: lasting } = await shop.call(identity.createApiKey, { username, apiKey: { name: 'lasting' } }, principal);
  const { key: brief, id } = await shop.call(identity.createApiKey, { username, apiKey: { name: 'brief', expiresAt: inThreeHours } }, principal);
  const before = await shop.check('session', token);
  const position = await head();
  await advance(1_800, 'all');
  // A cached answer has the former end: it is out of date.
  expect(await revokedSince(position)).toContain(`userChanged:${userId}`);
  const after = await shop.check('session', token);
  expect(Date.parse(before.expiresAt!) - Date.parse(after.expiresAt!)).toBe(1_800_000);
  await advance(5_400, 'all');
  await expect(shop.check('session', token)).rejects.toMatchObject({ code: 'credential-refused' });
  await expect(shop.check('apiKey', brief)).resolves.toBeDefined();
  await advance(3_600, 'all');
  await expect(shop.check('apiKey', brief)).rejects.toMatchObject({ code: 'credential-refused' });
  await expect(shop.check('apiKey', lasting)).resolves.toBeDefined();
  expect(await revokedSince(position)).toEqual(expect.arrayContaining([`session:${before.id}`, `apiKey:${id}`]));
});

it('access tokens end at once if it is moved by as long as one lives', async () => {
  const before = await kids();
  await advance(3_599, 'all');
  expect(await kids()).toEqual(before);
  const position = await head();
  await advance(3_600, 'all');
  const authorization = `Basic ${Buffer.from('plant-admin:plant-secret').toString('base64')}`;
  const answer = await fetch(`http://127.0.0.1:${shop.httpPort}/oauth/token`, { method: 'POST', headers: { authorization }, body: new URLSearchParams({ grant_type: 'client_credentials' }) });
  const { access_token: token } = (await answer.json()) as { access_token: string };
  expect(await kids()).toEqual([decodeProtectedHeader(token).kid]);
  expect((await kids()).filter((kid) => before.includes(kid))).toEqual([]);
  expect(await revokedSince(position)).toEqual(expect.arrayContaining(before.map((kid) => `signingKey:${String(kid)}`)));
});

it('what OAuth 2.0 keeps ends earlier', async () => {
  await shop.sql.query(
    `INSERT INTO oauth_payloads (model, id_hash, payload, key_id, expires_at) VALUES ('RefreshToken', pg_catalog.sha256('a'), 'x', 'k', now() + interval '1 hour')`,
  );
  await advance(1_800, 'all');
  const { rows } = await shop.sql.query<{ minutes: number }>(`SELECT round(extract(epoch FROM expires_at - now()) / 60)::int AS minutes FROM oauth_payloads WHERE model = 'RefreshToken'`);
  expect(rows).toEqual([{ minutes: 30 }]);
});

it('links in mails end earlier', async () => {
  await shop.register({ email: 'ada@shop.test' });
  await advance(86_000, 'all');
  const { rows } = await shop.sql.query<{ minutes: number }>(`SELECT round(extract(epoch FROM expires_at - now()) / 60)::int AS minutes FROM one_time_links`);
  expect(rows).toEqual([{ minutes: 7 }]);
});
