// Part of `npm run nightly`. Every build runs the same test with services from the repository, in `npm run chaos -- --short` (R9).
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { SERVICES } from '../services.mjs';
import { Balancer } from './balancer.mjs';
import { Listener, retire, Traffic } from './rolling.mjs';
import { START_LIMIT_MS, TouredShop } from './toured-shop.mjs';

const toured = new TouredShop();
const { shop } = toured;

before(async () => {
  await toured.build();
  await shop.start();
}, { timeout: START_LIMIT_MS });

after(() => toured.end());

test('restarting every service, replica by replica, at 100 requests a second, goes unnoticed by clients', { timeout: 400_000 }, async (context) => {
  const key = await toured.keyOfFirstAdmin();
  const { body: plant } = await toured.send('POST', '/v3/plant', { key, json: { name: 'Monstera', photoUrls: [], status: 'available' } });
  const plantId = plant.id;
  assert.equal((await toured.send('PUT', `/v3/store/inventory/${plantId}`, { key, json: { free: 1_000_000 } })).status, 200);
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
