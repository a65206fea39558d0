import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ResolvedPlants } from '@plant-shop/contracts/catalog';
import { type ListOrders, type Order, store } from '@plant-shop/contracts/store';
import { Deadline, type Principal, RpcContext } from '@plant-shop/platform/rpc/context';
import { customer, outcomeOf, staff, StoreFixture } from '../store.spec.fixture.js';

const minute = 60_000;

describe('lists of orders', () => {
  let shop: StoreFixture;
  let fern: number;
  let palm: number;
  /** In order of placing. */
  let orders: Order[];
  let placedLast: number;
  let asked: number[][] = [];
  let known: number[] = [];
  let fits = 1_000;
  const resolvePlants = (plantIds: readonly number[]): ResolvedPlants => {
    asked.push([...plantIds]);
    const found = plantIds.filter((id) => known.includes(id)).map((id) => ({ id, name: `Plant ${id}`, photoUrls: [] }));
    return { plants: found.slice(0, fits), left: found.slice(fits).map(({ id }) => id) };
  };
  beforeAll(async () => {
    shop = await StoreFixture.start({ orderTtlMs: 15 * minute, resolvePlants });
    [fern, palm] = [await shop.plant(), await shop.plant()];
    orders = [];
    for (const [n, plantId] of [[1, fern], [2, fern], [1, palm], [2, palm], [3, palm]] as const) {
      orders.push(await shop.caller.call(store.placeOrder, { order: { plantId } }, customer(n)));
    }
    const idOf = (n: number): number => orders[n]!.id;
    await shop.caller.call(store.cancelOrder, { orderId: idOf(0) }, customer(1));
    await shop.caller.call(store.reportPayment, { orderId: idOf(3), payment: { outcome: 'succeeded', reference: 'p' } }, staff);
    // Placed 4, 3, 2, 1 and 0 hours ago: further apart than the longest transaction.
    placedLast = new Date(orders[4]!.placedAt).getTime();
    for (const [n, { id }] of orders.entries()) await shop.rows('UPDATE orders SET placed_at = $2 WHERE id = $1', [id, new Date(placedLast - (4 - n) * 60 * minute)]);
  });
  afterAll(() => shop.stop());

  const list = (request: Partial<ListOrders>, who: Principal = staff): Promise<Order[]> => shop.caller.call(store.listOrders, request, who);
  /** Returns the indexes in `orders` of the listed orders. */
  const listed = async (request: Partial<ListOrders>, who?: Principal): Promise<number[]> =>
    (await list(request, who)).map(({ id }) => orders.findIndex((order) => order.id === id));
  const hoursAgo = (hours: number): string => new Date(placedLast - hours * 60 * minute).toISOString();

  it('show the caller’s own by default, also to staff', async () => {
    expect(await listed({}, customer(1))).toEqual([2, 0]);
    expect(await listed({})).toEqual([]);
  });

  it('show staff those of all owners, one owner, a plant or several statuses, newest first', async () => {
    expect(await listed({ owner: '*' })).toEqual([4, 3, 2, 1, 0]);
    expect(await listed({ owner: 'user-2' })).toEqual([3, 1]);
    expect(await listed({ owner: '*', plantId: fern })).toEqual([1, 0]);
    expect(await listed({ owner: 'user-1', plantId: palm })).toEqual([2]);
    expect(await listed({ owner: '*', status: ['approved', 'cancelled'] })).toEqual([3, 0]);
    expect(await listed({ owner: '*', status: ['placed'], plantId: palm })).toEqual([4, 2]);
    expect(await listed({ owner: '*', status: ['approved'] })).toEqual([3]);
  });

  it('show those of a period: from its start, up to but excluding its end', async () => {
    const third = hoursAgo(2);
    expect(await listed({ owner: '*', placedFrom: third })).toEqual([4, 3, 2]);
    expect(await listed({ owner: '*', placedBefore: third })).toEqual([1, 0]);
    expect(await listed({ owner: '*', placedFrom: hoursAgo(3), placedBefore: hoursAgo(0) })).toEqual([3, 2, 1]);
    expect(await listed({ placedFrom: third }, customer(1))).toEqual([2]);
  });

  it('continue by cursor, which is invalid for another filter', async () => {
    const page = async (request: Partial<ListOrders>) => {
      const answer = await shop.caller.client.callRaw(store.listOrders, request, new RpcContext('test', Deadline.in(5_000), staff));
      return { ids: (JSON.parse(Buffer.from(answer.payload).toString()) as Order[]).map(({ id }) => id), next: answer.next };
    };
    const filter = { owner: '*', plantId: palm, limit: 2 };
    const first = await page(filter);
    const second = await page({ ...filter, ...(first.next && { cursor: first.next }) });
    expect([...first.ids, ...second.ids]).toEqual([4, 3, 2].map((n) => orders[n]!.id));
    expect(second.next).toBeUndefined();
    for (const other of [{ owner: '*', limit: 2 }, { ...filter, plantId: fern }, { ...filter, placedFrom: hoursAgo(4) }, { plantId: palm }]) {
      expect(await outcomeOf(list({ ...other, cursor: first.next! }))).toBe('invalid-cursor');
    }
  });

  it('of an order’s steps have pages, oldest first, beyond 1,000 steps and the size of an RPC message', async () => {
    const orderId = orders[3]!.id;
    const carrier = '€'.repeat(200);
    await shop.rows(
      `INSERT INTO order_transitions (order_id, order_version, new_status, at, actor, reason, owner_id, carrier, tracking_number)
       SELECT id, version + n, 'approved', now(), 'staff', 'shipped', owner_id, $2, n::text FROM orders, generate_series(1, 2500) AS n WHERE id = $1`,
      [orderId, carrier],
    );
    await shop.rows('UPDATE orders SET version = version + 2500 WHERE id = $1', [orderId]);
    const pages = await shop.caller.pages(store.getTimeline, { orderId }, customer(2));
    expect(pages.length).toBeGreaterThan(3);
    const steps = pages.flat();
    expect(steps.slice(0, 2).map(({ reason }) => reason)).toEqual(['placed', 'payment succeeded']);
    expect(steps.slice(2).map(({ trackingNumber }) => Number(trackingNumber))).toEqual(Array.from({ length: 2_500 }, (_, n) => n + 1));
    expect(await shop.caller.call(store.getTimeline, { orderId, limit: 3 }, customer(2))).toEqual(steps.slice(0, 3));
    expect(await outcomeOf(shop.caller.call(store.getTimeline, { orderId, cursor: 'x' }, customer(2)))).toBe('invalid-cursor');
    expect(await outcomeOf(shop.caller.call(store.getTimeline, { orderId }, customer(1)))).toBe('order-not-found');
  });

  it('show others’ orders only to callers who may read them', async () => {
    for (const owner of ['*', 'user-2']) expect(await outcomeOf(list({ owner }, customer(1)))).toBe('forbidden');
    expect(await listed({ owner: 'user-1' }, customer(1))).toEqual([2, 0]);
    await expect(list({ owner: '*', status: ['placed', 'lost' as never] })).rejects.toMatchObject({
      code: 'invalid-input',
      details: { errors: [{ pointer: '/status' }] },
    });
    expect(await outcomeOf(list({ placedFrom: 'yesterday' }))).toBe('invalid-input');
  });

  it('name owners only to callers who may see them', async () => {
    const owners = (await list({ owner: '*' })).map(({ owner }) => owner);
    expect(owners).toEqual(['user-3', 'user-2', 'user-1', 'user-2', 'user-1']);
    expect(await shop.caller.call(store.getOrder, { orderId: orders[0]!.id }, staff)).toMatchObject({ owner: 'user-1' });
    for (const order of [...(await list({}, customer(1))), await shop.caller.call(store.getOrder, { orderId: orders[0]!.id }, customer(1))]) {
      expect(order).not.toHaveProperty('owner');
    }
  });

  it('show the plants of orders if asked, but for deleted ones, and end the page where their pictures do not fit', async () => {
    const plant = (id: number) => ({ id, name: `Plant ${id}`, photoUrls: [] });
    asked = [];
    known = [fern, palm];
    const placed = { owner: '*', placedBefore: new Date(placedLast + 1).toISOString(), expand: ['plant' as const] };
    const all = await list(placed);
    expect(all.map((order) => order.plant)).toEqual([palm, palm, palm, fern, fern].map(plant));
    expect(asked).toEqual([[palm, fern]]);
    const pages = await shop.caller.pages(store.listOrders, { ...placed, sort: 'placedAt' as const }, staff);
    expect(pages).toEqual([all.toReversed()]);
    fits = 1;
    expect(await shop.caller.pages(store.listOrders, placed, staff)).toEqual([all.slice(0, 3), all.slice(3)]);
    known = [palm];
    expect((await list(placed)).map((order) => order.plant?.id)).toEqual([palm, palm, palm, undefined, undefined]);
    const orderId = orders[4]!.id;
    expect(await shop.caller.call(store.getOrder, { orderId, expand: ['plant'] }, customer(3))).toMatchObject({ plant: plant(palm) });
    expect(await shop.caller.call(store.getOrder, { orderId }, customer(3))).not.toHaveProperty('plant');
    expect(await outcomeOf(list({ expand: ['owner' as never] }))).toBe('invalid-input');
  });

  it('show when an order was placed, and until when it is reserved', async () => {
    const placed = await shop.caller.call(store.placeOrder, { order: { plantId: fern } }, customer(9));
    expect(await shop.caller.call(store.getOrder, { orderId: placed.id }, customer(9))).toEqual(placed);
    expect(Math.abs(new Date(placed.placedAt).getTime() - Date.now())).toBeLessThan(minute);
    expect(new Date(placed.reservedUntil!).getTime() - new Date(placed.placedAt).getTime()).toBe(15 * minute);
    const [approved] = await list({ owner: '*', status: ['approved'] });
    expect(approved).not.toHaveProperty('reservedUntil');
    expect(approved).toMatchObject({ trackingNumber: expect.stringMatching(/^PS/) });
  });
});
