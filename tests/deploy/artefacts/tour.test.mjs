import assert from 'node:assert/strict';
import { chmodSync, lstatSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { attempt } from '../../../tools/start/command.mjs';
import { canReach, postgresUser } from '../../../tools/start/system-user.mjs';
import { stagesOf, textsOf } from '../dockerfile.mjs';
import { SERVICES } from '../services.mjs';
import { buildArtefacts } from './build.mjs';
import { Balancer } from './balancer.mjs';
import { Listener, retire, Traffic } from './rolling.mjs';
import { ProductionShop } from './shop.mjs';

// The artefacts of all images, made by their Dockerfiles' own command and run with the settings of the production overlays.

const parent = canReach(tmpdir(), postgresUser()) ? tmpdir() : '/tmp';
const folder = mkdtempSync(join(parent, 'plant-shop-artefacts-'));
const artefacts = join(folder, 'artefacts');
const ending = new AbortController();
/** @type {ProductionShop} */
let shop;
/** @type {Record<string, string>} */
let filesBefore;
/** Who may sell, once there is somebody. @type {{ key: string, plantId: number } | undefined} */
let staff;

before(async () => {
  chmodSync(folder, 0o711);
  await buildArtefacts(artefacts, { env: process.env, signal: ending.signal });
  filesBefore = filesOf(artefacts);
  shop = new ProductionShop(artefacts, folder, ending.signal);
  await shop.start();
}, { timeout: 180_000 });

after(async () => {
  ending.abort(new Error('the tests are over'));
  await shop.stop();
  rmSync(folder, { recursive: true, force: true });
});

/**
 * Every file below, with what changes when it is written. Links are not followed: pnpm's lead in circles.
 * @param {string} root @param {string} [folder] @returns {Record<string, string>}
 */
function filesOf(root, folder = '') {
  const entries = readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return Object.entries(filesOf(root, path));
    const { size, mtimeMs } = lstatSync(join(root, path));
    return [[path, `${size} ${mtimeMs}`]];
  });
  return Object.fromEntries(entries);
}

/**
 * @param {string} method @param {string} path @param {{ bearer?: string, key?: string, json?: unknown }} [options]
 * @returns {Promise<{ status: number, body: any }>}
 */
async function send(method, path, { bearer, key, json } = {}) {
  const response = await fetch(shop.url + path, {
    method,
    headers: {
      ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
      ...(key !== undefined && { api_key: key }),
      ...(json !== undefined && { 'content-type': 'application/json' }),
    },
    ...(json !== undefined && { body: JSON.stringify(json) }),
  });
  const text = await response.text();
  return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
}

test('an artefact holds what runs: no test, no source, nothing that is for development', () => {
  for (const service of SERVICES) {
    const names = Object.keys(filesBefore).filter((name) => name.startsWith(`${service}/`));
    const ours = names.filter((name) => !name.includes('/node_modules/') || /@plant-shop\/[^/]+\/(?!node_modules)/.test(name));
    assert.ok(ours.length > 20, service);
    assert.deepEqual(ours.filter((name) => /spec\.|\.harness\.|\.fake\.|\/src\/|tsconfig|\.tsbuildinfo/.test(name)), [], service);
    const packages = readdirSync(join(artefacts, service, 'node_modules', '.pnpm'));
    assert.deepEqual(packages.filter((name) => /^(@plant-shop\+testing|jest|@jest|typescript|eslint|@types\+(?!validator)|@swc)/.test(name)), [], service);
  }
});

test('each says by its image\'s health check whether it lives', async () => {
  for (const service of SERVICES) {
    const check = textsOf(stagesOf(service).at(-1) ?? [], 'HEALTHCHECK').join();
    const [, ...args] = JSON.parse(check.slice(check.indexOf('[')));
    const env = shop.environment(service);
    assert.equal((await attempt(shop.node, args, { env })).code, 0, service);
    assert.equal((await attempt(shop.node, args, { env: { ...env, OPS_PORT: '1' } })).code, 1, service);
  }
});

test('there is nothing of the demo: no known key, no short password, no stock from nowhere', async () => {
  assert.equal((await send('GET', '/v3/store/inventory', { key: 'special-key' })).status, 401);
  const short = await send('POST', '/v3/user', { json: { username: 'short', password: 'seven77' } });
  assert.equal(short.status, 400, JSON.stringify(short.body));
});

