import { beforeAll, describe, expect, it } from '@jest/globals';
import { Browser, expectPage, expectRedirect } from '@plant-shop/testing/browser';
import * as oauth from 'oauth4webapi';
import { createPlant, type Customer, fresh, gatewayUrl, login, newCustomer, ok, placeOrder, problem, send, sendLogin, staff } from './shop.js';

const pageOrigin = 'http://localhost:3000';
const plantAdmin = { grant_type: 'client_credentials', client_id: 'plant-admin', client_secret: 'plant-secret' };
const tokenRequest = async (form: Record<string, string>, headers: Record<string, string> = {}) => {
  const response = await fetch(`${gatewayUrl()}/oauth/token`, { method: 'POST', headers, body: new URLSearchParams(form) });
  return { response, body: (await response.json()) as { access_token: string; scope: string } };
};

describe('a client with an invalid credential', () => {
  let customer: Customer;
  let stale: { bearer: string };
  beforeAll(async () => {
    customer = await newCustomer();
    stale = { bearer: await login(customer.username, customer.password) };
    await ok(send('GET', '/v3/user/logout', { as: stale }));
  });

  it('can log in and register', async () => {
    const { username, password } = customer;
    for (const as of [stale, { apiKey: 'no-such-key' }, { ...stale, apiKey: 'no-such-key', sessionToken: 'wrong' }]) {
      const { message } = await ok(sendLogin(username, password, as));
      await ok(send('GET', '/v3/store/inventory', { as: { bearer: message } }));
      await ok(send('POST', '/v3/user', { as, json: { username: fresh('again'), password: 'a good password' } }));
      await ok(send('POST', '/v3/user/createWithList', { as, json: [{ username: fresh('again'), password: 'a good password' }] }));
    }
  });

  it('can use open operations', async () => {
    const { id } = await createPlant({ tags: [{ name: 'stale' }] });
    for (const path of [`/v3/plant/${id}`, '/v3/plant/findByStatus?status=sold&limit=1', '/v3/plant/findByTags?tags=stale', '/v3/openapi.json', '/readyz']) {
      await ok(send('GET', path, { as: stale }));
    }
    const seen = await ok(send<object>('GET', `/v3/user/${customer.username}`, { as: stale }));
    expect(seen).toEqual(await ok(send('GET', `/v3/user/${customer.username}`)));
  });

  it('is refused by operations that require credentials', async () => {
    await problem(send('GET', '/v3/store/inventory', { as: stale }), 401, 'credential-refused');
    await problem(send('GET', '/v3/store/inventory', { as: { ...stale, ...staff } }), 401, 'credential-refused');
  });

  it('registers once per Idempotency-Key, if the credential is valid', async () => {
    const json = { username: fresh('once'), password: 'a good password' };
    const register = () => send('POST', '/v3/user', { as: staff, json, headers: { 'idempotency-key': json.username } });
    const first = await register();
    const again = await register();
    expect(again).toMatchObject({ status: 200, body: first.body });
    expect(again.headers.get('idempotency-replayed')).toBe('true');
  });

  it('learns from the problem where to send an API key that it sent as a bearer token', async () => {
    const { detail } = await problem(send('GET', '/v3/store/inventory', { as: { bearer: 'special-key' } }), 401, 'credential-refused');
    expect(detail).toMatch(/API key.*header api_key/);
  });
});

