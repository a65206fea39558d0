import { beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { SigningKeys } from '@plant-shop/contracts/identity';
import { CodedError } from '@plant-shop/platform/errors';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { AccessTokens, revocationKeysOf } from './access-tokens.js';

const publicUrl = 'https://plants.example';
const subject = '00000000-0000-4000-8000-000000000001';

type Key = Awaited<ReturnType<typeof generateKeyPair>>['privateKey'];

describe('access tokens', () => {
  let key: Key;
  let otherKey: Key;
  let jwk: Record<string, unknown>;
  let otherJwk: Record<string, unknown>;
  let published: Record<string, unknown>[];
  let reads: number;
  let now: number;
  /** Identity's clock. */
  let time: number;
  let tokens: AccessTokens;

  beforeAll(async () => {
    const pair = await generateKeyPair('ES256', { extractable: true });
    const other = await generateKeyPair('ES256', { extractable: true });
    key = pair.privateKey;
    otherKey = other.privateKey;
    jwk = { ...(await exportJWK(pair.publicKey)), kid: 'one', alg: 'ES256', use: 'sig' };
    otherJwk = { ...(await exportJWK(other.publicKey)), kid: 'two', alg: 'ES256', use: 'sig' };
  });
  beforeEach(() => {
    published = [jwk];
    reads = 0;
    now = 0;
    time = Date.now();
    tokens = new AccessTokens(
      {
        publicUrl,
        readKeys: async () => {
          reads++;
          return { keys: published };
        },
        identityTime: () => time,
      },
      () => now,
    );
  });

  const claims = { iss: publicUrl, aud: `${publicUrl}/v3`, sub: subject, jti: 'j1', client_id: 'c1', scope: 'write:plants nonsense' };
  const inAnHour = (): number => Math.floor(Date.now() / 1_000) + 3_600;
  const signed = (payload: object = {}, header = {}, by = key): Promise<string> =>
    new SignJWT({ exp: inAnHour(), ...claims, ...payload }).setProtectedHeader({ alg: 'ES256', kid: 'one', typ: 'at+jwt', ...header }).sign(by);

  it('yield their subject, client and known scopes', async () => {
    await expect(tokens.verify(await signed())).resolves.toMatchObject({
      userId: subject,
      clientId: 'c1',
      jti: 'j1',
      permissions: ['write:plants'],
    });
  });

  it('are revoked by id, signing key, client, grant and client secret', async () => {
    const plain = await tokens.verify(await signed());
    expect(revocationKeysOf(plain)).toEqual(['accessToken:j1', 'signingKey:one', 'client:c1']);
    const granted = await tokens.verify(await signed({ grant_id: 'g1', secret_id: 's1' }));
    expect(revocationKeysOf(granted)).toEqual(['accessToken:j1', 'signingKey:one', 'client:c1', 'grant:g1', 'clientSecret:s1']);
  });

  it('are for one resource', async () => {
    await expect(tokens.verify(await signed())).resolves.toMatchObject({ resource: '/v3' });
    await expect(tokens.verify(await signed({ aud: `${publicUrl}/mcp` }))).resolves.toMatchObject({ resource: '/mcp' });
    await expect(tokens.verify(await signed({ aud: [`${publicUrl}/v3`, `${publicUrl}/mcp`] }))).rejects.toMatchObject({ code: 'credential-refused' });
  });

  it('without a scope have no permissions', async () => {
    await expect(tokens.verify(await signed({ scope: undefined }))).resolves.toMatchObject({ permissions: [] });
  });

  it.each<[string, object, Record<string, unknown>]>([
    ['another issuer', { iss: 'https://evil.example' }, {}],
    ['another audience', { aud: 'https://other.example' }, {}],
    ['no audience', { aud: undefined }, {}],
    ['an expiry in the past', { exp: 1 }, {}],
    ['no expiry', { exp: undefined }, {}],
    ['no id', { jti: undefined }, {}],
    ['no client', { client_id: undefined }, {}],
    ['no subject', { sub: undefined }, {}],
    ['a subject that is not a user', { sub: 'c1' }, {}],
    ['a scope that is not a string', { scope: 7 }, {}],
    ['a grant that is not a string', { grant_id: 7 }, {}],
    ['a start in the future', { nbf: Math.floor(Date.now() / 1_000) + 600 }, {}],
    ['the type of an ID token', {}, { typ: 'JWT' }],
    ['no type', {}, { typ: undefined }],
    ['an unknown key id', {}, { kid: 'nine' }],
    ['no key id, though there is only one key', {}, { kid: undefined }],
  ])('are refused with %s', async (_, payload, header) => {
    await expect(tokens.verify(await signed(payload, header))).rejects.toMatchObject({ code: 'credential-refused' });
  });

  it.each([-600_000, 600_000])("are validated by identity's clock, not this process's: %d ms apart", async (skew) => {
    time = Date.now() + skew;
    const second = Math.floor(time / 1_000);
    await expect(tokens.verify(await signed({ iat: second, nbf: second, exp: second + 1 }))).resolves.toMatchObject({ jti: 'j1' });
    const token = await signed({ exp: second + 60 });
    await expect(tokens.verify(token)).resolves.toMatchObject({ expiresAt: (second + 60) * 1_000 });
    time += 60_000;
    await expect(tokens.verify(token)).rejects.toMatchObject({ code: 'credential-refused' });
  });

  it('are refused when another key signed them', async () => {
    await expect(tokens.verify(await signed({}, {}, otherKey))).rejects.toMatchObject({ code: 'credential-refused' });
  });

  it('are refused when signed with HMAC and a public key as the secret', async () => {
    const secret = new TextEncoder().encode(JSON.stringify(jwk));
    const token = await new SignJWT({ ...claims, exp: inAnHour() }).setProtectedHeader({ alg: 'HS256', kid: 'one', typ: 'at+jwt' }).sign(secret);
    await expect(tokens.verify(token)).rejects.toMatchObject({ code: 'credential-refused' });
  });

  it('are refused without a signature', async () => {
    const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
    const token = `${part({ alg: 'none', typ: 'at+jwt' })}.${part({ ...claims, exp: inAnHour() })}.`;
    await expect(tokens.verify(token)).rejects.toMatchObject({ code: 'credential-refused' });
  });

  it.each(['a.b.c', 'eyJhbGciOiJFUzI1NiJ9.e30.AAAA', '..'])('are refused when malformed: %s', async (token) => {
    await expect(tokens.verify(token)).rejects.toMatchObject({ code: 'credential-refused' });
  });

  it('are verified with keys that are read only once', async () => {
    await tokens.verify(await signed());
    await tokens.verify(await signed());
    expect(reads).toBe(1);
  });

  it('signed by a new key are accepted as soon as it is published', async () => {
    await tokens.verify(await signed());
    published = [jwk, otherJwk];
    now += 6_000;
    await expect(tokens.verify(await signed({}, { kid: 'two' }, otherKey))).resolves.toMatchObject({ jti: 'j1' });
    expect(reads).toBe(2);
  });

  it('with made-up key ids cause a read of the keys at most every five seconds', async () => {
    for (let n = 0; n < 50; n++) {
      now += 100;
      await expect(tokens.verify(await signed({}, { kid: `made-up-${n}` }))).rejects.toMatchObject({ code: 'credential-refused' });
    }
    expect(reads).toBeLessThanOrEqual(2);
  });

  it('signed by a replacement key are accepted as soon as the old keys are discarded', async () => {
    await tokens.verify(await signed());
    published = [otherJwk];
    tokens.forgetKeys();
    await expect(tokens.verify(await signed({}, { kid: 'two' }, otherKey))).resolves.toMatchObject({ kid: 'two' });
  });

  it('are not verified with keys that were requested before the keys were discarded', async () => {
    const answers: ((keys: object[]) => void)[] = [];
    const readKeys = (): Promise<SigningKeys> => new Promise((resolve) => answers.push((keys) => resolve({ keys } as SigningKeys)));
    const read = async (count: number): Promise<void> => {
      while (answers.length < count) await new Promise((resolve) => setImmediate(resolve));
    };
    const racing = new AccessTokens({ publicUrl, readKeys, identityTime: () => time });
    const before = expect(racing.verify(await signed())).rejects.toMatchObject({ code: 'credential-refused' });
    await read(1);
    racing.forgetKeys();
    answers[0]?.([jwk]);
    await read(2);
    answers[1]?.([otherJwk]);
    await before;
    await expect(racing.verify(await signed())).rejects.toMatchObject({ code: 'credential-refused' });
    await expect(racing.verify(await signed({}, { kid: 'two' }, otherKey))).resolves.toMatchObject({ kid: 'two' });
    expect(answers).toHaveLength(2);
  });

  it('signed by a withdrawn key are refused within five minutes', async () => {
    const token = await signed();
    await tokens.verify(token);
    published = [otherJwk];
    now += 300_000;
    await expect(tokens.verify(token)).rejects.toMatchObject({ code: 'credential-refused' });
  });

  it('cause `unavailable` while there are no keys to verify with', async () => {
    const tokensWithoutKeys = new AccessTokens({
      publicUrl,
      readKeys: () => Promise.reject(new CodedError('unavailable', 'identity is down')),
      identityTime: () => time,
    });
    await expect(tokensWithoutKeys.verify(await signed())).rejects.toMatchObject({ code: 'unavailable' });
  });
});
