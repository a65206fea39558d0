import { afterEach, describe, expect, it } from '@jest/globals';
import { createLogger } from '@plant-shop/platform/logging';
import { Nats } from '@plant-shop/platform/nats';
import { until } from '@plant-shop/testing/until';
import type { Service } from '@plant-shop/platform/service/service';
import { echoes, type Shop, startReplica, startShop } from '../gateway.spec.fixture.js';

const perMinute = 100;

describe('one limit for all gateways', () => {
  let shop: Shop;
  let urls: string[];
  let others: Service[];
  afterEach(async () => {
    await Promise.all(others.map((one) => one.stop()));
    await shop.stop();
  });

  const start = async (gateways = 2): Promise<void> => {
    // A test must not begin at the end of a minute, in which all counts are forgotten.
    const left = 60_000 - (Date.now() % 60_000);
    if (left < 20_000) await new Promise((resolve) => setTimeout(resolve, left + 50));
    shop = await startShop(echoes, { rateLimitPerMinute: perMinute });
    shop.identity.know('a-key', { kind: 'apiKey' });
    shop.identity.know('other-key', { kind: 'apiKey' });
    urls = [shop.gateway.url];
    others = [];
    while (urls.length < gateways) {
      const { service, gateway } = await startReplica(shop.nats, { rateLimitPerMinute: perMinute });
      others.push(service);
      urls.push(gateway.url);
    }
  };
  const ask = (gateway: number, key = 'a-key'): Promise<Response> =>
    fetch(`${urls[gateway]}/v3/store/inventory`, { headers: { api_key: key } });
  const leftAt = async (gateway: number, key = 'a-key'): Promise<number> =>
    Number(/r=(\d+)/.exec((await ask(gateway, key)).headers.get('ratelimit') ?? '')?.[1]);
  const use = async (gateway: number, times: number, key?: string): Promise<number[]> => {
    const answers = await Promise.all(Array.from({ length: times }, () => ask(gateway, key)));
    return answers.map(({ status }) => status);
  };

  it('holds for a credential wherever its requests come, and for each credential by itself', async () => {
    await start(3);
    expect(await use(0, 50)).toEqual(Array(50).fill(200));
    await until(async () => (await leftAt(1)) < 50, 3_000);
    expect(await use(1, 30)).toEqual(Array(30).fill(200));
    await until(async () => (await leftAt(2)) < 25, 3_000);
    await use(2, 30);
    await until(async () => (await ask(0)).status === 429, 3_000);
    for (const gateway of [0, 1, 2]) await until(async () => (await ask(gateway)).status === 429, 3_000);
    expect((await ask(1, 'other-key')).status).toBe(200);
  });

  it('lets in what comes within one interval on each, and no more of it', async () => {
    await start();
    const statuses = (await Promise.all([use(0, 200), use(1, 200)])).flat();
    const letIn = statuses.filter((status) => status === 200).length;
    expect(letIn).toBeGreaterThanOrEqual(perMinute);
    expect(letIn).toBeLessThanOrEqual(2 * perMinute);
    for (const gateway of [0, 1]) await until(async () => (await ask(gateway)).status === 429, 3_000);
  });

  it('is counted alone while NATS is away, and together again after it', async () => {
    await start();
    expect(await use(0, 1)).toEqual([200]);
    expect(await use(1, 1)).toEqual([200]);
    await shop.nats.stop();
    // Of no route that asks a service: what is counted is seen all the same.
    const counted = async (gateway: number) => (await fetch(`${urls[gateway]}/v3/store/inventory`)).headers.get('ratelimit');
    for (let n = 0; n < 40; n++) expect(await counted(0)).toMatch(/r=/);
    expect(await counted(1)).toMatch(/r=9\d;/);
    await shop.nats.restart();
    await until(async () => Number(/r=(\d+)/.exec((await counted(1)) ?? '')?.[1]) < 60, 15_000);
  });

  it('tells no credential, and counts nothing that is not a count', async () => {
    await start(1);
    const nats = await Nats.connect({ url: shop.nats.url, name: 'listener' }, createLogger('test', 'fatal'));
    const heard: string[] = [];
    nats.listen('gateway.counts', (message) => heard.push(Buffer.from(message.data).toString()));
    await nats.connection.flush();
    expect((await ask(0)).status).toBe(200);
    await until(async () => heard.length > 0, 3_000);
    expect(heard.join()).toMatch(/^\{"window":\d+,"counts":\[\["[\w-]{16}",1\]\],"replica":"[\w-]{8}"\}$/);
    expect(heard.join()).not.toContain('a-key');
    const { window, counts } = JSON.parse(heard[0]!) as { window: number; counts: [[string, number]] };
    const [[hash]] = counts;
    const replica = 'AAAAAAAA';
    for (const bad of ['', '{', 'null', '[]', { window, replica, counts: [[hash, -50]] }, { window, replica, counts: [[hash, '50']] }, { window, replica: 5, counts }, { window, replica, counts: hash }, { window: 'x', replica, counts }]) {
      nats.connection.publish('gateway.counts', typeof bad === 'string' ? bad : JSON.stringify(bad));
    }
    await nats.connection.flush();
    const before = await leftAt(0);
    expect(before).toBe(perMinute - 2);
    nats.connection.publish('gateway.counts', JSON.stringify({ window, replica, counts: [[hash, 50]] }));
    await until(async () => (await leftAt(0)) < perMinute - 50, 3_000);
    await nats.close(1_000);
  });
});
