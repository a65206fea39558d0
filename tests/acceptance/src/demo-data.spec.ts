import { beforeAll, describe, expect, it } from '@jest/globals';
import { gatewayUrl, ok, send, staff } from './shop.js';

interface DemoData {
  readonly addDemoData: (gatewayUrl: string, stop: AbortSignal) => Promise<string>;
}
interface Order {
  readonly id: number;
  readonly status: string;
  readonly owner: string;
  readonly carrier?: string;
}

describe('the demo data of npm start', () => {
  let addDemoData: () => Promise<string>;
  beforeAll(async () => {
    const module = (await import(new URL('../../../tools/start/demo-data.mjs', import.meta.url).href)) as DemoData;
    addDemoData = () => module.addDemoData(gatewayUrl(), new AbortController().signal);
  });

  it('shows something on each page of the console: plants, orders that wait, a refund, a webhook, customers', async () => {
    expect(await addDemoData()).toBe('24 plants, 15 orders, 3 customers, a webhook');
    const orders = await Promise.all(Array.from({ length: 15 }, (_, n) => ok<Order>(send('GET', `/v3/store/order/${101 + n}`, { as: staff }))));
    const waiting = orders.filter(({ status, carrier }) => status === 'approved' && carrier === undefined);
    expect(waiting.map(({ id }) => id)).toEqual(expect.arrayContaining([102, 105, 107, 111]));
    expect(orders.filter(({ carrier }) => carrier === 'Green Post').map(({ id }) => id)).toEqual([104, 110]);
    expect(new Set(orders.map(({ owner }) => owner))).toEqual(new Set(['maria', 'jonas', 'aiko']));
    const refunds = await ok<{ orderId: number }[]>(send('GET', '/v3/store/refund?status=due', { as: staff }));
    expect(refunds).toContainEqual(expect.objectContaining({ orderId: 109 }));
    const webhooks = await ok<{ id: string; url: string }[]>(send('GET', '/v3/webhooks', { as: staff }));
    const [webhook] = webhooks.filter(({ url }) => url === 'http://127.0.0.1:8090/');
    expect(webhook).toBeDefined();
    // Nothing receives it here.
    await send('DELETE', `/v3/webhooks/${webhook!.id}`, { as: staff });
  });

  it('is not added twice: the refusal is shown', async () => {
    await expect(addDemoData()).rejects.toThrow(/^The demo data could not be added: POST \/user answered 409: .*username-taken/);
  });
});
