import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type Basket, type NewBasket, type Order, store } from '@plant-shop/contracts/store';
import { Deadline, type Principal, RpcContext } from '@plant-shop/platform/rpc/context';
import { until } from '@plant-shop/testing/until';
import fc from 'fast-check';
import { customer, outcomeOf, staff, StoreFixture } from '../store.spec.fixture.js';
import { SequentialModel } from './sequential-model.spec.fixture.js';

let shop: StoreFixture;

const place = (basket: NewBasket, who: Principal = customer(1)): Promise<Basket> => shop.caller.call(store.placeBasket, { basket }, who);
const get = (basketId: number, who: Principal = customer(1)): Promise<Basket> => shop.caller.call(store.getBasket, { basketId }, who);
const cancel = (basketId: number, who: Principal = customer(1)): Promise<Basket> => shop.caller.call(store.cancelBasket, { basketId }, who);
const pay = (basketId: number, reference: string, outcome: 'succeeded' | 'failed' = 'succeeded') =>
  shop.caller.call(store.reportBasketPayment, { basketId, payment: { outcome, reference: `${reference} of ${basketId}` } }, staff);
const payOrder = (orderId: number, reference = `order ${orderId}`) =>
  shop.caller.call(store.reportPayment, { orderId, payment: { outcome: 'succeeded', reference } }, staff);
const stockOf = (plantId: number) => shop.caller.call(store.getStock, { plantId }, staff);
const statusesOf = async (basketId: number): Promise<string[]> => (await get(basketId, staff)).orders.map(({ status }) => status);
const idsOf = ({ orders }: Basket): number[] => orders.map(({ id }) => id);
/** Places a basket of one unit each of new plants. */
const placeNew = async (lines = 2, more: Partial<NewBasket> = {}): Promise<Basket> => {
  const plants = await Promise.all(Array.from({ length: lines }, () => shop.plant(5)));
  return place({ lines: plants.map((plantId) => ({ plantId })), ...more });
};
const counts = () => shop.rows('SELECT (SELECT count(*) FROM orders) AS orders, (SELECT count(*) FROM baskets) AS baskets');
const stop = async (): Promise<void> => {
  expect(await shop.violations()).toEqual([]);
  await shop.stop();
};

