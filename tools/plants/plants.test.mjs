import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { exportTo } from './export.mjs';
import { importFrom } from './import.mjs';
import { linesOf } from './csv.mjs';

/** @type {string} */
let folder;
/** @type {import('node:http').Server} */
let server;
/** @type {(request: import('node:http').IncomingMessage, response: import('node:http').ServerResponse) => unknown} */
let answer;
/** @type {import('./import.mjs').Shop} */
let shop;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'plants-'));
  server = createServer((request, response) => answer(request, response)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  shop = { url: `http://127.0.0.1:${port}`, key: 'key', signal: new AbortController().signal };
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true });
});

const plant = (/** @type {number} */ id) => ({ id, name: `Plant ${id}`, photoUrls: [], tags: [], status: 'available' });
const file = (/** @type {string} */ name) => ({ path: join(folder, name), format: /** @type {import('./csv.mjs').Format} */ (name.endsWith('csv') ? 'csv' : 'ndjson') });

test('an import that is cut off resumes at the first unprocessed line (slow)', async () => {
  /** @type {number[]} */
  const taken = [];
  answer = async (request, response) => {
    let line = 0;
    for await (const text of linesOf(request)) {
      taken.push(JSON.parse(text).id);
      response.write(`${JSON.stringify({ line: ++line, id: taken.at(-1), result: 'created' })}\n`);
      if (taken.length === 700) return response.end(`${JSON.stringify({ lines: line, complete: false, problem: { status: 503, detail: 'Replaced.' } })}\n`);
      // By then the client has read every line: unread data is lost with the connection.
      if (taken.length === 1_200) return setTimeout(() => response.destroy(), 2_000);
    }
    return response.end(`${JSON.stringify({ lines: line, complete: true })}\n`);
  };
  const plants = Array.from({ length: 2_000 }, (_, n) => plant(n + 1));
  writeFileSync(file('plants.ndjson').path, plants.map((one) => `${JSON.stringify(one)}\n`).join(''));
  assert.equal(await importFrom(file('plants.ndjson'), shop), 0);
  assert.deepEqual(taken, plants.map(({ id }) => id));
});

test('a complete export replaces the file, in either format', async () => {
  answer = (_, response) => response.end(Array.from({ length: 3_000 }, (_, n) => `${JSON.stringify(plant(n + 1))}\n`).join(''));
  for (const name of ['plants.ndjson', 'plants.csv']) {
    assert.equal(await exportTo(file(name), shop), 0);
    assert.equal(readFileSync(file(name).path, 'utf8').trimEnd().split('\n').length, name.endsWith('csv') ? 3_001 : 3_000);
  }
});

test('an export that is cut off leaves the file unchanged', async () => {
  writeFileSync(file('plants.csv').path, 'before');
  answer = (_, response) => {
    response.write(`${JSON.stringify(plant(1))}\n`);
    setTimeout(() => response.destroy(), 50);
  };
  await assert.rejects(exportTo(file('plants.csv'), shop), /cut off/);
  assert.equal(readFileSync(file('plants.csv').path, 'utf8'), 'before');
});

/** Runs an import and returns its exit code and what it printed. @param {string} name @param {string | Uint8Array} content */
async function imported(name, content) {
  writeFileSync(file(name).path, content);
  /** @type {string[]} */
  const printed = [];
  const { error, log } = console;
  console.error = console.log = (text) => printed.push(text);
  try {
    return { code: await importFrom(file(name), shop), printed };
  } finally {
    Object.assign(console, { error, log });
  }
}

/** Accepts lines, except those of plants named Bad. */
const accepting = (/** @type {unknown[]} */ taken) => async (/** @type {import('node:http').IncomingMessage} */ request, /** @type {import('node:http').ServerResponse} */ response) => {
  let line = 0;
  for await (const text of linesOf(request)) {
    const { name } = JSON.parse(text);
    taken.push(name);
    const problem = { errors: [{ pointer: '/status', detail: 'must be sold' }] };
    response.write(`${JSON.stringify({ line: ++line, result: name === 'Bad' ? 'refused' : 'created', problem })}\n`);
  }
  response.end(`${JSON.stringify({ complete: true })}\n`);
};

