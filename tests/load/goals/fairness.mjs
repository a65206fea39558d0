import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { TestShop } from '../../../tools/test/shop.mjs';
import { startChild } from '../anchors/child.mjs';
import { attacks, ATTACKER, STOCK } from '../attacks.mjs';
import { clientOf, inParallel, pause, percentile } from '../client.mjs';
import { HonestClient, Receiver } from '../honest.mjs';
import { inTurns, mean, median } from '../in-turns.mjs';

const CLIENTS = 50;
const PLANTS = 20;
/** Orders of the attacker, with two events each to replay. */
const OLD_ORDERS = 1_000;

/** The defaults of production, instead of the demo's and the bench's. */
const settings = {
  PAYMENT_PROVIDER: 'external',
  RATE_LIMIT_PER_MINUTE: '60000',
  LOGIN_LIMIT_PER_USER: '20',
  LOGIN_LIMIT_PER_ADDRESS: '100',
  WEBHOOK_ALLOWED_TARGETS: `127.0.0.1:*, ${ATTACKER}:*`,
};

/** @typedef {{ perSecond: number, p99: number, errors: Record<string, number> }} Service what honest clients got */

/** @type {Record<string, (bench: import('../bench.mjs').Bench) => Promise<import('../bench.mjs').Row[]>>} */
export const fairnessGoals = {
  S8: async (bench) => {
    const folder = join(bench.folder, 'fairness');
    mkdirSync(folder);
    const shop = await TestShop.start(folder, { signal: bench.signal, env: settings });
    const receiver = new Receiver();
    /** @type {HonestClient[]} */
    const clients = [];
    try {
      const plants = await plantsOf(shop);
      clients.push(...(await honestClients(shop, plants, receiver)));
      const { prey, close } = await preyOf(shop, plants);
      const running = clients.map((one) => one.run());
      await serviceOf(clients, bench.warmUp);
      const rows = [];
      for (const attack of Object.keys(attacks).filter((name) => name.includes(bench.attack))) rows.push(...(await rowsOf(bench, clients, attack, prey)));
      for (const one of clients) one.stop();
      await Promise.all(running);
      close();
      return rows;
    } finally {
      for (const one of clients) one.stop();
      receiver.close();
      await shop.end();
    }
  },
};

/** @param {import('../bench.mjs').Bench} bench @param {HonestClient[]} clients @param {string} attack @param {import('../attacks.mjs').Prey} prey @returns {Promise<import('../bench.mjs').Row[]>} */
async function rowsOf(bench, clients, attack, prey) {
  const seconds = bench.roundSeconds * 2;
  const rounds = await inTurns(bench.rounds, () => serviceOf(clients, seconds), async () => {
    const attacker = await startChild('../attacks.child.mjs');
    try {
      await attacker.ask({ attack, prey });
      await pause(1_000);
      const before = attacker.seconds();
      const service = await serviceOf(clients, seconds);
      const attackersCpu = (attacker.seconds() - before) / seconds;
      const { answers } = await attacker.ask({});
      return { ...service, attackersCpu, answers };
    } finally {
      await attacker.stop();
      // What was accepted is worked off.
      await pause(3_000);
    }
  });
  const errors = rounds.map(({ ours }) => ours.errors);
  const count = errors.flatMap((one) => Object.values(one)).reduce((total, one) => total + one, 0);
  for (const { ours, anchors: [before] } of rounds) {
    const of = (/** @type {Service} */ one) => `${one.perSecond.toFixed(0)}/s, p99 ${one.p99.toFixed(0)} ms`;
    console.log(`S8 ${attack}: ${of(before)}; attacked ${of(ours)}, errors ${JSON.stringify(ours.errors)}; the attacker's CPU ${ours.attackersCpu.toFixed(2)}, answers ${JSON.stringify(ours.answers)}`);
  }
  const rate = median(rounds, ({ ours, anchors: [before, after] }) => ours.perSecond / mean([before.perSecond, after.perSecond]));
  const p99 = median(rounds, ({ ours, anchors: [before, after] }) => ours.p99 / mean([before.p99, after.p99]));
  return [
    { goal: 'S8', what: `${attack}: rate of honest clients`, wanted: 0.5, ...rate },
    { goal: 'S8', what: `${attack}: their p99`, wanted: 2, atMost: true, ...p99 },
    { goal: 'S8', what: `${attack}: their errors`, wanted: 0, atMost: true, possible: [0, Infinity], ratio: count, detail: { errors }, ...bench.shortened },
  ];
}

