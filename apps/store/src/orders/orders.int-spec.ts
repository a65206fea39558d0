import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type NewOrder, type Order, store } from '@plant-shop/contracts/store';
import type { Principal } from '@plant-shop/platform/rpc/context';
import fc from 'fast-check';
import { customer, outcomeOf, staff, StoreFixture } from '../store.spec.fixture.js';
import { SequentialModel } from './sequential-model.spec.fixture.js';

describe('orders', () => {
  let shop: StoreFixture;
  beforeAll(async () => {
    shop = await StoreFixture.start();
  });
  afterAll(async () => {
    expect(await shop.violations()).toEqual([]);
    await shop.stop();
  });

  const place = (order: NewOrder, who: Principal = customer(1)): Promise<Order> =>
    shop.caller.call(store.placeOrder, { order }, who);
  const stockOf = (plantId: number) => shop.caller.call(store.getStock, { plantId }, staff);

  it('placing reserves units and answers the order', async () => {
    const plantId = await shop.plant(10);
    const order = await place({ plantId, quantity: 3, shipDate: '2026-12-24T18:00:00+01:00' });
    expect(order).toEqual({
      id: expect.any(Number),
      plantId,
      quantity: 3,
      shipDate: '2026-12-24T17:00:00.000Z',
      status: 'placed',
      complete: false,
      placedAt: expect.any(String),
      updatedAt: order.placedAt,
      reservedUntil: expect.any(String),
    });
    expect(order.id).toBeGreaterThanOrEqual(1_000_000_001);
    expect(await stockOf(plantId)).toEqual({ plantId, free: 7, reserved: 3, sold: 0 });
    await expect(shop.caller.call(store.getOrder, { orderId: order.id }, customer(1))).resolves.toEqual(order);
  });

  it('of 200 concurrent orders for 100 units exactly 100 are placed', async () => {
    const plantId = await shop.plant(100);
    const outcomes = await Promise.all(
      Array.from({ length: 200 }, (_, n) => outcomeOf(place({ plantId }, customer(n % 20)))),
    );
    expect(outcomes.filter((one) => one === 'placed')).toHaveLength(100);
    expect(outcomes.filter((one) => one === 'insufficient-stock')).toHaveLength(100);
    expect(await stockOf(plantId)).toMatchObject({ free: 0, reserved: 100 });
  });

  it('an order that waits past its deadline is not placed', async () => {
    const plantId = await shop.plant(10);
    const placed = await shop.holding('SELECT 1 FROM stock WHERE plant_id = $1', [plantId], async (waiting) => {
      const first = place({ plantId });
      await waiting(1);
      const late = shop.caller.call(store.placeOrder, { order: { plantId, quantity: 5 } }, customer(2), 300);
      await expect(outcomeOf(late)).resolves.toBe('outcome-unknown');
      return { first };
    });
    await placed.first;
    // In the same lane: when this order is answered, the batch with the late one has ended.
    await place({ plantId });
    expect(await stockOf(plantId)).toMatchObject({ free: 8, reserved: 2 });
  });

  it('a chosen id is used once, also by duplicates in one batch', async () => {
    const plantId = await shop.plant(100);
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => outcomeOf(place({ id: 4_711, plantId }))));
    expect(outcomes.filter((one) => one === 'placed')).toHaveLength(1);
    expect(outcomes.filter((one) => one === 'order-exists')).toHaveLength(19);
    await expect(outcomeOf(place({ id: 4_711, plantId: await shop.plant(1) }))).resolves.toBe('order-exists');
  });

  it('a drawn id that a client has taken meanwhile is replaced', async () => {
    const plantId = await shop.plant(100);
    const { id } = await place({ plantId });
    for (let next = id + 1; next <= id + 5; next++) await place({ id: next, plantId });
    const { id: drawn } = await place({ plantId });
    expect(drawn).toBe(id + 6);
  });

  it('a batch that Postgres rejects because of one order fails that order alone', async () => {
    const plantId = await shop.plant(100);
    await shop.rows(`ALTER TABLE orders ADD CONSTRAINT no_thirteen CHECK (quantity <> 13)`);
    try {
      const outcomes = await Promise.all(
        Array.from({ length: 8 }, (_, n) => outcomeOf(place({ plantId, quantity: n === 5 ? 13 : 1 }))),
      );
      expect(outcomes).toEqual(['placed', 'placed', 'placed', 'placed', 'placed', 'internal', 'placed', 'placed']);
    } finally {
      await shop.rows('ALTER TABLE orders DROP CONSTRAINT no_thirteen');
    }
    expect(await stockOf(plantId)).toMatchObject({ free: 93, reserved: 7 });
  });

  it('batches on Postgres decide as the sequential model does (slow)', async () => {
    const anyOrder = fc.record({
      chosen: fc.option(fc.integer({ min: 1, max: 6 })),
      plant: fc.integer({ min: 0, max: 2 }),
      quantity: fc.integer({ min: 1, max: 8 }),
    });
    let round = 10;
    await fc.assert(
      fc.asyncProperty(fc.array(anyOrder, { minLength: 1, maxLength: 30 }), async (orders) => {
        // Plants of one lane: it preserves the order of arrival over all of them, as the model does.
        round++;
        const plants = [await onLaneOne(20), await onLaneOne(5), 999_999_996];
        const model = new SequentialModel(
          new Map([
            [plants[0]!, { listing: 'available', free: 20, reserved: 0 }],
            [plants[1]!, { listing: 'available', free: 5, reserved: 0 }],
          ]),
        );
        let assigned = -1;
        const expected = orders.map((one) =>
          model.place({
            orderId: one.chosen === null ? assigned-- : round * 100 + one.chosen,
            plantId: plants[one.plant]!,
            quantity: one.quantity,
            ownerId: 'anyone',
          }),
        );
        const got = await Promise.all(
          orders.map((one) =>
            outcomeOf(
              place({
                ...(one.chosen !== null && { id: round * 100 + one.chosen }),
                plantId: plants[one.plant]!,
                quantity: one.quantity,
              }),
            ),
          ),
        );
        expect(got).toEqual(expected);
        for (const [plantId, row] of model.stock) {
          expect(await stockOf(plantId)).toMatchObject({ free: row.free, reserved: row.reserved });
        }
      }),
      { numRuns: 40 },
    );
  });
  let lanePlants = 1_000_000;
  const onLaneOne = async (units: number): Promise<number> => {
    lanePlants += 4;
    await shop.caller.call(store.openStock, { plantId: lanePlants, incarnation: 1, version: 1, status: 'available', units });
    return lanePlants;
  };

  it('cancelling frees reserved stock at once, and is idempotent', async () => {
    const plantId = await shop.plant(5);
    const { id } = await place({ plantId, quantity: 5 });
    const before = await shop.caller.call(store.readInventory, {}, staff);
    const cancelled = await shop.caller.call(store.cancelOrder, { orderId: id }, customer(1));
    expect(cancelled).toMatchObject({ status: 'cancelled', complete: false });
    expect(await stockOf(plantId)).toEqual({ plantId, free: 5, reserved: 0, sold: 0 });
    const after = await shop.caller.call(store.readInventory, {}, staff);
    expect(after).toEqual({ available: before.available + 5, pending: before.pending - 5, sold: before.sold });
    await expect(shop.caller.call(store.cancelOrder, { orderId: id }, customer(1))).resolves.toEqual(cancelled);
    expect(await shop.rows('SELECT previous_status, new_status FROM order_transitions WHERE order_id = $1', [id])).toEqual([
      { previous_status: null, new_status: 'placed' },
      { previous_status: 'placed', new_status: 'cancelled' },
    ]);
  });

  it("another user's order is not found, unless the caller may read all orders", async () => {
    const { id } = await place({ plantId: await shop.plant() });
    const get = (who: Principal) => outcomeOf(shop.caller.call(store.getOrder, { orderId: id }, who));
    const cancel = (who: Principal) => outcomeOf(shop.caller.call(store.cancelOrder, { orderId: id }, who));
    const auditor: Principal = { ...customer(3), permissions: ['read:orders', 'write:orders'] };
    await expect(get(customer(2))).resolves.toBe('order-not-found');
    await expect(cancel(customer(2))).resolves.toBe('order-not-found');
    await expect(get(auditor)).resolves.toBe('placed');
    await expect(cancel(auditor)).resolves.toBe('forbidden');
    await expect(cancel(staff)).resolves.toBe('placed');
  });

  it('only available plants can be ordered, and unknown ones are not found', async () => {
    const plantId = await shop.plant();
    await shop.caller.call(store.listStock, { plantId, incarnation: 1, version: 2, status: 'pending' });
    await expect(outcomeOf(place({ plantId }))).resolves.toBe('plant-not-available');
    await expect(outcomeOf(place({ plantId: 123_456_789 }))).resolves.toBe('plant-not-found');
  });

  it.each([
    [{ plantId: '7' }, '/order/plantId'],
    [{ plantId: 7, quantity: 0 }, '/order/quantity'],
    [{ plantId: 7, quantity: -1 }, '/order/quantity'],
    [{ plantId: 7, quantity: 1e21 }, '/order/quantity'],
    [{ plantId: 9_007_199_254_740_992 }, '/order/plantId'],
    [{ plantId: 7, id: -1 }, '/order/id'],
    [{ plantId: 7, id: 1.5 }, '/order/id'],
    [{ plantId: 7, shipDate: 'tomorrow' }, '/order/shipDate'],
    [{ plantId: 7, shipDate: '2026-02-30T00:00:00Z' }, '/order/shipDate'],
    [{ plantId: 7, shipDate: '2026-12-31T23:59:60Z' }, '/order/shipDate'],
    [{ plantId: 7, shipDate: '0000-01-01T00:00:00Z' }, '/order/shipDate'],
    [{ plantId: 7, shipDate: '2026-01-01T00:00:00' }, '/order/shipDate'],
    [{ plantId: 7, status: 'shipped' }, '/order/status'],
    [{ plantId: 7, complete: 'false' }, '/order/complete'],
    [{}, '/order/plantId'],
    ['text', '/order'],
  ])('refuses %j with a pointer', async (order, pointer) => {
    await expect(place(order as never)).rejects.toMatchObject({
      code: 'invalid-input',
      details: { errors: [{ pointer, detail: expect.any(String) }] },
    });
  });
});
