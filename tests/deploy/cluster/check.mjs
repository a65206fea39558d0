// npm run cluster -- --check [name…]: checks that clients notice no change of a cluster. See tests/deploy/README.md.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { ResumingSocket } from '@plant-shop/testing/stream';
import { ROOT } from '../../../tools/start/toolchain.mjs';
import { ordersOf, Traffic } from '../artefacts/rolling.mjs';
import { SERVICES } from '../services.mjs';
import { BAD_RELEASES, releaseBadly } from './bad-releases.mjs';
import { Usage } from './usage.mjs';

const usage = `npm run cluster -- --check [name…]

Sends traffic to a shop in a cluster (deploy/README.md) while it changes the cluster. Names; default: all:
  release         deploy/release.sh for each service, with the images of the overlays
  rollout         a rolling restart of each service; also: ${SERVICES.map((service) => `rollout-${service}`).join(' ')}
  scale           one more replica of notifications, new clients, then back
  kill            one pod of store, then one of notifications, without grace period
  rotate          deploy/nats/rotate.sh for each service
  databases       of each database with replicas (CloudNativePG), a switchover, then the loss of the primary's pod
  bad             releases that release.sh must undo, each within three minutes; also single ones:
                  ${BAD_RELEASES.join(' ')}

  NAMESPACE       default plant-shop
  OVERLAY         default production
  DEPLOY          folder of release.sh and overlays, default deploy
  GATEWAY_URL     default: the address of the Service gateway in the cluster
  STREAM_URL      default: the address of the Service notifications in the cluster
  SOCKETS         number of stream clients, default 20
kubectl must be configured for the cluster, and this machine must reach both addresses.`;

const { NAMESPACE = 'plant-shop', OVERLAY = 'production', DEPLOY = join(ROOT, 'deploy'), SOCKETS = '20' } = process.env;
/** A bad release is undone within this time. */
const UNDONE_LIMIT_S = 180;
/** The share of requests that may fail while bad releases are tried. */
const HURT_LIMIT = 0.001;
/** Time for the last events to arrive after the traffic has ended. */
const LATE_MS = 15_000;

const run = promisify(execFile);
const kubectl = async (/** @type {string[]} */ ...args) => (await run('kubectl', ['--namespace', NAMESPACE, ...args])).stdout.trim();
const addressOf = (/** @type {string} */ service) => kubectl('get', 'service', service, '--output', 'jsonpath={.spec.clusterIP}');
const settled = (/** @type {string} */ service) => kubectl('rollout', 'status', `deployment/${service}`, '--timeout=10m');

/** Creates an admin with a key, and a plant with stock. @param {string} url */
async function prepare(url) {
  const username = `check${Date.now()}`;
  const password = 'a long enough password';
  const ask = async (/** @type {string} */ method, /** @type {string} */ path, /** @type {Record<string, string>} */ headers = {}, /** @type {unknown} */ json = undefined) => {
    const body = json === undefined ? {} : { body: JSON.stringify(json), headers: { ...headers, 'content-type': 'application/json' } };
    const response = await fetch(url + path, { method, headers, ...body });
    const text = await response.text();
    assert.equal(response.status, 200, `${method} ${path.split('?')[0]}: ${response.status} ${text}`);
    return text === '' ? undefined : JSON.parse(text);
  };
  await ask('POST', '/v3/user', {}, { username, password });
  // Before it is an admin, who would need a second factor.
  const { message } = await ask('GET', `/v3/user/login?username=${username}&password=${encodeURIComponent(password)}`);
  await kubectl('exec', 'deployment/identity', '--', 'node', 'dist/set-role.js', username, 'admin');
  const { key } = await ask('POST', `/v3/user/${username}/apiKeys`, { authorization: `Bearer ${message}` }, { name: 'check', permissions: ['write:orders', 'manage:orders', 'write:payments', 'write:plants', 'write:stock', 'webhooks'] });
  const { id: plantId } = await ask('POST', '/v3/plant', { api_key: key }, { name: 'Monstera', photoUrls: [], status: 'available' });
  await ask('PUT', `/v3/store/inventory/${plantId}`, { api_key: key }, { free: 1_000_000 });
  const { id: orderId } = await ask('POST', '/v3/store/order', { api_key: key }, { plantId });
  // For a plant that nobody orders: it is only read.
  const { id: quiet } = await ask('POST', '/v3/plant', { api_key: key }, { name: 'Moss', photoUrls: [], status: 'sold' });
  await ask('POST', '/v3/webhooks', { api_key: key }, { url: 'https://receiver.example/check', name: 'Check', plantId: quiet });
  Object.assign(process.env, { PROBE_URL: url, PROBE_KEY: key, PROBE_PLANT: `${plantId}`, PROBE_ORDER: `${orderId}`, PROBE_USER: username });
  return { key, plantId };
}

