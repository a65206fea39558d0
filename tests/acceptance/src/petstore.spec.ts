import { describe, expect, it } from '@jest/globals';
import type { paths } from '@plant-shop/client';
import createClient from 'openapi-fetch';
import { checked, fresh, gatewayUrl, login, until } from './shop.js';

// Clients of the Swagger Petstore v3, in which only the noun pet is replaced by plant.

const png = new Blob([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(2_000, 7)], { type: 'image/png' });
const idFrom = () => 1 + Math.floor(Math.random() * 900_000_000);

describe('a client that openapi-fetch derives from the document', () => {
  const client = createClient<paths>({
    baseUrl: `${gatewayUrl()}/v3`,
    headers: { api_key: 'special-key' },
    fetch: async (request) => {
      const response = await fetch(request);
      await checked(request.method, request.url, response.clone());
      return response;
    },
  });

  it('adds, finds, changes and deletes a plant', async () => {
    const tag = fresh('petstore');
    const body = {
      id: idFrom(),
      name: 'Monstera',
      category: { id: 1, name: 'Foliage' },
      photoUrls: ['https://example.org/monstera.jpg'],
      tags: [{ id: 0, name: tag }],
      status: 'available' as const,
    };
    const { data: plant } = await client.POST('/plant', { body });
    expect(plant).toEqual({ ...body, tags: [{ id: expect.any(Number), name: tag }], updatedAt: expect.any(String) });
    const path = { plantId: body.id };

    const { data: replaced } = await client.PUT('/plant', { body: { ...body, name: 'Monstera deliciosa', status: 'pending' } });
    expect(replaced).toMatchObject({ name: 'Monstera deliciosa', status: 'pending' });

    const byStatus = await client.GET('/plant/findByStatus', { params: { query: { status: ['pending', 'sold'] } } });
    expect(byStatus.data?.map(({ id }) => id)).toContain(body.id);
    const byTags = await client.GET('/plant/findByTags', { params: { query: { tags: [tag, fresh('none')] } } });
    expect(byTags.data).toEqual([replaced]);
    expect((await client.GET('/plant/{plantId}', { params: { path } })).data).toEqual(replaced);

    const form = await client.POST('/plant/{plantId}', {
      params: { path },
      body: { name: 'Swiss cheese plant', status: 'sold' },
      headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
      // The default serializer does the same, but not in Jest, whose Headers are from another realm.
      bodySerializer: (fields) => new URLSearchParams(fields as Record<string, string>).toString(),
    });
    expect(form.data).toMatchObject({ name: 'Swiss cheese plant', status: 'sold' });

    const upload = await client.POST('/plant/{plantId}/uploadImage', {
      params: { path },
      body: { additionalMetadata: 'from the greenhouse', file: png },
      bodySerializer: ({ additionalMetadata = '', file }) => {
        const parts = new FormData();
        parts.append('additionalMetadata', additionalMetadata);
        parts.append('file', file, 'monstera.png');
        return parts;
      },
    });
    expect(upload.data).toMatchObject({ code: 200, type: 'SUCCESS' });

    expect((await client.DELETE('/plant/{plantId}', { params: { path } })).data).toMatchObject({ code: 200 });
    const gone = await client.GET('/plant/{plantId}', { params: { path } });
    expect({ data: gone.data, code: gone.error?.code }).toEqual({ data: undefined, code: 'plant-not-found' });
  });

  it('places, reads and cancels an order', async () => {
    const { data: plant } = await client.POST('/plant', { body: { name: 'Ficus', photoUrls: [], quantity: 5 } });
    const before = (await client.GET('/store/inventory')).data;
    expect(Object.keys(before ?? {}).sort()).toEqual(['available', 'pending', 'sold']);
    const body = { id: idFrom(), plantId: plant?.id ?? 0, quantity: 2, shipDate: new Date().toISOString(), status: 'placed' as const };
    const { data: order } = await client.POST('/store/order', { body });
    expect(order).toEqual({ ...body, complete: false, placedAt: expect.any(String), updatedAt: expect.any(String) });
    const params = { path: { orderId: body.id } };
    // At once, because orders are approved after a moment in this shop.
    expect((await client.DELETE('/store/order/{orderId}', { params })).data).toMatchObject({ status: 'cancelled' });
    expect((await client.GET('/store/order/{orderId}', { params })).data).toMatchObject({ id: body.id, plantId: body.plantId, status: 'cancelled' });
  });

  it('registers users, logs one in and out, changes and deletes it', async () => {
    const username = fresh('petstore');
    const user = {
      username,
      firstName: 'John',
      lastName: 'James',
      email: 'john@example.org',
      password: 'a password of his',
      phone: '12345',
      userStatus: 1,
    };
    const { password, ...profile } = user;
    expect((await client.POST('/user', { body: user })).data).toEqual({ ...profile, id: expect.any(Number), emailVerified: false, orderMails: false, updatedAt: expect.any(String) });
    const list = await client.POST('/user/createWithList', { body: [{ ...user, username: fresh('petstore') }] });
    expect(list.data).toHaveLength(1);
    const session = await client.GET('/user/login', { params: { query: { username, password } } });
    expect(session.response.headers.get('x-expires-after')).toBeTruthy();
    const headers = { authorization: `Bearer ${session.data?.message ?? ''}` };
    const params = { path: { username } };
    expect((await client.GET('/user/{username}', { params, headers })).data).toMatchObject(profile);
    expect((await client.PUT('/user/{username}', { params, headers, body: { firstName: 'Jack' } })).data?.firstName).toBe('Jack');
    expect((await client.GET('/user/logout', { headers })).data).toMatchObject({ code: 200 });
    expect((await client.DELETE('/user/{username}', { params })).data).toMatchObject({ code: 200 });
    expect((await client.GET('/user/{username}', { params })).error?.code).toBe('user-not-found');
  });
});

