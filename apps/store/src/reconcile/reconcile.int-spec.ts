import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { store } from '@plant-shop/contracts/store';
import { sampleOf, shapeOf } from '@plant-shop/service-testing/samples';
import { customer, StoreFixture } from '../store.spec.fixture.js';

describe('data for comparison after a restore', () => {
  let shop: StoreFixture;
  beforeAll(async () => {
    shop = await StoreFixture.start();
  });
  afterAll(() => shop.stop());

  const open = (plantId: number, incarnation: number) =>
    shop.caller.call(store.openStock, { plantId, incarnation, version: incarnation, status: 'available' });
  const numbers = () => shop.caller.call(store.readHighestNumbers, {});

  it('the highest numbers of an empty store are 0', async () => {
    expect(await numbers()).toEqual({ plantVersion: 0, assignedPlantId: 0, retireAttempt: 0, closeAttempt: 0 });
  });

  it('the highest numbers are those of plants, tombstones and refused attempts', async () => {
    await open(1_000_000_003, 7);
    await shop.caller.call(store.listStock, { plantId: 1_000_000_003, incarnation: 7, version: 9, status: 'sold' });
    await open(1_000_000_005, 8);
    await shop.caller.call(store.retirePlant, { plantId: 1_000_000_005, incarnation: 8, attempt: 2 });
    const plantId = await shop.plant();
    const { subject: userId } = customer(1);
    const { id } = await shop.caller.call(store.placeOrder, { order: { plantId } }, customer(1));
    expect(await shop.caller.call(store.retirePlant, { plantId, incarnation: 1, attempt: 5 })).toEqual({ openOrders: [id] });
    expect(await shop.caller.call(store.closeCustomer, { userId, attempt: 4 })).toEqual({ openOrders: [id] });
    const highest = await numbers();
    expect(highest).toEqual({ plantVersion: 9, assignedPlantId: 1_000_000_005, retireAttempt: 5, closeAttempt: 4 });
    expect(shapeOf(highest)).toEqual(shapeOf(sampleOf(store.readHighestNumbers).answer));
  });

  it('an id that a client chose near the maximum does not count as assigned', async () => {
    await open(Number.MAX_SAFE_INTEGER, 12);
    expect(await numbers()).toMatchObject({ assignedPlantId: 1_000_000_005 });
  });

  it('stock is listed by plant id, tombstones too, page by page', async () => {
    const page = (after: number) => shop.caller.call(store.listAllStock, { after, limit: 2 });
    const first = await page(1_000_000_000);
    expect(first).toEqual([
      { plantId: 1_000_000_003, incarnation: 7, listing: 'sold', listingVersion: 9 },
      { plantId: 1_000_000_005, incarnation: 8, listing: 'retired', listingVersion: 8 },
    ]);
    expect(shapeOf(first)).toEqual(shapeOf(sampleOf(store.listAllStock).answer));
    expect((await page(1_000_000_005)).map(({ plantId }) => plantId)).toEqual([Number.MAX_SAFE_INTEGER]);
  });

  it('customers are listed by user id, closed ones too, page by page', async () => {
    await shop.caller.call(store.closeCustomer, { userId: customer(2).subject });
    const first = await shop.caller.call(store.listCustomers, { limit: 1 });
    expect(first).toEqual([{ userId: customer(1).subject, closed: false }]);
    expect(shapeOf(first)).toEqual(shapeOf(sampleOf(store.listCustomers).answer));
    expect(await shop.caller.call(store.listCustomers, { after: customer(1).subject })).toEqual([
      { userId: customer(2).subject, closed: true },
    ]);
  });
});
