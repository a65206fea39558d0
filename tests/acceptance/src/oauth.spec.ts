import { beforeAll, describe, expect, it } from '@jest/globals';
import { Browser, expectPage, expectRedirect } from '@plant-shop/testing/browser';
import * as oauth from 'oauth4webapi';
import * as openid from 'openid-client';
import { type Customer, fresh, gatewayUrl, newCustomer, ok, problem, send, staff, until } from './shop.js';

// Tests with two generic OAuth 2.0 clients, openid-client and oauth4webapi, that know only the shop's address.

const redirectUri = 'https://planner.example/callback';
const plant = { name: 'Monstera', photoUrls: [] };

interface Registered {
  clientId: string;
  secret?: string;
}

const register = (changed: object = {}): Promise<Registered> =>
  ok(
    send<Registered>('POST', '/v3/oauth/clients', {
      as: staff,
      json: {
        name: 'Garden planner',
        redirectUris: [redirectUri],
        grantTypes: ['authorization_code', 'refresh_token'],
        scopes: ['write:plants', 'write:orders', 'read:orders'],
        ...changed,
      },
    }),
  );

const discover = ({ clientId, secret }: Registered): Promise<openid.Configuration> =>
  openid.discovery(new URL(gatewayUrl()), clientId, secret, secret === undefined ? openid.None() : openid.ClientSecretBasic(secret), {
    // eslint-disable-next-line @typescript-eslint/no-deprecated -- deprecated only to be noticed: this shop has no TLS
    execute: [openid.allowInsecureRequests],
  });

interface Authorization {
  readonly address: URL;
  readonly checks: { readonly pkceCodeVerifier: string; readonly expectedState: string };
}

async function begin(config: openid.Configuration, scope: string, more: Record<string, string> = {}): Promise<Authorization> {
  const pkceCodeVerifier = openid.randomPKCECodeVerifier();
  const expectedState = openid.randomState();
  const address = openid.buildAuthorizationUrl(config, {
    redirect_uri: redirectUri,
    scope,
    state: expectedState,
    code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: 'S256',
    ...more,
  });
  return { address, checks: { pkceCodeVerifier, expectedState } };
}

/** Logs in and consents in a browser. @returns the redirect URL */
async function authorize(address: URL, { username, password }: Pick<Customer, 'username' | 'password'>): Promise<URL> {
  const browser = new Browser(gatewayUrl());
  const consent = expectPage(await browser.submit(expectPage(await browser.open(address.href)), 'action=login', { username, password }));
  return expectRedirect(await browser.submit(consent, 'action=allow'));
}

const admin = { username: 'admin', password: 'admin-password' };
const refusedWithin = async (token: string, limitMs: number): Promise<void> =>
  until(async () => (await send('POST', '/v3/plant', { as: { bearer: token }, json: plant })).status === 401, limitMs);

