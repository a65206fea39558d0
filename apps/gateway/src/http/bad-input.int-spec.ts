import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { clientOperations } from '@plant-shop/contracts/client-operations';
import { metadataLimits } from '@plant-shop/contracts/fields';
import { type FieldSchema, schemaOfClass } from '@plant-shop/contracts/schema';
import { exchange, faultyRequests, goodHosts } from '@plant-shop/testing/framing';
import { maxListBytes, maxObjectBytes } from './server.js';
import { echoes, publicUrl, type Shop, startShop } from '../gateway.spec.fixture.js';

interface Case {
  readonly what: string;
  readonly method?: string;
  readonly path: string;
  readonly headers?: Record<string, string>;
  readonly body?: unknown;
  readonly status: number;
  readonly code: string;
  /** Pointer of the first entry of `errors`. */
  readonly pointer?: string;
  readonly parameter?: string;
}

const key = { api_key: 'special-key' };
const json = { 'content-type': 'application/json' };
const form = { 'content-type': 'application/x-www-form-urlencoded' };

const invalid = (what: string, path: string, more: Partial<Case> = {}): Case => ({ what, path, status: 400, code: 'invalid-input', ...more });
const badPlant = (what: string, body: unknown, pointer: string): Case =>
  invalid(what, '/v3/plant', { method: 'POST', headers: key, body, pointer });
const badOrder = (what: string, body: unknown, pointer: string): Case =>
  invalid(what, '/v3/store/order', { method: 'POST', headers: key, body, pointer });
const badUser = (what: string, body: unknown, pointer: string): Case =>
  invalid(what, '/v3/user', { method: 'POST', body, pointer });
const malformed = (what: string, body: string | Uint8Array): Case => ({
  what,
  method: 'POST',
  path: '/v3/plant',
  headers: key,
  body,
  status: 400,
  code: 'malformed-json',
});

/** Returns a plant of `bytes` bytes, padded with spaces. */
const bodyOf = (bytes: number): string => {
  const around = '{"name":"Fern"}';
  return around.replace('}', `${' '.repeat(bytes - around.length)}}`);
};

/** The schemas of JSON objects that operations take. */
const bodiesOfObjects = clientOperations.flatMap(({ name, body, calls: [call] }) => {
  const schema = body?.kind === 'json' && body.top === 'object' && call ? schemaOfClass(call.payload).properties[body.member] : undefined;
  return schema ? [[name, schema] as const] : [];
});

/** Returns the length of the largest valid JSON, with every character escaped that may be other than ASCII. */
function bytesOf(schema: FieldSchema): number {
  const { objectOf, items, enum: values } = schema;
  const [longest, most] = [Number(schema['maxLength'] ?? 200), Number(schema['maxItems'] ?? schema['maxProperties'] ?? 0)];
  if (objectOf) return Object.entries(schemaOfClass(objectOf()).properties).reduce((sum, [name, member]) => sum + name.length + 4 + bytesOf(member), 2);
  if (values || schema.type === 'integer' || schema.type === 'boolean') return 60;
  if (items) return most * (1 + bytesOf(items));
  if (schema.type === 'object') return most * (metadataLimits.key * 6 + 4 + bytesOf(schema['additionalProperties'] as FieldSchema));
  const isAddress = longest > 2_000 && longest < 2_100;
  return longest * (isAddress ? 1 : 6) + 2;
}

