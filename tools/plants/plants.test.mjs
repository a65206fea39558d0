import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { PassThrough } from 'node:stream';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { exportTo } from './export.mjs';
import { importFrom } from './import.mjs';
import { linesOf } from './lines.mjs';

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
const file = (/** @type {string} */ name) => ({ path: join(folder, name), format: /** @type {import('./options.mjs').Format} */ (name.endsWith('csv') ? 'csv' : 'ndjson') });

test('an import that is cut off resumes at the first unprocessed line', async () => {
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

test('a connection error after the last line is ignored', async () => {
  const input = new PassThrough();
  input.write('one\ntwo\nthree\n');
  for await (const line of linesOf(input)) if (line === 'two') break;
  input.destroy(new Error('aborted'));
  await new Promise((resolve) => input.once('close', resolve));
  const broken = new PassThrough();
  broken.write('one\n');
  await assert.rejects(async () => {
    for await (const line of linesOf(broken)) if (line === 'one') broken.destroy(new Error('lost'));
  }, /lost/);
});

test('lines that arrive before they are read are not lost', async () => {
  const input = new PassThrough();
  const lines = linesOf(input);
  input.write('one\ntwo\n');
  await new Promise((resolve) => setImmediate(resolve));
  input.end('three\n');
  const seen = [];
  for await (const line of lines) seen.push(line);
  assert.deepEqual(seen, ['one', 'two', 'three']);
});