describe("bare fetch, as in Petstore's own examples", () => {
  const base = () => `${gatewayUrl()}/v3`;
  const accept = { accept: 'application/json' };
  const withKey = { ...accept, api_key: 'special-key' };
  const asJson = { ...withKey, 'content-type': 'application/json' };
  const call = async (method: string, path: string, init: RequestInit = {}): Promise<{ status: number; body: never }> => {
    const response = await fetch(base() + path, { method, headers: accept, ...init });
    await checked(method, base() + path, response.clone());
    return { status: response.status, body: (await response.json()) as never };
  };
  const oauthToken = async (): Promise<string> => {
    const response = await fetch(`${gatewayUrl()}/oauth/token`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', authorization: `Basic ${btoa('plant-admin:plant-secret')}` },
      body: 'grant_type=client_credentials&scope=write:plants',
    });
    return ((await response.json()) as { access_token: string }).access_token;
  };

  it('works for all plant operations', async () => {
    const id = idFrom();
    const tag = fresh('doggie');
    const plant = `{"id": ${id}, "name": "doggie", "category": {"id": 1, "name": "Dogs"}, "photoUrls": ["string"], "tags": [{"id": 0, "name": "${tag}"}], "status": "available"}`;
    const headers = { ...accept, authorization: `Bearer ${await oauthToken()}` };
    const withBody = { ...headers, 'content-type': 'application/json' };
    expect((await call('POST', '/plant', { headers: withBody, body: plant })).body).toMatchObject({ id, name: 'doggie' });
    expect((await call('PUT', '/plant', { headers: withBody, body: plant.replace('"doggie"', '"cat"') })).body).toMatchObject({ name: 'cat' });
    const ids = async (path: string) => ((await call('GET', path)).body as { id: number }[]).map((one) => one.id);
    expect(await ids('/plant/findByStatus?status=available')).toContain(id);
    expect(await ids('/plant/findByStatus?status=available&status=pending')).toContain(id);
    expect(await ids('/plant/findByStatus?status=pending%2Cavailable')).toContain(id);
    expect(await ids(`/plant/findByTags?tags=none&tags=${tag}`)).toEqual([id]);
    expect(await ids(`/plant/findByTags?tags=none,${tag}`)).toEqual([id]);
    expect((await call('GET', `/plant/${id}`)).body).toMatchObject({ photoUrls: ['string'] });

    const form = { ...headers, 'content-type': 'application/x-www-form-urlencoded' };
    const changed = await call('POST', `/plant/${id}`, { headers: form, body: 'name=bird&status=sold' });
    expect(changed.body).toMatchObject({ name: 'bird', status: 'sold' });

    const parts = new FormData();
    parts.append('additionalMetadata', 'text');
    parts.append('file', png, 'bird.png');
    expect((await call('POST', `/plant/${id}/uploadImage`, { headers, body: parts })).body).toMatchObject({ code: 200, type: 'SUCCESS' });
    expect((await call('DELETE', `/plant/${id}`, { headers: withKey })).status).toBe(200);
    expect((await call('GET', `/plant/${id}`)).status).toBe(404);
  });

  it('works for all store operations', async () => {
    const { body: plant } = await call('POST', '/plant', { headers: asJson, body: '{"name": "doggie", "photoUrls": []}' });
    const { id: plantId } = plant as { id: number };
    const id = idFrom();
    const order = `{"id": ${id}, "plantId": ${plantId}, "quantity": 7, "shipDate": "2026-05-01T09:30:00.000Z", "status": "approved", "complete": true}`;
    expect((await call('POST', '/store/order', { headers: asJson, body: order })).body).toEqual({
      id,
      plantId,
      quantity: 7,
      shipDate: '2026-05-01T09:30:00.000Z',
      status: 'placed',
      complete: false,
      placedAt: expect.any(String),
      updatedAt: expect.any(String),
    });
    expect((await call('GET', '/store/inventory', { headers: withKey })).status).toBe(200);
    await until(async () => ((await call('GET', `/store/order/${id}`, { headers: withKey })).body as { complete: boolean }).complete);
    expect((await call('DELETE', `/store/order/${id}`, { headers: withKey })).status).toBe(409);
  });

  it('works for all user operations', async () => {
    const username = fresh('theUser');
    const user = JSON.stringify({ id: 0, username, firstName: 'John', email: 'john@email.com', password: 'p 12345 ü&=', userStatus: 1 });
    const headers = { ...accept, 'content-type': 'application/json' };
    expect((await call('POST', '/user', { headers, body: user })).status).toBe(200);
    const another = user.replace(username, fresh('theUser'));
    expect((await call('POST', '/user/createWithList', { headers, body: `[${another}]` })).status).toBe(200);
    const token = await login(username, 'p 12345 ü&=');
    const session = { ...headers, session_token: token };
    expect((await call('PUT', `/user/${username}`, { headers: session, body: '{"phone": "12345"}' })).body).toMatchObject({ phone: '12345' });
    expect((await call('GET', '/user/logout', { headers: session })).status).toBe(200);
    expect((await call('GET', `/user/${username}`)).body).toMatchObject({ username, firstName: 'John' });
    expect((await call('DELETE', `/user/${username}`, { headers: session, body: null })).status).toBe(401);
    expect((await call('DELETE', `/user/${username}`, { headers: withKey })).status).toBe(200);
  });
});
