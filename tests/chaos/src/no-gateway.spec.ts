import { afterEach, describe, expect, it } from '@jest/globals';
import { createShop } from '@plant-shop/client';
import { Balancer } from '@plant-shop/testing/balancer';
import { freePort } from '@plant-shop/testing/port';

describe('the client library', () => {
  let balancer: Balancer;
  afterEach(() => balancer.stop());

  it("reads the balancer's `no-gateway`: nothing happened, and when to try again", async () => {
    const port = await freePort();
    balancer = new Balancer([{ label: 'gateway-1', port, opsPort: port }]);
    const url = await balancer.start();
    const call = createShop({ url, deadlineMs: 500 }).GET('/plant/{plantId}', { params: { path: { plantId: 1 } } });
    await expect(call).rejects.toMatchObject({ kind: 'problem', status: 503, outcome: 'not-done', retryAfterMs: 1_000 });
  });
});
