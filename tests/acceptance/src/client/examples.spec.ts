import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { CredentialRefused, Shop } from '@plant-shop/client';
import { Browser, expectPage, expectRedirect } from '@plant-shop/testing/browser';
import { freePort } from '@plant-shop/testing/port';
import { startProxy } from '@plant-shop/testing/proxy';
import { rows, run } from '../internals.js';
import { createPlant, fresh, gatewayUrl, newCustomer, ok, placeOrder, send, staff, until } from '../shop.js';
import { streamUrl } from '../stream.js';

const example = (name: string): string => fileURLToPath(new URL(`../../../../libs/client/examples/${name}.mjs`, import.meta.url));
const env = (more: Record<string, string> = {}): NodeJS.ProcessEnv => ({ ...process.env, SHOP_URL: gatewayUrl(), STREAM_URL: streamUrl(), API_KEY: 'special-key', ...more });

interface WebApp {
  readonly url: string;
  readonly clientId: string;
  readonly redirectUri: string;
}
interface WebLogin {
  readonly openShop: (app: WebApp) => Promise<{ readonly shop: Shop; readonly logOut: () => Promise<void> } | undefined>;
}

const children: ChildProcess[] = [];
/** Starts an example that runs until it is killed. @returns its process and the lines that it has printed */
function start(name: string, more: Record<string, string>) {
  const child = spawn(process.execPath, [example(name)], { env: env(more), stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  let output = '';
  child.stdout.on('data', (part: Buffer) => (output += part.toString()));
  return { child, lines: () => output.split('\n').filter(Boolean) };
}
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

describe('examples of the client library', () => {
  const folder = mkdtempSync(join(tmpdir(), 'client-examples-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  let plantId = 0;
  beforeAll(async () => {
    ({ id: plantId } = await createPlant({ quantity: 1_000 }));
  });

  it('place-an-order: places one order although its answer was lost and the program was killed', async () => {
    const { id } = await createPlant({ quantity: 10 });
    const file = join(folder, 'order.json');
    const network = await startProxy({ host: '127.0.0.1', port: Number(new URL(gatewayUrl()).port) });
    // The order is sent, and its answer never comes.
    const first = spawn(process.execPath, [example('place-an-order'), `${id}`, file], { env: env({ SHOP_URL: `http://127.0.0.1:${network.port}` }), stdio: 'ignore' });
    children.push(first);
    const deaf = setInterval(() => network.deafen(), 1);
    const placed = () => ok(send<{ id: number }[]>('GET', `/v3/store/order?owner=*&plantId=${id}`, { as: staff }));
    await until(async () => (await placed()).length === 1, 30_000);
    clearInterval(deaf);
    first.kill('SIGKILL');
    await network.stop();
    const again = () => promisify(execFile)(process.execPath, [example('place-an-order'), `${id}`, file], { env: env() });
    const { stdout } = await again();
    expect((await again()).stdout).toBe(stdout);
    expect((await placed()).map((order) => `${order.id}\n`)).toEqual([stdout]);
  }, 90_000);

  it('follow-events: writes each event to the database once although the program is killed', async () => {
    const name = `follower_${Date.now().toString(36)}`;
    await rows('postgres', `CREATE DATABASE ${name}`);
    const url = new URL(run().postgres.adminUrl);
    url.pathname = `/${name}`;
    const inDatabase = (text: string) => rows(name as 'postgres', text);
    try {
      const ids: number[] = [];
      for (let turn = 0; turn < 4; turn += 1) {
        const { child } = start('follow-events', { DATABASE_URL: url.href });
        ids.push((await placeOrder({ plantId })).id);
        const known = turn * 2 + 1;
        await until(async () => (await inDatabase(`SELECT FROM order_events WHERE order_id IN (${ids.join()})`).catch(() => [])).length >= known, 30_000);
        child.kill('SIGKILL');
      }
      start('follow-events', { DATABASE_URL: url.href });
      const found = () => inDatabase(`SELECT order_id::int AS id, array_agg(new_status ORDER BY at) AS moves FROM order_events WHERE order_id IN (${ids.join()}) GROUP BY 1 ORDER BY 1`);
      const expected = ids.map((id) => ({ id, moves: ['approved', 'delivered'] }));
      await until(async () => JSON.stringify(await found()) === JSON.stringify(expected), 30_000);
    } finally {
      for (const child of children.splice(0)) child.kill('SIGKILL');
      await rows('postgres', `DROP DATABASE ${name} WITH (FORCE)`);
    }
  }, 120_000);

  it.each(['webhook-fastify', 'webhook-express'])('%s: accepts only POSTs with the signature of the shop', async (name) => {
    const port = await freePort();
    const hook = `http://127.0.0.1:${port}/hook`;
    const { id: ownPlant } = await createPlant({ quantity: 10 });
    const { id, secret } = await ok(send<{ id: string; secret: string }>('POST', '/v3/webhooks', { as: staff, json: { url: hook, eventTypes: ['order.status_changed'], plantId: ownPlant } }));
    try {
      const { lines } = start(name, { WEBHOOK_SECRET: secret, PORT: `${port}` });
      await until(async () => (await fetch(hook).catch(() => undefined)) !== undefined, 30_000);
      const forged = await fetch(hook, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' });
      expect([forged.status, await forged.text()]).toEqual([401, 'headers']);
      const order = await placeOrder({ plantId: ownPlant });
      await until(async () => lines().length === 2, 30_000);
      expect(lines().map((line) => (JSON.parse(line) as { data: object }).data)).toEqual([
        expect.objectContaining({ orderId: order.id, newStatus: 'approved' }),
        expect.objectContaining({ orderId: order.id, newStatus: 'delivered' }),
      ]);
    } finally {
      await send('DELETE', `/v3/webhooks/${id}`, { as: staff });
    }
  }, 90_000);

  it('nightly-export: writes all orders of a day', async () => {
    const file = join(folder, 'orders.ndjson');
    const { id } = await placeOrder({ plantId });
    const today = new Date().toISOString().slice(0, 10);
    await promisify(execFile)(process.execPath, [example('nightly-export'), file, today], { env: env() });
    const orders = readFileSync(file, 'utf8').trimEnd().split('\n').map((line) => JSON.parse(line) as { id: number; placedAt: string });
    expect(orders.map((order) => order.id)).toContain(id);
    expect(orders.every(({ placedAt }) => placedAt.startsWith(today))).toBe(true);
    expect(existsSync(`${file}.part`)).toBe(false);
  });

  it("web-login: logs in with the shop's page and places an order with the token", async () => {
    const customer = await newCustomer();
    const redirectUri = 'http://localhost:3000/callback';
    const registered = { name: fresh('page'), redirectUris: [redirectUri], public: true, grantTypes: ['authorization_code', 'refresh_token'], scopes: ['write:orders'] };
    const { clientId } = await ok(send<{ clientId: string }>('POST', '/v3/oauth/clients', { as: staff, json: registered }));
    // The browser globals that the client uses.
    const storage = new Map<string, string>();
    const page = {
      sessionStorage: { getItem: (key: string) => storage.get(key) ?? null, setItem: (key: string, value: string) => void storage.set(key, value), removeItem: (key: string) => void storage.delete(key) },
      location: { href: redirectUri, pathname: '/callback', search: '', hash: '', assign: (address: string) => (page.location.href = address) },
      history: { state: null, replaceState: (_: unknown, __: string, address: string) => (page.location.href = address) },
    };
    Object.assign(globalThis, page);
    const { openShop } = (await import(example('web-login'))) as WebLogin;
    const app = { url: gatewayUrl(), clientId, redirectUri };
    expect(await openShop(app)).toBeUndefined();
    const browser = new Browser(gatewayUrl());
    const consent = expectPage(await browser.submit(expectPage(await browser.open(page.location.href)), 'action=login', { username: customer.username, password: customer.password }));
    const answer = expectRedirect(await browser.submit(consent, 'action=allow')).href;
    page.location.href = answer;
    const opened = await openShop(app);
    expect(page.location.href).toBe(redirectUri);
    const { data: order } = (await opened?.shop.orders.place({ plantId })) ?? {};
    expect(order?.status).toBe('placed');
    page.location.href = answer;
    await expect(openShop(app)).rejects.toMatchObject({ code: 'state-mismatch' });
    await opened?.logOut();
    // Services learn of a revocation within a second.
    await until(async () => (await opened?.shop.orders.list().next().then(() => undefined, (error: unknown) => (error as CredentialRefused).error)) === 'login_required', 10_000);
  }, 60_000);
});