describe('the scope read:plants', () => {
  it('is granted to Petstore clients, which request it together with write:plants', async () => {
    const { response, body } = await tokenRequest({ ...plantAdmin, scope: 'write:plants read:plants' });
    expect({ status: response.status, scope: body.scope.split(' ').sort() }).toEqual({ status: 200, scope: ['read:plants', 'write:plants'] });
    await ok(send('POST', '/v3/plant', { as: { bearer: body.access_token }, json: { name: 'Fern', photoUrls: [] } }));
  });

  it('is granted to every client, and permits only open operations', async () => {
    const json = { name: fresh('client'), grantTypes: ['client_credentials'], scopes: ['write:orders'], owner: 'admin' };
    const { clientId, secret } = await ok(send<{ clientId: string; secret: string }>('POST', '/v3/oauth/clients', { as: staff, json }));
    const client = { grant_type: 'client_credentials', client_id: clientId, client_secret: secret };
    const { body } = await tokenRequest({ ...client, scope: 'read:plants' });
    const as = { bearer: body.access_token };
    const { id } = await createPlant();
    await ok(send('GET', `/v3/plant/${id}`, { as }));
    await problem(send('POST', '/v3/plant', { as, json: { name: 'Fern' } }), 403, 'forbidden');
    await problem(send('POST', '/v3/store/order', { as, json: { plantId: id } }), 403, 'forbidden');
    expect((await tokenRequest({ ...client, scope: 'write:plants' })).response.status).toBe(400);
    await ok(send('DELETE', `/v3/oauth/clients/${clientId}`, { as: staff }));
  });

  it('is in discovery and in the API document', async () => {
    const discovery = (await (await fetch(`${gatewayUrl()}/.well-known/oauth-authorization-server`)).json()) as { scopes_supported: string[] };
    expect(discovery.scopes_supported).toContain('read:plants');
    const document = await ok(send<{ components: { securitySchemes: { oauth2: { flows: { clientCredentials: { scopes: object } } } } } }>('GET', '/v3/openapi.json'));
    expect(document.components.securitySchemes.oauth2.flows.clientCredentials.scopes).toHaveProperty('read:plants');
  });
});

describe('a page on localhost', () => {
  const allowed = (response: Response): string | null => response.headers.get('access-control-allow-origin');

  it.each(['/.well-known/openid-configuration', '/.well-known/oauth-authorization-server', '/oauth/jwks', '/v3/openapi.json', '/v3'])('can read %s', async (path) => {
    const response = await fetch(gatewayUrl() + path, { headers: { origin: pageOrigin } });
    expect({ status: response.status, allowed: allowed(response) }).toEqual({ status: 200, allowed: pageOrigin });
  });

  it.each([
    ['POST', '/oauth/token', 'content-type'],
    ['POST', '/oauth/revoke', 'content-type'],
    ['POST', '/v3/store/order', 'authorization, content-type, idempotency-key'],
    ['PUT', '/v3/user/admin/role', 'api_key, content-type, if-match'],
  ])('may send %s %s with the headers %s', async (method, path, headers) => {
    const preflight = { origin: pageOrigin, 'access-control-request-method': method, 'access-control-request-headers': headers };
    const response = await fetch(gatewayUrl() + path, { method: 'OPTIONS', headers: preflight });
    expect({ status: response.status, allowed: allowed(response) }).toEqual({ status: 204, allowed: pageOrigin });
    expect(response.headers.get('access-control-allow-methods')).toContain(method);
    expect(response.headers.get('access-control-allow-headers')).toBe(headers);
  });

  it('can read why a token request was refused', async () => {
    const { response, body } = await tokenRequest({ ...plantAdmin, client_secret: 'wrong' }, { origin: pageOrigin });
    expect({ status: response.status, allowed: allowed(response) }).toEqual({ status: 401, allowed: pageOrigin });
    expect(body).toMatchObject({ error: 'invalid_client' });
  });

  it('is allowed, but no page of another host', async () => {
    for (const origin of ['https://elsewhere.example', 'http://localhost.elsewhere.example:3000']) {
      expect(allowed(await fetch(`${gatewayUrl()}/.well-known/openid-configuration`, { headers: { origin } }))).toBeNull();
    }
  });
});

