import { afterEach, describe, expect, it } from '@jest/globals';
import { createLogger } from '@plant-shop/platform/logging';
import { Nats } from '@plant-shop/platform/nats';
import { startNats, type TestNats } from '@plant-shop/testing/nats';
import { until } from '@plant-shop/testing/until';
import { echoes, startReplica, startShop, stopReplica } from '../gateway.spec.fixture.js';
import { RateLimit } from './rate-limit.js';
import { SharedCounts } from './shared-counts.js';

const perMinute = 100;
const timeoutMs = 15_000;

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
  /** One gateway's limiter, in a minute that never ends. */
  const replica = async (server: TestNats): Promise<RateLimit> => {
    const limit = new RateLimit(perMinute, () => 0);
    const sharing = new SharedCounts(await connect(server), limit, createLogger('test', 'fatal'));
    sharing.start();
    closers.push(() => sharing.stop());
    return limit;
  };
  const take = (limit: RateLimit, times: number, key = 'a-key'): number =>
    Array.from({ length: times }, () => limit.take(key).remaining).at(-1)!;
  /** Takes `times` requests and returns how many were allowed. */
  const allowed = (limit: RateLimit, times: number): number =>
    Array.from({ length: times }, () => limit.take('a-key').remaining).filter((remaining) => remaining >= 0).length;

  it('form one limit per key across gateways', async () => {
    const server = await startServer();
    const [a, b, c] = [await replica(server), await replica(server), await replica(server)];
    expect(take(a, 50)).toBe(50);
    expect(take(b, 30)).toBeGreaterThanOrEqual(20);
    await until(() => Promise.resolve(!c.isExhausted('a-key') && c.take('a-key').remaining < 20), timeoutMs);
    take(c, 30);
    for (const one of [a, b, c]) await until(() => Promise.resolve(one.isExhausted('a-key')), timeoutMs);
    expect(b.take('other-key').remaining).toBe(99);
  });

  it('exceed the limit only by what arrives within one interval', async () => {
    const server = await startServer();
    const [a, b] = [await replica(server), await replica(server)];
    const both = allowed(a, 200) + allowed(b, 200);
    expect(both).toBe(2 * perMinute);
    for (const one of [a, b]) await until(() => Promise.resolve(one.isExhausted('a-key')), timeoutMs);
    expect(allowed(a, 10) + allowed(b, 10)).toBe(0);
  });

  it('stay local while NATS is down, and are exchanged when it is back', async () => {
    const server = await startServer();
    const [a, b] = [await replica(server), await replica(server)];
    await server.stop();
    expect(take(a, 60)).toBe(40);
    expect(take(b, 10)).toBe(90);
    await server.restart();
    await until(() => Promise.resolve(b.take('a-key', 0).remaining <= 30), timeoutMs);
    await until(() => Promise.resolve(a.take('a-key', 0).remaining <= 30), timeoutMs);
  });

  it('are published without credentials; malformed messages are ignored', async () => {
    const server = await startServer();
    const [limit, listener] = [await replica(server), await connect(server)];
    const received: string[] = [];
    listener.listen('gateway.counts', (message) => received.push(Buffer.from(message.data).toString()));
    await listener.connection.flush();
    limit.take('a-key');
    await until(() => Promise.resolve(received.length > 0), timeoutMs);
    expect(received.join()).toMatch(/^\{"window":0,"counts":\[\["[\w-]{16}",1\]\],"replica":"[\w-]{8}"\}$/);
    expect(received.join()).not.toContain('a-key');
    const { counts } = JSON.parse(received[0]!) as { counts: [[string, number]] };
    const [[hash]] = counts;
    const [window, name] = [0, 'AAAAAAAA'];
    const bad = ['', '{', 'null', '[]', { window, replica: name, counts: [[hash, -50]] }, { window, replica: name, counts: [[hash, '50']] }, { window, replica: 5, counts }, { window, replica: name, counts: hash }, { window: 'x', replica: name, counts }];
    for (const one of bad) listener.connection.publish('gateway.counts', typeof one === 'string' ? one : JSON.stringify(one));
    listener.connection.publish('gateway.counts', JSON.stringify({ window, replica: name, counts: [[hash, 50]] }));
    await until(() => Promise.resolve(limit.take('a-key', 0).remaining < 99), timeoutMs);
    expect(limit.take('a-key', 0).remaining).toBe(49);
  });

  it('are exchanged between running gateways (slow)', async () => {
    const shop = await startShop(echoes);
    closers.push(() => shop.stop());
    const replica = await startReplica(shop.nats);
    closers.push(() => stopReplica(replica));
    // Requests without a credential count by address, whatever their status.
    const leftAt = async (url: string): Promise<number> =>
      Number(/r=(\d+)/.exec((await fetch(`${url}/v3/store/inventory`)).headers.get('ratelimit') ?? '')?.[1]);
    await until(async () => {
      await Promise.all(Array.from({ length: 20 }, () => leftAt(shop.gateway.url)));
      return (await leftAt(replica.gateway.url)) < 1_000_000 - 20;
    }, timeoutMs);
  });
});
