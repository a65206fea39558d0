import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { RequestBody } from '@plant-shop/testing/http';
import { createPlant, gatewayUrl, ok, type Problem, problem, send, staff } from './shop.js';

const order = (body: RequestBody, type = 'application/json') =>
  send('POST', '/v3/store/order', { as: staff, body, headers: { 'content-type': type } });

describe('invalid requests', () => {
  let plantId: number;
  beforeAll(async () => {
    plantId = (await createPlant()).id;
  });

  it('to unknown routes are 404, with an unsupported method 405 with Allow', async () => {
    await problem(send('GET', '/v3/nothing'), 404, 'route-not-found');
    await problem(send('GET', '/v3/plant/1/2/3?secret=1'), 404, 'route-not-found');
    const answer = send('DELETE', '/v3/store/inventory', { as: staff });
    await problem(answer, 405, 'method-not-allowed');
    expect((await answer).headers.get('allow')).toMatch(/GET/);
    await problem(send('PATCH', '/v3/plant'), 405, 'method-not-allowed');
  });

  it.each([
    ['broken JSON', '{"plantId": 1,', 'malformed-json'],
    ['no body', '', 'malformed-json'],
    ['text after the JSON', '{} {}', 'malformed-json'],
    ['bytes that are not UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), 'malformed-json'],
    ['a list', '[]', 'invalid-input'],
    ['a number', '7', 'invalid-input'],
    ['null', 'null', 'invalid-input'],
    ['__proto__', '{"plantId":1,"__proto__":{"admin":true}}', 'invalid-input'],
    ['NUL in a string', '{"plantId":1,"note":"\\u0000"}', 'invalid-input'],
    ['half a surrogate pair', '{"plantId":1,"note":"\\ud800"}', 'invalid-input'],
    ['deep nesting', `{"plantId":1,"note":${'['.repeat(200)}${']'.repeat(200)}}`, 'invalid-input'],
  ])('%s is 400', async (_, body, code) => {
    await problem(order(body as RequestBody), 400, code);
  });

  it.each([
    ['plantId', '"7"'],
    ['plantId', '0'],
    ['plantId', '-1'],
    ['plantId', '1.5'],
    ['plantId', '9007199254740993'],
    ['plantId', '1e21'],
    ['plantId', 'true'],
    ['plantId', '{}'],
    ['plantId', '[1]'],
    ['quantity', '0'],
    ['quantity', '-3'],
    ['quantity', '1000001'],
    ['quantity', '"1"'],
    ['id', '-1'],
    ['shipDate', '"tomorrow"'],
    ['shipDate', '"2026-13-01T00:00:00Z"'],
    ['shipDate', '5'],
    ['status', '"lost"'],
    ['complete', '"false"'],
  ])('an order with %s %s is 400 with a pointer', async (field, value) => {
    const json = field === 'plantId' ? `{"plantId":${value}}` : `{"plantId":${plantId},"${field}":${value}}`;
    const { errors } = await problem(order(json), 400, 'invalid-input');
    expect(errors).toEqual([{ pointer: `/${field}`, detail: expect.stringMatching(/^must /) }]);
  });

  it('null means absent', async () => {
    await ok(order(`{"plantId":${plantId},"id":null,"quantity":null,"shipDate":null,"status":null}`));
  });

  it.each(['', 'text/plain', 'application/xml', 'application/json2', 'multipart/form-data'])(
    'a body of type "%s" is 415',
    async (type) => {
      const { status, code } = await raw('POST', '/v3/store/order', type ? { 'content-type': type } : {}, '{"plantId":1}');
      expect({ status, code }).toEqual({ status: 415, code: 'unsupported-media-type' });
    },
  );

  it('a body over 1 MiB is 413', async () => {
    await problem(order(JSON.stringify({ plantId, note: 'x'.repeat(1_100_000) })), 413, 'payload-too-large');
  });

  it('without a credential are 401 even if the body is invalid', async () => {
    const answer = send('POST', '/v3/store/order', { body: '{', headers: { 'content-type': 'text/plain' } });
    await problem(answer, 401, 'unauthorized');
  });

  it.each(['0', '-1', 'abc', '1.5', '1e3', '9007199254740993', '%20', '0x10', '%00', 'NaN'])(
    'the id %s in a path is 400',
    async (id) => {
      await problem(send('GET', `/v3/plant/${id}`), 400, 'invalid-input');
      await problem(send('GET', `/v3/store/order/${id}`, { as: staff }), 400, 'invalid-input');
    },
  );

  it('with names and tags outside their bounds are 400 with a pointer', async () => {
    const create = (plant: unknown) => problem(send('POST', '/v3/plant', { as: staff, json: plant }), 400, 'invalid-input');
    for (const name of ['', 'x'.repeat(201), 'a\u0000b', 7]) {
      expect((await create({ name })).errors?.[0]?.pointer).toBe('/name');
    }
    const tags = Array.from({ length: 65 }, (_, n) => ({ name: `t${n}` }));
    expect((await create({ name: 'x', tags })).errors?.[0]?.pointer).toBe('/tags');
    expect((await create({ name: 'x', tags: [{ name: 'a' }, { id: 1 }] })).errors?.[0]?.pointer).toBe('/tags/1/name');
  });

  it.each(['login', 'logout', 'createWithList', 'me', 'ME', '-x', '', 'a b', 'ü', 'x'.repeat(65)])(
    'the username "%s" is 400',
    async (username) => {
      const json = { username, password: 'secret word' };
      const { errors } = await problem(send('POST', '/v3/user', { json }), 400, 'invalid-input');
      expect(errors?.[0]?.pointer).toBe('/username');
    },
  );

  it('that are not HTTP are answered with 400 and crash nothing', async () => {
    const { hostname, port } = new URL(gatewayUrl());
    const answer = await new Promise<string>((resolve) => {
      const socket = connect(Number(port), hostname, () => socket.write('NONSENSE\r\n\r\n'));
      let text = '';
      socket.on('data', (chunk) => (text += chunk.toString()));
      socket.on('close', () => resolve(text));
    });
    expect(answer).toMatch(/^HTTP\/1\.1 400/);
    await ok(send('GET', '/readyz'));
  });

  it('an aborted upload does not harm the service', async () => {
    const { hostname, port } = new URL(gatewayUrl());
    await new Promise<void>((resolve) => {
      const request = httpRequest({
        hostname,
        port,
        method: 'POST',
        path: `/v3/plant/${plantId}/uploadImage`,
        headers: { api_key: 'special-key', 'content-type': 'multipart/form-data; boundary=b', 'content-length': '5000000' },
      });
      request.on('error', () => resolve());
      request.on('close', () => resolve());
      request.write('--b\r\ncontent-disposition: form-data; name="file"; filename="a.png"\r\n\r\n');
      request.write(Buffer.alloc(600_000, 1));
      setTimeout(() => request.destroy(), 200);
    });
    await ok(send('GET', `/v3/plant/${plantId}`));
  });
});

/** Sends headers that fetch would set itself or refuse. */
function raw(
  method: string,
  path: string,
  headers: Record<string, string>,
  body: string,
): Promise<{ status: number | undefined; code: string }> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(gatewayUrl());
    const options = { hostname, port, method, path, headers: { api_key: 'special-key', ...headers } };
    const request = httpRequest(options, (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => (text += chunk.toString()));
      response.on('end', () => resolve({ status: response.statusCode, code: (JSON.parse(text) as Problem).code }));
    });
    request.on('error', reject);
    request.end(body);
  });
}
