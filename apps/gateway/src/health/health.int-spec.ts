import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { store } from '@plant-shop/contracts/store';
import { readinessOf } from '@plant-shop/platform/service/readiness';
import { fake, startFake } from '@plant-shop/service-testing/service';
import { until } from '@plant-shop/testing/until';
import { echoes, publicUrl, type Shop, startShop } from '../gateway.spec.fixture.js';

describe('the health of the shop', () => {
  let shop: Shop;
  beforeAll(async () => {
    shop = await startShop(echoes);
  });
  afterAll(() => shop.stop());
  /** Waits for these states: a report is shared for a while, and a service is found some time after it has started. */
  const untilServicesAre = (states: Record<string, string>): Promise<void> =>
    until(async () => {
      const response = await shop.get('/readyz');
      const { services } = (await response.json()) as { services: Record<string, string> };
      return response.status === 503 && Object.entries(states).every(([name, state]) => services[name] === state);
    });

  it('is ready when every service is', async () => {
    // The gateway becomes ready once it has loaded the revocation log.
    await until(async () => (await shop.get('/readyz')).status === 200);
    expect(await (await shop.get('/readyz')).json()).toEqual({
      ready: true,
      services: { gateway: 'ready', catalog: 'ready', store: 'ready', identity: 'ready', notifications: 'ready' },
    });
  });

  it('names the service that does not answer, and is ready again when it does', async () => {
    await shop.stopFake('store');
    await untilServicesAre({ store: 'no answer', catalog: 'ready' });
    await shop.restartFake('store');
    await until(async () => (await shop.get('/readyz')).status === 200);
  });

  it('tells a service that is slow from one that is away (slow)', async () => {
    await shop.stopFake('store');
    const { promise: held, resolve: release } = Promise.withResolvers<{ ready: boolean; checks: Record<string, string> }>();
    const slow = await startFake(shop.nats.url, 'store', [fake(readinessOf('store'), () => held)]);
    await untilServicesAre({ store: 'slow: no answer in 1.5 s', catalog: 'ready' });
    release({ ready: true, checks: {} });
    await slow.stop();
    await shop.restartFake('store');
    await until(async () => (await shop.get('/readyz')).status === 200);
  });

  it('stays not ready after an outage of identity until credentials can be checked again (slow)', async () => {
    shop.identity.addCredential('key', { kind: 'apiKey' });
    await shop.stopFake('identity');
    await untilServicesAre({ gateway: 'not ready: revocations', identity: 'no answer' });
    await shop.restartFake('identity');
    while ((await shop.get('/readyz')).status !== 200) await pause(5);
    expect((await shop.get('/v3/plant/1', { api_key: 'key' })).status).toBe(200);
  });

  it('costs each service one call for many concurrent requests', async () => {
    await pause(300);
    const calls = () => shop.calls.filter(({ operation }) => operation === 'catalog.readiness').length;
    const [before, begun] = [calls(), performance.now()];
    await Promise.all(Array.from({ length: 50 }, () => shop.get('/readyz')));
    // A report is shared for 250 ms, which 50 requests may exceed on a busy machine.
    const reports = 1 + Math.floor((performance.now() - begun) / 250);
    expect(calls() - before).toBeGreaterThanOrEqual(1);
    expect(calls() - before).toBeLessThanOrEqual(reports);
  });

  it('does not affect liveness', async () => {
    await shop.stopFake('catalog');
    expect((await shop.get('/livez')).status).toBe(200);
    await shop.restartFake('catalog');
  });

  it('has an overview with links', async () => {
    const overview = (await (await shop.get('/')).json()) as Record<string, string>;
    for (const url of Object.values(overview)) expect(url.startsWith(publicUrl)).toBe(true);
    expect((await shop.get('/problems')).status).toBe(200);
  });

  it('fails only requests to the service that is down', async () => {
    shop.identity.addCredential('key', { kind: 'apiKey' });
    await shop.stopFake('store');
    const response = await shop.get('/v3/store/inventory', { api_key: 'key' });
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({ code: 'unavailable', instance: '/v3/store/inventory' });
    expect((await shop.get('/v3/plant/1')).status).toBe(200);
    await shop.restartFake('store');
  });
});

describe('a stopping gateway', () => {
  let shop: Shop | undefined;
  afterEach(() => shop?.stop());

  it('closes idle connections, finishes requests in flight, then ends (slow)', async () => {
    const { promise: held, resolve: release } = Promise.withResolvers<unknown>();
    const { promise: arrived, resolve: arrive } = Promise.withResolvers<unknown>();
    shop = await startShop({
      store: [
        fake(store.readInventory, async () => {
          arrive(undefined);
          await held;
          return { available: 1, pending: 2, sold: 3 };
        }),
      ],
    }, { requestBudgetMs: 10_000 });
    shop.identity.addCredential('key', { kind: 'apiKey' });
    const { url } = shop.gateway;
    const { hostname, port } = new URL(url);
    const idle = connect(Number(port), hostname);
    idle.write('GET /livez HTTP/1.1\r\nhost: shop\r\n\r\n');
    await once(idle, 'data');
    const isClosed = once(idle.resume(), 'close');
    const underWay = shop.get('/v3/store/inventory', { api_key: 'key' });
    await arrived;
    const stopped = shop.service.stop();
    // For 2 s it answers with `Connection: close` (stopping.int-spec.ts); then it stops accepting connections.
    await until(async () => !(await connects(url)));
    // It would end the request too, if it waited for both until its limit.
    await isClosed;
    release(undefined);
    const response = await underWay;
    expect(response.status).toBe(200);
    expect(response.headers.get('connection')).toBe('close');
    const started = performance.now();
    await stopped;
    expect(performance.now() - started).toBeLessThan(3_000);
  });
});

function connects(url: string): Promise<boolean> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