describe('"Authorize" on /docs', () => {
  const clientId = 'plant-docs';
  // eslint-disable-next-line @typescript-eslint/no-deprecated -- deprecated only to be noticed: this shop has no TLS
  const options = { [oauth.allowInsecureRequests]: true };

  it('uses an existing client', async () => {
    const script = await (await fetch(`${gatewayUrl()}/docs/docs.js`)).text();
    expect(script).toContain(`"clientId":"${clientId}"`);
  });

  it("gives a token with its user's permissions after a login", async () => {
    const redirectUri = `${gatewayUrl()}/docs/oauth2-redirect.html`;
    const issuer = new URL(gatewayUrl());
    const server = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...options }));
    const verifier = oauth.generateRandomCodeVerifier();
    const state = oauth.generateRandomState();
    const address = new URL(server.authorization_endpoint ?? '');
    address.search = new URLSearchParams({
      client_id: clientId,
      redirect_uri: redirectUri,
      response_type: 'code',
      state,
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    }).toString();
    const { username, password } = await newCustomer();
    const browser = new Browser(gatewayUrl());
    const consent = expectPage(await browser.submit(expectPage(await browser.open(address.href)), 'action=login', { username, password }));
    // The redirect URI is a page of the shop.
    const back = expectPage(await browser.submit(consent, 'action=allow'));
    const at = { client_id: clientId };
    const parameters = oauth.validateAuthResponse(server, at, new URL(back.url), state);
    const response = await oauth.authorizationCodeGrantRequest(server, at, oauth.None(), parameters, redirectUri, verifier, options);
    const { access_token: bearer } = await oauth.processAuthorizationCodeResponse(server, at, response);
    expect(await placeOrder({ plantId: (await createPlant()).id }, { bearer })).toMatchObject({ status: 'placed' });
    await problem(send('POST', '/v3/plant', { as: { bearer }, json: { name: 'Fern' } }), 403, 'forbidden');
  });

  it('also redirects to a page under localhost', async () => {
    const redirectUri = `${gatewayUrl().replace('127.0.0.1', 'localhost')}/docs/oauth2-redirect.html`;
    const address = new URL('/oauth/authorize', gatewayUrl());
    address.search = new URLSearchParams({
      client_id: clientId,
      redirect_uri: redirectUri,
      response_type: 'code',
      code_challenge: await oauth.calculatePKCECodeChallenge(oauth.generateRandomCodeVerifier()),
      code_challenge_method: 'S256',
    }).toString();
    const browser = new Browser(gatewayUrl());
    const page = expectPage(await browser.open(address.href));
    const back = expectRedirect(await browser.submit(expectPage(await browser.submit(page, 'action=login', await newCustomer().then(({ username, password }) => ({ username, password })))), 'action=allow'));
    expect(back.href).toMatch(redirectUri);
    expect(back.searchParams.get('code')).toBeTruthy();
  });

  it('is reachable from /docs/, which redirects to /docs, and from /v3, which links to it', async () => {
    const response = await fetch(`${gatewayUrl()}/docs/`, { redirect: 'manual' });
    expect(response.status).toBe(308);
    expect(new URL(response.headers.get('location') ?? '', response.url).href).toBe(`${gatewayUrl()}/docs`);
    expect(await (await fetch(`${gatewayUrl()}/v3`)).json()).toMatchObject({ reference: `${gatewayUrl()}/docs` });
  });
});

describe('the input of generated clients', () => {
  it('is accepted: spaces in lists, short offsets, empty categories', async () => {
    const name = fresh('lenient');
    const plant = await createPlant({ category: { id: 0, name: '' }, tags: [{ name }] });
    expect(plant).not.toHaveProperty('category');
    expect(await createPlant({ category: {} })).not.toHaveProperty('category');
    const tags = `${encodeURIComponent('no such tag ')},${encodeURIComponent(` ${name} `)}`;
    expect(await ok(send<unknown[]>('GET', `/v3/plant/findByTags?tags=${tags}`))).toEqual([plant]);
    await ok(send('GET', '/v3/plant/findByStatus?status=available,%20sold&limit=1'));
    await ok(send('GET', '/v3/store/order?status=placed,%20approved', { as: staff }));
    for (const offset of ['+0000', '+00', '+00:00', 'Z']) {
      const order = await placeOrder({ plantId: plant.id, shipDate: `2026-05-01T09:30:00.000${offset}` });
      expect(order.shipDate).toBe('2026-05-01T09:30:00.000Z');
    }
    await problem(send('POST', '/v3/store/order', { as: staff, json: { plantId: plant.id, shipDate: '2026-05-01T09:30:00' } }), 400, 'invalid-input');
  });
});
