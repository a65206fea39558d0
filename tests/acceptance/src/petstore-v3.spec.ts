import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { generateClient } from './generated-client.js';
import { petstoreDocument } from './petstore-v3.document.js';
import { createPlant, fresh, gatewayUrl, until } from './shop.js';

/** What a call by the generated client returns. */
interface Called {
  readonly data?: unknown;
  readonly error?: unknown;
  readonly response: Response;
}
type Operation = (options?: object) => Promise<Called>;

const document = petstoreDocument(`${gatewayUrl()}/v3`);
const operations = new Map(Object.values(document.paths).flatMap((item) => Object.values(item)).map((one) => [one.operationId, one]));

/** Returns how a body differs from the schema that Petstore's document gives the operation's success. Ignores additional members. */
function faultsOf(operationId: string, body: unknown): string[] {
  const schema = operations.get(operationId)?.responses[200].content?.['application/json']?.schema;
  if (!schema) return [];
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  formats.default(ajv);
  ajv.addSchema({ ...document, $id: 'document' });
  const absolute = JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"document#/')) as object;
  if (ajv.validate(absolute, body)) return [];
  return (ajv.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message ?? ''}`);
}

const idFrom = () => 1 + Math.floor(Math.random() * 900_000_000);
const staff = { headers: { api_key: 'special-key' } };

describe("a client that Hey API's generator makes from the document of Petstore v3", () => {
  const folder = mkdtempSync(join(tmpdir(), 'petstore-v3-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  const called = new Set<string>();
  let sdk: Readonly<Record<string, Operation>>;

  /** Calls an operation. Fails unless it succeeds with an answer that Petstore's document allows. */
  async function call<Body = unknown>(operationId: string, options: object = {}): Promise<Body> {
    const { data, error, response } = await sdk[operationId]!(options);
    expect({ operationId, status: response.status, error }).toEqual({ operationId, status: 200, error: undefined });
    expect({ operationId, faults: faultsOf(operationId, data) }).toEqual({ operationId, faults: [] });
    called.add(operationId);
    return data as Body;
  }
  const refused = async (operationId: string, options: object): Promise<number> => (await sdk[operationId]!(options)).response.status;

  beforeAll(async () => {
    const load = await generateClient(folder, document);
    sdk = await load<typeof sdk>('sdk.gen');
    const { client } = await load<{ client: { setConfig: (config: object) => void } }>('client.gen');
    const answer = await fetch(`${gatewayUrl()}/oauth/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa('plant-admin:plant-secret')}` },
      body: new URLSearchParams({ grant_type: 'client_credentials', scope: 'write:plants read:plants' }),
    });
    const { access_token: token } = (await answer.json()) as { access_token: string };
    client.setConfig({ auth: ({ type }: { type: string }) => (type === 'http' ? token : 'special-key') });
  }, 120_000);

  it('adds, finds, changes and deletes a plant', async () => {
    const id = idFrom();
    const tag = fresh('petstore');
    const body = { id, name: 'doggie', category: { id: 1, name: 'Dogs' }, photoUrls: ['string'], tags: [{ id: 0, name: tag }], status: 'available' };
    const path = { plantId: id };
    expect(await call('addPlant', { body })).toMatchObject({ id, name: 'doggie', photoUrls: ['string'], status: 'available' });
    expect(await call('updatePlant', { body: { ...body, name: 'cat' } })).toMatchObject({ id, name: 'cat' });
    expect(await call('getPlantById', { path })).toMatchObject({ id, name: 'cat' });
    expect(await call('findPlantsByTags', { query: { tags: [fresh('none'), tag] } })).toMatchObject([{ id }]);
    expect(await call('findPlantsByStatus')).toContainEqual(expect.objectContaining({ id, status: 'available' }));

    expect(await call('updatePlantWithForm', { path, query: { name: 'bird', status: 'pending' } })).toMatchObject({ id, name: 'bird', status: 'pending' });
    expect(await call('updatePlantWithForm', { path, query: { status: 'sold' } })).toMatchObject({ name: 'bird', status: 'sold' });
    expect(await call('findPlantsByStatus')).not.toContainEqual(expect.objectContaining({ id }));
    expect(await call('findPlantsByStatus', { query: { status: 'sold' } })).toContainEqual(expect.objectContaining({ id, status: 'sold' }));

    const image = new Blob([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(2_000, 7)]);
    const uploaded = await call<{ message: string }>('uploadFile', { path, query: { additionalMetadata: 'a bird, at rest' }, body: image });
    expect(uploaded.message).toContain('a bird, at rest');
    await call('uploadFile', { path, body: image });
    const { photoUrls } = await call<{ photoUrls: string[] }>('getPlantById', { path });
    expect(photoUrls).toHaveLength(3);
    expect((await (await fetch(photoUrls[1]!)).bytes()).length).toBe(image.size);

    await call('deletePlant', { path });
    expect(await refused('getPlantById', { path })).toBe(404);
  });

  it('gets 400 for a status that is empty or unknown and for an update without fields, 415 for XML and a form', async () => {
    const { id: plantId } = await createPlant();
    for (const status of ['', 'lost']) {
      expect(await refused('findPlantsByStatus', { query: { status } })).toBe(400);
      expect(await refused('updatePlantWithForm', { path: { plantId }, query: { status } })).toBe(400);
    }
    expect(await refused('updatePlantWithForm', { path: { plantId } })).toBe(400);
    for (const type of ['application/xml', 'application/x-www-form-urlencoded']) {
      expect(await refused('addPlant', { body: 'name=doggie', bodySerializer: null, headers: { 'Content-Type': type } })).toBe(415);
    }
  });

  it('places, reads and deletes an order', async () => {
    const { id: plantId } = await createPlant({ quantity: 10 });
    expect(Object.keys(await call<object>('getInventory')).sort()).toEqual(['available', 'pending', 'sold']);
    const body = { id: idFrom(), plantId, quantity: 7, shipDate: '2026-05-01T09:30:00.000Z', status: 'approved', complete: true };
    expect(await refused('placeOrder', { body })).toBe(401);
    // The shop decides the state of an order.
    expect(await call('placeOrder', { ...staff, body })).toMatchObject({ ...body, status: 'placed', complete: false });
    const path = { orderId: body.id };
    expect(await call('getOrderById', { ...staff, path })).toMatchObject({ id: body.id, plantId });
    await until(async () => (await call<{ complete: boolean }>('getOrderById', { ...staff, path })).complete);
    expect(await refused('deleteOrder', { ...staff, path })).toBe(409);
    const other = { ...body, id: idFrom(), quantity: 1 };
    await call('placeOrder', { ...staff, body: other });
    await call('deleteOrder', { ...staff, path: { orderId: other.id } });
  });

  it('creates, changes and deletes a user, logs in and out', async () => {
    const username = fresh('theUser');
    const password = 'p 12345 ü&=';
    const body = { id: idFrom(), username, firstName: 'John', lastName: 'James', email: 'john@email.com', password, phone: '12345', userStatus: 1 };
    expect(await call('createUser', { body })).toMatchObject({ username, firstName: 'John' });
    // Answers all users; Petstore's document, one.
    const listed = await sdk['createUsersWithListInput']!({ body: [{ ...body, id: idFrom(), username: fresh('theUser') }] });
    expect(listed).toMatchObject({ data: [{ firstName: 'John' }], response: { status: 200 } });
    called.add('createUsersWithListInput');
    // The token is the message of an ApiResponse; in Petstore's document, the answer is a text.
    const { data, response } = await sdk['loginUser']!({ query: { username, password } });
    called.add('loginUser');
    expect(Date.parse(response.headers.get('x-expires-after') ?? '')).toBeGreaterThan(Date.now());
    expect(response.headers.get('x-rate-limit')).toMatch(/^\d+$/);
    const session = { headers: { authorization: `Bearer ${(data as { message: string }).message}` } };
    const path = { username };
    expect(await refused('updateUser', { path, body: { lastName: 'Jack' } })).toBe(401);
    await call('updateUser', { ...session, path, body: { ...body, lastName: 'Jack' } });
    expect(await call('getUserByName', { path })).toMatchObject({ username, lastName: 'Jack' });
    await call('logoutUser', session);
    expect(await refused('updateUser', { ...session, path, body: { lastName: 'James' } })).toBe(401);
    await call('deleteUser', { ...staff, path });
    expect(await refused('getUserByName', { path })).toBe(404);
  });

  it('has called every operation', () => {
    expect([...called].sort()).toEqual([...operations.keys()].sort());
  });
});
