import { request } from 'node:http';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { echoes, type Shop, startShop } from '../gateway.spec.fixture.js';
let shop: Shop;
beforeAll(async () => { shop = await startShop(echoes); shop.identity.know('k', { kind: 'apiKey' }); });
afterAll(() => shop.stop());
const once = (size: number, chunked: boolean): Promise<string> => new Promise((resolve) => {
  const { hostname, port } = new URL(shop.gateway.url);
  const r = request({ hostname, port, method: 'POST', path: '/v3/plant', headers: { api_key: 'k', 'content-type': 'application/json', ...(chunked ? {} : { 'content-length': size }) } }, (res) => {
    res.resume(); res.on('end', () => resolve(String(res.statusCode))); res.on('error', (e) => resolve(`res ${e.message}`));
  });
  r.on('error', (e) => resolve(e.message));
  const piece = Buffer.alloc(65536, 120);
  let left = size;
  const pump = (): void => { while (left > 0) { const n = Math.min(left, piece.length); left -= n; if (!r.write(piece.subarray(0, n))) { r.once('drain', pump); return; } } r.end(); };
  pump();
});
it('x', async () => {
  for (const chunked of [false, true]) for (const size of [2e6, 5e6, 20e6]) {
    const seen: Record<string, number> = {};
    for (let n = 0; n < 40; n++) { const s = await once(size, chunked); seen[s] = (seen[s] ?? 0) + 1; }
    process.stdout.write(`${chunked} ${size} ${JSON.stringify(seen)}\n`);
  }
  const seen: Record<string, number> = {};
  for (let n = 0; n < 40; n++) { const s = await fetch(`${shop.gateway.url}/v3/plant`, { method: 'POST', headers: { api_key: 'k', 'content-type': 'application/json' }, body: 'x'.repeat(5e6) }).then((r) => String(r.status), (e: Error) => String(e.cause)); seen[s] = (seen[s] ?? 0) + 1; }
  process.stdout.write(`fetch ${JSON.stringify(seen)}\n`);
  const seen2: Record<string, number> = {};
  for (let n = 0; n < 40; n++) { const s = await fetch(`${shop.gateway.url}/v3/plant`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: 'x'.repeat(5e6) }).then((r) => String(r.status), (e: Error) => String(e.cause)); seen2[s] = (seen2[s] ?? 0) + 1; }
  process.stdout.write(`fetch 401 ${JSON.stringify(seen2)}\n`);
  expect(1).toBe(1);
}, 60_000);