/** @param {HonestClient[]} clients @param {number} seconds @returns {Promise<Service>} */
async function serviceOf(clients, seconds) {
  for (const one of clients) one.acts = [];
  await pause(seconds * 1_000);
  const acts = clients.flatMap((one) => one.acts);
  /** @type {Record<string, number>} */
  const errors = {};
  for (const { error } of acts) if (error !== undefined) errors[error] = (errors[error] ?? 0) + 1;
  const served = acts.filter(({ error }) => error === undefined).map(({ ms }) => ms);
  // What has not ended counts, too: otherwise nobody would see a client that waits for all of the time.
  const waiting = clients.flatMap(({ actingSince }) => actingSince ?? []).map((since) => performance.now() - since);
  return { perSecond: served.length / seconds, p99: percentile([...served, ...waiting], 0.99), errors };
}

/** @param {TestShop} shop @returns {Promise<number[]>} */
async function plantsOf({ gatewayUrl }) {
  const admin = clientOf(gatewayUrl);
  const made = await inParallel(PLANTS, 8, (n) => admin('POST', '/plant', { name: `Plant ${n}`, quantity: STOCK }));
  return made.map(({ id }) => id);
}

/** @param {TestShop} shop @param {number[]} plants @param {Receiver} receiver */
async function honestClients({ gatewayUrl, streamUrl }, plants, receiver) {
  const admin = clientOf(gatewayUrl);
  const hook = await receiver.open();
  return inParallel(CLIENTS, 8, async (n) => {
    const user = { username: `honest-${n}`, password: 'a long enough password' };
    await admin('POST', '/user', user);
    const client = new HonestClient({ gatewayUrl, streamUrl, address: `127.0.1.${n + 1}`, ...user, plants, receiver });
    await client.open(hook);
    return client;
  });
}

/** @param {TestShop} shop @param {number[]} plants */
async function preyOf({ gatewayUrl, streamUrl }, plants) {
  const admin = clientOf(gatewayUrl);
  const user = { username: 'mallory', password: 'a long enough password' };
  await admin('POST', '/user', user);
  const credentials = (await inParallel(10, 4, (n) => admin('POST', '/user/mallory/apiKeys', { name: `key ${n}` }))).map(({ key }) => key);
  const mallory = clientOf(gatewayUrl, { api_key: credentials[0] ?? '' });
  await inParallel(OLD_ORDERS, 8, async () => mallory('DELETE', `/store/order/${(await mallory('POST', '/store/order', { plantId: plants[0] })).id}`));
  // Answers late, so that deliveries stay.
  const receiver = createServer((_, response) => setTimeout(() => response.writeHead(204).end(), 1_000)).listen(0, ATTACKER);
  await once(receiver, 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (receiver.address());
  const webhooks = (await inParallel(20, 4, (n) => mallory('POST', '/webhooks', { url: `http://${ATTACKER}:${port}/${n}`, eventTypes: ['order.status_changed'] }))).map(({ id }) => id);
  const image = await upload(gatewayUrl, /** @type {number} */ (plants[0]));
  const close = () => {
    receiver.close();
    receiver.closeAllConnections();
  };
  return { prey: { gatewayUrl, streamUrl, credentials, webhooks, plants, image }, close };
}

/** Uploads an image of 8 MiB. @param {string} gatewayUrl @param {number} plantId @returns {Promise<string>} its path */
async function upload(gatewayUrl, plantId) {
  const body = new FormData();
  body.append('file', new Blob([Buffer.from('89504e470d0a1a0a', 'hex'), randomBytes(8 * 1024 * 1024)]), 'a.png');
  await fetch(`${gatewayUrl}/v3/plant/${plantId}/uploadImage`, { method: 'POST', headers: { api_key: 'special-key' }, body });
  const { photoUrls } = await clientOf(gatewayUrl)('GET', `/plant/${plantId}`);
  return new URL(photoUrls[0]).pathname;
}
