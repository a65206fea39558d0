import { describe, expect, it } from '@jest/globals';
import type { Credentials } from '@plant-shop/testing/http';
import { type Answer, createPlant, type Customer, fresh, newCustomer, ok, type Order, placeOrder, problem, send, staff } from './shop.js';

interface Step {
  readonly reason: string;
  readonly note?: string;
}

const orders = '/v3/store/order';
const list = (query: string, as: Credentials = staff): Promise<Answer<Order[]>> => send<Order[]>('GET', `${orders}?${query}`, { as });
const idsOf = async (query: string, as: Credentials = staff): Promise<number[]> => (await ok(list(query, as))).map(({ id }) => id);
const pay = (id: number) => ok(send('POST', `${orders}/${id}/payment`, { as: staff, json: { outcome: 'succeeded', reference: fresh('paid') } }));

describe('orders with data of their owners', () => {
  const shipTo = { name: 'Ada Lovelace', lines: ['12 St James’s Square'], postalCode: 'SW1Y 4JH', city: 'London', country: 'GB' };
  const placed = async (customer: Customer, more: object): Promise<Order> => placeOrder({ plantId: (await createPlant()).id, ...more }, customer);

  it('show it to the owner and to staff, and can be sent back as they were read', async () => {
    const customer = await newCustomer();
    const added = { externalId: fresh('web'), metadata: { channel: 'web', 'a key': 'ü' }, shipTo };
    const order = await placed(customer, added);
    expect(order).toMatchObject(added);
    expect(await ok(send('GET', `${orders}/${order.id}`, { as: staff }))).toMatchObject(added);
    const { id, externalId, ...again } = order as Order & typeof added;
    const taken = await problem(send('POST', orders, { as: customer, json: { ...again, externalId } }), 409, 'external-id-exists');
    expect(taken['orderId']).toBe(id);
    expect(await placeOrder({ ...again, externalId: `${externalId}-2` }, customer)).toMatchObject({ metadata: added.metadata });
    const other = await newCustomer();
    expect(await placed(other, { externalId })).toMatchObject({ externalId });
    const { errors } = await problem(send('POST', orders, { as: customer, json: { plantId: again.plantId, shipTo: { ...shipTo, citty: 'x' } } }), 400, 'invalid-input');
    expect(errors).toMatchObject([{ pointer: '/shipTo/citty' }]);
  });

  it('are found by it, page by page', async () => {
    const customer = await newCustomer();
    const batch = fresh('batch');
    const made: number[] = [];
    for (const channel of ['web', 'web', 'phone']) made.push((await placed(customer, { externalId: fresh('x'), metadata: { batch, 'sold by': channel } })).id);
    const query = `owner=*&metadata[batch]=${batch}&metadata[sold+by]=web&sort=placedAt&limit=1`;
    const first = await list(query);
    const link = /<(.*)>; rel="next"/.exec(first.headers.get('link') ?? '')?.[1] ?? '';
    const second = await send<Order[]>('GET', link.slice(link.indexOf('/v3/')), { as: staff });
    expect([await ok(Promise.resolve(first)), await ok(Promise.resolve(second))].flat().map(({ id }) => id)).toEqual(made.slice(0, 2));
    expect(second.headers.get('link')).toBeNull();
    expect(await idsOf(`metadata%5Bbatch%5D=${batch}`, customer)).toEqual(made.toReversed());
    const { errors } = await problem(list(`metadata=${batch}`), 400, 'invalid-input');
    expect(errors).toMatchObject([{ parameter: 'metadata' }]);
  });

  it('no longer have it once the account is deleted', async () => {
    const customer = await newCustomer();
    const { id } = await placed(customer, { externalId: fresh('web'), metadata: { a: 'b' }, shipTo });
    await ok(send('DELETE', `${orders}/${id}`, { as: customer }));
    await ok(send('DELETE', `/v3/user/${customer.username}`, { as: customer }));
    const left = await ok(send('GET', `${orders}/${id}`, { as: staff }));
    for (const member of ['externalId', 'metadata', 'shipTo', 'owner']) expect(left).not.toHaveProperty(member);
  });
});

