import assert from 'node:assert/strict';
import { lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { request } from '@plant-shop/testing/http';
import { ResumingSocket } from '@plant-shop/testing/stream';
import { attempt } from '../../../tools/start/command.mjs';
import { stagesOf, textsOf } from '../dockerfile.mjs';
import { SERVICES, textOf } from '../services.mjs';
import { HttpListener, ordersOf, retire, Traffic } from './rolling.mjs';
import { ServiceAddress } from './service-address.mjs';
import { ARTEFACTS, START_LIMIT_MS, TouredShop } from './toured-shop.mjs';

const toured = new TouredShop();
const { shop } = toured;
const send = toured.send.bind(toured);
/** @type {Record<string, string>} */
let filesBefore;
/** Key and plant of the first admin, once created. @type {{ key: string, plantId: number } | undefined} */
let staff;

before(async () => {
  filesBefore = filesOf(ARTEFACTS);
  await shop.start();
}, { timeout: START_LIMIT_MS });

after(() => toured.end());

/**
 * Returns all files below a folder with their size and modification time. Does not follow links: pnpm's form cycles.
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

test('an artefact contains no tests, sources or development packages', () => {
  for (const service of SERVICES) {
    const names = Object.keys(filesBefore).filter((name) => name.startsWith(`${service}/`));
    const ours = names.filter((name) => !name.includes('/node_modules/') || /@plant-shop\/[^/]+\/(?!node_modules)/.test(name));
    assert.ok(ours.length > 20, service);
    assert.deepEqual(ours.filter((name) => /spec\.|\.fake\.|\/src\/|tsconfig|\.tsbuildinfo/.test(name)), [], service);
    const packages = readdirSync(join(ARTEFACTS, service, 'node_modules', '.pnpm'));
    assert.deepEqual(packages.filter((name) => /^(@plant-shop\+testing|jest|@jest|typescript|oxlint|@types\+(?!validator))/.test(name)), [], service);
  }
});

test('each passes its image\'s health check', async () => {
  for (const service of SERVICES) {
    const check = textsOf(stagesOf(service).at(-1) ?? [], 'HEALTHCHECK').join();
    const [, ...args] = JSON.parse(check.slice(check.indexOf('[')));
    const env = shop.environment(service);
    assert.equal((await attempt(shop.node, args, { env })).code, 0, service);
    assert.equal((await attempt(shop.node, args, { env: { ...env, OPS_PORT: '1' } })).code, 1, service);
  }
});

test('no demo settings apply: no known key, no short password, no initial stock', async () => {
  assert.equal((await send('GET', '/v3/store/inventory', { as: { apiKey: 'special-key' } })).status, 401);
  const short = await send('POST', '/v3/user', { json: { username: 'short', password: 'seven77' } });
  assert.equal(short.status, 400, JSON.stringify(short.body));
});

test('the gateway serves the console, whose hashed files are cached for ever', async () => {
  const page = await fetch(`${shop.url}/console`);
  const html = await page.text();
  assert.deepEqual([page.status, page.headers.get('cache-control')], [200, 'no-cache']);
  const files = [...html.matchAll(/(?:href|src)="(\/console\/[^"]+)"/g)].map(([, path = '']) => path);
  assert.ok(files.some((path) => path.endsWith('.js')) && files.some((path) => path.endsWith('.css')), html);
  for (const path of files) {
    const file = await fetch(shop.url + path, { headers: { 'accept-encoding': 'br' } });
    assert.equal(file.status, 200, path);
    assert.equal(file.headers.get('cache-control'), path.includes('/assets/') ? 'public, max-age=31536000, immutable' : 'no-cache', path);
    await file.arrayBuffer();
  }
});

test('the first admin, created by command, creates a key, lists a plant and sells its stock', async () => {
  const key = await toured.keyOfFirstAdmin();

  const plant = await send('POST', '/v3/plant', { as: { apiKey: key }, json: { name: 'Monstera', photoUrls: [], status: 'available' } });
  assert.equal(plant.status, 200, JSON.stringify(plant.body));
  const order = { plantId: plant.body.id, quantity: 2 };
  const early = await send('POST', '/v3/store/order', { as: { apiKey: key }, json: order });
  assert.deepEqual([early.status, early.body.code, early.body.available], [409, 'insufficient-stock', 0]);
  assert.ok(early.body.type.startsWith('https://shop.example/problems/'));

  assert.equal((await send('PUT', `/v3/store/inventory/${plant.body.id}`, { as: { apiKey: key }, json: { free: 5 } })).status, 200);
  const placed = await send('POST', '/v3/store/order', { as: { apiKey: key }, json: order });
  assert.deepEqual([placed.status, placed.body.status], [200, 'placed'], JSON.stringify(placed.body));
  assert.deepEqual((await send('GET', '/v3/store/inventory', { as: { apiKey: key } })).body, { available: 3, pending: 2, sold: 0 });
  staff = { key, plantId: plant.body.id };
});

test('the store\'s image compares the databases, as after a restore', async () => {
  assert.match(await shop.reconcile(), /Checked: 1 plants, [^]*Nothing is left to do\./);
});

test('the console\'s OAuth client is registered as deploy/README.md says', async () => {
  const [, json = ''] = /--data '(\{"name": "Console".*?\})'/s.exec(textOf('deploy/README.md')) ?? [];
  const { status, body } = await send('POST', '/v3/oauth/clients', { as: { apiKey: staff?.key ?? '' }, json: JSON.parse(json) });
  assert.deepEqual([status, body.public, body.secret], [200, true, undefined], JSON.stringify(body));
});

test('after a command revokes a leaked signing key, API and stream refuse its tokens within a second', async () => {
  const { key, plantId } = staff ?? assert.fail('the first admin was not created');
  assert.equal((await send('PUT', `/v3/store/inventory/${plantId}`, { as: { apiKey: key }, json: { free: 1_000_000 } })).status, 200);
  const asked = { name: 'planner', grantTypes: ['client_credentials'], scopes: ['write:orders'], owner: 'first-admin' };
  const { status, body: client } = await send('POST', '/v3/oauth/clients', { as: { apiKey: key }, json: asked });
  assert.equal(status, 200, JSON.stringify(client));
  const tokenNow = async () => {
    const options = { as: { basic: /** @type {const} */ ([client.clientId, client.secret]) }, form: { grant_type: 'client_credentials' } };
    const { body: answer } = await send('POST', '/oauth/token', options);
    const jwt = answer.access_token ?? assert.fail(JSON.stringify(answer));
    return { jwt, kid: JSON.parse(Buffer.from(jwt.split('.')[0], 'base64url').toString()).kid };
  };
  const order = async (/** @type {string} */ bearer) => (await send('POST', '/v3/store/order', { as: { bearer }, json: { plantId } })).status;
  const leaked = await tokenNow();
  assert.equal(await order(leaked.jwt), 200);
  const stream = await request('GET', `http://127.0.0.1:${shop.ports['notifications']?.http}/v1/orders/updates`, { as: { bearer: leaked.jwt }, headers: { accept: 'text/event-stream' } });
  assert.equal(stream.status, 200);
  const lastWords = stream.text();

  const said = await shop.command('identity', ['dist/revoke-signing-key.js', leaked.kid]);
  const begun = performance.now();
  assert.match(said, new RegExp(`Revoked ${leaked.kid}\\. Within a second, every service refuses tokens`));
  for (; (await order(leaked.jwt)) !== 401; await setTimeout(20)) assert.ok(performance.now() - begun < 1_000);
  assert.match(await lastWords, /event: close\ndata: {"code":4001,/);
  assert.ok(performance.now() - begun < 1_500);

  for (; (await tokenNow()).kid === leaked.kid; await setTimeout(100)) assert.ok(performance.now() - begun < 5_000);
  assert.equal(await order((await tokenNow()).jwt), 200);
});