/** @param {string} service */
async function rollOut(service) {
  await kubectl('rollout', 'restart', `deployment/${service}`);
  await settled(service);
}

async function release() {
  for (const service of SERVICES) await run('sh', [join(DEPLOY, 'release.sh'), service, OVERLAY], { env: { ...process.env } });
}

/** @param {() => Promise<void>} listen */
async function scale(listen) {
  const before = Number(await kubectl('get', 'deployment', 'notifications', '--output', 'jsonpath={.spec.replicas}'));
  await kubectl('scale', 'deployment/notifications', `--replicas=${before + 1}`);
  await settled('notifications');
  await pause(3_000);
  await listen();
  await kubectl('scale', 'deployment/notifications', `--replicas=${before}`);
  await settled('notifications');
  await pause(10_000);
}

async function kill() {
  for (const service of ['store', 'notifications']) {
    const pod = await kubectl('get', 'pods', '--selector', `app.kubernetes.io/name=${service}`, '--field-selector', 'status.phase=Running', '--output', 'name');
    await kubectl('delete', pod.split('\n')[0] ?? '', '--grace-period=0', '--force');
    await settled(service);
  }
}

/** @returns {Promise<string[]>} the databases that have replicas */
const replicated = async () => JSON.parse(await kubectl('get', 'clusters.postgresql.cnpg.io', '--output', 'json')).items.filter((/** @type {any} */ { spec }) => spec.instances > 1).map((/** @type {any} */ { metadata }) => metadata.name);

/** What `kubectl cnpg promote` does. @param {string} database @param {string} primary */
async function switchOver(database, primary) {
  const [replica] = (await kubectl('get', 'pods', '--selector', `cnpg.io/cluster=${database},cnpg.io/instanceRole=replica`, '--output', 'jsonpath={.items[*].metadata.name}')).split(' ');
  assert.ok(replica && replica !== primary);
  const status = { targetPrimary: replica, targetPrimaryTimestamp: new Date().toISOString(), phase: 'Switchover in progress', phaseReason: `Switching over to ${replica}` };
  await kubectl('patch', 'cluster', database, '--subresource=status', '--type=merge', '--patch', JSON.stringify({ status }));
}

/** @param {string} _database @param {string} primary */
const losePrimary = (_database, primary) => kubectl('delete', 'pod', primary, '--grace-period=0', '--force');

/** Makes another instance of each database the primary, and waits until all instances follow it. @param {(database: string, primary: string) => Promise<unknown>} change */
async function changePrimaries(change) {
  for (const database of await replicated()) {
    const now = async () => JSON.parse(await kubectl('get', 'cluster', database, '--output', 'json'));
    const { spec, status } = await now();
    await change(database, status.currentPrimary);
    for (let waited = 0; ; waited += 500) {
      const { currentPrimary, readyInstances, phase } = (await now()).status;
      if (currentPrimary !== status.currentPrimary && readyInstances === spec.instances && phase === 'Cluster in healthy state') break;
      assert.ok(waited < 300_000, `${database}: ${phase}`);
      await pause(500);
    }
    const following = await kubectl('exec', (await now()).status.currentPrimary, '--container', 'postgres', '--', 'psql', '--username', 'postgres', '--tuples-only', '--no-align', '--command', "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'");
    assert.equal(Number(following), spec.instances - 1, `${database}: replicas that follow`);
  }
}

/** @param {string} name */
async function undone(name) {
  const begun = performance.now();
  const probe = `node ${fileURLToPath(new URL('probe.mjs', import.meta.url))}`;
  const { isUndone, said } = await releaseBadly(name, { deploy: DEPLOY, overlay: OVERLAY, namespace: NAMESPACE, probe });
  const seconds = (performance.now() - begun) / 1_000;
  console.log(`     ${name}: ${said}`);
  assert.ok(isUndone && seconds < UNDONE_LIMIT_S, `${isUndone ? 'undone late' : 'not undone, or for another reason'} after ${seconds.toFixed(0)} s`);
}

/** @typedef {{ name: string, mayFail?: boolean, change: (listen: () => Promise<void>) => Promise<unknown> }} Check */