describe('staff', () => {
  it('find orders by shipment, number, external id, owner and e-mail address, and count them', async () => {
    const customer = await newCustomer();
    const { id: plantId } = await createPlant({ quantity: 10 });
    const externalId = fresh('ext');
    const [first, second] = [await placeOrder({ plantId, externalId }, customer), await placeOrder({ plantId }, customer)];
    const trackingNumber = fresh('T');
    await pay(first.id);
    await ok(send('POST', `${orders}/${first.id}/shipment`, { as: staff, json: { carrier: 'Post', trackingNumber } }));
    const own = `owner=${customer.username}`;
    expect(await idsOf(`${own}&shipped=true`)).toEqual([first.id]);
    expect(await idsOf(`${own}&shipped=false`)).toEqual([second.id]);
    expect(await idsOf(`${own}&refund=due`)).toEqual([]);
    const email = `${customer.username}@shop.example`;
    await ok(send('PUT', `/v3/user/${customer.username}`, { as: staff, json: { email } }));
    for (const q of [String(first.id), externalId, trackingNumber]) expect(await idsOf(`owner=*&q=${encodeURIComponent(q)}`)).toEqual([first.id]);
    for (const q of [customer.username, email]) expect(await idsOf(`owner=*&sort=placedAt&q=${encodeURIComponent(q)}`)).toEqual([first.id, second.id]);
    const counts = await ok(send<{ complete: boolean; counts: { orders: number; shipped: boolean }[] }>('GET', `${orders}/counts?owner=*&plantId=${plantId}`, { as: staff }));
    expect(counts.complete).toBe(true);
    expect(counts.counts.reduce((sum, one) => sum + one.orders, 0)).toBe(2);
    expect(counts.counts.filter((one) => one.shipped)).toMatchObject([{ orders: 1 }]);
    await problem(send('GET', `${orders}/counts?owner=*`, { as: customer }), 403, 'forbidden');
    expect(await ok(send('GET', `${orders}/counts`, { as: customer }))).toMatchObject({ complete: true });
  });

  it('add notes to an order, which its owner does not see', async () => {
    const customer = await newCustomer();
    const { id } = await placeOrder({ plantId: (await createPlant()).id }, customer);
    await ok(send('POST', `${orders}/${id}/note`, { as: staff, json: { text: 'Call first' } }));
    const stepsOf = (as: Credentials) => ok(send<Step[]>('GET', `${orders}/${id}/timeline`, { as }));
    expect((await stepsOf(staff)).filter(({ note }) => note)).toMatchObject([{ reason: 'note', note: 'Call first' }]);
    expect((await stepsOf(customer)).some(({ reason }) => reason === 'note')).toBe(false);
    await problem(send('POST', `${orders}/${id}/note`, { as: customer, json: { text: 'x' } }), 403, 'forbidden');
  });

  it('see the plants of orders with expand=plant, as customers do, unless they were deleted', async () => {
    const customer = await newCustomer();
    const plant = await createPlant({ photoUrls: ['https://example.org/1.jpg'] });
    const { id } = await placeOrder({ plantId: plant.id }, customer);
    const shown = { id: plant.id, name: plant.name, photoUrls: plant.photoUrls };
    expect(await ok(list('expand=plant', customer))).toMatchObject([{ id, plant: shown }]);
    expect(await ok(send('GET', `${orders}/${id}?expand=plant`, { as: customer }))).toMatchObject({ plant: shown });
    await ok(send('DELETE', `${orders}/${id}`, { as: customer }));
    await ok(send('DELETE', `/v3/plant/${plant.id}`, { as: staff }));
    expect((await ok(list('expand=plant', customer)))[0]).not.toHaveProperty('plant');
  });
});