test('adding and removing a second replica of notifications under load loses no event', { timeout: 120_000 }, async (context) => {
  const { key, plantId } = staff ?? assert.fail('the first admin was not created');
  assert.equal((await send('PUT', `/v3/store/inventory/${plantId}`, { as: { apiKey: key }, json: { free: 1_000_000 } })).status, 200);
  const replicas = [shop.first('notifications')];
  let turn = 0;
  const listen = () => new ResumingSocket({ nextUrl: () => `ws://127.0.0.1:${replicas[turn++ % replicas.length]?.ports.http}`, apiKey: key });
  const early = Array.from({ length: 6 }, listen);
  /** @type {ResumingSocket[]} */
  let late = [];
  // Of a failed test, too: they would keep the run from ending.
  context.after(() => {
    for (const one of [...early, ...late]) one.stop();
  });
  await setTimeout(1_000);
  const traffic = new Traffic({ url: shop.url, key, plantId });
  context.after(() => traffic.stop());
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
    await retire(added ?? assert.fail('no replica was added'), { remove: () => {} });
    await setTimeout(2_000);
  } finally {
    await traffic.stop();
  }
  const missed = () => [
    ...early.flatMap((one) => [...traffic.approved.difference(ordersOf(one))]),
    ...late.flatMap((one) => [...traffic.approved.difference(before).difference(ordersOf(one))]),
  ];
  for (let waited = 0; waited < 100 && missed().length > 0; waited++) await setTimeout(100);
  for (const one of [...early, ...late]) one.stop();
  context.diagnostic(`${traffic.answered} requests, ${traffic.approved.size} events, ${before.size} of them before the second replica had clients`);
  assert.deepEqual(traffic.failures, []);
  assert.ok(traffic.approved.size - before.size > 50, `${traffic.approved.size}, ${before.size}`);
  assert.deepEqual(missed(), []);
  assert.deepEqual([...early, ...late].flatMap(({ gaps }) => gaps), []);
  // Half of the later listeners were on the removed replica and were asked to reconnect; no other was.
  const reconnectsOf = (/** @type {ResumingSocket[]} */ some) => some.flatMap(({ closes }) => closes).filter((code) => code === 4200).length;
  assert.deepEqual([reconnectsOf(early), reconnectsOf(late)], [0, 3]);
});

