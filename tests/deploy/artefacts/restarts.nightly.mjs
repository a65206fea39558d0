// Part of `npm run nightly`. Every build runs the same test with services from the repository, in `npm run chaos -- --short` (R9).
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { Balancer } from '@plant-shop/testing/balancer';
import { ResumingSocket } from '@plant-shop/testing/stream';
import { SERVICES } from '../services.mjs';
import { ordersOf, retire, Traffic } from './rolling.mjs';
import { START_LIMIT_MS, TouredShop } from './toured-shop.mjs';

const toured = new TouredShop();
const { shop } = toured;

before(() => shop.start(), { timeout: START_LIMIT_MS });

after(() => toured.end());

test('restarting every service, replica by replica, at 100 requests a second, goes unnoticed by clients', { timeout: 400_000 }, async (context) => {
  const key = await toured.keyOfFirstAdmin();
  const { body: plant } = await toured.send('POST', '/v3/plant', { as: { apiKey: key }, json: { name: 'Monstera', photoUrls: [], status: 'available' } });
  const plantId = plant.id;
  assert.equal((await toured.send('PUT', `/v3/store/inventory/${plantId}`, { as: { apiKey: key }, json: { free: 1_000_000 } })).status, 200);
  /** @type {Map<string, import('./shop.mjs').Replica[]>} */
  const replicas = new Map();
  for (const service of SERVICES) replicas.set(service, [shop.first(service), await shop.addReplica(service)]);
  const streams = replicas.get('notifications') ?? [];
  const gatewayOf = (/** @type {import('./shop.mjs').Replica} */ { name, ports }) => ({ label: name, port: ports.http ?? 0, opsPort: ports.ops });
  const balancer = new Balancer((replicas.get('gateway') ?? []).map(gatewayOf));
  const url = await balancer.start();
  const way = (/** @type {string} */ service) => ({
    add: (/** @type {import('./shop.mjs').Replica} */ one) => {
      if (service === 'gateway') balancer.add(gatewayOf(one));
      replicas.get(service)?.push(one);
    },
    remove: (/** @type {import('./shop.mjs').Replica} */ one) => {
      if (service === 'gateway') balancer.withdraw(one.name);
      const all = replicas.get(service) ?? [];
      all.splice(all.indexOf(one), 1);
    },
  });

  let turn = 0;
  const listeners = Array.from({ length: 6 }, () => new ResumingSocket({ nextUrl: () => `ws://127.0.0.1:${streams[turn++ % streams.length]?.ports.http}`, apiKey: key }));
  await setTimeout(1_000);
  const traffic = new Traffic({ url, key, plantId });
  try {
    for (const service of SERVICES) {
      const { add, remove } = way(service);
      for (const old of [...(replicas.get(service) ?? [])]) {
        await retire(old, { remove: () => remove(old) });
        add(await shop.addReplica(service));
      }
    }
  } finally {
    await traffic.stop();
  }
  try {
    for (let waited = 0; waited < 100 && !listeners.every((one) => traffic.approved.isSubsetOf(ordersOf(one))); waited++) await setTimeout(100);
  } finally {
    for (const one of listeners) one.stop();
    balancer.stop();
  }
  context.diagnostic(`${traffic.answered} requests, ${traffic.approved.size} events for each of ${listeners.length} sockets`);
  assert.deepEqual([traffic.failures, balancer.detours], [[], 0]);
  assert.ok(traffic.answered > 500 && traffic.approved.size > 50, `${traffic.answered}, ${traffic.approved.size}`);
  for (const one of listeners) {
    assert.deepEqual([[...traffic.approved.difference(ordersOf(one))], one.gaps], [[], []]);
    assert.deepEqual([...new Set(one.closes)], [4200]);
  }
});
