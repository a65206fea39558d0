import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Order } from '@plant-shop/contracts/store';
import { unwrapResponse } from '@plant-shop/platform/rpc/answer';
import { contextFor } from '@plant-shop/service-testing/service';
import { until } from '@plant-shop/testing/until';
import { customer, StoreFixture } from '../store.spec.fixture.js';
import type { OrdersService } from './orders.service.js';

/** The number of clients from which on a lane lingers. */
const clients = 4;

describe('the orders of a lane', () => {
  let shop: StoreFixture;
  let orders: OrdersService;
  beforeAll(async () => {
    shop = await StoreFixture.start();
    orders = await shop.ordersService();
  });
  afterAll(async () => {
    expect(await shop.violations()).toEqual([]);
    await shop.stop();
  });

  const turns = async (count: number): Promise<void> => {
    for (let n = 0; n < count; n++) await new Promise((resolve) => setImmediate(resolve));
  };

  it('that arrive in different turns, while the lane lingers for clients that it has just answered, share a batch', async () => {
    const plantId = await shop.plant(100_000);
    const place = async (): Promise<number> => (unwrapResponse(await orders.placeOrder(contextFor(customer(1)), { plantId })).value as Order).id;
    const placeAfterBatch = async (): Promise<number[]> => {
      await Promise.all(Array.from({ length: clients }, place));
      const first = place();
      await turns(3);
      return Promise.all([first, place()]);
    };
    // A batch is a transaction. On a busy machine the few milliseconds of lingering may pass between two turns.
    await until(async () => {
      const ids = await placeAfterBatch();
      const batches = await shop.rows('SELECT DISTINCT xmin::text FROM orders WHERE id = ANY($1)', [ids]);
      return batches.length === 1;
    });
  });
});
