import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { Credentials } from '@plant-shop/testing/http';
import { createPlant, gatewayUrl, login, newCustomer, ok, placeOrder, problem, send, staff } from './shop.js';

interface ApiKey {
  id: string;
  name: string;
  key?: string;
  prefix: string;
  permissions: string[];
}

const plantAdmin = { client_id: 'plant-admin', client_secret: 'plant-secret' };
async function token(parameters: Record<string, string>, headers: Record<string, string> = {}) {
  const response = await fetch(`${gatewayUrl()}/oauth/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    body: new URLSearchParams({ grant_type: 'client_credentials', ...parameters }).toString(),
  });
  const body = (await response.json()) as Record<string, string>;
  return { status: response.status, bearer: body['access_token'] ?? '' };
}

describe('credentials', () => {
  it('every operation that requires credentials refuses missing and wrong ones', async () => {
    const { id } = await createPlant();
    for (const [method, path] of [
      ['POST', '/v3/plant'],
      ['PUT', '/v3/plant'],
      ['POST', `/v3/plant/${id}`],
      ['DELETE', `/v3/plant/${id}`],
      ['POST', `/v3/plant/${id}/uploadImage`],
      ['POST', '/v3/store/order'],
      ['GET', '/v3/store/order/1'],
      ['DELETE', '/v3/store/order/1'],
      ['GET', '/v3/store/inventory'],
      ['PUT', '/v3/user/admin'],
      ['DELETE', '/v3/user/admin'],
    ] as const) {
      const answer = send(method, path);
      await problem(answer, 401, 'unauthorized');
      expect((await answer).headers.get('www-authenticate')).toBeTruthy();
      await problem(send(method, path, { as: { apiKey: 'no-such-key' } }), 401, 'credential-refused');
    }
  });

  it('if an operation requires credentials, all that are sent must be valid', async () => {
    await problem(send('GET', '/v3/store/order', { as: { bearer: 'no-such-token' } }), 401, 'credential-refused');
    await problem(send('GET', '/v3/store/order', { as: { ...staff, sessionToken: 'wrong' } }), 401, 'credential-refused');
  });

  it("a customer's key can place orders, cannot write plants, and is refused after its revocation", async () => {
    const customer = await newCustomer();
    const keys = `/v3/user/${customer.username}/apiKeys`;
    const created = await ok(send<ApiKey>('POST', keys, { as: customer, json: { name: 'till' } }));
    expect(created.key).toMatch(/^\S{20,}$/);
    const key = { apiKey: created.key ?? '' };
    const plant = await createPlant();
    expect(await placeOrder({ plantId: plant.id }, key)).toMatchObject({ plantId: plant.id });
    await problem(send('DELETE', `/v3/plant/${plant.id}`, { as: key }), 403, 'forbidden');
    await problem(send('POST', '/v3/plant', { as: key, json: { name: 'x' } }), 403, 'forbidden');
    const more = send('POST', keys, { as: customer, json: { name: 'more', permissions: ['write:plants'] } });
    await problem(more, 403, 'forbidden');
    const listed = await ok(send<ApiKey[]>('GET', keys, { as: customer }));
    expect(listed).toHaveLength(1);
    expect(listed[0]).toMatchObject({ id: created.id, name: 'till', prefix: created.prefix });
    expect(listed[0]).not.toHaveProperty('key');

    await ok(send('DELETE', `${keys}/${created.id}`, { as: customer }));
    await problem(send('GET', '/v3/store/inventory', { as: key }), 401, 'credential-refused');
    await problem(send('DELETE', `${keys}/${created.id}`, { as: customer }), 404, 'api-key-not-found');
  });

  it('a rotated key and its successor both work until the grace period ends', async () => {
    const customer = await newCustomer();
    const keys = `/v3/user/${customer.username}/apiKeys`;
    const make = async () => {
      const { id, key = '' } = await ok(send<ApiKey>('POST', keys, { as: customer, json: { name: 'till' } }));
      return { id, as: { apiKey: key } };
    };
    const rotate = (id: string, json: object) => send<ApiKey>('POST', `${keys}/${id}/rotation`, { as: customer, json });
    const inventoryAs = (as: object) => send('GET', '/v3/store/inventory', { as });
    const old = await make();
    const { key = '', ...successor } = await ok(rotate(old.id, {}));
    expect(successor).toMatchObject({ name: 'till', permissions: expect.any(Array) });
    await ok(inventoryAs(old.as));
    await ok(inventoryAs({ apiKey: key }));
    await problem(rotate(old.id, {}), 409, 'too-many-api-keys');

    const another = await make();
    await ok(inventoryAs(another.as));
    await ok(rotate(another.id, { graceSeconds: 0 }));
    await problem(inventoryAs(another.as), 401, 'credential-refused');
    await problem(rotate(another.id, { graceSeconds: -1 }), 400, 'invalid-input');
  });

  it('an OAuth client gets a token with all its scopes, or with those that it requests', async () => {
    const all = await token(plantAdmin);
    expect(all.status).toBe(200);
    const plant = { name: 'Ivy', photoUrls: [] };
    const { id } = await ok(send<{ id: number }>('POST', '/v3/plant', { as: all, json: plant }));
    const basic = Buffer.from('plant-admin:plant-secret').toString('base64');
    const some = await token({ scope: 'write:orders' }, { authorization: `Basic ${basic}` });
    expect(await placeOrder({ plantId: id }, some)).toMatchObject({ plantId: id });
    await problem(send('POST', '/v3/plant', { as: some, json: plant }), 403, 'forbidden');
    expect(await token({ ...plantAdmin, client_secret: 'wrong' })).toMatchObject({ status: 401 });
    expect(await token({ ...plantAdmin, scope: 'no:such' })).toMatchObject({ status: 400 });
    const forged = { bearer: `${all.bearer.slice(0, -4)}AAAA` };
    await problem(send('POST', '/v3/plant', { as: forged, json: plant }), 401, 'credential-refused');
  });

  it('discovery names the issuer and the token endpoint', async () => {
    for (const path of ['/.well-known/openid-configuration', '/.well-known/oauth-authorization-server']) {
      expect(await (await fetch(gatewayUrl() + path)).json()).toMatchObject({
        issuer: gatewayUrl(),
        token_endpoint: `${gatewayUrl()}/oauth/token`,
        jwks_uri: expect.stringContaining(gatewayUrl()),
      });
    }
  });

  it('permissions of one user are combined; credentials of another user add nothing, and the audit log names them', async () => {
    const { id } = await createPlant();
    const rename = (as: Credentials, requestId: string = randomUUID()) => send('POST', `/v3/plant/${id}`, { as, headers: { 'x-request-id': requestId }, form: { name: 'x' } });
    const keyOf = async (username: string, as: Credentials, json: object): Promise<Required<ApiKey>> => ok(send<Required<ApiKey>>('POST', `/v3/user/${username}/apiKeys`, { as, json: { name: 'k', ...json } }));
    const narrow = await keyOf('admin', staff, { permissions: ['read:orders'] });
    const { bearer } = await token({ ...plantAdmin, scope: 'write:plants' });
    await problem(rename({ apiKey: narrow.key }), 403, 'forbidden');
    await ok(rename({ apiKey: narrow.key, bearer }));

    const customer = await newCustomer();
    const theirs = await keyOf(customer.username, customer, {});
    await problem(rename({ bearer: customer.bearer, ...staff }), 403, 'forbidden');
    await problem(rename({ sessionToken: customer.bearer, ...staff }), 403, 'forbidden');
    await problem(rename({ sessionToken: customer.bearer, bearer }), 403, 'forbidden');
    await problem(rename({ apiKey: theirs.key, bearer }), 403, 'forbidden');

    const requestId = randomUUID();
    await ok(rename({ sessionToken: await login('admin', 'admin-password'), apiKey: theirs.key }, requestId));
    const entries = await ok(send<{ requestId: string }[]>('GET', '/v3/audit?operation=catalog.changePlant&limit=50', { as: staff }));
    expect(entries.find((one) => one.requestId === requestId)).toMatchObject({
      username: 'admin',
      credentials: [{ kind: 'session', id: expect.stringMatching(/^[0-9a-f-]{36}$/) }],
      otherCredentials: [{ kind: 'apiKey', id: theirs.id, username: customer.username }],
    });
  });
});