describe('OAuth 2.0 for an application with user logins', () => {
  let client: Registered;
  let config: openid.Configuration;
  beforeAll(async () => {
    client = await register();
    config = await discover(client);
  });

  it('works from discovery over requests and refresh to revocation', async () => {
    const { address, checks } = await begin(config, 'write:plants write:orders');
    const tokens = await openid.authorizationCodeGrant(config, await authorize(address, admin), checks);
    expect(tokens.scope).toBe('write:plants write:orders');
    await ok(send('POST', '/v3/plant', { as: { bearer: tokens.access_token }, json: plant }));
    await problem(send('GET', '/v3/oauth/clients', { as: { bearer: tokens.access_token } }), 403, 'forbidden');

    const refreshed = await openid.refreshTokenGrant(config, tokens.refresh_token ?? '');
    expect(refreshed.refresh_token).not.toBe(tokens.refresh_token);
    await ok(send('POST', '/v3/plant', { as: { bearer: refreshed.access_token }, json: plant }));
    expect(await openid.tokenIntrospection(config, refreshed.access_token)).toMatchObject({ active: true, scope: 'write:plants write:orders' });

    await openid.tokenRevocation(config, refreshed.refresh_token ?? '');
    await refusedWithin(refreshed.access_token, 1_000);
    await refusedWithin(tokens.access_token, 1_000);
    expect(await openid.tokenIntrospection(config, refreshed.access_token)).toEqual({ active: false });
    await expect(openid.refreshTokenGrant(config, refreshed.refresh_token ?? '')).rejects.toMatchObject({ error: 'invalid_grant' });
  });

  it('tells who the user is, and logs out and back to the application', async () => {
    const goodbye = 'https://planner.example/goodbye';
    const configured = await discover(await register({ postLogoutRedirectUris: [goodbye] }));
    const { address, checks } = await begin(configured, 'openid email');
    const browser = new Browser(gatewayUrl());
    const consent = expectPage(await browser.submit(expectPage(await browser.open(address.href)), 'action=login', admin));
    const tokens = await openid.authorizationCodeGrant(configured, expectRedirect(await browser.submit(consent, 'action=allow')), checks);
    const { sub = '' } = tokens.claims() ?? {};
    expect(await openid.fetchUserInfo(configured, tokens.access_token, sub)).toMatchObject({ sub, preferred_username: 'admin' });
    const end = openid.buildEndSessionUrl(configured, { id_token_hint: tokens.id_token ?? '', post_logout_redirect_uri: goodbye, state: 'bye' });
    const back = expectRedirect(await browser.submit(expectPage(await browser.open(end.href)), 'logout=yes'));
    expect(back.href).toBe(`${goodbye}?state=bye`);
    expect(expectPage(await browser.open((await begin(configured, 'openid')).address.href)).text).toContain('Log in');
    await expect(openid.refreshTokenGrant(configured, tokens.refresh_token ?? '')).rejects.toMatchObject({ error: 'invalid_grant' });
  });

  it('repeats a refresh whose answer was lost', async () => {
    const { address, checks } = await begin(config, 'write:plants');
    const first = await openid.authorizationCodeGrant(config, await authorize(address, admin), checks);
    const lost = await openid.refreshTokenGrant(config, first.refresh_token ?? '');
    const repeated = await openid.refreshTokenGrant(config, first.refresh_token ?? '');
    expect(repeated.refresh_token).toBe(lost.refresh_token);
    await ok(send('POST', '/v3/plant', { as: { bearer: repeated.access_token }, json: plant }));
    await openid.refreshTokenGrant(config, repeated.refresh_token ?? '');
  });

  it('revokes all tokens of a consent within a second if a refresh token is used again after its successor', async () => {
    const { address, checks } = await begin(config, 'write:plants');
    const first = await openid.authorizationCodeGrant(config, await authorize(address, admin), checks);
    const used = await openid.refreshTokenGrant(config, first.refresh_token ?? '');
    const second = await openid.refreshTokenGrant(config, used.refresh_token ?? '');
    await expect(openid.refreshTokenGrant(config, first.refresh_token ?? '')).rejects.toMatchObject({ error: 'invalid_grant' });
    await refusedWithin(second.access_token, 1_000);
    await refusedWithin(first.access_token, 1_000);
    await expect(openid.refreshTokenGrant(config, second.refresh_token ?? '')).rejects.toMatchObject({ error: 'invalid_grant' });
  });

  it('refuses an individually revoked access token within a second', async () => {
    const { address, checks } = await begin(config, 'write:plants');
    const tokens = await openid.authorizationCodeGrant(config, await authorize(address, admin), checks);
    await ok(send('POST', '/v3/plant', { as: { bearer: tokens.access_token }, json: plant }));
    await openid.tokenRevocation(config, tokens.access_token, { token_type_hint: 'access_token' });
    await refusedWithin(tokens.access_token, 1_000);
  });

  it("grants at most the customer's permissions, and the consent page lists the requested ones", async () => {
    const customer = await newCustomer();
    const { address, checks } = await begin(config, 'write:orders write:plants openid');
    const browser = new Browser(gatewayUrl());
    const login = expectPage(await browser.open(address.href));
    expect(login.text).toContain('Garden planner');
    const { username, password } = customer;
    const consent = expectPage(await browser.submit(login, 'action=login', { username, password }));
    expect(consent.text).toMatch(
      /It will be able to:[\s\S]*Place and cancel own orders[\s\S]*Not included[\s\S]*Add, change and delete plants/,
    );
    for (const page of [login, consent]) {
      expect(page.headers.get('content-security-policy')).toMatch(/default-src 'none'.*frame-ancestors 'none'/);
      expect(page.headers.get('x-frame-options')).toBe('DENY');
      expect(page.headers.get('cache-control')).toContain('no-store');
    }
    const tokens = await openid.authorizationCodeGrant(config, expectRedirect(await browser.submit(consent, 'action=allow')), checks);
    expect(tokens.scope?.split(' ')).not.toContain('write:plants');
    expect(tokens.claims()?.sub).toMatch(/^[0-9a-f-]{36}$/);
    await problem(send('POST', '/v3/plant', { as: { bearer: tokens.access_token }, json: plant }), 403, 'forbidden');
    // An ID token identifies the user and is no credential.
    await problem(send('GET', '/v3/store/order', { as: { bearer: tokens.id_token ?? '' } }), 401, 'credential-refused');
  });

  it("ends applications' tokens when the user ends all sessions", async () => {
    const customer = await newCustomer();
    const { address, checks } = await begin(config, 'write:orders');
    const tokens = await openid.authorizationCodeGrant(config, await authorize(address, customer), checks);
    await ok(send('GET', '/v3/store/order', { as: { bearer: tokens.access_token } }));
    const sessions = `/v3/user/${customer.username}/sessions`;
    const open = await ok(send<{ kind: string; current: boolean }[]>('GET', sessions, { as: customer }));
    expect(open.map(({ kind, current }) => ({ kind, current }))).toEqual([
      { kind: 'application', current: false },
      { kind: 'token', current: true },
    ]);
    await ok(send('DELETE', sessions, { as: customer }));
    await problem(send('GET', sessions, { as: customer }), 401, 'credential-refused');
    await refusedWithin(tokens.access_token, 1_000);
    await expect(openid.refreshTokenGrant(config, tokens.refresh_token ?? '')).rejects.toMatchObject({ error: 'invalid_grant' });
  });

  it('revokes access tokens when the secret of their client is rotated or the client is deleted', async () => {
    const own = await register({ scopes: ['write:plants'] });
    const before = await discover(own);
    const { address, checks } = await begin(before, 'write:plants');
    const tokens = await openid.authorizationCodeGrant(before, await authorize(address, admin), checks);
    await ok(send('POST', '/v3/plant', { as: { bearer: tokens.access_token }, json: plant }));
    const rotated = await ok(send<Registered>('POST', `/v3/oauth/clients/${own.clientId}/rotateSecret`, { as: staff }));
    await refusedWithin(tokens.access_token, 1_000);
    await expect(openid.refreshTokenGrant(before, tokens.refresh_token ?? '')).rejects.toMatchObject({ status: 401 });
    const after = await discover(rotated);
    const refreshed = await openid.refreshTokenGrant(after, tokens.refresh_token ?? '');
    await ok(send('POST', '/v3/plant', { as: { bearer: refreshed.access_token }, json: plant }));
    await ok(send('DELETE', `/v3/oauth/clients/${own.clientId}`, { as: staff }));
    await refusedWithin(refreshed.access_token, 1_000);
    await problem(send('GET', `/v3/oauth/clients/${own.clientId}`, { as: staff }), 404, 'oauth-client-not-found');
  });

  it('works without a secret for a public client, here oauth4webapi', async () => {
    const { clientId } = await register({ public: true, name: fresh('browser app') });
    const issuer = new URL(gatewayUrl());
    // eslint-disable-next-line @typescript-eslint/no-deprecated -- deprecated only to be noticed: this shop has no TLS
    const options = { [oauth.allowInsecureRequests]: true };
    const discovered = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...options });
    const server = await oauth.processDiscoveryResponse(issuer, discovered);
    const verifier = oauth.generateRandomCodeVerifier();
    const state = oauth.generateRandomState();
    const address = new URL(server.authorization_endpoint ?? '');
    address.search = new URLSearchParams({
      client_id: clientId,
      redirect_uri: redirectUri,
      response_type: 'code',
      scope: 'write:orders',
      state,
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    }).toString();
    const customer = await newCustomer();
    const at = { client_id: clientId };
    const parameters = oauth.validateAuthResponse(server, at, await authorize(address, customer), state);
    const response = await oauth.authorizationCodeGrantRequest(server, at, oauth.None(), parameters, redirectUri, verifier, options);
    const tokens = await oauth.processAuthorizationCodeResponse(server, at, response);
    await ok(send('GET', '/v3/store/order', { as: { bearer: tokens.access_token } }));
    await oauth.processRevocationResponse(await oauth.revocationRequest(server, at, oauth.None(), tokens.refresh_token ?? '', options));
    await refusedWithin(tokens.access_token, 1_000);
  });
});

