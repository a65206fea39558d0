import { describe, expect, it } from '@jest/globals';
import { type Answer, createPlant, fresh, newCustomer, ok, type Order, placeOrder, problem, send, staff, until } from './shop.js';

const place = (plantId: number, key: string, quantity = 1) =>
  send<Order>('POST', '/v3/store/order', {
    as: staff,
    json: { plantId, quantity },
    headers: { 'idempotency-key': key },
  });
const get = (path: string, headers: Record<string, string> = {}) => send('GET', path, { as: staff, headers });

describe('a request that is repeated with its Idempotency-Key', () => {
  it('takes effect once and gets the first answer each time', async () => {
    const { id: plantId } = await createPlant({ quantity: 10 });
    const key = fresh('key');
    const first = await place(plantId, key, 3);
    const again = await place(plantId, key, 3);
    expect(again.status).toBe(200);
    expect(again.body).toEqual(first.body);
    expect(first.headers.get('idempotency-replayed')).toBeNull();
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect(again.headers.get('etag')).toBe(first.headers.get('etag'));
    expect(await ok(get(`/v3/store/inventory/${plantId}`))).toMatchObject({ free: 7 });
  });

  it('is refused with another body, and with an invalid key', async () => {
    const { id: plantId } = await createPlant();
    const key = fresh('key');
    await ok(place(plantId, key, 1));
    await problem(place(plantId, key, 2), 422, 'idempotency-key-reused');
    for (const bad of ['', 'x'.repeat(10_000), 'with space']) {
      await problem(place(plantId, bad), 400, 'invalid-input');
    }
  });
});

describe('entity tags', () => {
  it.each(['plant', 'order', 'user', 'stock'] as const)('an unchanged %s is 304, a change with an outdated tag 412', async (noun) => {
    const plant = await createPlant();
    const customer = await newCustomer();
    const order = await placeOrder({ plantId: plant.id });
    const { path, change } = {
      plant: {
        path: `/v3/plant/${plant.id}`,
        change: (headers: Record<string, string>) =>
          send('PUT', '/v3/plant', { as: staff, headers, json: { id: plant.id, name: fresh('name') } }),
      },
      order: {
        path: `/v3/store/order/${order.id}`,
        change: (headers: Record<string, string>) => send('DELETE', `/v3/store/order/${order.id}`, { as: staff, headers }),
      },
      user: {
        path: `/v3/user/${customer.username}`,
        change: (headers: Record<string, string>) =>
          send('PUT', `/v3/user/${customer.username}`, { as: staff, headers, json: { firstName: fresh('name') } }),
      },
      stock: {
        path: `/v3/store/inventory/${plant.id}`,
        change: (headers: Record<string, string>) =>
          send('PUT', `/v3/store/inventory/${plant.id}`, { as: staff, headers, json: { free: 50 } }),
      },
    }[noun];
    const etag = (await get(path)).headers.get('etag') ?? '';
    expect(etag).toMatch(/^"\d+-\w{1,7}"$/);
    const known = await get(path, { 'if-none-match': etag });
    expect({ status: known.status, body: known.body }).toEqual({ status: 304, body: '' });
    await problem(change({ 'if-match': '"999999"' }), 412, 'precondition-failed');
    await problem(change({ 'if-match': 'nonsense' }), 400, 'invalid-input');
    await ok(change({ 'if-match': etag }));
    expect((await get(path, { 'if-none-match': etag })).status).toBe(200);
    await problem(change({ 'if-match': etag }), 412, 'precondition-failed');
  });
});

