import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type StockEntry, store } from '@plant-shop/contracts/store';
import { contextFor } from '@plant-shop/service-testing/service';
import { customer, outcomeOf, staff, StoreFixture } from '../store.spec.fixture.js';
import { availabilityOf } from './availability.js';

describe('what everybody may know of a stock', () => {
  const plant = { plantId: 7, listing: 'available', free: 0, lowStockAt: null } as const;

  it.each([
    [{ free: 0 }, { state: 'out-of-stock', units: 0 }],
    [{ free: 1 }, { state: 'low-stock', units: 1 }],
    [{ free: 10 }, { state: 'low-stock', units: 10 }],
    [{ free: 11 }, { state: 'in-stock' }],
    [{ free: 5, lowStockAt: 4 }, { state: 'in-stock', units: 5 }],
    [{ free: 40, lowStockAt: 40 }, { state: 'low-stock' }],
    [{ free: 40, listing: 'sold' }, { state: 'not-for-sale' }],
    [{ free: 0, listing: 'pending' }, { state: 'not-for-sale' }],
  ] as const)('of %o is %o', (stock, shown) => {
    expect(availabilityOf({ ...plant, ...stock }, 10)).toEqual({ plantId: 7, ...shown });
  });
});

describe('availability and adjustments', () => {
  let shop: StoreFixture;
  beforeAll(async () => {
    shop = await StoreFixture.start({ replicas: 2 });
  });
  afterAll(async () => {
    expect(await shop.violations()).toEqual([]);
    await shop.stop();
  });

  const { getAvailability, listAvailability, adjustStock, setStock, listStockChanges, getStock } = store;
  const adjust = (plantId: number, by: number, more: object = {}) =>
    shop.caller.call(adjustStock, { plantId, adjustment: { by, reason: 'count' }, ...more }, staff);

  it('follows orders and adjustments at once', async () => {
    const plantId = await shop.plant(4);
    const state = () => shop.caller.call(getAvailability, { plantId });
    expect(await state()).toEqual({ plantId, state: 'low-stock', units: 4 });
    await shop.caller.call(store.placeOrder, { order: { plantId, quantity: 4 } }, customer(1));
    expect(await state()).toEqual({ plantId, state: 'out-of-stock', units: 0 });
    await adjust(plantId, 30);
    expect(await state()).toEqual({ plantId, state: 'in-stock' });
    await shop.caller.call(setStock, { plantId, stock: { free: 30, lowStockAt: 30 } }, staff);
    expect(await state()).toEqual({ plantId, state: 'low-stock' });
  });

  it('of several plants is in the order of their ids, each once, without unknown and deleted ones', async () => {
    const [one, two, gone] = [await shop.plant(1), await shop.plant(50), await shop.plant(5)];
    await shop.caller.call(store.retirePlant, { plantId: gone, incarnation: 1 });
    expect(await shop.caller.call(listAvailability, { ids: [two, 987_654_321, one, gone, two] })).toEqual([
      { plantId: two, state: 'in-stock' },
      { plantId: one, state: 'low-stock', units: 1 },
    ]);
    await expect(outcomeOf(shop.caller.call(getAvailability, { plantId: gone }))).resolves.toBe('plant-not-found');
  });

  it('concurrent adjustments all count, none leaves less than no unit, and the history has each', async () => {
    const plantId = await shop.plant(5);
    const outcomes = await Promise.all(Array.from({ length: 8 }, () => outcomeOf(adjust(plantId, -1))));
    expect(outcomes.filter((one) => one === 'insufficient-stock')).toHaveLength(3);
    expect(await shop.caller.call(getStock, { plantId }, staff)).toMatchObject({ free: 0 });
    const history = await shop.caller.call(listStockChanges, { plantId }, staff);
    expect(history.map(({ by, free }) => [by, free])).toEqual([[-1, 0], [-1, 1], [-1, 2], [-1, 3], [-1, 4]]);
    expect(history[0]).toMatchObject({ reason: 'count', actor: staff.subject, username: expect.any(String) });
  });

  it('pages through the history, newest first, and not with the cursor of another plant', async () => {
    const plantId = await shop.plant(0);
    for (const by of [1, 2, 3]) await adjust(plantId, by);
    const page = async (more: object) => {
      const { payload, next } = await shop.caller.client.callRaw(listStockChanges, { plantId, limit: 2, ...more }, contextFor(staff));
      return { entries: JSON.parse(Buffer.from(payload).toString()) as StockEntry[], next };
    };
    const first = await page({});
    const second = await page({ cursor: first.next ?? '' });
    expect([...first.entries, ...second.entries].map(({ by }) => by)).toEqual([3, 2, 1]);
    expect(second.next).toBeUndefined();
    const other = await shop.plant(0);
    await expect(outcomeOf(shop.caller.call(listStockChanges, { plantId: other, cursor: first.next ?? '' }, staff))).resolves.toBe('invalid-cursor');
  });

  it('lowStockAt stays when it is absent and ends with null; setting it alone is no change of units', async () => {
    const plantId = await shop.plant(3);
    const set = (stock: { free: number; lowStockAt?: number | null }) => shop.caller.call(setStock, { plantId, stock }, staff);
    expect(await set({ free: 3, lowStockAt: 2 })).toMatchObject({ lowStockAt: 2 });
    expect(await set({ free: 9 })).toMatchObject({ free: 9, lowStockAt: 2 });
    expect(await set({ free: 9, lowStockAt: null })).not.toHaveProperty('lowStockAt');
    expect((await shop.caller.call(listStockChanges, { plantId }, staff)).map(({ by, free }) => [by, free])).toEqual([[6, 9]]);
  });

  it('refuses adjustments of another version, beyond the bounds, and of unknown plants', async () => {
    const plantId = await shop.plant(3);
    await expect(outcomeOf(adjust(plantId, 1, { ifVersion: 99 }))).resolves.toBe('precondition-failed');
    await expect(outcomeOf(adjust(plantId, 1_000_000_000))).resolves.toBe('invalid-input');
    await expect(outcomeOf(adjust(987_654_321, 1))).resolves.toBe('plant-not-found');
    expect(await shop.caller.call(listStockChanges, { plantId }, staff)).toEqual([]);
  });
});