describe('OAuth 2.0 clients', () => {
  it('are managed with write:users, and returned without their secrets', async () => {
    const customer = await newCustomer();
    await problem(send('GET', '/v3/oauth/clients', { as: customer }), 403, 'forbidden');
    const made = await register({ grantTypes: ['client_credentials'], redirectUris: [], owner: 'admin', scopes: ['write:plants'] });
    expect(made.secret).toMatch(/^pscs_/);
    const read = await ok(send<Registered>('GET', `/v3/oauth/clients/${made.clientId}`, { as: staff }));
    expect(read).toMatchObject({ clientId: made.clientId, owner: 'admin', public: false });
    expect(read).not.toHaveProperty('secret');
    const config = await discover(made);
    const { access_token: token } = await openid.clientCredentialsGrant(config);
    await ok(send('POST', '/v3/plant', { as: { bearer: token }, json: plant }));
    await openid.tokenRevocation(config, token);
    await refusedWithin(token, 1_000);
    await ok(send('DELETE', `/v3/oauth/clients/${made.clientId}`, { as: staff }));
    await expect(openid.clientCredentialsGrant(config)).rejects.toMatchObject({ status: 401 });
  });

  it('are refused with invalid redirect URIs, with pointers to them', async () => {
    const client = { name: 'x', grantTypes: ['authorization_code'], scopes: ['write:orders'], redirectUris: ['http://evil.example/', 'https://a.example/#b'] };
    const { errors = [] } = await problem(send('POST', '/v3/oauth/clients', { as: staff, json: client }), 400, 'invalid-input');
    expect(errors.map(({ pointer }) => pointer)).toEqual(['/redirectUris/0', '/redirectUris/1']);
  });
});
