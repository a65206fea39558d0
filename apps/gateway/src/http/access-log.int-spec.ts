import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { store } from '@plant-shop/contracts/store';
import { fake } from '@plant-shop/service-testing/service';
import type { Histogram } from 'prom-client';
import { type Shop, startShop } from '../gateway.spec.fixture.js';

describe('request metrics', () => {
  let shop: Shop;
  let work = Promise.withResolvers<unknown>();
  let arrived = Promise.withResolvers<unknown>();
  beforeAll(async () => {
    shop = await startShop({
      store: [
        fake(store.readInventory, async () => {
          arrived.resolve(undefined);
          await work.promise;
          return { available: 1, pending: 2, sold: 3 };
        }),
      ],
    });
    shop.identity.addCredential('key', { kind: 'apiKey' });
  });
  afterAll(() => shop.stop());

  /** Requests so far, by status. */
  const counts = async (): Promise<Record<string, number>> => {
    const { values } = await (shop.service.metrics.getSingleMetric('http_request_duration_seconds') as Histogram).get();
    return Object.fromEntries(
      values
        .filter(({ metricName, labels }) => metricName?.endsWith('_count') && labels['operation'] === 'readInventory')
        .map(({ labels, value }) => [String(labels['status']), value]),
    );
  };
  const until = async (expected: Record<string, number>): Promise<void> => {
    const end = performance.now() + 3_000;
    while (performance.now() < end && JSON.stringify(await counts()) !== JSON.stringify(expected)) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    expect(await counts()).toEqual(expected);
  };

  it('count each request once, by status or as aborted', async () => {
    const leaving = new AbortController();
    const left = fetch(`${shop.gateway.url}/v3/store/inventory`, { headers: { api_key: 'key' }, signal: leaving.signal });
    await arrived.promise;
    leaving.abort();
    await expect(left).rejects.toThrow('aborted');
    await until({ aborted: 1 });

    // The first answer is discarded; the next request gets its own.
    work.resolve(undefined);
    arrived = Promise.withResolvers();
    work = Promise.withResolvers();
    work.resolve(undefined);
    expect((await shop.get('/v3/store/inventory', { api_key: 'key' })).status).toBe(200);
    await until({ aborted: 1, 200: 1 });
  });
});
