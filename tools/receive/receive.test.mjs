import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Webhook } from 'standardwebhooks';
import { onLines } from '../start/lines.mjs';
import { parseOptions, shopOf } from './options.mjs';
import { startReceiver } from './receiver.mjs';

const secret = 'whsec_RVhBTVBMRS1TRUNSRVQtTk9ULUEtUkVBTC1PTkU=';
const other = 'whsec_QU5PVEhFUi1TRUNSRVQtTk9ULUEtUkVBTC1PTkU=';
const local = { port: 0, host: '127.0.0.1' };
const body = '{"event":"order.status_changed","timestamp":"2027-03-01T08:00:01.000Z","data":{"orderId":7,"plantId":3,"previousStatus":"placed","newStatus":"approved","trackingNumber":"PS7"}}';

/** @param {string} [by] @param {Date} [at] @returns {Record<string, string>} */
function signed(by = secret, at = new Date()) {
  const seconds = `${Math.floor(at.getTime() / 1_000)}`;
  return { 'webhook-id': 'event-1', 'webhook-timestamp': seconds, 'webhook-signature': new Webhook(by).sign('event-1', at, body) };
}

/** @param {import('node:test').TestContext} t @param {string[]} secrets */
async function receiving(t, secrets) {
  /** @type {import('./receiver.mjs').Received[]} */
  const received = [];
  const receiver = await startReceiver(local, (one) => received.push(one));
  receiver.trust(secrets);
  t.after(() => receiver.close());
  const url = `http://127.0.0.1:${receiver.port}/`;
  /** @param {Record<string, string>} headers */
  const post = async (headers, content = body) => (await fetch(url, { method: 'POST', headers, body: content })).status;
  return { received, url, post };
}

test('options are port, docker, register, types, keep, secrets, url and key', async () => {
  assert.deepEqual(parseOptions(['--types', 'order.placed,refund.due']).types, ['order.placed', 'refund.due']);
  assert.deepEqual({ ...parseOptions([]) }, { help: false, docker: false, register: false, keep: false, port: 8090, secrets: [] });
  assert.deepEqual(parseOptions(['--secret', secret, '--secret', other, '--port', '0']).secrets, [secret, other]);
  assert.throws(() => parseOptions(['--port', 'http']), /--port http is not a port/);
  assert.throws(() => parseOptions(['--secret', 'hunter2']), /whsec_/);
  assert.deepEqual(await shopOf({ url: 'http://a:1/v3', docker: false }, {}), { url: 'http://a:1', key: 'special-key' });
});