const cases: readonly Case[] = [
  // what is not declared
  badOrder('a mistyped member', { plantId: 1, qty: 5 }, '/qty'),
  badPlant('a mistyped member of a nested object', { name: 'Fern', photoUrls: [], category: { id: 1, nam: 'Ferns' } }, '/category/nam'),
  invalid('a mistyped member in a list', '/v3/user/createWithList', { method: 'POST', body: [{ username: 'a', password: 'b' }, { user: 'c' }], pointer: '/1/user' }),
  invalid('a mistyped field of a form', '/v3/plant/1', { method: 'POST', headers: { ...key, ...form }, body: 'name=Fern&state=sold', pointer: '/state' }),
  invalid('a mistyped parameter of a list', '/v3/store/order?stauts=placed', { headers: key, parameter: 'stauts' }),
  invalid('a parameter of a list beside those that are ignored', '/v3/user?_=1&utm_source=a&querry=b', { headers: key, parameter: 'querry' }),

  invalid('a filter without the key that it needs', '/v3/store/order?metadata=web', { headers: key, parameter: 'metadata' }),
  invalid('a filter by one key twice', '/v3/store/order?metadata[a]=1&metadata[a]=2', { headers: key, parameter: 'metadata[a]' }),
  invalid('a parameter with a key that needs none', '/v3/store/order?status[a]=placed', { headers: key, parameter: 'status[a]' }),
  invalid('a flag that is neither', '/v3/store/order?shipped=1', { headers: key, parameter: 'shipped' }),

  // routes and methods
  { what: 'unknown path', path: '/v3/nothing', status: 404, code: 'route-not-found' },
  { what: 'unknown path with a body that is not JSON', method: 'POST', path: '/v3/nothing', body: '{', status: 404, code: 'route-not-found' },
  { what: 'unknown path with a refused credential', path: '/v3/nothing', headers: { api_key: 'made-up' }, status: 404, code: 'route-not-found' },
  { what: 'empty id', path: '/v3/plant/', status: 404, code: 'route-not-found' },
  { what: 'empty username before its keys', path: '/v3/user//apiKeys', headers: key, status: 404, code: 'route-not-found' },
  { what: 'trailing slash', path: '/v3/store/inventory/', headers: key, status: 404, code: 'route-not-found' },
  { what: 'doubled slash', path: '//v3/store/inventory', headers: key, status: 404, code: 'route-not-found' },
  { what: 'other case', path: '/v3/Plant/1', status: 404, code: 'route-not-found' },
  { what: 'method that the path lacks', method: 'PATCH', path: '/v3/plant', status: 405, code: 'method-not-allowed' },
  { what: 'method that the path lacks, with a broken body and no credential', method: 'PUT', path: '/v3/store/order', body: '{', status: 405, code: 'method-not-allowed' },
  { what: 'an empty id with a method that the path lacks', method: 'PATCH', path: '/v3/images/', status: 404, code: 'route-not-found' },
  { what: 'POST to findByStatus', method: 'POST', path: '/v3/plant/findByStatus', status: 405, code: 'method-not-allowed' },
  { what: 'OPTIONS', method: 'OPTIONS', path: '/v3/plant', status: 405, code: 'method-not-allowed' },
  { what: 'a WebDAV method', method: 'PROPFIND', path: '/v3/plant', status: 405, code: 'method-not-allowed' },

  // paths and queries
  ...['abc', '0', '-1', '1.5', '1e3', '+1', '01', '0x10', ' 1', '9007199254740992', '99999999999999999999', 'NaN', '%31%00'].map((id) =>
    invalid(`plant id ${id}`, `/v3/plant/${id.replace(' ', '%20').replace('+', '%2B')}`, { parameter: 'plantId' }),
  ),
  invalid('order id', '/v3/store/order/abc', { headers: key, parameter: 'orderId' }),
  invalid('NUL in a username', '/v3/user/a%00b', { parameter: 'username' }),
  invalid('username of 201 characters', `/v3/user/${'a'.repeat(201)}`, { parameter: 'username' }),
  { what: 'broken percent-encoding in the path', path: '/v3/plant/%ff', status: 400, code: 'malformed-request' },
  { what: 'broken percent-encoding in an unused query', path: '/v3/plant/1?a=%zz', status: 400, code: 'malformed-request' },
  { what: 'NUL in an unused query', path: '/v3/plant/1?a=%00', status: 400, code: 'malformed-request' },
  { what: 'broken query and a body', method: 'POST', path: '/v3/plant?a=%', headers: key, body: { name: 'x' }, status: 400, code: 'malformed-request' },
  { what: 'a path segment that is too long', path: `/v3/user/${'a'.repeat(2_049)}`, status: 414, code: 'uri-too-long' },
  invalid('empty status', '/v3/plant/findByStatus?status=', { parameter: 'status' }),
  invalid('unknown status', '/v3/plant/findByStatus?status=available,lost', { parameter: 'status' }),
  invalid('no tags', '/v3/plant/findByTags', { parameter: 'tags' }),
  invalid('empty tag', '/v3/plant/findByTags?tags=a,,b', { parameter: 'tags' }),
  invalid('limit that is not a number', '/v3/plant/findByTags?tags=a&limit=1e1', { parameter: 'limit' }),
  invalid('limit of 0', '/v3/plant/findByTags?tags=a&limit=0', { parameter: 'limit' }),
  invalid('limit of 1001', '/v3/plant/findByTags?tags=a&limit=1001', { parameter: 'limit' }),
  invalid('limit given twice', '/v3/plant/findByTags?tags=a&limit=1&limit=1', { parameter: 'limit' }),
  invalid('cursor given twice', '/v3/plant/findByTags?tags=a&cursor=x&cursor=y', { parameter: 'cursor' }),
  invalid('search with an unknown sort order', '/v3/plant/search?sort=price', { parameter: 'sort' }),
  invalid('search for an unknown status', '/v3/plant/search?q=a&status=lost', { parameter: 'status' }),
  invalid('search with an empty text', '/v3/plant/search?q=', { parameter: 'q' }),
  invalid('search with two texts', '/v3/plant/search?q=a&q=b', { parameter: 'q' }),
  invalid('search for an empty category', '/v3/plant/search?category=', { parameter: 'category' }),
  invalid('search with an empty tag', '/v3/plant/search?tags=a,,b', { parameter: 'tags' }),
  invalid('facets of an unknown status', '/v3/plant/facets?status=lost', { parameter: 'status' }),
  invalid('facets of a text of 201 characters', `/v3/plant/facets?q=${'a'.repeat(201)}`, { parameter: 'q' }),
  invalid('login without a name', '/v3/user/login?password=x', { parameter: 'username' }),
  invalid('login without a password', '/v3/user/login?username=x', { parameter: 'password' }),
  invalid('login with two names', '/v3/user/login?username=x&username=y&password=z', { parameter: 'username' }),
  invalid('image id', '/v3/images/nonsense', { parameter: 'imageId' }),

  // credentials before bodies
  { what: 'no credential, broken body', method: 'POST', path: '/v3/plant', body: '{', status: 401, code: 'unauthorized' },
  { what: 'no credential, wrong media type', method: 'POST', path: '/v3/plant', headers: { 'content-type': 'text/plain' }, body: 'x', status: 401, code: 'unauthorized' },
  { what: 'missing permission, broken body', method: 'POST', path: '/v3/plant', headers: { api_key: 'customer-key' }, body: '{', status: 403, code: 'forbidden' },
  { what: 'refused credential', path: '/v3/store/inventory', headers: { api_key: 'made-up' }, status: 401, code: 'credential-refused' },

  // media types and sizes
  { what: 'no media type', method: 'POST', path: '/v3/plant', headers: { ...key, 'content-type': '' }, body: '{}', status: 415, code: 'unsupported-media-type' },
  { what: 'no media type and no body', method: 'PUT', path: '/v3/plant', headers: { ...key, 'content-type': '' }, status: 415, code: 'unsupported-media-type' },
  { what: 'text as JSON', method: 'POST', path: '/v3/plant', headers: { ...key, 'content-type': 'text/plain' }, body: '{}', status: 415, code: 'unsupported-media-type' },
  { what: 'JSON as a merge patch', method: 'PATCH', path: '/v3/plant/1', headers: { ...key, 'content-type': 'application/json' }, body: '{}', status: 415, code: 'unsupported-media-type' },
  { what: 'an undeclared member of a merge patch', method: 'PATCH', path: '/v3/plant/1', headers: { ...key, 'content-type': 'application/merge-patch+json' }, body: '{"nmae":"x"}', status: 400, code: 'invalid-input' },
  { what: 'a form as JSON', method: 'POST', path: '/v3/store/order', headers: { ...key, ...form }, body: 'plantId=1', status: 415, code: 'unsupported-media-type' },
  { what: 'multipart as JSON', method: 'POST', path: '/v3/plant', headers: { ...key, 'content-type': 'multipart/form-data; boundary=x' }, body: '--x--', status: 415, code: 'unsupported-media-type' },
  { what: 'another charset', method: 'POST', path: '/v3/plant', headers: { ...key, 'content-type': 'application/json; charset=latin1' }, body: '{}', status: 415, code: 'unsupported-media-type' },
  { what: 'a malformed media type', method: 'POST', path: '/v3/plant', headers: { ...key, 'content-type': ';;;' }, body: '{}', status: 415, code: 'unsupported-media-type' },
  { what: 'JSON as a form', method: 'POST', path: '/v3/plant/1', headers: { ...key, ...json }, body: { name: 'x' }, status: 415, code: 'unsupported-media-type' },
  invalid('a field in form and query', '/v3/plant/1?name=a', { method: 'POST', headers: { ...key, ...form }, body: 'name=b', pointer: '/name' }),
  invalid('an unknown status in the query', '/v3/plant/1?status=lost', { method: 'POST', headers: { ...key, 'content-type': '' }, pointer: '/status' }),
  { what: 'JSON as an upload', method: 'POST', path: '/v3/plant/1/uploadImage', headers: { ...key, ...json }, body: {}, status: 415, code: 'unsupported-media-type' },
  { what: 'wrong media type before a broken query', method: 'POST', path: '/v3/plant?a=%', headers: { ...key, 'content-type': 'text/plain' }, body: 'x', status: 415, code: 'unsupported-media-type' },
  { what: 'object of 384 KiB and a byte', method: 'POST', path: '/v3/plant', headers: key, body: bodyOf(maxObjectBytes + 1), status: 413, code: 'payload-too-large' },
  { what: 'list of 896 KiB and a byte', method: 'POST', path: '/v3/user/createWithList', headers: key, body: `[${bodyOf(maxListBytes - 1)}]`, status: 413, code: 'payload-too-large' },
  { what: 'form of more than 64 KiB', method: 'POST', path: '/v3/plant/1', headers: { ...key, ...form }, body: `name=${'x'.repeat(64 * 1024)}`, status: 413, code: 'payload-too-large' },
  { what: 'form of 1,001 fields', method: 'POST', path: '/v3/plant/1', headers: { ...key, ...form }, body: 'a=1&'.repeat(1_001), status: 400, code: 'malformed-request' },

  // JSON
  malformed('empty body', ''),
  malformed('half of a body', '{"name":'),
  malformed('invalid UTF-8', Uint8Array.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])),
  badPlant('a list', [], ''),
  badPlant('a string', '"plant"', ''),
  badPlant('null', 'null', ''),
  badPlant('17 levels', `${'{"a":'.repeat(16)}{}${'}'.repeat(16)}`, '/a'.repeat(16)),
  badPlant('1,001 members', `{"category":{${Array.from({ length: 1_001 }, (_, n) => `"m${n}":1`).join(',')}}}`, '/category'),
  badPlant('more than 50,000 values', `{"tags":[${'1,'.repeat(50_000)}1]}`, ''),
  badPlant('a NUL', '{"name":"a\\u0000"}', '/name'),
  badPlant('half of a surrogate pair', '{"name":"\\ud800"}', '/name'),
  badPlant('__proto__', '{"name":"x","__proto__":{"isAdmin":true}}', ''),
  badPlant('constructor.prototype', '{"name":"x","constructor":{"prototype":{}}}', ''),

  // fields
  badPlant('no name', { status: 'available' }, '/name'),
  badPlant('null as name', { name: null }, '/name'),
  badPlant('a number as name', { name: 7 }, '/name'),
  badPlant('empty name', { name: '' }, '/name'),
  badPlant('name of 201 characters', { name: 'x'.repeat(201) }, '/name'),
  badPlant('id as string', { id: '7', name: 'x' }, '/id'),
  badPlant('negative id', { id: -1, name: 'x' }, '/id'),
  badPlant('id of 2^53', '{"id":9007199254740992,"name":"x"}', '/id'),
  badPlant('id of 2^53+1', '{"id":9007199254740993,"name":"x"}', '/id'),
  badPlant('id of 1e21', '{"id":1e21,"name":"x"}', '/id'),
  badPlant('id that overflows to Infinity', '{"id":1e999,"name":"x"}', '/id'),
  badPlant('id with a fraction', { id: 1.5, name: 'x' }, '/id'),
  badPlant('unknown status', { name: 'x', status: 'lost' }, '/status'),
  badPlant('photoUrls that are not a list', { name: 'x', photoUrls: 'a' }, '/photoUrls'),
  badPlant('tag without a name', { name: 'x', tags: [{ id: 1 }] }, '/tags/0/name'),
  badPlant('category as string', { name: 'x', category: 'ferns' }, '/category'),
  badOrder('no plant', {}, '/plantId'),
  badOrder('plant id as string', { plantId: '1' }, '/plantId'),
  badOrder('quantity as string', { plantId: 1, quantity: '7' }, '/quantity'),
  badOrder('quantity of 0', { plantId: 1, quantity: 0 }, '/quantity'),
  badOrder('negative quantity', { plantId: 1, quantity: -1 }, '/quantity'),
  badOrder('quantity of 1,000,001', { plantId: 1, quantity: 1_000_001 }, '/quantity'),
  badOrder('ship date without an offset', { plantId: 1, shipDate: '2026-05-01T09:30:00' }, '/shipDate'),
  badOrder('complete as string', { plantId: 1, complete: 'true' }, '/complete'),
  badUser('no username', { password: 'x' }, '/username'),
  badUser('username that is a path segment of the API', { username: 'login', password: 'x' }, '/username'),
  badUser('username with a slash', { username: 'a/b', password: 'x' }, '/username'),
  badUser('no password', { username: 'a' }, '/password'),
  invalid('an object instead of a list', '/v3/user/createWithList', { method: 'POST', body: {}, pointer: '' }),
  invalid('an empty list', '/v3/user/createWithList', { method: 'POST', body: [], pointer: '' }),
  invalid('a list of 501', '/v3/user/createWithList', { method: 'POST', body: Array.from({ length: 501 }, (_, n) => ({ username: `u${n}`, password: 'x' })), pointer: '' }),
  invalid('an invalid entry in a list', '/v3/user/createWithList', {
    method: 'POST',
    body: [{ username: 'a', password: 'x' }, { username: 'b', password: 'x' }, { username: 'c' }],
    pointer: '/2/password',
  }),
  invalid('negative free units', '/v3/store/inventory/1', { method: 'PUT', headers: key, body: { free: -1 }, pointer: '/free' }),

  // forms
  invalid('unknown status in a form', '/v3/plant/1', { method: 'POST', headers: { ...key, ...form }, body: 'status=lost', pointer: '/status' }),
  invalid('name given twice in a form', '/v3/plant/1', { method: 'POST', headers: { ...key, ...form }, body: 'name=a&name=b', pointer: '/name' }),
  { what: 'broken form', method: 'POST', path: '/v3/plant/1', headers: { ...key, ...form }, body: 'name=%zz', status: 400, code: 'malformed-request' },
  { what: 'NUL in a form', method: 'POST', path: '/v3/plant/1', headers: { ...key, ...form }, body: 'name=%00', status: 400, code: 'malformed-request' },
  { what: 'form in latin1', method: 'POST', path: '/v3/plant/1', headers: { ...key, ...form }, body: Uint8Array.from([0x6e, 0x3d, 0xfc]), status: 400, code: 'malformed-request' },
  invalid('invalid id with a valid form', '/v3/plant/0', { method: 'POST', headers: { ...key, ...form }, body: 'name=a', parameter: 'plantId' }),
];

