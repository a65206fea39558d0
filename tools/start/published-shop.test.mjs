import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { freePort } from './ports.mjs';
import { publishedShop } from './published-shop.mjs';
import { runningShop } from './run-file.mjs';

const folder = mkdtempSync(join(tmpdir(), 'published-shop-'));
after(() => rmSync(folder, { recursive: true }));

/** The run file of a plain `npm start` in this checkout, if one runs: it takes precedence. */
const runsHere = (() => {
  try {
    return runningShop({}, '').path;
  } catch {
    return undefined;
  }
})();

/** A gateway that is not ready. @param {import('node:test').TestContext} t */
async function gateway(t) {
  const server = createServer((_, response) => response.writeHead(503).end());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  return `${/** @type {import('node:net').AddressInfo} */ (server.address()).port}`;
}

test('a named run file must exist: no other shop takes its place', async (t) => {
  const port = await gateway(t);
  await assert.rejects(publishedShop({ DATA_DIR: folder, GATEWAY_PORT: port }, 'by --url'), /No shop runs here.*run\.json.*by --url/);
  writeFileSync(join(folder, 'run.json'), JSON.stringify({ gatewayUrl: 'http://a', streamUrl: 'ws://a' }));
  const path = join(folder, 'run.json');
  assert.deepEqual(await publishedShop({ DATA_DIR: folder }, ''), { gatewayUrl: 'http://a', streamUrl: 'ws://a', from: path, isInContainers: false });
});

test('without a run file, the shop on the ports of Docker Compose is used', { skip: runsHere && 'npm start runs here' }, async (t) => {
  const port = await gateway(t);
  const found = { gatewayUrl: `http://localhost:${port}`, streamUrl: 'ws://127.0.0.1:8081', from: `http://localhost:${port}`, isInContainers: true };
  assert.deepEqual(await publishedShop({ GATEWAY_PORT: port }, '', folder), found);
  writeFileSync(join(folder, '.env'), `# moved\nGATEWAY_PORT=${port}\nSTREAM_PORT=9\n`);
  assert.deepEqual(await publishedShop({}, '', folder), { ...found, streamUrl: 'ws://127.0.0.1:9' });
  assert.deepEqual(await publishedShop({ STREAM_PORT: '10' }, '', folder), { ...found, streamUrl: 'ws://127.0.0.1:10' });
});

test('if no shop responds, the error names both places', { skip: runsHere && 'npm start runs here' }, async () => {
  const port = `${await freePort()}`;
  await assert.rejects(publishedShop({ GATEWAY_PORT: port }, 'by --url'), new RegExp(`run\\.json.*by --url.*Docker Compose's.*http://localhost:${port}`));
});
