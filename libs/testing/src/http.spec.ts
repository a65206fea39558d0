import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { contentOf, request } from './http.js';
import { Receiver } from './receiver.js';

describe('a request', () => {
  let server: Receiver;
  beforeEach(async () => {
    server = await Receiver.start();
  });
  afterEach(() => server.stop());

  it('carries every credential that it is given', async () => {
    await request('GET', server.url, { as: { apiKey: 'key', sessionToken: 'token', bearer: 'jwt' } });
    await request('GET', server.url, { as: { basic: ['a client', 's:cret'] } });
    expect(server.received[0]?.headers).toMatchObject({ api_key: 'key', session_token: 'token', authorization: 'Bearer jwt' });
    expect(server.received[1]?.headers).toMatchObject({ authorization: `Basic ${btoa('a%20client:s%3Acret')}` });
  });

  it('has a body of JSON, of a form, or of its own', async () => {
    await request('POST', server.url, { json: { a: null }, headers: { 'idempotency-key': '1' } });
    await request('POST', server.url, { form: { a: 'b c' } });
    await request('PUT', server.url, { body: 'text', headers: { 'content-type': 'text/csv' } });
    await request('GET', server.url);
    expect(server.received.map(({ body, headers }) => [body, headers['content-type'], headers['idempotency-key']])).toEqual([
      ['{"a":null}', 'application/json', '1'],
      ['a=b+c', 'application/x-www-form-urlencoded', undefined],
      ['text', 'text/csv', undefined],
      ['', undefined, undefined],
    ]);
  });

  it('follows no redirect and is not repeated', async () => {
    server.answerWith(302, { location: server.url });
    expect((await request('GET', server.url)).status).toBe(302);
    server.answer = (_received, response) => response.destroy();
    await expect(request('GET', server.url)).rejects.toThrow('fetch failed');
    expect(server.received).toHaveLength(2);
  });

  it.each([
    ['application/problem+json', { text: '{"code":"x"}', json: { code: 'x' } }],
    ['text/plain', { text: '{"code":"x"}', json: undefined }],
  ])('has an answer whose JSON is parsed if it is %s', async (type, expected) => {
    server.answer = (_received, response) => response.writeHead(400, { 'content-type': type }).end('{"code":"x"}');
    expect(await contentOf(await request('GET', server.url))).toEqual(expected);
  });
});
