import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { until } from '@plant-shop/testing/until';
import { type Replica, Shop, updates, userId } from '../stream.spec.fixture.js';
import { resumableProtocol } from './websocket.js';

describe('the stream by WebSocket', () => {
  let shop: Shop;
  beforeAll(async () => {
    shop = await Shop.open();
  });
  afterEach(() => shop.reset());
  afterAll(() => shop.close());

  it('sends exactly the bytes of the store (slow)', async () => {
    const replica = await shop.start();
    const client = await replica.opened();
    const events = shop.move(3);
    await client.has(3);
    expect(client.frames).toEqual(events.map(({ body }) => body));
  });

  it('sends customers their own events, and staff all events (slow)', async () => {
    const replica = await shop.start();
    const [own, other, admin] = await Promise.all(['key', 'other', 'admin'].map((key) => replica.opened(`api_key=${key}`)));
    const events = shop.move([{}, { subject: userId(2) }, {}, { subject: userId(9) }]);
    await admin?.has(4);
    const bodies = events.map(({ body }) => body);
    expect(admin?.frames).toEqual(bodies);
    await own?.has(2);
    expect(own?.frames).toEqual([bodies[0], bodies[2]]);
    expect(other?.frames).toEqual([bodies[1]]);
  });

  it('accepts a key in the header, and tokens, like the API', async () => {
    shop.identity.addCredential('session', { kind: 'session' });
    const replica = await shop.start();
    const ways = [{ api_key: 'key' }, { authorization: 'Bearer session' }, { session_token: 'session' }];
    const clients = await Promise.all(ways.map((headers) => replica.opened('', [], { headers })));
    shop.move();
    await Promise.all(clients.map((client) => client.has(1)));
  });

  it.each([
    ['orderId=2', [2]],
    ['orderId=2,4&orderId=1', [1, 2, 4]],
    ['plantId=8', [3, 4]],
    ['newStatus=delivered', [2, 4]],
    ['plantId=8&newStatus=delivered', [4]],
    ['orderId=99', []],
  ])('filters by %s, live and from the log (slow)', async (filter, orders) => {
    const replica = await shop.start({ STREAM_RING_EVENTS: '10' });
    const live = await replica.opened(`api_key=key&cursor=latest&${filter}`);
    shop.move([{}, { newStatus: 'delivered' }, { plantId: 8 }, { plantId: 8, newStatus: 'delivered' }]);
    // These push the first events out of the ring.
    shop.move(Array.from({ length: 20 }, (_, n) => ({ subject: userId(9), orderId: 100 + n })));
    await shop.isLogged();
    const resumed = await replica.opened(`api_key=key&cursor=earliest&${filter}`);
    // Once this client has everything, the other two have what they will get.
    const end = await replica.opened('api_key=admin&cursor=earliest');
    await end.has(24);
    await Promise.all([live.has(orders.length), resumed.has(orders.length)]);
    for (const client of [live, resumed]) expect(client.events.map(({ data }) => data.orderId)).toEqual(orders);
  });

  it('adds id and cursor to frames with the subprotocol', async () => {
    const replica = await shop.start();
    const client = await replica.opened('api_key=key', [resumableProtocol]);
    expect(client.socket.protocol).toBe(resumableProtocol);
    const [event] = shop.move();
    await client.has(1);
    const { id, cursor, ...rest } = client.events[0] ?? {};
    expect({ id, cursor, rest }).toEqual({ id: event?.id, cursor: expect.stringMatching(/^[\w-]{32}$/), rest: JSON.parse(event?.body ?? '') });
    expect(client.frames[0]?.endsWith(String(event?.body.slice(1)))).toBe(true);
  });

  it('sends an event that happens right after a connection opens (slow)', async () => {
    const replica = await shop.start();
    for (let n = 0; n < 500; n += 10) {
      const clients = Array.from({ length: 10 }, () => replica.connect());
      await Promise.all(
        clients.map(async (client) => {
          await client.isOpen;
          const [event] = shop.move();
          await until(() => client.frames.includes(event?.body ?? ''));
          client.socket.terminate();
        }),
      );
    }
  }, 20_000);

  it('sends a burst in one write', async () => {
    const replica = await shop.start();
    const socket = await upgraded(replica);
    const reads: number[] = [];
    socket.on('data', (data: Buffer) => reads.push(data.length));
    const events = shop.move(50);
    const length = events.reduce((sum, { body }) => sum + body.length + 4, 0);
    await until(() => reads.reduce((sum, one) => sum + one, 0) >= length);
    expect(reads).toEqual([length]);
    socket.destroy();
  });

  it('closes a client with 1009 for a message over 4 KiB, and with 1008 for too many messages (slow)', async () => {
    const replica = await shop.start({ STREAM_PING_SECONDS: '2' });
    const [large, many, silent] = await Promise.all([replica.opened(), replica.opened(), replica.opened()]);
    large.socket.send(Buffer.alloc(5 * 1024 * 1024));
    for (let n = 0; n < 200; n++) many.socket.send('hello');
    expect((await large.closed).code).toBe(1009);
    expect((await many.closed).code).toBe(1008);
    shop.move();
    await silent.has(1);
  });

  it.each([
    ['messages', Buffer.from([0x81, 0x80, 0, 0, 0, 0])],
    ['pings', Buffer.from([0x89, 0x80, 0, 0, 0, 0])],
    ['pongs', Buffer.from([0x8a, 0x80, 0, 0, 0, 0])],
    ['empty fragments', Buffer.from([0x01, 0x80, 0, 0, 0, 0])],
  ])('closes clients that flood it with %s at once, and serves others meanwhile (slow)', async (what, frame) => {
    const replica = await shop.start();
    const sockets = await Promise.all(Array.from({ length: 4 }, () => upgraded(replica)));
    const flood = Buffer.concat(Array<Buffer>(10_000).fill(what === 'empty fragments' ? Buffer.from([0x00, 0x80, 0, 0, 0, 0]) : frame));
    for (const socket of sockets) {
      socket.on('error', () => undefined).resume();
      socket.write(frame);
      const more = (): void => {
        while (!socket.destroyed && socket.write(flood));
      };
      socket.on('drain', more);
      more();
    }
    await until(async () => (await replica.metric('stream_connections')) === 0, 15_000);
    if (what !== 'empty fragments') expect(await replica.closes('1008')).toBe(4);
    expect((await replica.ask(`${updates}?api_key=key`)).status).toBe(200);
    for (const socket of sockets) socket.destroy();
  });

  it('disconnects a client that does not answer pings, and no other (slow)', async () => {
    const replica = await shop.start({ STREAM_PING_SECONDS: '2' });
    const dead = await replica.opened('api_key=key', [], { autoPong: false });
    const living = await replica.opened();
    expect((await dead.closed).code).toBe(1006);
    await until(() => living.pings > 2);
    expect(living.socket.readyState).toBe(living.socket.OPEN);
    expect(await replica.metric('stream_connections')).toBe(1);
  }, 10_000);

  it('closes a client that never reads with 4101, while others get everything (slow)', async () => {
    const replica = await shop.start();
    const reading = await replica.opened('api_key=key&cursor=latest');
    const lazy = await replica.opened('api_key=key&cursor=latest');
    lazy.socket.pause();
    const large = 'x'.repeat(60_000);
    let sent = 0;
    while ((await replica.closes('4101')) === 0) {
      for (let n = 0; n < 8; n++, sent++) shop.move([{ newStatus: large }]);
      await reading.has(sent);
    }
    lazy.socket.resume();
    expect(await lazy.closed).toEqual({ code: 4101, reason: expect.stringMatching(/^too slow; reconnect-after-ms=[1-5]\d{3}$/) as unknown });
    const again = await replica.opened(`api_key=key&cursor=${lazy.events.at(-1)?.cursor}`);
    await again.has(sent - lazy.frames.length);
    expect([...lazy.events, ...again.events].map(({ id }) => id)).toEqual(shop.feed.map(({ id }) => id));
  }, 20_000);

  it('limits clients in total and per user', async () => {
    const replica = await shop.start({ STREAM_MAX_CONNECTIONS: '3', STREAMS_PER_USER: '2' });
    const clients = await Promise.all([replica.opened(), replica.opened()]);
    const wanted = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13', 'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==' };
    expect(await replica.ask(`${updates}?api_key=key`, wanted)).toMatchObject({ status: 429, headers: { 'retry-after': '5' } });
    await replica.opened('api_key=other');
    const full = await replica.ask(`${updates}?api_key=admin`, wanted);
    expect(full).toMatchObject({ status: 503, headers: { 'retry-after': expect.stringMatching(/^[1-5]$/) as unknown } });
    expect(JSON.parse(full.body)).toMatchObject({ code: 'overloaded' });
    await clients[0].close();
    await until(async () => (await replica.metric('stream_connections')) === 2);
    await replica.opened();
  });

  it('has metrics (slow)', async () => {
    const replica = await shop.start();
    const client = await replica.opened();
    shop.move(3);
    await client.has(3);
    expect(await replica.metric('stream_frames_total')).toBe(3);
    expect(await replica.metric('stream_ring_events')).toBe(3);
    const lag = await replica.service.metrics.metrics();
    expect(lag).toMatch(/stream_lag_seconds_count\{[^}]*\} 3/);
    await client.close();
    await until(async () => (await replica.closes('1005')) === 1);
  });
});

/** Returns a raw socket after its handshake, to see each write. */
async function upgraded(replica: Replica) {
  const socket = connect(replica.port, '127.0.0.1');
  const head = ['GET /v1/orders/updates?api_key=key HTTP/1.1', 'Host: x', 'Connection: Upgrade', 'Upgrade: websocket'];
  socket.write([...head, 'Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==', '', ''].join('\r\n'));
  const [answer] = (await once(socket, 'data')) as [Buffer];
  expect(answer.toString()).toMatch(/^HTTP\/1\.1 101 /);
  return socket;
}