describe('baskets', () => {
  beforeAll(async () => {
    shop = await StoreFixture.start({ replicas: 2 });
  });
  afterAll(stop);

  it('are orders like any others, in the order of the lines', async () => {
    const [first, second] = [await shop.plant(10), await shop.plant(10)];
    const lines = [{ plantId: second, quantity: 2 }, { plantId: first }, { plantId: second, quantity: 3 }];
    const basket = await place({ lines, shipDate: '2031-01-02T03:04:05Z', externalId: 'cart 1', metadata: { z: '1', a: '"\\' }, shipTo: { name: 'Ann', city: 'Ghent' } });
    expect(basket.orders.map(({ shipTo }) => shipTo)).toEqual(lines.map(() => ({ name: 'Ann', city: 'Ghent' })));
    const [order] = basket.orders;
    expect(basket).toEqual({ id: order!.id, status: 'placed', orders: expect.any(Array), externalId: 'cart 1', metadata: { z: '1', a: '"\\' }, shipTo: { name: 'Ann', city: 'Ghent' }, placedAt: order!.placedAt });
    expect(basket.orders.map(({ plantId, quantity, basketId, shipDate }) => ({ plantId, quantity, basketId, shipDate }))).toEqual(
      lines.map(({ plantId, quantity = 1 }) => ({ plantId, quantity, basketId: basket.id, shipDate: '2031-01-02T03:04:05.000Z' })),
    );
    expect(await get(basket.id)).toEqual(basket);
    expect(await shop.caller.call(store.getOrder, { orderId: order!.id }, customer(1))).toEqual(order);
    expect((await get(basket.id, staff)).orders).toEqual(basket.orders.map((one) => ({ ...one, owner: 'user-1' })));
    expect(await stockOf(second)).toMatchObject({ free: 5, reserved: 5 });
    const alone = await shop.caller.call(store.placeOrder, { order: { plantId: first } }, customer(1));
    expect(alone).not.toHaveProperty('basketId');
  });

  it('of one line are one order', async () => {
    const basket = await placeNew(1);
    expect(basket.orders).toMatchObject([{ id: basket.id, basketId: basket.id }]);
    const payment = { outcome: 'succeeded', reference: `one line ${basket.id}` } as const;
    await payOrder(basket.id, payment.reference);
    expect(await shop.caller.call(store.reportBasketPayment, { basketId: basket.id, payment }, staff)).toMatchObject({ status: 'approved' });
  });

  it('are placed whole or not at all, and the refusal names all lines', async () => {
    const [few, none, plenty] = [await shop.plant(3), await shop.plant(0), await shop.plant(100)];
    const before = await counts();
    const refused = place({ lines: [{ plantId: plenty }, { plantId: few, quantity: 2 }, { plantId: none }, { plantId: few, quantity: 2 }] });
    await expect(refused).rejects.toMatchObject({
      code: 'insufficient-stock',
      details: { lines: [{ pointer: '/lines/1', plantId: few, available: 3 }, { pointer: '/lines/2', plantId: none, available: 0 }, { pointer: '/lines/3', plantId: few, available: 3 }] },
    });
    await expect(place({ lines: [{ plantId: plenty }, { plantId: 999_999_999 }] })).rejects.toMatchObject({ code: 'plant-not-found', details: { lines: [{ pointer: '/lines/1', plantId: 999_999_999 }] } });
    expect(await counts()).toEqual(before);
    expect(await stockOf(plenty)).toEqual({ plantId: plenty, free: 100, reserved: 0, sold: 0 });
  });

  it.each<[string, unknown, string]>([
    ['no line', { lines: [] }, '/basket/lines'],
    ['51 lines', { lines: Array(51).fill({ plantId: 1 }) }, '/basket/lines'],
    ['quantity 0', { lines: [{ plantId: 1 }, { plantId: 1, quantity: 0 }] }, '/basket/lines/1/quantity'],
    ['a line without a plant', { lines: [{}] }, '/basket/lines/0/plantId'],
    ['a line that is none', { lines: [7] }, '/basket/lines/0'],
    ['metadata that are no texts', { lines: [{ plantId: 1 }], metadata: { a: 1 } }, '/basket/metadata'],
  ])('with %s are refused with a pointer', async (_, basket, pointer) => {
    await expect(place(basket as NewBasket)).rejects.toMatchObject({ code: 'invalid-input', details: { errors: [{ pointer }] } });
  });

  it('have an external id once for each customer, also when two are placed at once', async () => {
    const plantId = await shop.plant(100);
    const named = (who: number) => place({ lines: [{ plantId }, { plantId }], externalId: 'the same' }, customer(who));
    const outcomes = await Promise.allSettled([2, 2, 2, 2, 3].map(named));
    const placed = outcomes.filter((one) => one.status === 'fulfilled').map(({ value }) => value);
    expect(placed).toHaveLength(2);
    await expect(named(2)).rejects.toMatchObject({ code: 'external-id-exists', details: { basketId: placed.map(({ id }) => id).find((id) => idsOf(placed[0]!).includes(id)) } });
    expect(await stockOf(plantId)).toMatchObject({ free: 96 });
  });

  it('are placed once per Idempotency-Key, and every repetition gets the first answer', async () => {
    const plantId = await shop.plant(10);
    const send = async (quantity = 1) => {
      const context = new RpcContext('test', Deadline.in(10_000), customer(1));
      const { payload, replayed = false } = await shop.caller.client.callRaw(store.placeBasket, { basket: { lines: [{ plantId, quantity }, { plantId }] } }, context, 'basket once');
      return { basket: JSON.parse(Buffer.from(payload).toString()) as Basket, replayed };
    };
    const answers = await Promise.all(Array.from({ length: 6 }, () => send()));
    expect(answers.filter(({ replayed }) => !replayed)).toHaveLength(1);
    await cancel(answers[0]!.basket.id);
    for (const { basket } of [...answers, await send()]) expect(basket).toEqual(answers[0]!.basket);
    expect(await outcomeOf(send(2))).toBe('idempotency-key-reused');
    expect(await shop.rows('SELECT count(*)::int FROM orders WHERE plant_id = $1', [plantId])).toEqual([{ count: 2 }]);
  });

  it('of others are not found, unless the caller may read all orders', async () => {
    const { id } = await placeNew();
    const auditor: Principal = { ...customer(3), permissions: ['read:orders', 'write:orders'] };
    expect(await outcomeOf(get(id, customer(2)))).toBe('basket-not-found');
    expect(await outcomeOf(cancel(id, customer(2)))).toBe('basket-not-found');
    expect(await outcomeOf(get(999_999_999))).toBe('basket-not-found');
    expect(await outcomeOf(pay(999_999_999, 'paid'))).toBe('basket-not-found');
    expect(await outcomeOf(get(id, auditor))).toBe('placed');
    expect(await outcomeOf(cancel(id, auditor))).toBe('forbidden');
    expect(await outcomeOf(cancel(id, staff))).toBe('placed');
    expect(await shop.rows(`SELECT target FROM audit_log WHERE operation = 'store.cancelBasket'`)).toEqual([{ target: String(id) }]);
  });

  it('show their owner no order that was transferred, and the new owner no basket', async () => {
    const basket = await placeNew(2, { externalId: 'given away' });
    const [given, kept] = idsOf(basket);
    await shop.caller.call(store.transferOrder, { orderId: given!, transfer: { username: 'user-4' } }, staff);
    expect(await get(basket.id)).toEqual({ ...basket, orders: [basket.orders[1]] });
    expect(await outcomeOf(get(basket.id, customer(4)))).toBe('basket-not-found');
    expect(idsOf(await get(basket.id, staff))).toEqual([given, kept]);
    await cancel(basket.id);
    expect(await statusesOf(basket.id)).toEqual(['placed', 'cancelled']);
    await shop.caller.call(store.transferOrder, { orderId: given!, transfer: { username: 'user-5' } }, staff);
    await cancel(basket.id, staff);
    expect(await statusesOf(basket.id)).toEqual(['cancelled', 'cancelled']);
  });

  it('are cancelled at once, and again without effect', async () => {
    const plantId = await shop.plant(10);
    const { id } = await place({ lines: [{ plantId, quantity: 4 }, { plantId: await shop.plant(1) }, { plantId, quantity: 6 }] });
    const cancelled = await cancel(id);
    expect(cancelled).toMatchObject({ status: 'cancelled', orders: Array(3).fill({ status: 'cancelled' }) });
    expect(await stockOf(plantId)).toEqual({ plantId, free: 10, reserved: 0, sold: 0 });
    expect(await cancel(id)).toEqual(cancelled);
  });

  it('are not cancelled if an order was paid, and can be again once staff cancelled that one', async () => {
    const basket = await placeNew(3);
    const [, paid] = idsOf(basket);
    await payOrder(paid!);
    await expect(cancel(basket.id)).rejects.toMatchObject({ code: 'order-not-cancellable', details: { orders: [paid] } });
    expect(await statusesOf(basket.id)).toEqual(['placed', 'approved', 'placed']);
    await shop.caller.call(store.cancelOrderByStaff, { orderId: paid!, cancellation: { reason: 'it died', restock: false } }, staff);
    expect(await cancel(basket.id)).toMatchObject({ status: 'cancelled' });
    expect((await shop.caller.call(store.listRefunds, { status: 'due' }, staff)).filter(({ orderId }) => idsOf(basket).includes(orderId))).toHaveLength(1);
  });

  it('on Postgres are decided as the sequential model decides, among single orders (slow)', async () => {
    let plants = 1_000_000;
    /** A plant of lane 1: the lane preserves the order of arrival, as the model does. */
    const onLaneOne = async (units: number): Promise<number> => {
      plants += 4;
      await shop.caller.call(store.openStock, { plantId: plants, incarnation: 1, version: 1, status: 'available', units });
      return plants;
    };
    const one = await shop.ordersService();
    const anyLine = fc.record({ plant: fc.constantFrom(0, 0, 0, 0, 1, 1, 1, 1, 2), quantity: fc.integer({ min: 1, max: 6 }) });
    const anyRequest = fc.array(anyLine, { minLength: 1, maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(fc.array(anyRequest, { minLength: 1, maxLength: 16 }), async (requests) => {
        const plantIds = [await onLaneOne(25), await onLaneOne(8), 999_999_996];
        const model = new SequentialModel(new Map([[plantIds[0]!, { listing: 'available', free: 25, reserved: 0 }], [plantIds[1]!, { listing: 'available', free: 8, reserved: 0 }]]));
        const ordered = requests.map((lines) => lines.map(({ plant, quantity }) => ({ plantId: plantIds[plant]!, quantity })));
        const expected = ordered.map((lines, n) =>
          lines.length === 1 ? model.place({ ...lines[0]!, orderId: 10 * n, ownerId: 'anyone' }) : model.placeBasket({ firstId: 10 * n, lines, ownerId: 'anyone' }),
        );
        const context = new RpcContext('test', Deadline.in(10_000), customer(1));
        const got = await Promise.all(ordered.map((lines) => outcomeOf(lines.length === 1 ? one.placeOrder(context, lines[0]!) : one.placeBasket(context, { lines }))));
        expect(got).toEqual(expected);
        for (const [plantId, row] of model.stock) expect(await stockOf(plantId)).toMatchObject({ free: row.free, reserved: row.reserved });
      }),
      { numRuns: 40 },
    );
  }, 60_000);

  it('in opposite orders, on two replicas and beside single orders, sell each unit once, without a deadlock', async () => {
    const deadlocks = () => shop.rows('SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()');
    const before = await deadlocks();
    const [a, b, c] = [await shop.plant(60), await shop.plant(60), await shop.plant(60)];
    const orders = [[a, b, c], [c, b, a], [b, a, b], [a], [c]];
    const outcomes = await Promise.all(
      Array.from({ length: 150 }, (_, n) => {
        const lines = orders[n % orders.length]!.map((plantId) => ({ plantId }));
        return outcomeOf(lines.length === 1 ? shop.caller.call(store.placeOrder, { order: lines[0]! }, customer(n % 7)) : place({ lines }, customer(n % 7)));
      }),
    );
    expect(new Set(outcomes)).toEqual(new Set(['placed', 'insufficient-stock']));
    expect(Math.min(...(await Promise.all([a, b, c].map(stockOf))).map(({ free }) => free))).toBeLessThan(2);
    expect(await shop.rows('SELECT basket_id FROM orders WHERE basket_id IS NOT NULL AND plant_id = ANY($1) GROUP BY basket_id HAVING count(*) <> 3', [[a, b, c]])).toEqual([]);
    expect(await deadlocks()).toEqual(before);
  });

  it('are paid, cancelled and expired all or nothing, whatever comes first (slow)', async () => {
    const seen = new Set<string>();
    for (let round = 0; round < 30; round++) {
      const basket = await placeNew(3);
      const ids = idsOf(basket);
      const expiring = (): Promise<unknown> => shop.rows(`UPDATE orders SET due_at = now() WHERE basket_id = $1 AND status = 'placed'`, [basket.id]);
      const [paid, cancelled] = await Promise.all([outcomeOf(pay(basket.id, 'raced')), outcomeOf(cancel(basket.id)), ...(round % 3 === 0 ? [expiring()] : [])]);
      const [status, ...others] = [...new Set(await statusesOf(basket.id))];
      expect(others).toEqual([]);
      expect(status).toBe(paid === 'placed' ? 'approved' : 'cancelled');
      expect(cancelled).toBe(status === 'cancelled' ? 'placed' : 'order-not-cancellable');
      const payments = await shop.rows<{ state: string }>('SELECT state FROM payments WHERE order_id = ANY($1)', [ids]);
      expect(payments.map(({ state }) => state)).toEqual(Array(3).fill(status === 'approved' ? 'accepted' : 'refund-due'));
      seen.add(status!);
    }
    expect(seen.size).toBeGreaterThan(0);
  }, 60_000);

  it('expire together, with an event for each order, and not while one of them is locked (slow)', async () => {
    const whole = await placeNew(4);
    // Due once the lock is held.
    await shop.rows(`UPDATE orders SET due_at = now() + interval '2 seconds' WHERE basket_id = $1`, [whole.id]);
    await shop.holding('SELECT 1 FROM orders WHERE id = $1', [idsOf(whole)[2]], async () => {
      const later = await placeNew(1);
      await shop.rows(`UPDATE orders SET due_at = now() + interval '3 seconds' WHERE id = $1`, [later.id]);
      await until(async () => (await get(later.id)).status === 'cancelled');
      expect(await statusesOf(whole.id)).toEqual(Array(4).fill('placed'));
    });
    await until(async () => (await get(whole.id)).status === 'cancelled');
    expect(await shop.rows('SELECT count(DISTINCT xmin::text)::int AS transactions FROM orders WHERE basket_id = $1', [whole.id])).toEqual([{ transactions: 1 }]);
    expect(await shop.rows(`SELECT count(DISTINCT event_id)::int AS events FROM order_transitions WHERE order_id = ANY($1) AND new_status = 'cancelled'`, [idsOf(whole)])).toEqual([{ events: 4 }]);
  });

  it('make one refund for each order if the payment is late, and one transfer may return the money of all', async () => {
    const [basket, other] = [await placeNew(), await placeNew()];
    for (const { id } of [basket, other]) await cancel(id);
    await expect(pay(basket.id, 'late')).rejects.toMatchObject({ code: 'order-not-payable', details: { payment: 'refund-due' } });
    expect(await outcomeOf(pay(basket.id, 'late'))).toBe('order-not-payable');
    expect(await outcomeOf(pay(other.id, 'late'))).toBe('order-not-payable');
    const due = await shop.caller.call(store.listRefunds, { status: 'due' }, staff);
    const refundOf = (orderId: number) => due.filter((refund) => refund.orderId === orderId);
    const complete = (orderId: number, reference: string) => outcomeOf(shop.caller.call(store.completeRefund, { refundId: refundOf(orderId)[0]!.id, completion: { reference } }, staff));
    for (const id of [...idsOf(basket), ...idsOf(other)]) expect(refundOf(id)).toHaveLength(1);
    const [[first, second], [third]] = [idsOf(basket), idsOf(other)];
    expect(await complete(first!, 'one transfer')).toBe('placed');
    expect(await complete(third!, 'one transfer')).toBe('refund-reference-used');
    expect(await complete(second!, 'one transfer')).toBe('placed');
    expect((await get(basket.id)).orders.map(({ refund }) => refund)).toEqual(['completed', 'completed']);
  });

  it('that cannot be paid whole are not paid, and all of the money is due for refund', async () => {
    const basket = await placeNew();
    const [gone, left] = idsOf(basket);
    await shop.caller.call(store.cancelOrder, { orderId: gone! }, customer(1));
    expect(await outcomeOf(pay(basket.id, 'for all'))).toBe('order-not-payable');
    expect(await get(basket.id)).toMatchObject({ status: 'placed', orders: [{ status: 'cancelled', refund: 'due' }, { status: 'placed', refund: 'due' }] });
    expect(await outcomeOf(payOrder(left!))).toBe('placed');
    expect(await statusesOf(basket.id)).toEqual(['cancelled', 'approved']);
  });

  it('are not paid by a payment of one of their orders, and a repeated payment stays accepted after staff cancelled an order', async () => {
    const basket = await placeNew();
    const [first, second] = idsOf(basket);
    await payOrder(first!, `shared of ${basket.id}`);
    expect(await outcomeOf(pay(basket.id, 'shared'))).toBe('payment-reference-used');
    expect(await statusesOf(basket.id)).toEqual(['approved', 'placed']);

    const other = await placeNew();
    await pay(other.id, 'paid');
    expect(await outcomeOf(payOrder(idsOf(other)[0]!, `paid of ${other.id}`))).toBe('payment-reference-used');
    await shop.caller.call(store.cancelOrderByStaff, { orderId: idsOf(other)[1]!, cancellation: { reason: 'it died', restock: false } }, staff);
    expect(await pay(other.id, 'paid')).toMatchObject({ status: 'approved', orders: [{ status: 'approved' }, { status: 'cancelled', refund: 'due' }] });
    expect(await outcomeOf(payOrder(second!))).toBe('placed');
  });

  it('lose what names people when their customer is deleted', async () => {
    const basket = await place({ lines: [{ plantId: await shop.plant(1) }], externalId: 'of Ann', metadata: { phone: '1' } }, customer(9));
    await cancel(basket.id, customer(9));
    await shop.caller.call(store.closeCustomer, { userId: customer(9).subject });
    const { externalId, metadata, ...rest } = basket;
    expect({ externalId, metadata }).toEqual({ externalId: 'of Ann', metadata: { phone: '1' } });
    expect(await get(basket.id, staff)).toMatchObject({ id: rest.id, status: 'cancelled' });
    expect(await get(basket.id, staff)).not.toHaveProperty('metadata');
    expect(await get(basket.id, staff)).not.toHaveProperty('externalId');
  });
});

describe('a basket', () => {
  afterEach(stop);

  it('counts each of its orders as unpaid (slow)', async () => {
    shop = await StoreFixture.start({ unpaidOrders: 3, unpaidUnits: 5 });
    const plantId = await shop.plant(1_000);
    const lines = (...quantities: number[]) => ({ lines: quantities.map((quantity) => ({ plantId, quantity })) });
    expect(await outcomeOf(place(lines(1, 1, 1, 1, 1)))).toBe('unpaid-limit');
    expect(await outcomeOf(place(lines(9, 3, 3)))).toBe('unpaid-limit');
    const { id } = await place(lines(9, 1, 1));
    expect(await outcomeOf(place(lines(1, 1)))).toBe('unpaid-limit');
    await pay(id, 'paid');
    expect(await outcomeOf(place(lines(1, 1, 1, 1)))).toBe('placed');
  });

  it('is approved at once by the simulated provider, unless its payment failed (slow)', async () => {
    shop = await StoreFixture.start({ paymentProvider: 'simulated', simulatedApprovalDelayMs: 1_500, simulatedDeliveryDelayMs: 3_600_000 });
    const [basket, declined] = [await placeNew(3), await placeNew(3)];
    const after = await pay(declined.id, 'declined', 'failed');
    expect(new Set(after.orders.map(({ status, reservedUntil }: Order) => `${status} until ${reservedUntil}`)).size).toBe(1);
    await until(async () => (await get(basket.id)).status === 'approved');
    expect(await shop.rows('SELECT count(DISTINCT xmin::text)::int AS transactions FROM orders WHERE basket_id = $1', [basket.id])).toEqual([{ transactions: 1 }]);
    expect(await get(declined.id)).toEqual(after);
    expect(await pay(declined.id, 'second card')).toMatchObject({ status: 'approved' });
  });
});
