import { describe, expect, it } from '@jest/globals';
import type { Credentials } from '@plant-shop/testing/http';
import { createPlant, newCustomer, ok, type Order, placeOrder, problem, send, staff, until } from './shop.js';

const stockOf = (plantId: number) => ok(send('GET', `/v3/store/inventory/${plantId}`, { as: staff }));

describe('orders', () => {
  it('POST /store/order returns the placed order, and later reads see it at once', async () => {
    const { id: plantId } = await createPlant({ quantity: 10 });
    const shipDate = '2027-01-05T10:00:00.000Z';
    const order = await placeOrder({ plantId, quantity: 4, shipDate, status: 'delivered', complete: true });
    const placedAt = expect.stringMatching(/Z$/);
    expect(order).toEqual({ id: expect.any(Number), plantId, quantity: 4, shipDate, status: 'placed', complete: false, placedAt, updatedAt: order.placedAt });
    expect(await stockOf(plantId)).toMatchObject({ free: 6 });
    expect(await ok(send('GET', `/v3/store/order/${order.id}`, { as: staff }))).toMatchObject({ id: order.id });
  });

  it('GET /store/inventory returns all three keys', async () => {
    expect(await ok(send('GET', '/v3/store/inventory', { as: staff }))).toEqual({
      available: expect.any(Number),
      pending: expect.any(Number),
      sold: expect.any(Number),
    });
  });

  it('anybody can see whether a plant can be ordered, and staff add and remove units with a reason', async () => {
    const { id: plantId } = await createPlant({ quantity: 2 });
    const state = () => ok(send('GET', `/v3/plant/${plantId}/availability`));
    expect(await state()).toEqual({ plantId, state: 'low-stock', units: 2 });
    const path = `/v3/store/inventory/${plantId}`;
    const headers = { 'idempotency-key': `adjust-${plantId}` };
    const adjust = (by: number) => send('POST', `${path}/adjustment`, { as: staff, json: { by, reason: 'A delivery' }, headers });
    expect(await ok(adjust(40))).toEqual({ plantId, free: 42, reserved: 0, sold: 0 });
    expect(await ok(adjust(40))).toMatchObject({ free: 42 });
    await problem(send('POST', `${path}/adjustment`, { as: staff, json: { by: -43, reason: 'Frost' } }), 409, 'insufficient-stock');
    expect(await state()).toEqual({ plantId, state: 'in-stock' });
    await ok(send('PUT', path, { as: staff, json: { free: 42, lowStockAt: 50 } }));
    expect(await ok(send('GET', `/v3/plant/availability?ids=987654321987654,${plantId}`))).toEqual([{ plantId, state: 'low-stock' }]);
    expect(await ok(send('GET', `${path}/changes`, { as: staff }))).toEqual([
      { id: expect.any(Number), at: expect.any(String), by: 40, free: 42, reason: 'A delivery', actor: expect.any(String), username: 'admin' },
    ]);
  });

  it('an order is approved when its payment succeeds, and then delivered, automatically in the demo', async () => {
    const { id: plantId } = await createPlant({ quantity: 1 });
    const { id } = await placeOrder({ plantId });
    const get = () => ok(send<Order>('GET', `/v3/store/order/${id}`, { as: staff }));
    await until(async () => (await get()).complete);
    expect(await get()).toMatchObject({ status: 'delivered', complete: true });
    expect(await stockOf(plantId)).toEqual({ plantId, free: 0, reserved: 0, sold: 1 });
    await problem(send('DELETE', `/v3/store/order/${id}`, { as: staff }), 409, 'order-not-cancellable');
  });

  it('DELETE /store/order/{orderId} returns the stock at once; repeating it gives the same answer', async () => {
    const { id: plantId } = await createPlant({ quantity: 3 });
    const { id } = await placeOrder({ plantId, quantity: 3 });
    const cancel = () => ok(send<Order>('DELETE', `/v3/store/order/${id}`, { as: staff }));
    const cancelled = await cancel();
    expect(cancelled).toMatchObject({ id, status: 'cancelled', complete: false });
    expect(await stockOf(plantId)).toEqual({ plantId, free: 3, reserved: 0, sold: 0 });
    expect(await cancel()).toEqual(cancelled);
    expect(await ok(send('GET', `/v3/store/order/${id}`, { as: staff }))).toEqual({ ...cancelled, owner: expect.any(String) });
  });

  it('of 200 parallel orders for 100 units exactly 100 succeed', async () => {
    const { id: plantId } = await createPlant({ quantity: 100 });
    const answers = await Promise.all(
      Array.from({ length: 200 }, () => send('POST', '/v3/store/order', { as: staff, json: { plantId } })),
    );
    const count = (status: number) => answers.filter((answer) => answer.status === status).length;
    expect({ placed: count(200), refused: count(409) }).toEqual({ placed: 100, refused: 100 });
    expect(await stockOf(plantId)).toMatchObject({ free: 0 });
  });

  it('refusals have a specific code, and the number of units left', async () => {
    const { id: plantId } = await createPlant({ quantity: 2 });
    const place = (order: unknown) => send('POST', '/v3/store/order', { as: staff, json: order });
    expect((await problem(place({ plantId, quantity: 3 }), 409, 'insufficient-stock'))['available']).toBe(2);
    await problem(place({ plantId: 999_999_999_999 }), 404, 'plant-not-found');
    const { id } = await placeOrder({ plantId });
    await problem(place({ id, plantId }), 409, 'order-exists');
    const hidden = await createPlant({ status: 'pending' });
    await problem(place({ plantId: hidden.id }), 409, 'plant-not-available');
    await problem(send('GET', '/v3/store/order/999999999999', { as: staff }), 404, 'order-not-found');
    await problem(send('DELETE', '/v3/store/order/999999999999', { as: staff }), 404, 'order-not-found');
  });

  it('staff can filter orders by customer, plant, status and time, and see owner and tracking number (slow)', async () => {
    const { id: plantId } = await createPlant({ quantity: 10 });
    const { username, bearer } = await newCustomer();
    const { id } = await ok(send<Order>('POST', '/v3/store/order', { as: { bearer }, json: { plantId } }));
    const list = (query: string, as: Credentials = staff) => send<Order[]>('GET', `/v3/store/order?${query}`, { as });
    expect(await ok(list(`owner=${username}`))).toMatchObject([{ id, owner: username }]);
    expect(await ok(list(`owner=*&plantId=${plantId}&status=placed,approved,delivered&placedFrom=2026-01-01T00:00:00Z`))).toMatchObject([{ id, owner: username }]);
    expect(await ok(list(`owner=*&plantId=${plantId}&placedBefore=2026-01-01T00:00:00Z`))).toEqual([]);
    expect((await ok(list('', { bearer })))[0]).not.toHaveProperty('owner');
    await until(async () => (await ok(list(`owner=${username}`)))[0]?.status !== 'placed');
    expect(await ok(list(`owner=${username}`))).toMatchObject([{ id, trackingNumber: expect.stringMatching(/^PS/) }]);
    await problem(list('owner=*', { bearer }), 403, 'forbidden');
    await problem(list('owner=no.such.user'), 404, 'user-not-found');
    for (const [query, parameter] of [['status=placed,lost', 'status'], ['plantId=x', 'plantId'], ['placedFrom=yesterday', 'placedFrom']] as const) {
      const { errors } = await problem(list(query), 400, 'invalid-input');
      expect(errors).toMatchObject([{ parameter }]);
    }
  });

  it("another customer's order is 404", async () => {
    const [mine, theirs] = [await newCustomer(), await newCustomer()];
    const { id: plantId } = await createPlant();
    const { id } = await placeOrder({ plantId }, theirs);
    await problem(send('GET', `/v3/store/order/${id}`, { as: mine }), 404, 'order-not-found');
    await problem(send('DELETE', `/v3/store/order/${id}`, { as: mine }), 404, 'order-not-found');
    expect(await ok(send('GET', `/v3/store/order/${id}`, { as: theirs }))).toMatchObject({ id });
  });
});
