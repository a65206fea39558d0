import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { createShop, type Credential, type EventsOptions, type ShopEvents, type ShopOptions, type StreamMessage, type StreamState } from '@plant-shop/client';
import { startProxy, type TestProxy } from '@plant-shop/testing/proxy';
import { createPlant, gatewayUrl, newCustomer, ok, placeOrder, send, until } from '../shop.js';
import { pageOfEvents, streamUrl } from '../stream.js';

/** Prints the handles and listeners that are left half a second after an abort; a WebSocket's closing handshake takes a moment. */
const abortsEvents = `
  import { getEventListeners } from 'node:events';
  const { createShop } = await import(process.env.CLIENT);
  const stop = new AbortController();
  const without = process.env.BY === 'websocket' ? {} : { WebSocket: undefined };
  const shop = createShop({ url: process.env.GATEWAY_URL, streamUrl: process.env.STREAM_URL, credential: { apiKey: 'special-key' }, ...without });
  let by;
  const events = shop.events({ signal: stop.signal, onState: (state) => (by ??= state.by) });
  await events.opened();
  const next = events.next().catch((error) => error.message);
  stop.abort(new Error('enough'));
  const reason = await next;
  await new Promise((resolve) => setTimeout(resolve, 500));
  const handles = process.getActiveResourcesInfo().filter((name) => !/^(Pipe|TTY|FS)/.test(name));
  console.log(JSON.stringify({ by, reason, handles, listeners: getEventListeners(stop.signal, 'abort').length }));
`;

const open: ShopEvents[] = [];
const networks: TestProxy[] = [];

/** Opens an event loop and collects its messages and states. */
function listen(options: EventsOptions = {}, { credential = { apiKey: 'special-key' }, ...shop }: Partial<ShopOptions> & { credential?: Credential } = {}) {
  const states: StreamState[] = [];
  const events = createShop({ url: gatewayUrl(), streamUrl: streamUrl(), credential, ...shop }).events({ ...options, onState: (state) => states.push(state) });
  open.push(events);
  const got: StreamMessage[] = [];
  let failure: unknown;
  const readAll = async (): Promise<void> => {
    try {
      for await (const message of events) got.push(message);
    } catch (error) {
      failure = error;
    }
  };
  return { events, states, got, read: () => void readAll(), failure: () => failure };
}

const networkToStream = async (): Promise<TestProxy> => {
  const network = await startProxy({ host: '127.0.0.1', port: Number(new URL(streamUrl()).port) });
  networks.push(network);
  return network;
};
const statusesOf = (got: readonly StreamMessage[], orderId: number): string[] =>
  got.flatMap((one) => (one.event === 'order.status_changed' && one.data.orderId === orderId ? [one.data.newStatus] : []));

afterEach(async () => {
  await Promise.all(open.splice(0).map((events) => events.close()));
  await Promise.all(networks.splice(0).map((one) => one.stop()));
});

