import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { stripVTControlCharacters } from 'node:util';
import { follow, Refused } from './follow.mjs';
import { parseOptions, streamOf } from './options.mjs';
import { Stream } from './stream.fixture.mjs';
import { lineOf } from './event-line.mjs';

/** @param {() => boolean} condition */
async function until(condition) {
  for (const end = Date.now() + 5_000; !condition(); await sleep(5)) assert.ok(Date.now() < end, 'timed out');
}

/**
 * Starts a stream and a follower.
 * @param {import('node:test').TestContext} t
 * @param {{ cursor?: string, key?: string, silenceMs?: number }} [options]
 */
async function following(t, { cursor = 'latest', key = 'good', silenceMs = 5_000 } = {}) {
  const stream = new Stream();
  await stream.start();
  const stop = new AbortController();
  /** @type {unknown[]} */
  const orders = [];
  /** @type {string[]} */
  const states = [];
  const url = /** @type {URL} */ (stream.url);
  const begin = () =>
    follow({ url, key, cursor, silenceMs, onFrame: ({ data }) => orders.push(data?.['orderId']), onState: (text) => states.push(text) }, stop.signal);
  t.after(async () => {
    stop.abort();
    await stream.kill();
  });
  return { stream, stop, orders, states, begin };
}

test('options are cursor, types, json, url and key', () => {
  assert.deepEqual({ ...parseOptions([]) }, { help: false, json: false, cursor: 'latest' });
  assert.deepEqual({ ...parseOptions(['--json', '--cursor', 'earliest']) }, { help: false, json: true, cursor: 'earliest' });
  assert.equal(parseOptions(['--types', 'order.placed,refund.due']).types, 'order.placed,refund.due');
  assert.throws(() => parseOptions(['--since', 'now']), /--since/);
});

test('--url names the stream; the default is the running shop\'s, with the demo key', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'listen-'));
  try {
    await assert.rejects(streamOf({}, { DATA_DIR: folder }), /No shop runs here.*--url/);
    writeFileSync(join(folder, 'run.json'), JSON.stringify({ streamUrl: 'ws://127.0.0.1:1234' }));
    const here = await streamOf({}, { DATA_DIR: folder });
    assert.deepEqual([here.url.href, here.key], ['ws://127.0.0.1:1234/v1/orders/updates', 'special-key']);
  } finally {
    rmSync(folder, { recursive: true });
  }
  assert.equal((await streamOf({ url: 'https://plants.example' }, {})).url.href, 'wss://plants.example/v1/orders/updates');
  assert.equal((await streamOf({ url: 'ws://a/other?x=1', key: 'k' }, { API_KEY: 'e' })).url.href, 'ws://a/other?x=1');
  assert.equal((await streamOf({ url: 'ws://a' }, { API_KEY: 'e' })).key, 'e');
  assert.equal((await streamOf({ url: 'ws://a', types: 'order.placed,refund.due' }, {})).url.searchParams.get('types'), 'order.placed,refund.due');
  await assert.rejects(streamOf({ url: 'ftp://a' }, {}), /an address like/);
});

test('an event is printed as one line, with colours only if requested', () => {
  const data = { orderId: 7, plantId: 3, previousStatus: 'placed', newStatus: 'approved', trackingNumber: 'PS7' };
  const event = { event: 'order.status_changed', timestamp: '2027-03-01T08:00:01.000Z', data };
  assert.equal(lineOf(event, false), '2027-03-01T08:00:01.000Z  order 7  plant 3  placed → approved     PS7');
  assert.equal(lineOf({ ...event, data: { ...data, newStatus: 'cancelled', trackingNumber: '' } }, false), '2027-03-01T08:00:01.000Z  order 7  plant 3  placed → cancelled');
  const painted = lineOf(event, true);
  assert.ok(painted.includes('\u001b[33mapproved\u001b[0m'));
  assert.equal(stripVTControlCharacters(painted), lineOf(event, false));
  const of = { orderId: 7, plantId: 3 };
  assert.equal(lineOf({ event: 'order.placed', data: { ...of, quantity: 1 } }, false), '  order 7  plant 3  1 unit placed');
  assert.equal(lineOf({ event: 'order.placed', data: { ...of, quantity: 2 } }, false), '  order 7  plant 3  2 units placed');
  assert.equal(lineOf({ event: 'order.shipped', data: { ...of, carrier: 'Green Post', trackingNumber: 'GP-1' } }, false), '  order 7  plant 3  shipped by Green Post  GP-1');
  assert.equal(lineOf({ event: 'stock.low', data: { plantId: 3, free: 4 } }, false), '  plant 3  stock.low  4 free');
  assert.equal(lineOf({ event: 'refund.due', data: { ...of, refundId: 31 } }, false), '  order 7  plant 3  refund due 31');
  assert.match(lineOf({ event: 'stream.gap', data: { reason: 'restored' } }, false), /gap.*missing \(restored\)/);
  assert.equal(lineOf({ event: 'order.praised', data: { orderId: 7 } }, false), 'order.praised  {"orderId":7}');
});

