import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readinessOf, type ReadinessReport } from '@plant-shop/platform/service/readiness';
import { TestCaller } from '@plant-shop/service-testing/service';
import { until } from '@plant-shop/testing/until';
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

  it('is ready when it has its database and NATS, and has read the revocations', async () => {
    const report = (): Promise<ReadinessReport> => caller.call(readinessOf('notifications'), {});
    await until(async () => (await report()).ready);
    expect(await report()).toEqual({ ready: true, checks: { start: 'ok', nats: 'ok', database: 'ok', schema: 'ok', revocations: 'ok' } });
  });
});