test('it needs no installed packages, so it runs from a bare checkout', async (t) => {
  const bare = mkdtempSync(join(tmpdir(), 'receive-'));
  t.after(() => rmSync(bare, { recursive: true }));
  cpSync(fileURLToPath(new URL('..', import.meta.url)), join(bare, 'tools'), { recursive: true });
  const child = spawn(process.execPath, [join(bare, 'tools/receive/main.mjs'), '--help'], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [code] = await once(child, 'close');
  assert.equal(code, 0);
});

test('a delivery with a valid signature is accepted', async (t) => {
  const { received, post } = await receiving(t, [secret]);
  assert.equal(await post(signed()), 204);
  assert.deepEqual(received, [{ id: 'event-1', event: JSON.parse(body), fault: undefined }]);
});

test('either secret is accepted during a rotation', async (t) => {
  const { post } = await receiving(t, [other, secret]);
  assert.equal(await post(signed()), 204);
  const both = `${signed(other)['webhook-signature']} ${signed()['webhook-signature']}`;
  assert.equal(await post({ ...signed(), 'webhook-signature': both }), 204);
});

test('an unsigned, foreign, altered or old delivery is shown as such and refused', async (t) => {
  const { received, post } = await receiving(t, [secret]);
  assert.equal(await post({}), 401);
  assert.equal(await post(signed(other)), 401);
  assert.equal(await post(signed(), body.replace('placed', 'plaCed')), 401);
  assert.equal(await post({ ...signed(), 'webhook-id': 'event-2' }), 401);
  assert.equal(await post(signed(secret, new Date(Date.now() - 600_000))), 401);
  assert.equal(await post(signed(), 'no JSON'), 401);
  assert.equal(received.length, 6);
  for (const { fault } of received) assert.ok(fault);
});

test('without a secret every delivery is refused', async (t) => {
  const { received, post } = await receiving(t, []);
  assert.equal(await post(signed()), 401);
  assert.match(received[0]?.fault ?? '', /no secret/);
});

test('other methods and oversized bodies are refused', async (t) => {
  const { received, url, post } = await receiving(t, [secret]);
  assert.equal((await fetch(url)).status, 405);
  assert.equal(await post({}, 'x'.repeat(70_000)), 413);
  assert.deepEqual(received, []);
});

test('a taken port is reported', async (t) => {
  const { url } = await receiving(t, []);
  await assert.rejects(startReceiver({ ...local, port: Number(new URL(url).port) }, () => {}), /taken.*--port/);
});

/**
 * Simulates the shop's webhook API; a new webhook receives an event at once.
 * @param {import('node:test').TestContext} t
 */
async function shopThatSends(t) {
  /** @type {string[]} */
  const asked = [];
  /** @type {unknown[]} */
  const types = [];
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const part of request) text += part;
    asked.push(`${request.method} ${request.url} ${request.headers['api_key']}`);
    response.setHeader('content-type', 'application/json');
    if (request.headers['api_key'] !== 'good') {
      response.writeHead(403).end(JSON.stringify({ detail: 'It needs webhooks.' }));
    } else if (request.method === 'POST') {
      response.end(JSON.stringify({ id: 'webhook-1', secret }));
      const { url, eventTypes } = JSON.parse(text);
      types.push(eventTypes);
      setTimeout(() => fetch(url, { method: 'POST', headers: signed(), body }), 200);
    } else response.end('{}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  return { asked, types, url: `http://127.0.0.1:${port}` };
}

/** @param {string[]} args */
function start(args) {
  const child = spawn(process.execPath, [fileURLToPath(new URL('main.mjs', import.meta.url)), '--port', '0', ...args]);
  /** @type {string[]} */
  const events = [];
  /** @type {string[]} */
  const said = [];
  onLines(child.stdout, (lines) => {
    events.push(...lines);
    child.kill('SIGINT');
  });
  onLines(child.stderr, (lines) => said.push(...lines));
  return { events, said, ended: once(child, 'close').then(([code]) => code) };
}

test('it registers a webhook, prints deliveries, and deletes the webhook at the end', async (t) => {
  const shop = await shopThatSends(t);
  const { events, said, ended } = start(['--register', '--url', shop.url, '--key', 'good']);
  assert.equal(await ended, 0);
  assert.deepEqual(events, ['2027-03-01T08:00:01.000Z  order 7  plant 3  placed → approved     PS7  event-1  verified']);
  assert.deepEqual(shop.asked, ['POST /v3/webhooks good', 'DELETE /v3/webhooks/webhook-1 good']);
  assert.deepEqual(shop.types, [undefined]);
  assert.doesNotMatch(said.join('\n'), /whsec_/);
});

test('with --keep it leaves the webhook and prints its secret', async (t) => {
  const shop = await shopThatSends(t);
  const { said, ended } = start(['--register', '--keep', '--types', 'order.placed,refund.due', '--url', shop.url, '--key', 'good']);
  assert.equal(await ended, 0);
  assert.deepEqual(shop.types, [['order.placed', 'refund.due']]);
  assert.deepEqual(shop.asked, ['POST /v3/webhooks good']);
  assert.match(said.join('\n'), new RegExp(secret));
});

test('a refusal by the shop is printed with the shop\'s explanation', async (t) => {
  const shop = await shopThatSends(t);
  const { said, ended } = start(['--register', '--url', shop.url, '--key', 'bad']);
  assert.equal(await ended, 1);
  assert.match(said.join('\n'), /403: It needs webhooks\./);
});