test('refused rows are reported with their line and column, and blank ones are counted', async () => {
  /** @type {unknown[]} */
  const taken = [];
  answer = accepting(taken);
  const { code, printed } = await imported('plants.csv', 'id,name,status\r\n1,"Two\r\nlines",\r\n,,\r\n2,Bad,x\r\n3,a,b,c\r\n4,Good,\r\n5,a,b,c\r\n,,\r\n');
  assert.equal(code, 1);
  assert.deepEqual(taken, ['Two\r\nlines', 'Bad', 'Good']);
  assert.deepEqual(printed.slice(0, 3), [
    'line 5: column status must be sold',
    'line 6: has 4 cells, the header 3. Put a cell that contains a comma in quotes.',
    'line 8: has 4 cells, the header 3. Put a cell that contains a comma in quotes.',
  ]);
  assert.match(printed[3] ?? '', /^2 created, 0 updated, 0 unchanged, 3 refused, 2 blank lines skipped/);
});

test('rows without an id create plants one by one, once each, though the import is cut off between them', async () => {
  /** @type {Map<unknown, string>} */
  const created = new Map();
  /** @type {unknown[]} */
  const taken = [];
  let isBusy = true;
  answer = async (request, response) => {
    if (request.url === '/v3/plant/import') return accepting(taken)(request, response);
    const { name } = JSON.parse((await Array.fromAsync(linesOf(request))).join(''));
    if (name === 'Bad') return response.writeHead(400).end(JSON.stringify({ errors: [{ pointer: '/name', detail: 'must be good' }] }));
    created.set(request.headers['idempotency-key'], name);
    if (name !== 'Third' || !isBusy) return response.writeHead(201).end('{}');
    isBusy = false;
    return response.writeHead(503).end('{}');
  };
  const { code, printed } = await imported('plants.csv', 'Name,ID\nFirst,\nSecond,2\nThird,\nBad,\nSame,\nSame,\n');
  assert.equal(code, 1);
  assert.deepEqual([...created.values()], ['First', 'Third', 'Same', 'Same']);
  assert.deepEqual(taken, ['Second']);
  assert.equal(printed[0], 'line 5: column name must be good');
  assert.match(printed[1] ?? '', /^5 created, 0 updated, 0 unchanged, 1 refused/);
});

test('nothing of a file is sent that is damaged anywhere', async () => {
  answer = () => assert.fail('a request');
  await assert.rejects(imported('plants.csv', `id,name\n${'1,x\n'.repeat(50_000)}2,"y\n`), /plants\.csv cannot be imported\. The quote of line 50002 is never closed/);
  await assert.rejects(imported('plants.ndjson', Buffer.from('{"id":1}\n{"id":2,"name":"\xe9"}\n', 'latin1')), /Line 2, column 17 is not UTF-8/);
});

test('an import waits for a shop that is busy, as long as it says (slow)', async () => {
  /** @type {unknown[]} */
  const taken = [];
  let refusals = 0;
  /** @type {number[]} */
  const times = [];
  answer = (request, response) => {
    times.push(performance.now());
    if (refusals++ < 2) return response.writeHead(refusals === 1 ? 503 : 429, { 'retry-after': '2' }).end('{"code":"overloaded"}');
    return accepting(taken)(request, response);
  };
  assert.equal((await imported('plants.ndjson', '{"name":"a"}\n')).code, 0);
  assert.deepEqual(taken, ['a']);
  // A timer may fire a millisecond early.
  assert.ok(times.every((time, n) => n === 0 || time - (times[n - 1] ?? 0) > 1_990), String(times));
  answer = (_, response) => response.writeHead(403).end('{"code":"forbidden"}');
  await assert.rejects(imported('plants.ndjson', '{"name":"a"}\n'), /refuses the import: .*forbidden/);
});
