import { describe, expect, it } from '@jest/globals';
import { createPlant, fresh, newCustomer, ok, type Order, placeOrder, problem, send, staff } from './shop.js';

interface Basket {
  readonly id: number;
  readonly status: string;
  readonly orders: readonly Order[];
}

const stockOf = (plantId: number) => ok(send('GET', `/v3/store/inventory/${plantId}`, { as: staff }));
const path = ({ id }: Basket): string => `/v3/store/basket/${id}`;

describe('baskets', () => {
  it('place an order for each line, which are read and cancelled together', async () => {
    const customer = await newCustomer();
    const plants = [await createPlant({ quantity: 5 }), await createPlant({ quantity: 5 })];
    const [first, second] = plants.map(({ id }) => id);
    const json = { lines: [{ plantId: second, quantity: 2 }, { plantId: first }], externalId: fresh('cart'), metadata: { channel: 'web' } };
    const headers = { 'idempotency-key': fresh('basket') };
    const place = () => send<Basket>('POST', '/v3/store/basket', { as: customer, json, headers });
    const basket = await ok(place());
    const { externalId, metadata } = json;
    expect(basket).toEqual({ id: expect.any(Number), status: 'placed', orders: expect.any(Array), externalId, metadata, placedAt: expect.stringMatching(/Z$/) });
    expect(basket.orders).toMatchObject([{ plantId: second, quantity: 2, basketId: basket.id }, { plantId: first, quantity: 1, basketId: basket.id }]);
    // At once: the simulated provider approves orders soon.
    const cancelled = await ok(send('DELETE', path(basket), { as: customer }));
    expect(cancelled).toMatchObject({ status: 'cancelled', orders: [{ status: 'cancelled' }, { status: 'cancelled' }] });
    expect(await ok(send('DELETE', path(basket), { as: customer }))).toEqual(cancelled);
    for (const plantId of [first!, second!]) expect(await stockOf(plantId)).toEqual({ plantId, free: 5, reserved: 0, sold: 0 });
    expect(await ok(place())).toEqual(basket);
    expect(await ok(send('GET', path(basket), { as: customer }))).toEqual(cancelled);
    expect(await ok(send('GET', path(basket), { as: staff }))).toMatchObject({ id: basket.id, orders: [{ owner: customer.username }, { owner: customer.username }] });
    expect(await ok(send<Order[]>('GET', '/v3/store/order', { as: customer }))).toHaveLength(2);
    await problem(send('GET', path(basket), { as: await newCustomer() }), 404, 'basket-not-found');
    expect((await problem(send('POST', '/v3/store/basket', { as: customer, json }), 409, 'external-id-exists'))['basketId']).toBe(basket.id);
  });

  it('are refused whole, with every line that is wrong', async () => {
    const [few, plenty] = [await createPlant({ quantity: 3 }), await createPlant({ quantity: 50 })];
    const place = (...lines: object[]) => send('POST', '/v3/store/basket', { as: staff, json: { lines } });
    const lacking = await problem(place({ plantId: few.id, quantity: 2 }, { plantId: plenty.id }, { plantId: few.id, quantity: 2 }), 409, 'insufficient-stock');
    const line = { plantId: few.id, available: 3 };
    expect(lacking['lines']).toEqual([{ pointer: '/lines/0', ...line }, { pointer: '/lines/2', ...line }]);
    const unknown = await problem(place({ plantId: plenty.id }, { plantId: 987_654_321_987_654 }), 404, 'plant-not-found');
    expect(unknown['lines']).toEqual([{ pointer: '/lines/1', plantId: 987_654_321_987_654 }]);
    expect((await problem(place({ plantId: plenty.id, quantity: 0 }), 400, 'invalid-input')).errors).toMatchObject([{ pointer: '/lines/0/quantity' }]);
    expect((await problem(place(...Array<object>(51).fill({ plantId: plenty.id })), 400, 'invalid-input')).errors).toMatchObject([{ pointer: '/lines' }]);
    expect(await stockOf(plenty.id)).toEqual({ plantId: plenty.id, free: 50, reserved: 0, sold: 0 });
  });

  it('are paid with one reference, which pays nothing else, and late with a refund for each order', async () => {
    const { id: plantId } = await createPlant({ quantity: 50 });
    const place = () => ok(send<Basket>('POST', '/v3/store/basket', { as: staff, json: { lines: [{ plantId }, { plantId, quantity: 2 }] } }));
    const pay = (target: string, reference: string) => send<Basket>('POST', `${target}/payment`, { as: staff, json: { outcome: 'succeeded', reference } });
    const late = await place();
    await ok(send('DELETE', path(late), { as: staff }));
    const paid = await place();
    const reference = fresh('paid');
    const approved = await ok(pay(path(paid), reference));
    expect(approved.orders.map(({ status }) => status)).not.toContain('placed');
    expect((await ok(pay(path(paid), reference))).id).toBe(paid.id);
    await problem(pay(path(late), reference), 409, 'payment-reference-used');
    const { id: single } = await placeOrder({ plantId });
    await problem(pay(`/v3/store/order/${single}`, reference), 409, 'payment-reference-used');
    const kept = await problem(send('DELETE', path(paid), { as: staff }), 409, 'order-not-cancellable');
    expect(kept['orders']).toEqual(paid.orders.map(({ id }) => id));
    await problem(pay(path(late), fresh('late')), 409, 'order-not-payable');
    const due = await ok(send<{ id: number; orderId: number }[]>('GET', '/v3/store/refund?status=due&limit=50', { as: staff }));
    const refunds = due.filter(({ orderId }) => late.orders.some(({ id }) => id === orderId));
    expect(refunds).toHaveLength(2);
    const transfer = fresh('transfer');
    for (const { id } of refunds) await ok(send('POST', `/v3/store/refund/${id}/completion`, { as: staff, json: { reference: transfer } }));
  });
});
