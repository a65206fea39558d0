import { monitorEventLoopDelay } from 'node:perf_hooks';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { until } from '@plant-shop/testing/until';
import { customer, type Replica, Shop, updates, userId } from '../stream.spec.fixture.js';

describe('credentials of open streams', () => {
  let shop: Shop;
  let left: Replica;
  let right: Replica;
  beforeAll(async () => {
    shop = await Shop.open();
  });
  beforeEach(async () => {
    shop.identity.addCredential('key');
    shop.identity.addCredential('other', { userId: userId(2) });
    shop.identity.addCredential('admin', { userId: userId(3), permissions: ['read:orders'] });
    shop.identity.addCredential('session', { kind: 'session', userId: userId(4) });
    [left, right] = await Promise.all([shop.start(), shop.start()]);
  });
  afterEach(() => shop.reset());
  afterAll(() => shop.close());

  it.each([
    ['a revoked key', () => shop.identity.revoke('apiKey', shop.identity.idOf('key'))],
    ['a deleted user', () => shop.identity.revoke('user', customer)],
  ])('%s ends its streams within a second on every replica, and no others', async (_, end) => {
    const clients = await Promise.all([left.opened(), right.opened()]);
    const other = await right.opened('api_key=other');
    const heldBack = monitorEventLoopDelay({ resolution: 10 });
    heldBack.enable();
    const begun = performance.now();
    end();
    const closed = Promise.all(clients.map(async (client) => ({ ...(await client.closed), afterMs: performance.now() - begun })));
    // A busy machine may close them later, but they must not get events from now on.
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    shop.move([{}, { subject: userId(2) }]);
    await other.has(1);
    for (const { afterMs, ...how } of await closed) {
      expect(how).toEqual({ code: 4001, reason: 'credential revoked' });
      // Replicas and clients share this process: delays of its event loop are not counted.
      expect(afterMs - heldBack.max / 1e6).toBeLessThan(1_000);
    }
    heldBack.disable();
    expect(clients.map(({ frames }) => frames)).toEqual([[], []]);
    expect(await left.ask(`${updates}?api_key=key`)).toMatchObject({ status: 401 });
  });

  it('revoking a permission narrows what an open stream shows, and granting one widens it', async () => {
    const client = await left.opened('api_key=admin');
    shop.move();
    await client.has(1);
    shop.identity.changeUser(userId(3), { permissions: ['write:orders'] });
    // Receiving its own event without the one before shows that that one was filtered.
    await until(async () => {
      shop.move([{}, { subject: userId(3), orderId: 77 }]);
      await new Promise((resolve) => setTimeout(resolve, 50));
      const last = client.frames.slice(-3).map((frame) => (JSON.parse(frame) as { data: { orderId: number } }).data.orderId);
      return last.length === 3 && last.every((one) => one === 77);
    });
    shop.identity.changeUser(userId(3), { permissions: ['read:orders'] });
    await until(async () => {
      shop.move([{ orderId: 88 }]);
      await new Promise((resolve) => setTimeout(resolve, 50));
      return client.frames.at(-1)?.includes('"orderId":88') ?? false;
    });
  });

  it.each([
    { query: 'api_key=admin', headers: { session_token: 'session' } },
    { query: '', headers: { api_key: 'admin', session_token: 'session' } },
    { query: '', headers: { api_key: 'admin', authorization: 'Bearer session' } },
  ])("a session shows only what its user may see, also beside an admin's key ($query $headers), whose end ends the stream", async ({ query, headers }) => {
    shop.identity.addCredential('session', { kind: 'session', userId: userId(4), permissions: ['write:orders'] });
    const client = await left.opened(query, [], { headers });
    const [, own] = shop.move([{}, { subject: userId(4) }]);
    await client.has(1);
    expect(client.frames).toEqual([own?.body]);
    const page = await left.ask(`${updates}?cursor=earliest&${query}`, headers);
    expect((JSON.parse(page.body) as { events: { id: string }[] }).events.map(({ id }) => id)).toEqual([own?.id]);
    shop.identity.revoke('apiKey', shop.identity.idOf('admin'));
    expect((await client.closed).code).toBe(4001);
  });

  it('a session that may no longer read orders is closed with 4003', async () => {
    const client = await left.opened('', [], { headers: { session_token: 'session' } });
    shop.identity.changeUser(userId(4), { permissions: ['write:stock'] });
    expect(await client.closed).toEqual({ code: 4003, reason: 'may no longer read orders' });
  });

  it('a stream is closed with 4201 when its credential expires, also when the expiry was set while it was open', async () => {
    shop.identity.addCredential('brief', { userId: userId(5), expiresAt: new Date(Date.now() + 2_500).toISOString() });
    const [brief, shortened] = await Promise.all([left.opened('api_key=brief'), left.opened('api_key=other')]);
    shop.identity.changeUser(userId(2), { expiresAt: new Date(Date.now() + 2_000).toISOString() });
    const begun = performance.now();
    expect(await brief.closed).toEqual({ code: 4201, reason: 'credential expires' });
    expect(await shortened.closed).toEqual({ code: 4201, reason: 'credential expires' });
    expect(performance.now() - begun).toBeGreaterThan(500);
  });

  it.each([-600_000, 600_000])("a credential ends by identity's clock, which is %d ms ahead of that of notifications", async (ahead) => {
    shop.identity.clockAheadMs = ahead;
    const time = (): number => Date.now() + ahead;
    // Each replica learns the time with its next pull.
    await new Promise((resolve) => setTimeout(resolve, 600));
    shop.identity.addCredential('brief', { userId: userId(5), expiresAt: new Date(time() + 3_500).toISOString() });
    shop.identity.addCredential('long', { userId: userId(6), expiresAt: new Date(time() + 300_000).toISOString() });
    const [brief, long] = await Promise.all([left.opened('api_key=brief'), right.opened('api_key=long')]);
    const begun = performance.now();
    let isOver = false;
    void long.closed.then(() => (isOver = true));
    expect(await brief.closed).toEqual({ code: 4201, reason: 'credential expires' });
    const lived = performance.now() - begun;
    // Credentials expire at the start of their last second, and are checked every second.
    expect(lived).toBeGreaterThan(1_500);
    expect(lived).toBeLessThan(4_700);
    expect(isOver).toBe(false);
    // The clock steps forward, beyond the expiry of the other credential.
    shop.identity.clockAheadMs += 300_000;
    expect(await long.closed).toEqual({ code: 4201, reason: 'credential expires' });
  });

  it('nothing is sent while revocations cannot be followed, and everything when they can again', async () => {
    const [client, revoked] = await Promise.all([left.opened(), left.opened('api_key=other')]);
    shop.identity.isUnresponsive = true;
    await until(async () => (await left.ask(`${updates}?api_key=new`)).status === 503);
    const events = shop.move([{}, { subject: userId(2) }, {}]);
    shop.identity.revoke('apiKey', shop.identity.idOf('other'));
    await shop.isLogged();
    await until(async () => (await left.metric('stream_held')) === 1);
    expect([client.frames, revoked.frames]).toEqual([[], []]);
    const resumed = left.connect('api_key=key&cursor=earliest');
    await expect(resumed.isOpen).rejects.toThrow('503');
    shop.identity.isUnresponsive = false;
    await client.has(2);
    expect(client.frames).toEqual([events[0]?.body, events[2]?.body]);
    // The revoked client got nothing.
    expect((await revoked.closed).code).toBe(4001);
    expect(revoked.frames).toEqual([]);
    expect(await left.metric('stream_held')).toBe(0);
  }, 15_000);

  it('all connections are checked again when the revocation log was restored from a backup', async () => {
    shop.identity.addCredential('last');
    const [good, gone, last] = await Promise.all([left.opened(), left.opened('api_key=other'), left.opened('api_key=last')]);
    shop.identity.log.push({ position: shop.identity.log.length + 1, kind: 'apiKey', id: userId(500) });
    shop.identity.revoke('apiKey', shop.identity.idOf('last'));
    // The replica has followed the log to its end.
    expect((await last.closed).code).toBe(4001);
    // Restored from a backup that is older than the key: the log will never have an entry for it.
    shop.identity.log = shop.identity.log.slice(0, 1);
    shop.identity.forget('other');
    expect((await gone.closed).code).toBe(4001);
    const [event] = shop.move();
    await good.has(1);
    expect(good.frames).toEqual([event?.body]);
  });
});