test('clients with keep-alive connections lose no request when gateway and notifications are replaced', { timeout: 120_000 }, async (context) => {
  const { key, plantId } = staff ?? assert.fail('the first admin was not created');
  const rolled = /** @type {const} */ (['gateway', 'notifications']);
  const addresses = { gateway: await new ServiceAddress().start(), notifications: await new ServiceAddress().start() };
  /** @type {Partial<Record<string, import('./shop.mjs').Replica>>} */
  const current = {};
  const replace = async (/** @type {(typeof rolled)[number]} */ service) => {
    const old = current[service];
    const successor = (current[service] = await shop.addReplica(service));
    addresses[service].add(successor.ports.http ?? 0);
    if (!old) return;
    await retire(old, { remove: () => addresses[service].remove(old.ports.http ?? 0) });
    await setTimeout(1_000);
  };
  await Promise.all(rolled.map(replace));
  const pages = new HttpListener(`http://${addresses.notifications.authority}`, key);
  // Of a failed test, too: they would keep the run from ending.
  context.after(async () => {
    await pages.stop();
    for (const service of rolled) addresses[service].stop();
  });
  await setTimeout(1_000);
  const traffic = new Traffic({ url: `http://${addresses.gateway.authority}`, key, plantId });
  context.after(() => traffic.stop());
  try {
    await setTimeout(1_000);
    for (let round = 0; round < 2; round++) await Promise.all(rolled.map(replace));
  } finally {
    await traffic.stop();
  }
  for (let waited = 0; waited < 100 && !traffic.approved.isSubsetOf(pages.orders); waited++) await setTimeout(100);
  await pages.stop();
  for (const service of rolled) await current[service]?.stop();
  const resent = traffic.connections.resent + pages.connections.resent;
  context.diagnostic(`${traffic.answered} requests, ${pages.pages} pages, ${traffic.approved.size} events; ${resent} sent again because they met the end of an idle connection`);
  assert.deepEqual([...traffic.failures, ...pages.failures], []);
  assert.ok(traffic.answered > 500 && pages.pages > 150 && traffic.approved.size > 50, `${traffic.answered}, ${pages.pages}, ${traffic.approved.size}`);
  assert.deepEqual([...traffic.approved].filter((id) => !pages.orders.has(id)), []);
  // May exceed the number of replacements: a stream may reconnect on a connection to the replica that is ending.
  assert.deepEqual([pages.closes.length >= 2, ...new Set(pages.closes)], [true, 4200]);
});

test('no log line contains a secret', () => {
  for (const service of SERVICES) {
    const log = shop.log(service);
    assert.ok(log.includes('"listening"') || service === 'gateway', log);
    assert.doesNotMatch(log, /s[0-9a-f]{64}|a long enough password/, service);
  }
});

test('all processes shut down gracefully and have written no file', { timeout: 40_000 }, async () => {
  assert.deepEqual(new Set(Object.values(await shop.stopServices())), new Set([0]));
  assert.deepEqual(filesOf(ARTEFACTS), filesBefore);
});
