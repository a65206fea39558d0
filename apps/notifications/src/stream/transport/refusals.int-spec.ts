import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import type { Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { exchange, faultyRequests, goodHosts } from '@plant-shop/testing/framing';
import { encodeCursor } from '../../log/history.js';
import { type Replica, Shop, updates, userId } from '../stream.spec.fixture.js';

const handshake = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
};

describe('refusals of the stream', () => {
  let shop: Shop;
  let replica: Replica;
  beforeAll(async () => {
    shop = await Shop.open();
    shop.identity.addCredential('session', { kind: 'session', permissions: ['write:stock'] });
    replica = await shop.start();
  });
  afterAll(() => shop.close());

  const good = encodeCursor({ epoch: userId(1), seq: 1 });
  const cases: [string, string, Record<string, string>, number, string][] = [
    ['no key', '', {}, 401, 'unauthorized'],
    ['an empty key', '?api_key=', {}, 401, 'unauthorized'],
    ['a wrong key', '?api_key=wrong', {}, 401, 'credential-refused'],
    ['a key in query and header', '?api_key=key', { api_key: 'key' }, 401, 'unauthorized'],
    ['a key twice', '?api_key=key&api_key=key', {}, 400, 'invalid-input'],
    ['a session that may not read orders', '', { session_token: 'session' }, 403, 'forbidden'],
    ['garbage for a cursor', '?api_key=key&cursor=garbage', {}, 400, 'invalid-cursor'],
    ['a cursor with one character changed', `?api_key=key&cursor=B${good.slice(1)}`, {}, 400, 'invalid-cursor'],
    ['a cursor and something after it', `?api_key=key&cursor=${good}A`, {}, 400, 'invalid-cursor'],
    ['garbage for a last event', '?api_key=key', { 'last-event-id': 'x'.repeat(32) }, 400, 'invalid-cursor'],
    ['an order id that is not a number', '?api_key=key&orderId=1e3', {}, 400, 'invalid-input'],
    ['an order id with leading zeros', '?api_key=key&orderId=007', {}, 400, 'invalid-input'],
    ['a plant below 1', '?api_key=key&plantId=0', {}, 400, 'invalid-input'],
    ['an unknown status', '?api_key=key&newStatus=lost', {}, 400, 'invalid-input'],
    ['a limit beyond 1,000', '?api_key=key&limit=1001', {}, 400, 'invalid-input'],
    ['broken percent-encoding', '?api_key=key&cursor=%E0%A4', {}, 400, 'malformed-request'],
    ['a NUL', '?api_key=key&other=%00', {}, 400, 'malformed-request'],
  ];

  it.each(cases)('%s is refused before the upgrade, and in answer to a plain request', async (_, query, headers, status, code) => {
    for (const more of [handshake, {}, { accept: 'text/event-stream' }]) {
      const answer = await replica.ask(`${updates}${query}`, { ...headers, ...more, 'x-request-id': 'mine' });
      expect(answer).toMatchObject({
        status,
        headers: { 'content-type': 'application/problem+json; charset=utf-8', 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' },
      });
      expect(JSON.parse(answer.body)).toMatchObject({
        type: `https://shop.test/problems/${code}`,
        code,
        status,
        title: expect.any(String),
        detail: expect.any(String),
        instance: updates,
        requestId: 'mine',
      });
      if (status === 401) expect(answer.headers['www-authenticate']).toMatch(/^Bearer /);
    }
  });

  it.each(['/', `${updates}/`, '/v1/orders', `/${updates}`, '/V1/orders/updates'])('serves nothing at %s', async (path) => {
    for (const headers of [handshake, {}]) {
      const { status, body } = await replica.ask(`${path}?api_key=secret`, headers);
      expect(status).toBe(404);
      expect(JSON.parse(body)).toMatchObject({ code: 'route-not-found', instance: path });
      expect(body).not.toContain('secret');
    }
  });

  it.each([handshake, {}])('understands an absolute request target, and shows nothing of its origin', async (headers) => {
    const nothing = await replica.ask('http://user:secret@stream.test/nothing?api_key=secret', headers);
    expect(JSON.parse(nothing.body)).toMatchObject({ code: 'route-not-found', instance: '/nothing' });
    const stream = await replica.ask(`http://user:secret@stream.test${updates}?api_key=wrong`, headers);
    expect(JSON.parse(stream.body)).toMatchObject({ code: 'credential-refused', instance: updates });
    expect(nothing.body + stream.body).not.toContain('secret');
  });

  it.each(['POST', 'PUT', 'DELETE'])('answers %s with 405 and the allowed method', async (method) => {
    const { status, headers, body } = await replica.ask(`${updates}?api_key=key`, {}, method);
    expect({ status, allow: headers.allow }).toEqual({ status: 405, allow: 'GET, HEAD' });
    expect(JSON.parse(body)).toMatchObject({ code: 'method-not-allowed' });
  });

  it('uses one request id towards client and identity, also when the client sent none', async () => {
    for (const headers of [handshake, {}, { accept: 'text/event-stream' }]) {
      const answer = await replica.ask(`${updates}?api_key=unknown-key`, headers);
      expect(shop.identity.requestId).toMatch(/^[0-9a-f-]{36}$/);
      expect(answer.headers['x-request-id']).toBe(shop.identity.requestId);
      expect(JSON.parse(answer.body)).toMatchObject({ requestId: shop.identity.requestId });
    }
  });

  it('names the handshake that it requires', async () => {
    const old = await replica.ask(`${updates}?api_key=key`, { ...handshake, 'sec-websocket-version': '8' });
    expect(old).toMatchObject({ status: 400, headers: { 'sec-websocket-version': '13' } });
    expect(await replica.ask(`${updates}?api_key=key`, { ...handshake, 'sec-websocket-key': 'short' })).toMatchObject({ status: 400 });
  });
});

describe('malformed HTTP at the port of the stream', () => {
  let shop: Shop;
  let replica: Replica;
  beforeAll(async () => {
    shop = await Shop.open();
    replica = await shop.start({ STREAM_PUBLIC_URL: 'wss://stream.example' });
  });
  afterAll(() => shop.close());

  it.each([
    ['not HTTP', 400, 'nonsense\r\n\r\n'],
    ['too many headers', 431, `GET ${updates} HTTP/1.1\r\nhost: x\r\nx: ${'a'.repeat(20_000)}\r\n\r\n`],
    ...faultyRequests(`${updates}?api_key=key`),
  ] as const)('is answered with one problem: %s', async (_, status, text) => {
    const code = { 400: 'malformed-request', 417: 'expectation-failed', 431: 'headers-too-large' }[status];
    const answer = await exchange(replica.port, text).received;
    expect(answer.match(/HTTP\/1\.1 \d+/g)).toEqual([`HTTP/1.1 ${status}`]);
    const [head = '', body = ''] = answer.split('\r\n\r\n');
    const headers = Object.fromEntries(head.split('\r\n').slice(1).map((line) => line.toLowerCase().split(': ')));
    expect(headers).toMatchObject({
      'content-type': 'application/problem+json; charset=utf-8',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'strict-transport-security': 'max-age=31536000; includesubdomains',
      'x-request-id': expect.stringMatching(/^[0-9a-f-]{36}$/),
      connection: 'close',
    });
    const problem = JSON.parse(body.slice(body.indexOf('{'), body.lastIndexOf('}') + 1)) as object;
    expect(problem).toMatchObject({ type: `https://shop.test/problems/${code}`, status, code, requestId: headers['x-request-id'] });
  });

  it.each(goodHosts)('may have the Host header %s', async (host) => {
    expect(await exchange(replica.port, `GET /v1/asyncapi.json HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`).received).toContain('HTTP/1.1 200 OK');
  });

  it('is served without a Host header by HTTP/1.0, which has none', async () => {
    expect(await exchange(replica.port, 'GET /v1/asyncapi.json HTTP/1.0\r\n\r\n').received).toContain('HTTP/1.1 200 OK');
  });

  it('ends an event stream, and adds nothing to it', async () => {
    const { socket, received } = exchange(replica.port, `GET ${updates}?api_key=key HTTP/1.1\r\nhost: x\r\naccept: text/event-stream\r\n\r\n`);
    await once(socket, 'data');
    socket.write('nonsense\r\n\r\n');
    const answer = await received;
    expect(answer).toContain('text/event-stream');
    expect(answer.match(/HTTP\/1\.1/g)).toEqual(['HTTP/1.1']);
  });
});

describe('Strict-Transport-Security of the stream', () => {
  const upgraded = async (replica: Replica): Promise<IncomingMessage['headers']> => {
    const asked = request({ port: replica.port, path: `${updates}?api_key=key`, headers: handshake, agent: false }).end();
    const [response, socket] = (await once(asked, 'upgrade')) as [IncomingMessage, Socket];
    socket.destroy();
    return response.headers;
  };

  it.each([
    ['wss://stream.example', 'max-age=31536000; includeSubDomains'],
    ['ws://127.0.0.1:8081', undefined],
  ])('at %s every response has the value %p (slow)', async (STREAM_PUBLIC_URL, expected) => {
    const shop = await Shop.open();
    try {
      const replica = await shop.start({ STREAM_PUBLIC_URL, CORS_ORIGINS: 'https://plants.example' });
      const preflight = { origin: 'https://plants.example', 'access-control-request-method': 'GET' };
      const answers = [
        await replica.ask(`${updates}?api_key=key`),
        await replica.ask('/v1/asyncapi.json'),
        await replica.ask(updates, preflight, 'OPTIONS'),
        await replica.ask(updates),
        await replica.ask(updates, handshake),
        await replica.ask('/nothing'),
      ];
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 204, 401, 401, 404]);
      const all = [...answers.map(({ headers }) => headers), await upgraded(replica)];
      expect(all.map((headers) => headers['strict-transport-security'])).toEqual(Array(7).fill(expected));
    } finally {
      await shop.close();
    }
  });
});