test('new events are passed on; earlier ones only with a cursor', async (t) => {
  const { stream, orders, begin } = await following(t);
  stream.emit({ orderId: 1 });
  void begin();
  await until(() => stream.sockets.size === 1);
  stream.emit({ orderId: 2, trackingNumber: 'x'.repeat(300) });
  await until(() => orders.length === 1);
  assert.deepEqual(orders, [2]);

  const earlier = await following(t, { cursor: 'earliest' });
  for (const orderId of [1, 2, 3]) earlier.stream.emit({ orderId });
  void earlier.begin();
  await until(() => earlier.orders.length === 3);
});

for (const [name, end] of /** @type {[string, (stream: Stream) => Promise<void> | void][]} */ ([
  ['is killed', async (stream) => {
    await stream.kill();
    await stream.start(stream.port);
  }],
  ['is drained', (stream) => stream.close(4200)],
  ['is overloaded', (stream) => stream.close(4100)],
])) {
  test(`when the stream ${name}, every event arrives once, even if none had arrived before`, async (t) => {
    const { stream, orders, states, begin } = await following(t);
    void begin();
    await until(() => stream.sockets.size === 1);
    await end(stream);
    for (const orderId of [1, 2]) stream.emit({ orderId });
    await until(() => orders.length === 2);
    await end(stream);
    stream.emit({ orderId: 3 });
    await until(() => orders.length === 3);
    assert.deepEqual(orders, [1, 2, 3]);
    assert.deepEqual(stream.cursors, ['0', '0', '2']);
    assert.match(states.join('\n'), /reconnecting/);
  });
}

test('it reconnects after the delay that the stream advises', async (t) => {
  const { stream, orders, states, begin } = await following(t);
  void begin();
  await until(() => stream.sockets.size === 1);
  const closed = performance.now();
  stream.close(4200, 'going away; reconnect-after-ms=700');
  stream.emit({ orderId: 1 });
  await until(() => orders.length === 1);
  assert.ok(performance.now() - closed >= 695, `${performance.now() - closed} ms`);
  assert.match(states.join('\n'), /moves its clients to others/);
});

test('it obeys the Retry-After of a full stream', async (t) => {
  const { stream, begin } = await following(t);
  stream.refusesWith = 503;
  const begun = performance.now();
  void begin();
  await until(() => stream.refusals > 0);
  stream.refusesWith = 0;
  await until(() => stream.sockets.size === 1);
  assert.ok(performance.now() - begun >= 995, `${performance.now() - begun} ms`);
});

test('a silent connection is abandoned; pings keep it alive', async (t) => {
  const { stream, states, begin } = await following(t, { silenceMs: 200 });
  void begin();
  await until(() => stream.sockets.size === 1);
  for (let n = 0; n < 8; n += 1) {
    await sleep(50);
    stream.ping();
  }
  assert.deepEqual(states.length, 1);
  await until(() => stream.cursors.length === 2);
  assert.match(states.join('\n'), /no sign of life/);
});

test('a refused key is reported, whether at the start or when it is revoked later', async (t) => {
  const wrong = await following(t, { key: 'wrong' });
  await assert.rejects(wrong.begin(), (error) => error instanceof Refused && /key was refused\. It is 401/.test(error.message));
  const { stream, begin } = await following(t);
  const ended = assert.rejects(begin(), (error) => error instanceof Refused && /revoked/.test(error.message));
  await until(() => stream.sockets.size === 1);
  stream.close(4001);
  await ended;
});

test('an invalid cursor is reported with the stream\'s explanation', async (t) => {
  const { begin } = await following(t, { cursor: 'yesterday' });
  await assert.rejects(begin(), (error) => error instanceof Refused && /It is 400/.test(error.message));
});

test('it stops on request, even while it cannot connect', async (t) => {
  const { stream, stop, states, begin } = await following(t);
  await stream.kill();
  const ended = begin();
  await until(() => states.some((text) => /ECONNREFUSED/.test(text)));
  stop.abort();
  await ended;
});