test('the first admin is made by command, makes a key, lists a plant, and sells what there is', async () => {
  const admin = { username: 'first-admin', password: 'a long enough password' };
  assert.equal((await send('POST', '/v3/user', { json: admin })).status, 200);
  assert.match(await shop.command('identity', ['dist/set-role.js', admin.username, 'admin']), /is admin now/);
  const login = await send('GET', `/v3/user/login?username=${admin.username}&password=${encodeURIComponent(admin.password)}`);
  assert.equal(login.status, 200);
  const made = await send('POST', `/v3/user/${admin.username}/apiKeys`, { bearer: login.body.message, json: { name: 'tour' } });
  const key = made.body.key ?? assert.fail(JSON.stringify(made.body));

  const plant = await send('POST', '/v3/plant', { key, json: { name: 'Monstera', photoUrls: [], status: 'available' } });
  assert.equal(plant.status, 200, JSON.stringify(plant.body));
  const order = { plantId: plant.body.id, quantity: 2 };
  const early = await send('POST', '/v3/store/order', { key, json: order });
  assert.deepEqual([early.status, early.body.code, early.body.available], [409, 'insufficient-stock', 0]);
  assert.ok(early.body.type.startsWith('https://shop.example/problems/'));

  assert.equal((await send('PUT', `/v3/store/inventory/${plant.body.id}`, { key, json: { free: 5 } })).status, 200);
  const placed = await send('POST', '/v3/store/order', { key, json: order });
  assert.deepEqual([placed.status, placed.body.status], [200, 'placed'], JSON.stringify(placed.body));
  assert.deepEqual((await send('GET', '/v3/store/inventory', { key })).body, { available: 3, pending: 2, sold: 0 });
  staff = { key, plantId: plant.body.id };
});

