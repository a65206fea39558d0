import { request } from 'node:http';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { until } from '@plant-shop/testing/until';
import { type HttpAnswer, type Replica, Shop, updates, userId } from '../stream.spec.fixture.js';

interface Page {
  readonly events: { id?: string; cursor: string; event: string; data: { orderId?: number; reason?: string } }[];
  readonly cursor: string;
}

describe('order events by page', () => {
  let shop: Shop;
  beforeAll(async () => {
    shop = await Shop.open();
  });
  afterEach(() => shop.reset());
  afterAll(() => shop.close());

  const page = async (replica: Replica, query: string): Promise<Page> => {
    const { status, headers, body } = await replica.ask(`${updates}?${query}`);
    expect({ status, type: headers['content-type'], cache: headers['cache-control'] }).toEqual({
      status: 200,
      type: 'application/json; charset=utf-8',
      cache: 'no-store',
    });
    return JSON.parse(body) as Page;
  };

  it('pages through all events, from the log and from memory, and ends with an empty page (slow)', async () => {
    shop.move(Array.from({ length: 100 }, (_, n) => (n % 2 === 0 ? {} : { subject: userId(9) })), { silently: true });
    const replica = await shop.start({ STREAM_RING_EVENTS: '20' });
    await until(async () => (await replica.metric('stream_ring_end')) === 100);
    const seen: Page['events'] = [];
    for (let cursor = 'earliest'; ; ) {
      const { events, cursor: next } = await page(replica, `api_key=key&limit=7&cursor=${cursor}`);
      expect(events.length).toBeLessThanOrEqual(7);
      seen.push(...events);
      if (events.length === 0) break;
      cursor = next;
    }
    const own = shop.feed.filter(({ subject }) => subject !== userId(9));
    const cursor = expect.stringMatching(/^[\w-]{32}$/);
    expect(seen).toEqual(own.map(({ id, body }) => ({ id, cursor, ...(JSON.parse(body) as object) })));
    // An event's cursor continues after the event, as the page's does after the page.
    const { events } = await page(replica, `api_key=key&limit=1&cursor=${seen[20]?.cursor}`);
    expect(events).toEqual([seen[21]]);
  });

  it('move the cursor of an idle client, so that it resumes without a gap notice after its last event has left the log (slow)', async () => {
    const replica = await shop.start({ STREAM_RING_EVENTS: '10' });
    const begin = await page(replica, 'api_key=key&plantId=8');
    shop.move(30);
    await shop.isLogged();
    const idle = await page(replica, `api_key=key&plantId=8&wait=1&cursor=${begin.cursor}`);
    expect(idle.events).toEqual([]);
    await shop.forgetLog();
    const [wanted] = shop.move([{ plantId: 8 }]);
    const { events } = await page(replica, `api_key=key&plantId=8&wait=5&cursor=${idle.cursor}`);
    expect(events.map(({ id }) => id)).toEqual([wanted?.id]);
  });

  it('starts at the end of the log without a cursor (slow)', async () => {
    shop.move(3);
    const replica = await shop.start();
    await shop.isLogged();
    await until(async () => (await replica.metric('stream_ring_end')) === 3);
    const { events, cursor } = await page(replica, 'api_key=key');
    expect(events).toEqual([]);
    const more = shop.move(2);
    await shop.isLogged();
    const next = await page(replica, `api_key=key&wait=5&cursor=${cursor}`);
    expect(next.events[0]?.id).toBe(more[0]?.id);
  });

  it('waits for the first matching event, and no longer than requested (slow)', async () => {
    const replica = await shop.start();
    const waiting = page(replica, 'api_key=key&wait=10&orderId=3');
    await until(async () => (await replica.metric('stream_connections')) === 1);
    shop.move(2);
    await shop.isLogged();
    const [third] = shop.move();
    expect((await waiting).events.map(({ id }) => id)).toEqual([third?.id]);
    const begun = performance.now();
    expect((await page(replica, 'api_key=key&wait=1')).events).toEqual([]);
    expect(performance.now() - begun).toBeGreaterThan(950);
  });

  it('is refused when the key is revoked while it waits (slow)', async () => {
    const replica = await shop.start();
    shop.identity.addCredential('mine');
    const waiting = replica.ask(`${updates}?api_key=mine&wait=10`);
    await until(async () => (await replica.metric('stream_connections')) === 1);
    shop.identity.revoke('apiKey', shop.identity.idOf('mine'));
    await until(async () => (await replica.ask(`${updates}?api_key=mine`)).status === 401);
    shop.move();
    const { status, body } = await waiting;
    expect(status).toBe(401);
    expect(JSON.parse(body)).toMatchObject({ code: 'credential-refused' });
  });

  it('counts as a connection while it may wait, in total and per user (slow)', async () => {
    const replica = await shop.start({ STREAM_MAX_CONNECTIONS: '3', STREAMS_PER_USER: '2' });
    await replica.opened();
    const refused: HttpAnswer[] = [];
    const polls = Array.from({ length: 5 }, async () => {
      const answer = await replica.ask(`${updates}?api_key=key&wait=20`);
      if (answer.status !== 200) refused.push(answer);
      return answer.status;
    });
    await until(() => refused.length === 4);
    expect(refused.map(({ status, headers }) => [status, headers['retry-after']])).toEqual(Array(4).fill([429, '5']));
    const eventStream = { accept: 'text/event-stream' };
    expect(await replica.ask(`${updates}?api_key=key`, eventStream)).toMatchObject({ status: 429 });
    expect(await replica.ask(`${updates}?api_key=key`)).toMatchObject({ status: 200 });
    const other = replica.ask(`${updates}?api_key=other&wait=20`);
    await until(async () => (await replica.metric('stream_connections')) === 3);
    expect(await replica.metric('stream_full')).toBe(1);
    expect(await replica.ask(`${updates}?api_key=admin`, eventStream)).toMatchObject({ status: 503 });
    expect(await replica.ask(`${updates}?api_key=admin&wait=20`)).toMatchObject({ status: 503 });
    shop.move([{}, { subject: userId(2) }]);
    expect((await Promise.all(polls)).sort()).toEqual([200, 429, 429, 429, 429]);
    expect(await other).toMatchObject({ status: 200 });
    expect(await replica.metric('stream_connections')).toBe(1);
    expect(await replica.metric('stream_full')).toBe(0);
    expect(await replica.ask(`${updates}?api_key=key&wait=1`)).toMatchObject({ status: 200 });
  });

  it('counts no longer once its client has disconnected', async () => {
    const replica = await shop.start();
    const asked = request({ port: replica.port, path: `${updates}?api_key=key&wait=30`, agent: false }).end();
    asked.on('error', () => undefined);
    await until(async () => (await replica.metric('stream_connections')) === 1);
    asked.destroy();
    await until(async () => (await replica.metric('stream_connections')) === 0);
  });

  /** Asks while the log is locked. Calls `meanwhile`, with a function that unlocks the log, once the page's read waits. */
  async function whileReading<T>(ask: () => Promise<T>, meanwhile: (unlock: () => Promise<unknown>) => Promise<unknown>): Promise<T> {
    const client = await shop.sql.connect();
    try {
      await client.query('BEGIN; LOCK TABLE event_log IN ACCESS EXCLUSIVE MODE');
      const asked = ask();
      const isWaiting = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'notifications'
        AND wait_event_type = 'Lock' AND query LIKE '%event_log%'`;
      await until(async () => ((await shop.sql.query(isWaiting)).rowCount ?? 0) > 0);
      await meanwhile(() => client.query('COMMIT'));
      return await asked;
    } finally {
      // Closes the connection, so that no lock is left.
      client.release(true);
    }
  }

  /** Starts a replica that has the newest 10 of 20 events in memory, so that it reads the earliest from the log. */
  async function startWithShortRing(): Promise<Replica> {
    shop.move(20, { silently: true });
    const replica = await shop.start({ STREAM_RING_EVENTS: '10' });
    await shop.isLogged();
    await until(async () => (await replica.metric('stream_ring_end')) === 20);
    return replica;
  }

  it('is refused when the key is revoked while it is read (slow)', async () => {
    const replica = await startWithShortRing();
    shop.identity.addCredential('mine');
    const { status } = await whileReading(
      () => replica.ask(`${updates}?api_key=mine&cursor=earliest`),
      async (unlock) => {
        shop.identity.revoke('apiKey', shop.identity.idOf('mine'));
        await until(async () => (await replica.ask(`${updates}?api_key=mine`)).status === 401);
        await unlock();
      },
    );
    expect(status).toBe(401);
  });

  it('is answered also by a replica that was paused for longer than it may go without news of revocations (slow)', async () => {
    const replica = await startWithShortRing();
    const { events } = await whileReading(
      () => page(replica, 'api_key=key&cursor=earliest&limit=1'),
      async (unlock) => {
        const released = unlock();
        // The page arrives during the pause, and the next pull of revocations is sent after it.
        await new Promise((resolve) => process.nextTick(resolve));
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_500);
        await released;
      },
    );
    expect(events).toHaveLength(1);
  });

  it('includes gap notices among the events (slow)', async () => {
    shop.move(10, { silently: true });
    const replica = await shop.start({ STREAM_RING_EVENTS: '10' });
    await until(async () => (await replica.metric('stream_ring_end')) === 10);
    const { events } = await page(replica, 'api_key=key&cursor=earliest&limit=1');
    await shop.sql.query('DELETE FROM event_log WHERE seq < 5');
    await shop.sql.query('UPDATE log_kept SET oldest = 5');
    await replica.stop();
    const other = await shop.start();
    const next = await page(other, `api_key=key&limit=2&cursor=${events[0]?.cursor}`);
    expect(next.events.map(({ event, data }) => data.reason ?? event)).toEqual(['cursor-too-old', 'order.status_changed']);
  });

  it('is readable for web pages of allowed origins only', async () => {
    const replica = await shop.start({ CORS_ORIGINS: 'https://plants.example' });
    const asked = { 'access-control-request-method': 'GET', 'access-control-request-headers': 'api_key' };
    const allowed = await replica.ask(updates, { origin: 'https://plants.example', ...asked }, 'OPTIONS');
    expect(allowed).toMatchObject({ status: 204, headers: { 'access-control-allow-origin': 'https://plants.example' } });
    expect(allowed.headers['access-control-allow-headers']).toContain('api_key');
    expect((await replica.ask(updates, { origin: 'https://other.example', ...asked }, 'OPTIONS')).status).toBe(405);
    const answer = await replica.ask(`${updates}?api_key=key`, { origin: 'https://plants.example' });
    expect(answer).toMatchObject({ status: 200, headers: { 'access-control-allow-origin': 'https://plants.example', vary: 'Origin' } });
    for (const [path, headers, status] of [['/nothing', {}, 404], [updates, {}, 401], [updates, { host: 'x y' }, 400]] as const) {
      const refused = await replica.ask(path, { ...headers, origin: 'https://plants.example' });
      expect(refused).toMatchObject({ status, headers: { 'access-control-allow-origin': 'https://plants.example' } });
    }
    const other = await replica.ask(`${updates}?api_key=key`, { origin: 'https://other.example' });
    expect(other.headers['access-control-allow-origin']).toBeUndefined();
  });

  it.each([
    ['text/event-stream;q=0', 200, 'application/json; charset=utf-8'],
    ['text/event-stream;q=0.1, application/json', 200, 'application/json; charset=utf-8'],
    ['text/html', 200, 'application/json; charset=utf-8'],
    ['text/event-stream;q=0, application/json;q=0', 406, 'application/problem+json; charset=utf-8'],
    ['*/*;q=0', 406, 'application/problem+json; charset=utf-8'],
  ])('has the type that Accept: %s permits (slow)', async (accept, status, type) => {
    const replica = await shop.start();
    expect(await replica.ask(`${updates}?api_key=key`, { accept })).toMatchObject({ status, headers: { 'content-type': type } });
  });

  it('cannot have a content coding (slow)', async () => {
    const replica = await shop.start();
    expect(await replica.ask(`${updates}?api_key=key`, { 'accept-encoding': 'gzip, identity;q=0' })).toMatchObject({ status: 406 });
    expect(await replica.ask(`${updates}?api_key=key`, { 'accept-encoding': 'gzip;q=0' })).toMatchObject({ status: 200 });
  });

  it('answers HEAD like GET, without a body and without waiting (slow)', async () => {
    const replica = await shop.start();
    for (const [path, headers, status, type] of [
      ['/v1/asyncapi.json', {}, 200, 'application/json; charset=utf-8'],
      [`${updates}?api_key=key&wait=30`, {}, 200, 'application/json; charset=utf-8'],
      [`${updates}?api_key=key`, { accept: 'text/event-stream' }, 200, 'text/event-stream'],
      [updates, {}, 401, 'application/problem+json; charset=utf-8'],
      ['/nothing', {}, 404, 'application/problem+json; charset=utf-8'],
    ] as const) {
      expect(await replica.ask(path, headers, 'HEAD')).toMatchObject({ status, body: '', headers: { 'content-type': type } });
    }
  });
});
