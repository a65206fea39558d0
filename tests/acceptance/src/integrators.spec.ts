import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { freePort } from '@plant-shop/testing/port';
import { type SandboxShop, startSandbox } from './sandbox-shop.js';
import { createPlant, gatewayUrl, ok, type Order, placeOrder, send, staff, until } from './shop.js';
import { pageOfEvents, streamUrl } from './stream.js';

let shop: SandboxShop;
beforeAll(async () => {
  // Payments come when the clock is moved, and no simulated delivery comes before the warehouse.
  shop = await startSandbox({ SIMULATED_DELIVERY_DELAY_MS: '3600000' });
}, 180_000);
afterAll(() => shop.end(), 60_000);

/** Places orders and has them paid. @returns their ids */
async function paidOrders(plantId: number, count: number): Promise<number[]> {
  const orders = await Promise.all(Array.from({ length: count }, () => placeOrder({ plantId, quantity: 2, shipTo: { name: 'Ada', lines: ['1 Fern Road'], city: 'Kew' } })));
  await ok(send('POST', '/v3/test/clock', { as: staff, json: { advanceSeconds: 60 } }));
  const status = async ({ id }: Order) => (await ok(send<Order>('GET', `/v3/store/order/${id}`, { as: staff }))).status;
  await until(async () => (await Promise.all(orders.map(status))).every((one) => one === 'approved'));
  return orders.map(({ id }) => id);
}

/** When a life of the warehouse ends: at its second shipment. */
const ends = ['before the shop gets the request', 'after the shop has recorded it', 'with the answer'] as const;
type End = (typeof ends)[number];

/** A network that can kill the warehouse in the middle of a shipment. */
class Network {
  private shipments = 0;
  private end: { readonly when: End; readonly child: ChildProcess } | undefined;
  private readonly server: Server = createServer((request, response) => void this.forward(request, response));

  async listen(): Promise<string> {
    await once(this.server.listen(0, '127.0.0.1'), 'listening');
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Resolves when the warehouse was killed. */
  async kill(child: ChildProcess, when: End): Promise<void> {
    this.shipments = 0;
    this.end = { when, child };
    const [code, signal] = await once(child, 'exit');
    this.end = undefined;
    expect([code, signal]).toEqual([null, 'SIGKILL']);
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private async forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '', headers } = request;
    const isLast = method === 'POST' && (this.shipments += 1) === 2;
    const kills = (when: End): boolean => isLast && this.end?.when === when && this.end.child.kill('SIGKILL');
    const body = method === 'POST' ? Buffer.concat((await request.toArray()) as Buffer[]) : null;
    if (kills('before the shop gets the request')) return;
    const passed = ['api_key', 'content-type', 'idempotency-key'].flatMap((name) => (headers[name] === undefined ? [] : [[name, String(headers[name])] as [string, string]]));
    const answer = await fetch(gatewayUrl() + url, { method, body, headers: passed });
    const text = await answer.text();
    if (kills('after the shop has recorded it')) return;
    response.writeHead(answer.status, Object.fromEntries([...answer.headers].filter(([name]) => /^(content-type|link|etag)$/.test(name))));
    response.end(text);
    kills('with the answer');
  }
}