describe('lists', () => {
  it('paged by Link while plants are added show every earlier plant exactly once', async () => {
    const tag = fresh('walk');
    const old: number[] = [];
    for (let n = 0; n < 12; n++) old.unshift((await createPlant({ tags: [{ name: tag }] })).id);
    const seen: number[] = [];
    let next: string | undefined = `/v3/plant/findByTags?tags=${tag}&limit=5`;
    while (next !== undefined) {
      const page: Answer<{ id: number }[]> = await send('GET', next);
      seen.push(...page.body.map((plant) => plant.id));
      const url: string | undefined = /<([^>]+)>; rel="next"/.exec(page.headers.get('link') ?? '')?.[1];
      next = url === undefined ? undefined : url.slice(new URL(url).origin.length);
      await createPlant({ tags: [{ name: tag }] });
    }
    expect(seen).toEqual(old);
    await problem(send('GET', `/v3/plant/findByTags?tags=${tag}&cursor=forged`), 400, 'invalid-cursor');
    await problem(send('GET', `/v3/plant/findByTags?tags=${tag}&limit=0`), 400, 'invalid-input');
    await problem(send('GET', `/v3/plant/findByTags?tags=${tag}&limit=1000000000`), 400, 'invalid-input');
  });

  it("one's own orders are listed newest first, by status and by page", async () => {
    const customer = await newCustomer();
    const { id: plantId } = await createPlant();
    const ids: number[] = [];
    for (let n = 0; n < 3; n++) ids.unshift((await placeOrder({ plantId }, customer)).id);
    const list = (query: string) => ok(send<Order[]>('GET', `/v3/store/order${query}`, { as: customer }));
    expect((await list('')).map((order) => order.id)).toEqual(ids);
    expect((await list('?limit=1')).map((order) => order.id)).toEqual(ids.slice(0, 1));
    await ok(send('DELETE', `/v3/store/order/${String(ids[1])}`, { as: customer }));
    expect((await list('?status=cancelled')).map((order) => order.id)).toEqual([ids[1]]);
    await problem(send('GET', '/v3/store/order?status=lost', { as: customer }), 400, 'invalid-input');
  });
});

describe('the lifecycle of an order', () => {
  it('is in its timeline, from placing to delivery', async () => {
    const { id: plantId } = await createPlant();
    const { id } = await placeOrder({ plantId });
    const timeline = () =>
      ok(send<{ newStatus: string; eventId?: string }[]>('GET', `/v3/store/order/${id}/timeline`, { as: staff }));
    await until(async () => (await timeline()).length === 3);
    expect(await timeline()).toEqual([
      { at: expect.any(String), newStatus: 'placed', actor: 'owner', username: expect.any(String), owner: expect.any(String), reason: 'placed', eventId: expect.any(String) },
      expect.objectContaining({ previousStatus: 'placed', newStatus: 'approved', actor: 'store', eventId: expect.any(String) }),
      expect.objectContaining({ previousStatus: 'approved', newStatus: 'delivered', actor: 'store' }),
    ]);
  });

  it('allows a transfer to another user, who must exist', async () => {
    const [from, to] = [await newCustomer(), await newCustomer()];
    const { id: plantId } = await createPlant();
    const { id } = await placeOrder({ plantId }, from);
    const transfer = (username: string, as: object = staff) =>
      send('POST', `/v3/store/order/${id}/transfer`, { as, json: { username } });
    await problem(transfer(to.username, from), 403, 'forbidden');
    await problem(transfer(fresh('nobody')), 404, 'user-not-found');
    await ok(transfer(to.username));
    await problem(send('GET', `/v3/store/order/${id}`, { as: from }), 404, 'order-not-found');
    expect(await ok(send('GET', `/v3/store/order/${id}`, { as: to }))).toMatchObject({ id });
  });

  it('refuses a payment of a cancelled order, and records a refund due', async () => {
    const { id: plantId } = await createPlant();
    const { id } = await placeOrder({ plantId });
    await ok(send('DELETE', `/v3/store/order/${id}`, { as: staff }));
    const pay = send('POST', `/v3/store/order/${id}/payment`, {
      as: staff,
      json: { outcome: 'succeeded', reference: fresh('payment') },
    });
    expect((await problem(pay, 409, 'order-not-payable'))['payment']).toBe('refund-due');
  });
});
