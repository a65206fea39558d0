import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { notifications } from '@plant-shop/contracts/notifications';
import { Page, Versioned } from '@plant-shop/platform/rpc/answer';
import { type Fake, fake } from '@plant-shop/service-testing/service';
import { sampleOf } from '@plant-shop/service-testing/samples';
import { echoes, publicUrl, type Shop, startShop, userId } from '../gateway.spec.fixture.js';

const key = { api_key: 'key' };
const webhook = { url: 'https://a.example/hook', eventTypes: ['order.status_changed'] };
const path = `/v3/webhooks/${userId(8)}`;

describe('webhooks at the gateway', () => {
  let shop: Shop;
  beforeAll(async () => {
    const { getWebhook, replaceWebhook, listDeliveries } = notifications;
    const own = [
      fake(getWebhook, () => new Versioned(sampleOf(getWebhook).answer, 3)),
      fake(replaceWebhook, () => new Versioned(sampleOf(replaceWebhook).answer, 3)),
      fake(listDeliveries, () => new Page(sampleOf(listDeliveries).answer, 'W10')),
    ];
    const isOwn = ({ operation }: Fake): boolean => own.some((one) => one.operation.pattern === operation.pattern);
    const bare = (echoes['notifications'] ?? []).filter((one) => !isOwn(one));
    shop = await startShop({ notifications: [...bare, ...own] });
    shop.identity.addCredential('key', { kind: 'apiKey', permissions: ['webhooks'] });
  });
  afterAll(() => shop.stop());

  const last = (operation: { pattern: string }): { payload: unknown; hasKey: boolean } => {
    const call = shop.calls.filter((one) => one.operation === operation.pattern).at(-1);
    return { payload: JSON.parse(JSON.stringify(call?.payload)), hasKey: call?.context.idempotency !== undefined };
  };

  it('have an ETag, by which reads and changes are conditional', async () => {
    const read = await shop.get(path, key);
    const etag = read.headers.get('etag') ?? '';
    expect((await shop.get(path, { ...key, 'if-none-match': etag })).status).toBe(304);
    expect((await shop.send('PUT', path, webhook, { ...key, 'if-match': etag })).headers.get('etag')).toMatch(/^"3-\w{1,7}"$/);
    expect(last(notifications.replaceWebhook).payload).toEqual({ webhookId: userId(8), webhook, ifVersion: 3 });
  });

  it('are deleted with an ApiResponse, conditionally by If-Match', async () => {
    const deleted = await fetch(shop.gateway.url + path, { method: 'DELETE', headers: { ...key, 'if-match': '"3"' } });
    const { id } = sampleOf(notifications.deleteWebhook).answer;
    expect(await deleted.json()).toEqual({ code: 200, type: 'SUCCESS', message: id });
    expect(last(notifications.deleteWebhook).payload).toEqual({ webhookId: userId(8), ifVersion: 3 });
  });

  it('answer secrets with Cache-Control: no-store', async () => {
    const created = await shop.send('POST', '/v3/webhooks', webhook, key);
    expect(created.headers.get('cache-control')).toBe('no-store');
    const rotated = await shop.send('POST', `${path}/rotateSecret`, {}, key);
    expect(rotated.headers.get('cache-control')).toBe('no-store');
  });

  it.each([
    ['', webhook, notifications.createWebhook],
    [`/${userId(8)}/rotateSecret`, {}, notifications.rotateWebhookSecret],
    [`/${userId(8)}/test`, undefined, notifications.testWebhook],
    [`/${userId(8)}/deliveries/5/resend`, undefined, notifications.resendDelivery],
    [`/${userId(8)}/replay`, { onlyFailed: true }, notifications.replayEvents],
  ] as const)('POST /v3/webhooks%s honours Idempotency-Key', async (rest, body, operation) => {
    const headers = { ...key, 'idempotency-key': 'once', ...(body && { 'content-type': 'application/json' }) };
    const response = await fetch(`${shop.gateway.url}/v3/webhooks${rest}`, {
      method: 'POST',
      headers,
      ...(body && { body: JSON.stringify(body) }),
    });
    expect(response.status).toBe(200);
    expect(last(operation).hasKey).toBe(true);
  });

  it('list their deliveries in pages; the link to the next page keeps webhook and state', async () => {
    const response = await shop.get(`${path}/deliveries?state=failed&limit=10&cursor=W5`, key);
    expect(last(notifications.listDeliveries).payload).toEqual({ webhookId: userId(8), state: 'failed', limit: 10, cursor: 'W5' });
    expect(response.headers.get('link')).toBe(`<${publicUrl}${path}/deliveries?state=failed&limit=10&cursor=W10>; rel="next"`);
  });

  it.each([
    ['GET', '/v3/webhooks/no-uuid', undefined, { parameter: 'webhookId' }],
    ['GET', `${path}/deliveries?state=lost`, undefined, { parameter: 'state' }],
    ['POST', `${path}/deliveries/x/resend`, undefined, { parameter: 'deliveryId' }],
    ['POST', '/v3/webhooks', { ...webhook, url: 'ftp://a.example' }, { pointer: '/url' }],
    ['POST', '/v3/webhooks', { ...webhook, eventTypes: ['order.praised'] }, { pointer: '/eventTypes' }],
    ['POST', `${path}/rotateSecret`, { graceSeconds: '60' }, { pointer: '/graceSeconds' }],
    ['POST', `${path}/replay`, { since: 'yesterday' }, { pointer: '/since' }],
  ])('%s %s with invalid input answers 400 with its place', async (method, path, body, place) => {
    const response = body ? await shop.send(method, path, body, key) : await fetch(shop.gateway.url + path, { method, headers: key });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ code: 'invalid-input', errors: [place] });
  });
});