describe('the warehouse', () => {
  it('ships each paid order once although it is killed again and again', async () => {
    const { id: plantId } = await createPlant({ name: 'Royal fern', quantity: 1_000 });
    const network = new Network();
    const folder = join(shop.folder, 'warehouse');
    mkdirSync(folder);
    const env = { ...process.env, SHOP_URL: await network.listen(), STREAM_URL: streamUrl(), API_KEY: 'special-key', WAREHOUSE_DIR: folder };
    const program = fileURLToPath(new URL('../../../examples/warehouse/main.mjs', import.meta.url));
    const start = (): ChildProcess => spawn(process.execPath, [program], { env, stdio: ['ignore', 'ignore', 'inherit'] });
    // Paid before the warehouse opens for the first time.
    const ids = await paidOrders(plantId, 4);
    let child: ChildProcess | undefined;
    try {
      for (let life = 0; life < 9; life += 1) {
        child = start();
        const [more] = await Promise.all([paidOrders(plantId, 4), network.kill(child, ends[life % ends.length]!)]);
        ids.push(...more);
      }
      const [cancelled] = await paidOrders(plantId, 1);
      await ok(send('POST', `/v3/store/order/${cancelled}/cancellation`, { as: staff, json: { reason: 'it died', restock: false } }));
      child = start();
      // A kill may have left a part of a slip.
      const slips = () => readdirSync(join(folder, 'slips')).filter((name) => name.endsWith('.txt')).sort();
      await until(async () => slips().length >= ids.length, 30_000);
      // One more, after which nothing is left to do.
      const [last] = await paidOrders(plantId, 1);
      ids.push(last!);
      await until(async () => slips().includes(`${last}.txt`), 30_000);
      expect(slips()).toEqual(ids.map((id) => `${id}.txt`).sort());
      expect(readFileSync(join(folder, 'slips', `${last}.txt`), 'utf8')).toBe(`Order ${last}, parcel WH${last}\n2 × Royal fern\nAda\n1 Fern Road\nKew\n`);
      const shipments = async () => (await pageOfEvents({ cursor: 'earliest', types: 'order.shipped', plantId, limit: 1_000 })).body.events.map(({ data }) => data);
      await until(async () => (await shipments()).some(({ orderId }) => orderId === last));
      expect((await shipments()).sort((a, b) => a.orderId - b.orderId)).toMatchObject(ids.sort((a, b) => a - b).map((id) => ({ orderId: id, trackingNumber: `WH${id}` })));
    } finally {
      child?.kill('SIGKILL');
      await network.stop();
    }
  }, 240_000);
});

describe('the guide', () => {
  it('leads from a sandbox to a basket and verified webhooks, by its own commands and program', async () => {
    const text = readFileSync(new URL('../../../docs/integrators.md', import.meta.url), 'utf8');
    const receiver = `127.0.0.1:${await freePort()}`;
    const blocksOf = (language: string) =>
      [...text.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms'))].map(([, code = '']) =>
        code.replaceAll('http://localhost:8080', gatewayUrl()).replaceAll("9000, '127.0.0.1'", receiver.split(':')[1]!).replaceAll('127.0.0.1:9000', receiver));
    const folder = join(shop.folder, 'guide');
    mkdirSync(join(folder, 'node_modules/@plant-shop'), { recursive: true });
    symlinkSync(fileURLToPath(new URL('../../../libs/client', import.meta.url)), join(folder, 'node_modules/@plant-shop/client'));
    writeFileSync(join(folder, 'integration.mjs'), blocksOf('js').join('\n'));
    const [start, ...commands] = blocksOf('sh');
    // The sandbox of these tests is started by it.
    expect(start).toBe('npm start -- --sandbox\n');
    expect(commands).toHaveLength(6);
    const { stdout } = await promisify(execFile)('bash', ['-euc', commands.join('echo\n')], { cwd: folder, timeout: 60_000 });
    expect(stdout).toContain('[{"plantId":7,"state":"in-stock"},{"plantId":8,"state":"low-stock","units":5}]');
    const program = stdout.split('\n').filter((line) => /^(\/lines|the same|2 orders|verified)/.test(line));
    expect([...program.slice(0, 3), ...program.slice(3).sort()]).toEqual([
      '/lines/1: only 5 left',
      'the same basket: true',
      '2 orders are placed',
      'verified: plant 7 is approved',
      'verified: plant 8 is approved',
    ]);
    expect(stdout).toMatch(/"newStatus":"placed",[^}]*"reason":"payment failed"/);
    const patched = stdout.slice(stdout.lastIndexOf('"payment failed"'));
    expect(patched).toMatch(/"category":\{[^}]*"name":"Climbers"\}.*\{"id":7,(?!.*"category")[^\n]*"metadata":\{"shelf":"B2"\}/s);
  }, 120_000);
});