/** @type {Record<string, Check[]>} */
const checks = {
  release: [{ name: 'release of every service', change: release }],
  rollout: SERVICES.map((service) => ({ name: `rollout of ${service}`, change: () => rollOut(service) })),
  scale: [{ name: 'notifications scaled out and in', change: scale }],
  // Requests in flight may be lost with their process; acknowledged effects may not.
  kill: [{ name: 'kill of a pod each of store and notifications', mayFail: true, change: kill }],
  rotate: SERVICES.map((service) => ({ name: `new NATS user of ${service}`, change: () => run('sh', [join(DEPLOY, 'nats', 'rotate.sh'), service, NAMESPACE]) })),
  databases: [
    { name: 'switchover of each database', mayFail: true, change: () => changePrimaries(switchOver) },
    { name: 'loss of the primary of each database', mayFail: true, change: () => changePrimaries(losePrimary) },
  ],
  bad: BAD_RELEASES.map((name) => ({ name, mayFail: true, change: () => undone(name) })),
  ...Object.fromEntries(BAD_RELEASES.map((name) => [name, [{ name, mayFail: true, change: () => undone(name) }]])),
  ...Object.fromEntries(SERVICES.map((service) => [`rollout-${service}`, [{ name: `rollout of ${service}`, change: () => rollOut(service) }]])),
};

/** Requests during bad releases. */
const hurt = { answered: 0, failed: 0 };

/** @param {{ gateway: string, stream: string, key: string, plantId: number }} shop @param {Check} check */
async function holds({ gateway, stream, key, plantId }, { name, mayFail = false, change }) {
  /** @type {{ listener: ResumingSocket, since: number }[]} */
  const listeners = [];
  /** @type {Traffic | undefined} */
  let traffic;
  const listen = async () => {
    const added = Array.from({ length: Number(SOCKETS) }, () => new ResumingSocket({ nextUrl: () => stream, apiKey: key }));
    await pause(2_000);
    listeners.push(...added.map((listener) => ({ listener, since: traffic?.approved.size ?? 0 })));
  };
  await listen();
  traffic = new Traffic({ url: gateway, key, plantId });
  await pause(2_000);
  const begun = performance.now();
  let trouble = '';
  try {
    await change(listen);
  } catch (error) {
    trouble = `\n       ${/** @type {Error} */ (error).message}`;
  }
  const seconds = ((performance.now() - begun) / 1_000).toFixed(1);
  await pause(5_000);
  await traffic.stop();
  const { approved, answered, failures } = traffic;
  const missedBy = (/** @type {ResumingSocket} */ listener, /** @type {number} */ since) => {
    const received = ordersOf(listener);
    return [...approved].slice(since).filter((id) => !received.has(id)).length;
  };
  const lost = () => listeners.reduce((sum, { listener, since }) => sum + missedBy(listener, since), 0);
  for (let waited = 0; lost() > 0 && waited < LATE_MS; waited += 250) await pause(250);
  const missed = lost();
  for (const { listener } of listeners) listener.stop();
  const gaps = listeners.reduce((sum, { listener }) => sum + listener.gaps.length, 0);
  if (BAD_RELEASES.includes(name)) {
    hurt.answered += answered;
    hurt.failed += failures.length;
  }
  const isGood = trouble === '' && missed === 0 && gaps === 0 && approved.size > 0 && (mayFail || failures.length === 0);
  console.log(
    `${isGood ? 'ok  ' : 'FAIL'} ${name}: ${seconds} s, ${answered} answered, ${failures.length} failed${mayFail ? ' (may)' : ''}; ` +
      `${approved.size} events, ${listeners.length} clients: ${missed} lost, ${gaps} gaps${trouble}`,
  );
  for (const failure of [...new Set(failures)].slice(0, 5)) console.log(`       ${failure}`);
  return isGood;
}

const [first, ...names] = process.argv.slice(2);
if (first !== '--check' || names.some((name) => checks[name] === undefined)) {
  console.error(usage);
  process.exit(64);
}
const gateway = process.env['GATEWAY_URL'] ?? `http://${await addressOf('gateway')}`;
const stream = (process.env['STREAM_URL'] ?? `http://${await addressOf('notifications')}`).replace(/^http/, 'ws');
const shop = { gateway, stream, ...(await prepare(gateway)) };
const measured = new Usage(kubectl, NAMESPACE).start();
let bad = 0;
for (const name of names.length > 0 ? names : ['release', 'rollout', 'scale', 'kill', 'rotate', 'databases']) {
  for (const check of checks[name] ?? []) if (!(await holds(shop, check))) bad++;
}
if (hurt.answered > 0) {
  const share = hurt.failed / hurt.answered;
  if (share > HURT_LIMIT) bad++;
  console.log(`${share > HURT_LIMIT ? 'FAIL' : 'ok  '} bad releases: ${hurt.failed} of ${hurt.answered} requests failed (${(100 * share).toFixed(2)} %)`);
}
console.log(await measured.report());
console.log(bad === 0 ? 'all checks passed' : `${bad} checks failed`);
process.exit(bad === 0 ? 0 : 1);
