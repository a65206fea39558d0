import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readinessOf } from '@plant-shop/platform/service/readiness.contract';
import { TestCaller } from '@plant-shop/testing/service';
import { Shop } from './stream/stream.spec.fixture.js';

describe('notifications', () => {
  let shop: Shop;
  let caller: TestCaller;
  beforeAll(async () => {
    shop = await Shop.open();
    await shop.start();
    caller = await TestCaller.connect(shop.nats.url);
  });
  afterAll(async () => {
    await caller.close();
    await shop.close();
  });

  it('is ready when its database and NATS are there', async () => {
    const report = await caller.call(readinessOf('notifications'), {});
    expect(report).toEqual({ ready: true, checks: { start: 'ok', nats: 'ok', database: 'ok' } });
  });
});
