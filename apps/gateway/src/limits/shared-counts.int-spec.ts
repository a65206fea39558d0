import { afterEach, describe, expect, it } from '@jest/globals';
import { createLogger } from '@plant-shop/platform/logging';
import { Nats } from '@plant-shop/platform/nats';
import { startNats, type TestNats } from '@plant-shop/testing/nats';
import { until } from '@plant-shop/testing/until';
import { echoes, startReplica, startShop } from '../gateway.spec.fixture.js';
import { RateLimit } from './rate-limit.js';
import { shareCounts } from './shared-counts.js';

const perMinute = 100;
const patience = 15_000;

describe('the counts of gateways', () => {
  const closers: (() => unknown)[] = [];
  afterEach(async () => {
    for (const close of closers.splice(0).reverse()) await close();
  });

  const startServer = async (): Promise<TestNats> => {
    const server = await startNats();
    closers.push(() => server.stop());
    return server;
  };
  const connect = async ({ url }: TestNats): Promise<Nats> => {
    const nats = await Nats.connect({ url, name: 'gateway' }, createLogger('test', 'fatal'));
    closers.push(() => nats.close(1_000));
    return nats;
  };
  /** One gateway's own, in a minute that does not end. */
  const replica = async (server: TestNats): Promise<RateLimit> => {
    const limit = new RateLimit(perMinute, () => 0);
    const sharing = shareCounts(await connect(server), limit);
    closers.push(() => sharing.stop());
    return limit;
  };
  const take = (limit: RateLimit, times: number, key = 'a-key'): number =>
    Array.from({ length: times }, () => limit.take(key).remaining).at(-1)!;
  /** Requests that were let in. */
  const letIn = (limit: RateLimit, times: number): number =>
    Array.from({ length: times }, () => limit.take('a-key').remaining).filter((left) => left >= 0).length;

  it('become one limit, wherever requests come, and one for each key', async () => {
    const server = await startServer();
    const [a, b, c] = [await replica(server), await replica(server), await replica(server)];
    expect(take(a, 50)).toBe(50);
    expect(take(b, 30)).toBeGreaterThanOrEqual(20);
    await until(() => Promise.resolve(!c.isExhausted('a-key') && c.take('a-key').remaining < 20), patience);
    take(c, 30);
    for (const one of [a, b, c]) await until(() => Promise.resolve(one.isExhausted('a-key')), patience);
    expect(b.take('other-key').remaining).toBe(99);
  });

  it('let in what comes within one interval on each, and no more of it', async () => {
    const server = await startServer();
    const [a, b] = [await replica(server), await replica(server)];
    const both = letIn(a, 200) + letIn(b, 200);
    expect(both).toBe(2 * perMinute);
    for (const one of [a, b]) await until(() => Promise.resolve(one.isExhausted('a-key')), patience);
    expect(letIn(a, 10) + letIn(b, 10)).toBe(0);
  });

  it('go on alone while NATS is away, and are told when it is back', async () => {
    const server = await startServer();
    const [a, b] = [await replica(server), await replica(server)];
    await server.stop();
    expect(take(a, 60)).toBe(40);
    expect(take(b, 10)).toBe(90);
    await server.restart();
    await until(() => Promise.resolve(b.take('a-key', 0).remaining <= 30), patience);
    await until(() => Promise.resolve(a.take('a-key', 0).remaining <= 30), patience);
  });

  it('tell no credential, and hear nothing that is not a count', async () => {
    const server = await startServer();
    const [limit, listener] = [await replica(server), await connect(server)];
    const heard: string[] = [];
    listener.listen('gateway.counts', (message) => heard.push(Buffer.from(message.data).toString()));
    await listener.connection.flush();
    limit.take('a-key');
    await until(() => Promise.resolve(heard.length > 0), patience);
    expect(heard.join()).toMatch(/^\{"window":0,"counts":\[\["[\w-]{16}",1\]\],"replica":"[\w-]{8}"\}$/);
    expect(heard.join()).not.toContain('a-key');
    const { counts } = JSON.parse(heard[0]!) as { counts: [[string, number]] };
    const [[hash]] = counts;
    const [window, name] = [0, 'AAAAAAAA'];
    const bad = ['', '{', 'null', '[]', { window, replica: name, counts: [[hash, -50]] }, { window, replica: name, counts: [[hash, '50']] }, { window, replica: 5, counts }, { window, replica: name, counts: hash }, { window: 'x', replica: name, counts }];
    for (const one of bad) listener.connection.publish('gateway.counts', typeof one === 'string' ? one : JSON.stringify(one));
    listener.connection.publish('gateway.counts', JSON.stringify({ window, replica: name, counts: [[hash, 50]] }));
    await until(() => Promise.resolve(limit.take('a-key', 0).remaining < 99), patience);
    expect(limit.take('a-key', 0).remaining).toBe(49);
  });

  it('are told and heard by a gateway as it is served', async () => {
    const shop = await startShop(echoes);
    closers.push(() => shop.stop());
    const { service, gateway } = await startReplica(shop.nats);
    closers.push(() => service.stop());
    // Without a credential they are counted by address, whatever they are answered.
    const leftAt = async (url: string): Promise<number> =>
      Number(/r=(\d+)/.exec((await fetch(`${url}/v3/store/inventory`)).headers.get('ratelimit') ?? '')?.[1]);
    await until(async () => {
      await Promise.all(Array.from({ length: 20 }, () => leftAt(shop.gateway.url)));
      return (await leftAt(gateway.url)) < 1_000_000 - 20;
    }, patience);
  });
});