describe('bad input', () => {
  let shop: Shop;
  beforeAll(async () => {
    shop = await startShop(echoes);
    shop.identity.addCredential('special-key', { kind: 'apiKey' });
    shop.identity.addCredential('customer-key', { kind: 'apiKey', permissions: ['write:orders', 'webhooks'] });
  });
  afterAll(() => shop.stop());

  const sent = ({ method = 'GET', path, headers = {}, body }: Case): Promise<Response> => {
    const bytes = body === undefined ? undefined : typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body);
    // An empty Content-Type means that none is sent.
    const { 'content-type': type = 'application/json', ...others } = headers;
    const withType = bytes !== undefined && type !== '' ? { ...others, 'content-type': type } : others;
    return fetch(shop.gateway.url + path, {
      method,
      headers: withType,
      ...(bytes !== undefined && { body: Buffer.from(bytes as string) }),
    });
  };

  it.each(cases.map((one) => [one.what, one] as const))('is answered with a problem: %s', async (_, one) => {
    const response = await sent(one);
    const text = await response.text();
    expect({ status: response.status, type: response.headers.get('content-type') }).toEqual({
      status: one.status,
      type: 'application/problem+json; charset=utf-8',
    });
    const problem = JSON.parse(text) as Record<string, unknown> & { errors?: Record<string, string>[] };
    expect(problem).toMatchObject({
      type: `${publicUrl}/problems/${one.code}`,
      status: one.status,
      code: one.code,
      requestId: response.headers.get('x-request-id'),
      instance: one.path.split('?')[0],
    });
    expect(typeof problem['title']).toBe('string');
    expect(typeof problem['detail']).toBe('string');
    if (one.pointer !== undefined) expect(problem.errors?.[0]).toMatchObject({ pointer: one.pointer });
    if (one.parameter !== undefined) {
      expect(problem.errors?.[0]).toEqual({ parameter: one.parameter, detail: expect.stringMatching(`^${one.parameter.replaceAll(/[[\]]/g, '.')} `) });
    }
    expect(text).not.toMatch(/node_modules|\.[tj]s:\d|\\n +at /);
  });

  it('is answered with the possible statuses', async () => {
    for (const query of ['?status=', '?status=lost', '?status=available%2C']) {
      expect(await (await shop.get(`/v3/plant/findByStatus${query}`)).text()).toContain('available, pending, sold');
    }
  });

  it('is answered with the methods of the path', async () => {
    const allowed = async (method: string, path: string): Promise<string | null> =>
      (await fetch(shop.gateway.url + path, { method })).headers.get('allow');
    expect(await allowed('PATCH', '/v3/plant')).toBe('POST, PUT');
    expect(await allowed('PUT', '/v3/plant/7')).toBe('DELETE, GET, HEAD, PATCH, POST');
    expect(await allowed('GET', '/v3/plant/7/uploadImage')).toBe('POST');
    expect(await allowed('DELETE', '/v3/user/login')).toBe('GET');
  });

  it.each(bodiesOfObjects)('lets the largest valid body of %s pass', (_, schema) => {
    expect(bytesOf(schema)).toBeLessThan(maxObjectBytes);
  });

  it('begins beyond 384 KiB: an object of that size reaches the service, even with the longest headers', async () => {
    const longest = { ...key, ...json, 'idempotency-key': 'k'.repeat(255), 'x-request-id': 'r'.repeat(128) };
    const response = await shop.send('POST', '/v3/plant', bodyOf(maxObjectBytes), longest);
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ name: 'Fern' });
  });

  it('leaves the connection usable', async () => {
    const raw = exchange(
      Number(new URL(shop.gateway.url).port),
      'POST /v3/plant HTTP/1.1\r\nhost: x\r\napi_key: special-key\r\ncontent-type: application/json\r\ncontent-length: 1\r\n\r\n{' +
        'GET /v3/plant/1 HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n',
    );
    expect((await raw.received).match(/HTTP\/1.1 (\d+)/g)).toEqual(['HTTP/1.1 400', 'HTTP/1.1 200']);
  });

  describe('on a raw connection', () => {
    const cut = (text: string): Promise<string> => exchange(Number(new URL(shop.gateway.url).port), text).received;

    it.each([
      ['not HTTP', 400, 'nonsense\r\n\r\n'],
      ['too many headers', 431, `GET /v3/plant/1 HTTP/1.1\r\nhost: x\r\nx: ${'a'.repeat(20_000)}\r\n\r\n`],
      ...faultyRequests('/v3/plant/1'),
    ] as const)('is answered with one problem: %s', async (_, status, text) => {
      const answer = await cut(text);
      expect(answer.match(/HTTP\/1\.1 \d+/g)).toEqual([`HTTP/1.1 ${status}`]);
      const problem = JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4)) as object;
      expect(problem).toMatchObject({ status, code: { 400: 'malformed-request', 417: 'expectation-failed', 431: 'headers-too-large' }[status] });
      expect(answer.toLowerCase()).toContain('content-type: application/problem+json');
      expect(answer.toLowerCase()).toMatch(/x-request-id: [0-9a-f-]{36}/);
    });

    it.each(goodHosts)('may have the Host header %s', async (host) => {
      expect(await cut(`GET /v3/plant/1 HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)).toContain('HTTP/1.1 200 OK');
    });

    it('is closed a second after the answer, even if the client keeps its side open (slow)', async () => {
      const { hostname, port } = new URL(shop.gateway.url);
      const accepted = once(shop.gateway.server, 'connection') as Promise<[Socket]>;
      const client = connect({ host: hostname, port: Number(port), allowHalfOpen: true }, () => client.write('nonsense\r\n\r\n'));
      client.on('error', () => undefined).resume();
      const [socket] = await accepted;
      await once(socket, 'close');
      client.destroy();
    }, 4_000);

    it('is answered without the origin it named, which may contain a password', async () => {
      const answer = await cut('GET http://me:secret@shop.example/v3/plant/0?a=b HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
      expect(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4))).toMatchObject({ code: 'invalid-input', instance: '/v3/plant/0' });
    });

    it('is answered by its path if the request line holds an absolute URL', async () => {
      expect(await cut('GET http://evil.example/v3/plant/1 HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n')).toContain('HTTP/1.1 200 OK');
    });
  });
});