test('a leaked signing key is ended by a command: what it signed is refused within a second, at the API and at the stream', async () => {
  const { key, plantId } = staff ?? assert.fail('nobody was made who may sell');
  assert.equal((await send('PUT', `/v3/store/inventory/${plantId}`, { key, json: { free: 1_000_000 } })).status, 200);
  const asked = { name: 'planner', grantTypes: ['client_credentials'], scopes: ['write:orders'], owner: 'first-admin' };
  const { status, body: client } = await send('POST', '/v3/oauth/clients', { key, json: asked });
  assert.equal(status, 200, JSON.stringify(client));
  const tokenNow = async () => {
    const authorization = `Basic ${Buffer.from(`${client.clientId}:${client.secret}`).toString('base64')}`;
    const headers = { authorization, 'content-type': 'application/x-www-form-urlencoded' };
    const asking = await fetch(`${shop.url}/oauth/token`, { method: 'POST', headers, body: 'grant_type=client_credentials' });
    const answer = /** @type {any} */ (await asking.json());
    const jwt = answer.access_token ?? assert.fail(JSON.stringify(answer));
    return { jwt, kid: JSON.parse(Buffer.from(jwt.split('.')[0], 'base64url').toString()).kid };
  };
  const order = async (/** @type {string} */ bearer) => (await send('POST', '/v3/store/order', { bearer, json: { plantId } })).status;
  const leaked = await tokenNow();
  assert.equal(await order(leaked.jwt), 200);
  const headers = { authorization: `Bearer ${leaked.jwt}`, accept: 'text/event-stream' };
  const stream = await fetch(`http://127.0.0.1:${shop.ports['notifications']?.http}/v1/orders/updates`, { headers });
  assert.equal(stream.status, 200);
  const lastWords = stream.text();

  const said = await shop.command('identity', ['dist/revoke-signing-key.js', leaked.kid]);
  const begun = performance.now();
  assert.match(said, new RegExp(`What ${leaked.kid} signed is refused within a second`));
  for (; (await order(leaked.jwt)) !== 401; await setTimeout(20)) assert.ok(performance.now() - begun < 1_000);
  assert.match(await lastWords, /event: close\ndata: {"code":4001,/);
  assert.ok(performance.now() - begun < 1_500);

  for (; (await tokenNow()).kid === leaked.kid; await setTimeout(100)) assert.ok(performance.now() - begun < 5_000);
  assert.equal(await order((await tokenNow()).jwt), 200);
});

test('a second replica of notifications is added and removed under load, and no event is lost', { timeout: 120_000 }, async (context) => {
  const { key, plantId } = staff ?? assert.fail('nobody was made who may sell');
  assert.equal((await send('PUT', `/v3/store/inventory/${plantId}`, { key, json: { free: 1_000_000 } })).status, 200);
  const replicas = [shop.first('notifications')];
  let turn = 0;
  const listen = () => new Listener(() => `ws://127.0.0.1:${replicas[turn++ % replicas.length]?.ports.http}`, key);
  const early = Array.from({ length: 6 }, listen);
  await setTimeout(1_000);
  const traffic = new Traffic({ url: shop.url, key, plantId });
  /** @type {Listener[]} */
  let late = [];
  /** @type {ReadonlySet<number>} */
  let before = new Set();
  try {
    await setTimeout(2_000);
    replicas.push(await shop.addReplica('notifications'));
    late = Array.from({ length: 6 }, listen);
    await setTimeout(1_000);
    before = new Set(traffic.approved);
    await setTimeout(3_000);
    const [, added] = replicas.splice(0, 2, shop.first('notifications'));
    await retire(added ?? assert.fail('nothing was added'), { remove: () => {} });
    await setTimeout(2_000);
  } finally {
    await traffic.stop();
  }
  const missed = () => [
    ...early.flatMap(({ orders }) => [...traffic.approved].filter((id) => !orders.has(id))),
    ...late.flatMap(({ orders }) => [...traffic.approved].filter((id) => !before.has(id) && !orders.has(id))),
  ];
  for (let waited = 0; waited < 100 && missed().length > 0; waited++) await setTimeout(100);
  await Promise.all([...early, ...late].map((one) => one.stop()));
  context.diagnostic(`${traffic.answered} requests, ${traffic.approved.size} events, ${before.size} of them before the second replica had clients`);
  assert.deepEqual(traffic.failures, []);
  assert.ok(traffic.approved.size - before.size > 50, `${traffic.approved.size}, ${before.size}`);
  assert.deepEqual(missed(), []);
  assert.deepEqual([...early, ...late].flatMap(({ gaps }) => gaps), []);
  // Half of the late ones were on the replica that went, and were told to come again; nobody else was.
  const toldTo = (/** @type {Listener[]} */ some) => some.flatMap(({ closes }) => closes).filter((code) => code === 4200).length;
  assert.deepEqual([toldTo(early), toldTo(late)], [0, 3]);
});

test('every service is restarted, one replica after the other, at 100 requests a second, and nobody notices', { timeout: 400_000 }, async (context) => {
  const { key, plantId } = staff ?? assert.fail('nobody was made who may sell');
  assert.equal((await send('PUT', `/v3/store/inventory/${plantId}`, { key, json: { free: 1_000_000 } })).status, 200);
  const balancer = await new Balancer().start();
  /** @type {Map<string, import('./shop.mjs').Replica[]>} */
  const replicas = new Map();
  for (const service of SERVICES) replicas.set(service, [shop.first(service), await shop.addReplica(service)]);
  const streams = replicas.get('notifications') ?? [];
  const way = (/** @type {string} */ service) => ({
    add: async (/** @type {import('./shop.mjs').Replica} */ one) => {
      if (service === 'gateway') await balancer.add({ port: one.ports.http ?? 0, ops: one.ports.ops });
      replicas.get(service)?.push(one);
    },
    remove: (/** @type {import('./shop.mjs').Replica} */ one) => {
      if (service === 'gateway') balancer.remove(one.ports.http ?? 0);
      const all = replicas.get(service) ?? [];
      all.splice(all.indexOf(one), 1);
    },
  });
  for (const { ports } of replicas.get('gateway') ?? []) await balancer.add({ port: ports.http ?? 0, ops: ports.ops });

  let turn = 0;
  const listeners = Array.from({ length: 6 }, () => new Listener(() => `ws://127.0.0.1:${streams[turn++ % streams.length]?.ports.http}`, key));
  await setTimeout(1_000);
  const traffic = new Traffic({ url: balancer.url, key, plantId });
  try {
    for (const service of SERVICES) {
      const { add, remove } = way(service);
      for (const old of [...(replicas.get(service) ?? [])]) {
        await retire(old, { remove: () => remove(old) });
        await add(await shop.addReplica(service));
      }
    }
  } finally {
    await traffic.stop();
  }
  try {
    for (let waited = 0; waited < 100 && !listeners.every(({ orders }) => traffic.approved.isSubsetOf(orders)); waited++) await setTimeout(100);
  } finally {
    await Promise.all(listeners.map((one) => one.stop()));
    await balancer.stop();
  }
  context.diagnostic(`${traffic.answered} requests, ${traffic.approved.size} events for each of ${listeners.length} sockets`);
  assert.deepEqual(traffic.failures, []);
  assert.ok(traffic.answered > 500 && traffic.approved.size > 50, `${traffic.answered}, ${traffic.approved.size}`);
  for (const { orders, closes, gaps } of listeners) {
    assert.deepEqual([[...traffic.approved].filter((id) => !orders.has(id)), gaps], [[], []]);
    assert.deepEqual([...new Set(closes)], [4200]);
  }
});

test('no line of a log holds a secret', () => {
  for (const service of SERVICES) {
    const log = shop.log(service);
    assert.ok(log.includes('"answering"') || service === 'gateway', log);
    assert.doesNotMatch(log, /s[0-9a-f]{64}|a long enough password/, service);
  }
});

test('all end in order when they are told to, and have written nothing', { timeout: 40_000 }, async () => {
  assert.deepEqual(new Set(Object.values(await shop.stopServices())), new Set([0]));
  assert.deepEqual(filesOf(artefacts), filesBefore);
});
