import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Credentials } from '@plant-shop/testing/http';
import { Receiver } from '@plant-shop/testing/receiver';
import { createPlant, type Customer, newCustomer, ok, placeOrder, problem, send, staff, until } from './shop.js';
import { faultsOfEvent, pageOfEvents, sentEvents, statusOfUpgrade, Subscription } from './stream.js';

interface ApiKey {
  readonly id: string;
  readonly key: string;
}

describe('the stream of order events', () => {
  let plantId: number;
  const open: Subscription[] = [];
  beforeAll(async () => {
    ({ id: plantId } = await createPlant({ quantity: 100 }));
  });
  afterEach(() => {
    for (const subscription of open.splice(0)) subscription.close();
  });

  const subscribe = async (query?: Record<string, string | number>, as?: Credentials): Promise<Subscription> => {
    const subscription = await Subscription.open(query, as);
    open.push(subscription);
    return subscription;
  };
  const keyOf = async (customer: Customer): Promise<ApiKey & Credentials> => {
    const created = await ok(send<ApiKey>('POST', `/v3/user/${customer.username}/apiKeys`, { as: customer, json: { name: 'listener' } }));
    return { ...created, apiKey: created.key };
  };

  /** Places orders until one could be shipped before its delivery, which follows soon after the approval. */
  const placeAndShip = async (subscription: Subscription): Promise<number> => {
    for (let tries = 0; tries < 10; tries++) {
      const { id } = await placeOrder({ plantId, quantity: 2 });
      await subscription.of(id, 2);
      const { status } = await send('POST', `/v3/store/order/${id}/shipment`, { as: staff, json: { carrier: 'Green Post', trackingNumber: 'GP-0042' } });
      if (status === 200) return id;
    }
    throw new Error('every order was delivered before it could be shipped');
  };

  it('sends exactly the payload of the specification for every status change, in order', async () => {
    const subscription = await subscribe();
    const { id } = await placeOrder({ plantId });
    await subscription.of(id, 2);
    const texts = subscription.texts.filter((text) => text.includes(`"orderId":${id},`));
    const trackingNumber = `PS${String(id).padStart(16, '0')}`;
    const [approved, delivered] = subscription.frames.filter(({ data }) => data.orderId === id);
    expect(texts).toEqual(
      [
        { event: 'order.status_changed', timestamp: approved?.timestamp, data: { orderId: id, plantId, previousStatus: 'placed', newStatus: 'approved', trackingNumber } },
        { event: 'order.status_changed', timestamp: delivered?.timestamp, data: { orderId: id, plantId, previousStatus: 'approved', newStatus: 'delivered', trackingNumber } },
      ].map((one) => JSON.stringify(one)),
    );
    expect(approved?.timestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  });

  it('sends no tracking number for a cancelled order', async () => {
    const subscription = await subscribe();
    const { id } = await placeOrder({ plantId });
    await ok(send('DELETE', `/v3/store/order/${id}`, { as: staff }));
    const [frame] = await subscription.of(id, 1);
    expect(frame?.data).toEqual({ orderId: id, plantId, previousStatus: 'placed', newStatus: 'cancelled', trackingNumber: '' });
  });

  it('sends the same bytes and ids by WebSocket, Server-Sent Events, page and webhook', async () => {
    const receiver = await Receiver.start();
    const webhook = await ok(
      send<{ id: string }>('POST', '/v3/webhooks', { as: staff, json: { url: receiver.url, eventTypes: ['order.status_changed'], plantId } }),
    );
    try {
      const { cursor } = (await pageOfEvents({ cursor: 'latest' })).body;
      const [plain, resumable] = [await subscribe(), await subscribe({ cursor })];
      const { id } = await placeOrder({ plantId });
      await plain.of(id, 2);
      const frames = await resumable.of(id, 2);
      const bodies = plain.texts.filter((text) => text.includes(`"orderId":${id},`));

      const texts = frames.map(({ id: eventId, cursor: own }, n) => `{"id":"${eventId}","cursor":"${own}",${bodies[n]?.slice(1)}`);
      expect(resumable.texts.filter((text) => text.includes(`"orderId":${id},`))).toEqual(texts);

      const page = await pageOfEvents({ cursor, orderId: id });
      expect(page.body.events).toEqual(frames);
      for (const text of texts) expect(page.text).toContain(text);

      const events = await sentEvents(2, {}, { cursor, orderId: id });
      expect(events).toEqual(frames.map((frame, n) => ({ id: frame.cursor, data: bodies[n] })));
      const resumed = await sentEvents(1, { 'last-event-id': events[0]?.id ?? '' }, { orderId: id });
      expect(resumed).toEqual([events[1]]);

      const own = () => receiver.received.filter(({ body }) => body.includes(`"orderId":${id},`));
      await until(async () => own().length === 2);
      expect(own().map((post) => post.body)).toEqual(bodies);
      expect(own().map((post) => post.id)).toEqual(frames.map((frame) => frame.id));
    } finally {
      await send('DELETE', `/v3/webhooks/${webhook.id}`, { as: staff });
      await receiver.stop();
    }
  });

  it('sends further types on request, in one sequence, by every transport, as documented (slow)', async () => {
    const types = 'order.status_changed,order.placed,order.shipped,refund.due';
    const receiver = await Receiver.start();
    const webhook = await ok(send<{ id: string }>('POST', '/v3/webhooks', { as: staff, json: { url: receiver.url, eventTypes: types.split(','), plantId } }));
    try {
      const { cursor } = (await pageOfEvents({ cursor: 'latest' })).body;
      const [plain, all] = [await subscribe(), await subscribe({ types })];
      const id = await placeAndShip(all);
      await all.of(id, 4);
      await problem(send('POST', `/v3/store/order/${id}/payment`, { as: staff, json: { outcome: 'succeeded', reference: `again-${id}` } }), 409, 'order-not-payable');
      await all.of(id, 5);
      const bodies = all.texts.filter((text) => text.includes(`"orderId":${id},`));
      expect(bodies.map((text) => (JSON.parse(text) as { event: string }).event)).toEqual(
        ['order.placed', 'order.status_changed', 'order.shipped', 'order.status_changed', 'refund.due']);
      expect(all.frames.find(({ event, data }) => event === 'order.placed' && data.orderId === id)?.data).toEqual({ orderId: id, plantId, quantity: 2 });
      expect(plain.texts.filter((text) => text.includes(`"orderId":${id},`))).toEqual(bodies.filter((text) => text.includes('"order.status_changed"')));

      const page = await pageOfEvents({ cursor, types, orderId: id });
      expect(page.body.events.map(({ event, timestamp, data }) => JSON.stringify({ event, timestamp, data }))).toEqual(bodies);
      expect((await sentEvents(5, {}, { cursor, types, orderId: id })).map(({ data }) => data)).toEqual(bodies);
      const own = () => receiver.received.filter(({ body }) => body.includes(`"orderId":${id},`));
      await until(async () => own().length === 5);
      expect(own().map((post) => post.body)).toEqual(bodies);
      expect(own().map((post) => post.id)).toEqual(page.body.events.map((event) => event.id));

      const timeline = await ok(send<{ eventId?: string }[]>('GET', `/v3/store/order/${id}/timeline`, { as: staff }));
      expect(timeline.map(({ eventId }) => eventId)).toEqual(page.body.events.map((event) => event.id));
      const faults = await Promise.all(bodies.map((body) => faultsOfEvent(body)));
      expect(faults).toEqual(bodies.map(() => []));
    } finally {
      await send('DELETE', `/v3/webhooks/${webhook.id}`, { as: staff });
      await receiver.stop();
    }
  });

  it('sends events of all types only to the owner of the order, and to clients with read:orders (slow)', async () => {
    const [owner, other] = [await newCustomer(), await newCustomer()];
    const types = 'order.placed,order.status_changed';
    const [own, others] = [await subscribe({ types }, await keyOf(owner)), await subscribe({ types }, await keyOf(other))];
    const { id } = await placeOrder({ plantId }, owner);
    await own.of(id, 2);
    const { id: next } = await placeOrder({ plantId }, other);
    await others.of(next, 2);
    expect(own.frames.slice(0, 2).map(({ event }) => event)).toEqual(['order.placed', 'order.status_changed']);
    expect(own.frames.filter(({ data }) => data.orderId !== id)).toEqual([]);
    expect(others.frames.filter(({ data }) => data.orderId === id)).toEqual([]);
  });

  it('sends events of stock on request to those who may read stock, by every transport, as documented', async () => {
    const types = 'stock.low,stock.out,stock.back';
    const receiver = await Receiver.start();
    const { id } = await createPlant({ quantity: 3 });
    const stock = `/v3/store/inventory/${id}`;
    await ok(send('PUT', stock, { as: staff, json: { free: 3, lowStockAt: 2 } }));
    const webhook = await ok(send<{ id: string }>('POST', '/v3/webhooks', { as: staff, json: { url: receiver.url, eventTypes: types.split(','), plantId: id } }));
    try {
      const { cursor } = (await pageOfEvents({ cursor: 'latest' })).body;
      const live = await subscribe({ types, plantId: id });
      await placeOrder({ plantId: id });
      await placeOrder({ plantId: id, quantity: 2 });
      await ok(send('POST', `${stock}/adjustment`, { as: staff, json: { by: 5, reason: 'delivery' } }));
      await until(async () => live.texts.length === 3);
      const expected = [['stock.low', 2], ['stock.out', 0], ['stock.back', 5]].map(([event, free]) => ({ event, timestamp: expect.any(String), data: { plantId: id, free, lowStockAt: 2 } }));
      expect(live.frames).toEqual(expected);
      const page = await pageOfEvents({ cursor, types, plantId: id });
      expect(page.body.events.map(({ event, timestamp, data }) => JSON.stringify({ event, timestamp, data }))).toEqual(live.texts);
      expect((await sentEvents(3, {}, { cursor, types, plantId: id })).map(({ data }) => data)).toEqual(live.texts);
      await until(async () => receiver.received.length === 3);
      expect(receiver.received.map(({ body }) => body).sort()).toEqual([...live.texts].sort());
      expect(await Promise.all(live.texts.map((text) => faultsOfEvent(text)))).toEqual([[], [], []]);

      const customer = await newCustomer();
      const key = await keyOf(customer);
      expect((await pageOfEvents({ types }, key)).status).toBe(403);
      expect(await statusOfUpgrade({ api_key: key.key, types: 'stock.out' })).toBe(403);
      await problem(send('POST', '/v3/webhooks', { as: customer, json: { url: receiver.url, eventTypes: ['stock.out'] } }), 403, 'forbidden');
    } finally {
      await send('DELETE', `/v3/webhooks/${webhook.id}`, { as: staff });
      await receiver.stop();
    }
  });

  it.each(['order.unknown', '', 'order.placed,*'])('refuses unknown event types: "%s"', async (types) => {
    expect(await statusOfUpgrade({ api_key: 'special-key', types })).toBe(400);
    const page = await pageOfEvents({ types });
    expect([page.status, JSON.parse(page.text)]).toEqual([400, expect.objectContaining({ code: 'invalid-input', errors: [expect.objectContaining({ parameter: 'types' })] })]);
  });

  it('answers a wrong key with 401 before the upgrade, in the query or in a header', async () => {
    expect(await statusOfUpgrade({})).toBe(401);
    expect(await statusOfUpgrade({ api_key: 'wrong' })).toBe(401);
    expect(await statusOfUpgrade({}, { api_key: 'wrong' })).toBe(401);
    expect(await statusOfUpgrade({ api_key: 'special-key' })).toBe(101);
    expect(await statusOfUpgrade({}, { api_key: 'special-key' })).toBe(101);
    expect((await pageOfEvents({}, { apiKey: 'wrong' })).status).toBe(401);
  });

  it.each(['revoked', 'deleted with its user'])('closes within a second when the key is %s', async (how) => {
    const customer = await newCustomer();
    const key = await keyOf(customer);
    const subscription = await subscribe({}, key);
    const user = `/v3/user/${customer.username}`;
    await ok(send('DELETE', how === 'revoked' ? `${user}/apiKeys/${key.id}` : user, { as: customer }));
    const at = performance.now();
    await until(async () => subscription.closed !== undefined);
    expect(subscription.closed?.code).toBe(4001);
    expect((subscription.closed?.at ?? 0) - at).toBeLessThan(1_000);
    expect(await statusOfUpgrade({ api_key: key.key })).toBe(401);
  });

  it('sends customers only events of their own orders (slow)', async () => {
    const customer = await newCustomer();
    const [own, all] = [await subscribe({}, await keyOf(customer)), await subscribe()];
    const foreign = await placeOrder({ plantId });
    const { id } = await placeOrder({ plantId }, customer);
    await own.of(id, 2);
    await all.of(foreign.id, 2);
    expect(new Set(own.frames.map(({ data }) => data.orderId))).toEqual(new Set([id]));
  });

  it('can be filtered by order, plant and new status (slow)', async () => {
    const { id: other } = await createPlant({ quantity: 10 });
    const byPlant = await subscribe({ plantId: other });
    const byStatus = await subscribe({ newStatus: 'delivered' });
    const first = await placeOrder({ plantId: other });
    const byOrder = await subscribe({ orderId: first.id });
    const second = await placeOrder({ plantId });
    await byStatus.of(second.id, 1);
    await byPlant.of(first.id, 2);
    await byOrder.of(first.id, 2);
    expect(new Set(byPlant.frames.map(({ data }) => data.plantId))).toEqual(new Set([other]));
    expect(new Set(byOrder.frames.map(({ data }) => data.orderId))).toEqual(new Set([first.id]));
    expect(new Set(byStatus.frames.map(({ data }) => data.newStatus))).toEqual(new Set(['delivered']));
  });

  it('holds a request for an empty page until the next event, if requested (slow)', async () => {
    const { cursor } = (await pageOfEvents({ cursor: 'latest' })).body;
    const waiting = pageOfEvents({ cursor, wait: 10, plantId });
    const { id } = await placeOrder({ plantId });
    expect((await waiting).body.events[0]?.data.orderId).toBe(id);
  });

  it.each(['garbage', 'MTIz', ''])('refuses the cursor "%s"', async (cursor) => {
    expect((await pageOfEvents({ cursor })).status).toBe(400);
    expect(await statusOfUpgrade({ api_key: 'special-key', cursor })).toBe(400);
  });
});