describe('events of the client library', () => {
  let plantId = 0;
  beforeAll(async () => {
    ({ id: plantId } = await createPlant({ quantity: 10_000 }));
  });

  it('have the requested types, and the members of their type', async () => {
    const { id: own } = await createPlant({ quantity: 5 });
    const events = createShop({ url: gatewayUrl(), streamUrl: streamUrl(), credential: { apiKey: 'special-key' } }).events({ types: ['order.placed'], plantId: own });
    try {
      await events.opened();
      const { id } = await placeOrder({ plantId: own, quantity: 2 });
      const { value } = await events.next();
      expect(value?.event === 'order.placed' && [value.data.orderId, value.data.quantity]).toEqual([id, 2]);
    } finally {
      await events.close();
    }
  });

  it.each([
    ['by WebSocket', {}, 'websocket'],
    ['by Server-Sent Events if there is no WebSocket', { WebSocket: undefined }, 'server-sent-events'],
    ['by Server-Sent Events with a token', { credential: { clientId: 'plant-admin', clientSecret: 'plant-secret' } }, 'server-sent-events'],
  ] as const)('arrive %s, without a loss from the moment when the stream is open', async (_, options, by) => {
    const { events, got, read, states } = listen({ plantId }, options);
    await events.opened();
    const { id } = await placeOrder({ plantId });
    read();
    await until(async () => statusesOf(got, id).length === 2);
    expect(statusesOf(got, id)).toEqual(['approved', 'delivered']);
    expect(states[0]).toEqual({ state: 'connected', by });
  });

  it.each([['WebSocket', {}], ['Server-Sent Events', { WebSocket: undefined }]] as const)('resume after the last one that the consumer has handled: %s', async (_, options) => {
    const { events } = listen({ plantId }, options);
    await events.opened();
    const { id } = await placeOrder({ plantId });
    const first = await events.next();
    const start = events.cursor;
    const second = await events.next();
    expect([statusesOf([first.value!], id), statusesOf([second.value!], id)]).toEqual([['approved'], ['delivered']]);
    // The second is still being handled: a consumer that is killed now gets it again.
    expect(events.cursor).toBe(first.value?.cursor);
    expect(start).not.toBe(events.cursor);
    await events.close();
    const again = listen({ cursor: events.cursor, plantId }, options);
    expect((await again.events.next()).value).toEqual(second.value);
    const all = listen({ cursor: start, plantId }, options);
    expect([(await all.events.next()).value, (await all.events.next()).value]).toEqual([first.value, second.value]);
  });

  it.each([['WebSocket', {}], ['Server-Sent Events', { WebSocket: undefined }]] as const)('arrive once and in order while the network is cut repeatedly: %s', async (_, options) => {
    const network = await networkToStream();
    const { events, got, read, states } = listen({ plantId }, { ...options, streamUrl: `http://127.0.0.1:${network.port}` });
    await events.opened();
    read();
    const ids: number[] = [];
    for (let turn = 0; turn < 5; turn += 1) {
      ids.push((await placeOrder({ plantId })).id);
      await network.cut();
      ids.push((await placeOrder({ plantId })).id);
      await network.restore();
    }
    await until(async () => ids.every((id) => statusesOf(got, id).length >= 2), 60_000);
    for (const id of ids) expect(statusesOf(got, id)).toEqual(['approved', 'delivered']);
    expect(states.some(({ state }) => state === 'disconnected')).toBe(true);
  }, 90_000);

  it.each([['WebSocket', {}], ['Server-Sent Events', { WebSocket: undefined }]] as const)('that do not match move the cursor of a waiting consumer, but of no other: %s', async (_, options) => {
    const passed: string[] = [];
    const { events, read, got } = listen({ plantId, orderId: 1, silenceMs: 1_000, onCursor: (cursor) => passed.push(cursor) }, options);
    await events.opened();
    const { id } = await placeOrder({ plantId });
    const countAfter = async (cursor: string): Promise<number> => (await pageOfEvents({ cursor, orderId: id })).body.events.length;
    const begin = events.cursor;
    await until(async () => (await countAfter(begin)) === 2);
    expect([events.cursor, passed]).toEqual([begin, []]);
    read();
    await until(async () => (await countAfter(events.cursor)) === 0, 60_000);
    expect([passed.at(-1), got]).toEqual([events.cursor, []]);
  }, 90_000);

  it('arrive once when a connection becomes half-open', async () => {
    const network = await networkToStream();
    const { events, got, read, states } = listen({ plantId, silenceMs: 2_000 }, { streamUrl: `http://127.0.0.1:${network.port}` });
    await events.opened();
    read();
    const first = await placeOrder({ plantId });
    await until(async () => statusesOf(got, first.id).length === 2);
    network.stall();
    const { id } = await placeOrder({ plantId });
    await until(async () => statusesOf(got, id).length === 2, 60_000);
    expect(statusesOf(got, id)).toEqual(['approved', 'delivered']);
    expect(states).toContainEqual(expect.objectContaining({ why: 'the connection is dead' }));
  }, 90_000);

  it('are not lost, and fill no more than the buffer, when the consumer is slow', async () => {
    const { events, got, states } = listen({ plantId, bufferSize: 2 });
    await events.opened();
    const ids: number[] = [];
    for (let turn = 0; turn < 10; turn += 1) ids.push((await placeOrder({ plantId })).id);
    await until(async () => states.some((one) => one.state === 'disconnected' && one.code === 1000));
    while (got.length < 20) got.push((await events.next()).value!);
    for (const id of ids) expect(statusesOf(got, id)).toEqual(['approved', 'delivered']);
  }, 60_000);

  it('begin with a gap if the cursor is unknown', async () => {
    const unknown = Buffer.alloc(24, 1);
    const { events } = listen({ cursor: 'earliest', plantId });
    const { value: first } = await events.next();
    unknown.set(Buffer.from(first?.cursor ?? '', 'base64url').subarray(0, 1));
    const { events: withGap } = listen({ cursor: unknown.toString('base64url'), plantId });
    const { value } = await withGap.next();
    expect(value).toMatchObject({ event: 'stream.gap', data: { reason: expect.stringMatching(/^cursor-/) }, cursor: expect.any(String) });
  });

  it('end with a specific error when the key is wrong or revoked, or the cursor is invalid', async () => {
    const wrong = listen({}, { credential: { apiKey: 'wrong' } });
    await expect(wrong.events.next()).rejects.toMatchObject({ kind: 'problem', code: 'credential-refused' });
    const noCursor = listen({ cursor: 'yesterday' });
    await expect(noCursor.events.next()).rejects.toMatchObject({ code: 'invalid-cursor' });

    const customer = await newCustomer();
    const keys = `/v3/user/${customer.username}/apiKeys`;
    const { id, key } = await ok(send<{ id: string; key: string }>('POST', keys, { as: customer, json: { name: 'stream' } }));
    const revoked = listen({}, { credential: { apiKey: key } });
    await revoked.events.opened();
    revoked.read();
    await ok(send('DELETE', `${keys}/${id}`, { as: customer }));
    await until(async () => revoked.failure() !== undefined);
    expect(revoked.failure()).toMatchObject({ kind: 'stream-closed', code: 4001 });
  });

  it('continue with a new token when their session has ended', async () => {
    const customer = await newCustomer();
    const { events, got, read } = listen({}, { credential: { username: customer.username, password: customer.password } });
    await events.opened();
    read();
    await ok(send('DELETE', `/v3/user/${customer.username}/sessions`, { as: customer }));
    const { id } = await placeOrder({ plantId }, { bearer: await sessionOf(customer) });
    await until(async () => statusesOf(got, id).length === 2, 30_000);
  }, 60_000);

  it.each(['websocket', 'server-sent-events'])('leave no timer, socket or listener after an abort: %s', async (by) => {
    // In a separate process, in which nothing else is open.
    const env = { ...process.env, CLIENT: new URL('../../../../libs/client/dist/index.js', import.meta.url).href, BY: by };
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', abortsEvents], { env, timeout: 30_000 });
    expect(JSON.parse(stdout)).toEqual({ by, reason: 'enough', handles: [], listeners: 0 });
  }, 60_000);

  it('end within 50 ms of an abort', async () => {
    const stop = new AbortController();
    const { events } = listen({ signal: stop.signal });
    await events.opened();
    const waiting = events.next();
    const at = performance.now();
    stop.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
    expect(performance.now() - at).toBeLessThan(50);
  });
});

async function sessionOf({ username, password }: { readonly username: string; readonly password: string }): Promise<string> {
  const query = new URLSearchParams({ username, password }).toString();
  return (await ok(send<{ message: string }>('GET', `/v3/user/login?${query}`))).message;
}
