import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { addDemoData } from './demo-data.mjs';

test('a request that a busy shop refuses is sent again; one whose outcome is unknown is not', async (t) => {
  /** @type {string[]} */
  const asked = [];
  const server = createServer((request, response) => {
    request.resume();
    asked.push(`${request.method} ${request.url}`);
    const isRefused = asked.length === 1;
    response.writeHead(isRefused || request.url === '/v3/user' ? 503 : 200, { 'content-type': 'application/json' });
    response.end(isRefused ? '{"code":"unavailable"}' : request.url === '/v3/user' ? '{"code":"outcome-unknown"}' : '{"refused":0,"created":24}');
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
  t.after(() => server.close());
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  await assert.rejects(addDemoData(`http://127.0.0.1:${port}`, new AbortController().signal), /POST \/user answered 503/);
  assert.deepEqual(asked, ['POST /v3/plant/import', 'POST /v3/plant/import', 'POST /v3/user']);
});
