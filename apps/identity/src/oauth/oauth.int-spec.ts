import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { identity } from '@plant-shop/contracts/identity';
import { permissions } from '@plant-shop/contracts/permissions';
import { createLocalJWKSet, decodeProtectedHeader, jwtVerify, type JWTPayload } from 'jose';
import { TestIdentity } from '../identity.spec.fixture.js';

interface TokenResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly body: { access_token: string; scope?: string; error?: string; expires_in?: number; token_type?: string };
}

const basic = (id: string, secret: string): Record<string, string> => ({
  authorization: `Basic ${Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`).toString('base64')}`,
});

describe('OAuth 2.0 client credentials', () => {
  let shop: TestIdentity;
  let origin: string;
  beforeAll(async () => {
    shop = await TestIdentity.start({ demoData: true, loginLimitPerAddress: 5 });
    origin = `http://127.0.0.1:${shop.httpPort}`;
  });
  afterAll(() => shop.stop());

  async function ask(form: Record<string, string>, headers: Record<string, string> = {}): Promise<TokenResponse> {
    const body = new URLSearchParams({ grant_type: 'client_credentials', ...form });
    const response = await fetch(`${origin}/oauth/token`, { method: 'POST', body, headers });
    return { status: response.status, headers: response.headers, body: (await response.json()) as TokenResponse['body'] };
  }

  /** Adds a client with the demo client's owner and secret and only the scope `read:orders`. */
  const addClient = (id: string): Promise<unknown> =>
    shop.sql.query(
      `INSERT INTO oauth_clients (client_id, name, grant_types, user_id, secret_id, secret_hash, scopes)
       SELECT $1, name, grant_types, user_id, gen_random_uuid(), secret_hash, '{read:orders}' FROM oauth_clients WHERE client_id = 'plant-admin'`,
      [id],
    );

  const demo = basic('plant-admin', 'plant-secret');

  async function verified(token: string): Promise<JWTPayload> {
    const { keys } = await shop.call(identity.readSigningKeys, {});
    const { payload } = await jwtVerify(token, createLocalJWKSet({ keys: [...keys] }), {
      issuer: 'http://shop.test',
      audience: 'http://shop.test/v3',
      typ: 'at+jwt',
      algorithms: ['ES256'],
    });
    return payload;
  }

  it("yield a token that acts for the client's owner for an hour, by default with all scopes", async () => {
    const { status, body, headers } = await ask({}, demo);
    expect(status).toBe(200);
    expect(body).toMatchObject({ token_type: 'Bearer', expires_in: 3600, scope: permissions.join(' ') });
    expect(headers.get('cache-control')).toContain('no-store');
    const admin = await shop.check('apiKey', 'special-key');
    const payload = await verified(body.access_token);
    expect(payload).toMatchObject({
      sub: admin.userId,
      client_id: 'plant-admin',
      scope: permissions.join(' '),
      jti: expect.any(String),
    });
    expect(payload.exp! - payload.iat!).toBe(3600);
  });

  it('yield only the requested scopes', async () => {
    const { body } = await ask({ scope: 'write:plants read:orders' }, demo);
    expect(body.scope).toBe('write:plants read:orders');
    expect((await verified(body.access_token))['scope']).toBe('write:plants read:orders');
  });

  it('may be sent in the form', async () => {
    const { status } = await ask({ client_id: 'plant-admin', client_secret: 'plant-secret' });
    expect(status).toBe(200);
  });

  it('refuse a scope that the client lacks or that does not exist', async () => {
    await addClient('reader');
    const reader = basic('reader', 'plant-secret');
    for (const scope of ['write:plants', 'read:orders write:plants', 'no:such']) {
      const { status, body } = await ask({ scope }, reader);
      expect({ status, error: body.error }).toEqual({ status: 400, error: 'invalid_scope' });
    }
    expect((await ask({}, reader)).body.scope).toBe('read:orders');
  });

  it('refuse another resource, grant type or content type', async () => {
    expect((await ask({ resource: 'http://elsewhere.test/' }, demo)).body.error).toBe('invalid_target');
    expect((await ask({ grant_type: 'password' }, demo)).body.error).toBe('unsupported_grant_type');
    const json = { method: 'POST', body: '{}', headers: { ...demo, 'content-type': 'application/json' } };
    expect((await fetch(`${origin}/oauth/token`, json)).status).toBe(400);
  });

  it('are refused with a wrong secret, an unknown client or no client', async () => {
    const wrong = await ask({}, basic('plant-admin', 'wrong'));
    expect(wrong).toMatchObject({ status: 401, body: { error: 'invalid_client' } });
    expect(wrong.headers.get('www-authenticate')).toContain('Basic');
    expect(await ask({}, basic('unknown', 'plant-secret'))).toMatchObject({
      status: 401,
      body: { error: 'invalid_client' },
    });
    expect((await ask({})).status).toBe(400);
  });

  it('lock out an address after too many guesses, but no other address, nor a secret verified before', async () => {
    const from = (address: string, secret: string): Promise<TokenResponse> =>
      ask({}, { ...basic('reader-2', secret), 'x-forwarded-for': `10.9.9.9, ${address}` });
    await addClient('reader-2');
    for (let n = 0; n < 5; n++) expect((await from('198.51.100.7', `guess-${n}`)).status).toBe(401);
    const locked = await from('198.51.100.7', 'a-sixth-guess');
    expect(locked.status).toBe(429);
    expect(Number(locked.headers.get('retry-after'))).toBeGreaterThan(800);
    expect((await from('198.51.100.8', 'plant-secret')).status).toBe(200);
    // Verified before, so not limited.
    expect((await from('198.51.100.7', 'plant-secret')).status).toBe(200);
  });

  it('stop working as soon as the stored secret changes', async () => {
    await addClient('rotated');
    const rotated = { ...basic('rotated', 'plant-secret'), 'x-forwarded-for': '203.0.113.5' };
    expect((await ask({}, rotated)).status).toBe(200);
    await shop.sql.query(
      `UPDATE oauth_clients SET secret_hash = (SELECT password_hash FROM users WHERE username = 'admin')
       WHERE client_id = 'rotated'`,
    );
    expect((await ask({}, rotated)).status).toBe(401);
    expect((await ask({}, { ...rotated, ...basic('rotated', 'admin-password') })).status).toBe(200);
  });

  it('are discovered with URLs of PUBLIC_URL, regardless of the Host header', async () => {
    for (const path of ['/.well-known/openid-configuration', '/.well-known/oauth-authorization-server']) {
      const response = await fetch(`${origin}${path}`, {
        headers: { 'x-forwarded-host': 'evil.test', 'x-forwarded-proto': 'https' },
      });
      expect(await response.json()).toMatchObject({
        issuer: 'http://shop.test',
        token_endpoint: 'http://shop.test/oauth/token',
        jwks_uri: 'http://shop.test/oauth/jwks',
        authorization_endpoint: 'http://shop.test/oauth/authorize',
        revocation_endpoint: 'http://shop.test/oauth/revoke',
        introspection_endpoint: 'http://shop.test/oauth/introspect',
        authorization_response_iss_parameter_supported: true,
        code_challenge_methods_supported: ['S256'],
        response_types_supported: ['code'],
        grant_types_supported: expect.arrayContaining(['authorization_code', 'client_credentials', 'refresh_token']),
        id_token_signing_alg_values_supported: ['ES256'],
        scopes_supported: ['openid', 'profile', 'email', ...permissions],
        userinfo_endpoint: 'http://shop.test/oauth/userinfo',
        end_session_endpoint: 'http://shop.test/oauth/logout',
        token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post', 'none'],
      });
    }
  });

  it('yield tokens signed with one key on all replicas, whose private part is not published', async () => {
    const second = await shop.addReplica();
    const keys = async (port: number): Promise<Record<string, string>[]> =>
      ((await (await fetch(`http://127.0.0.1:${port}/oauth/jwks`)).json()) as { keys: Record<string, string>[] }).keys;
    const [first] = await keys(shop.httpPort);
    expect(await keys(second.httpPort)).toEqual([first]);
    const { keys: published } = await shop.call(identity.readSigningKeys, {});
    expect(published).toEqual([first]);
    expect(first).not.toHaveProperty('d');
    expect(decodeProtectedHeader((await ask({}, demo)).body.access_token).kid).toBe(first!['kid']);
    const { rows } = await shop.sql.query<{ row: string }>('SELECT s::text AS row FROM signing_keys s');
    expect(rows).toHaveLength(1);
  });

  it('need the IDENTITY_SECRET that encrypted the signing keys, or identity does not start', async () => {
    await expect(shop.addReplica({ identitySecrets: ['another secret of 32 characters or more'] })).rejects.toThrow(
      /IDENTITY_SECRET/,
    );
  });
});
