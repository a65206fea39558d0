import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Receiver } from './receiver.js';
import { createPlant, type Credentials, type Customer, newCustomer, ok, placeOrder, send, staff, until } from './shop.js';
import { pageOfEvents, sentEvents, statusOfUpgrade, Subscription } from './stream.js';

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

  it('has exactly the payload of the specification, for every change of status and in their order', async () => {
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

  it('has no tracking number for an order that is cancelled', async () => {
    const subscription = await subscribe();
    const { id } = await placeOrder({ plantId });
    await ok(send('DELETE', `/v3/store/order/${id}`, { as: staff }));
    const [frame] = await subscription.of(id, 1);
    expect(frame?.data).toEqual({ orderId: id, plantId, previousStatus: 'placed', newStatus: 'cancelled', trackingNumber: '' });
  });

  it('brings an order by WebSocket, by Server-Sent Events, by page and by webhook, with the same bytes and ids', async () => {
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

      const own = () => receiver.posts.filter(({ body }) => body.includes(`"orderId":${id},`));
      await until(async () => own().length === 2);
      expect(own().map((post) => post.body)).toEqual(bodies);
      expect(own().map((post) => post.id)).toEqual(frames.map((frame) => frame.id));
    } finally {
      await send('DELETE', `/v3/webhooks/${webhook.id}`, { as: staff });
      await receiver.stop();
    }
  });

  it('answers a wrong key with 401 before the upgrade, whichever way it comes', async () => {
    expect(await statusOfUpgrade({})).toBe(401);
    expect(await statusOfUpgrade({ api_key: 'wrong' })).toBe(401);
    expect(await statusOfUpgrade({}, { api_key: 'wrong' })).toBe(401);
    expect(await statusOfUpgrade({ api_key: 'special-key' })).toBe(101);
    expect(await statusOfUpgrade({}, { api_key: 'special-key' })).toBe(101);
    expect((await pageOfEvents({}, { apiKey: 'wrong' })).status).toBe(401);
  });

  it.each(['revoked', 'ended with its user'])('closes within a second when the key is %s', async (how) => {
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

  it("shows a customer one's own orders only", async () => {
    const customer = await newCustomer();
    const [own, all] = [await subscribe({}, await keyOf(customer)), await subscribe()];
    const foreign = await placeOrder({ plantId });
    const { id } = await placeOrder({ plantId }, customer);
    await own.of(id, 2);
    await all.of(foreign.id, 2);
    expect(new Set(own.frames.map(({ data }) => data.orderId))).toEqual(new Set([id]));
  });

  it('is filtered by order, plant and new status', async () => {
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

  it('waits with an empty page for the next event, when it is asked to', async () => {
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
