import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Permission } from '@plant-shop/contracts/permissions';
import { fake } from '@plant-shop/testing/service';
import { until } from '@plant-shop/testing/until';
import { catalog } from '@plant-shop/contracts/catalog';
import { identity } from '@plant-shop/contracts/identity';
import { store } from '@plant-shop/contracts/store';
import { access } from '../access.js';
import { echoes, type Shop, startShop, userId } from '../gateway.spec.fixture.js';

/** Who asks: the headers of a request, and what identity knows of them. */
const callers = {
  nobody: {},
  stranger: { api_key: 'made-up' },
  customerSession: { session_token: 'customer-session' },
  customerBearer: { authorization: 'Bearer customer-session' },
  customerKey: { api_key: 'customer-key' },
  webhooksKey: { api_key: 'webhooks-key' },
  plantsKey: { api_key: 'plants-key' },
  stockKey: { api_key: 'stock-key' },
  readerSession: { session_token: 'reader-session' },
  plantsSession: { session_token: 'plants-session' },
  managerSession: { session_token: 'manager-session' },
  paymentsKey: { api_key: 'payments-key' },
  shipmentsSession: { session_token: 'shipments-session' },
  adminKey: { api_key: 'admin-key' },
} as const;
type Who = keyof typeof callers;
const everybody = Object.keys(callers) as Who[];

const customer: Permission[] = ['read:plants', 'write:orders', 'webhooks'];

interface Row {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly type?: string;
  /** Everybody else but `nobody` and `stranger` (401) gets 403. `all`: whatever is shown, or nothing. `shown`: any valid credential. */
  readonly may: 'all' | 'shown' | readonly Who[];
}

const plantWriters: Who[] = ['plantsKey', 'plantsSession', 'adminKey'];
const anyKey: Who[] = ['customerKey', 'webhooksKey', 'plantsKey', 'stockKey', 'paymentsKey', 'adminKey'];
const orderers: Who[] = ['customerSession', 'customerBearer', 'customerKey', 'adminKey'];
const webhookOwners: Who[] = [...orderers, 'webhooksKey'];

const rows: readonly Row[] = [
  { method: 'POST', path: '/v3/plant', body: { name: 'Fern' }, may: plantWriters },
  { method: 'PUT', path: '/v3/plant', body: { id: 1, name: 'Fern' }, may: plantWriters },
  { method: 'POST', path: '/v3/plant/1', body: 'name=Fern', type: 'application/x-www-form-urlencoded', may: plantWriters },
  { method: 'DELETE', path: '/v3/plant/1', may: plantWriters },
  { method: 'GET', path: '/v3/plant/1', may: 'all' },
  { method: 'HEAD', path: '/v3/plant/1', may: 'all' },
  { method: 'GET', path: '/v3/plant/findByStatus?status=sold', may: 'all' },
  { method: 'GET', path: '/v3/plant/findByTags?tags=a', may: 'all' },
  { method: 'GET', path: '/v3/plant/search?q=fern', may: 'all' },
  { method: 'GET', path: '/v3/plant/facets', may: 'all' },
  { method: 'POST', path: '/v3/plant/import', body: '{"id":1,"name":"Fern"}', type: 'application/x-ndjson', may: plantWriters },
  { method: 'GET', path: '/v3/plant/export', may: plantWriters },
  { method: 'POST', path: '/v3/store/order', body: { plantId: 1 }, may: orderers },
  { method: 'GET', path: '/v3/store/order/1', may: [...orderers, ...anyKey, 'readerSession'] },
  { method: 'HEAD', path: '/v3/store/order/1', may: [...orderers, ...anyKey, 'readerSession'] },
  { method: 'DELETE', path: '/v3/store/order/1', may: [...orderers, 'managerSession'] },
  { method: 'GET', path: '/v3/store/order', may: [...orderers, ...anyKey, 'readerSession'] },
  { method: 'GET', path: '/v3/store/order/1/timeline', may: [...orderers, ...anyKey, 'readerSession'] },
  { method: 'POST', path: '/v3/store/order/1/transfer', body: { username: 'a' }, may: ['managerSession', 'adminKey'] },
  { method: 'POST', path: '/v3/store/order/1/payment', body: { outcome: 'succeeded', reference: 'r' }, may: ['paymentsKey', 'adminKey'] },
  { method: 'GET', path: '/v3/store/refund', may: ['paymentsKey', 'adminKey'] },
  { method: 'GET', path: '/v3/store/refund/3', may: ['paymentsKey', 'adminKey'] },
  { method: 'POST', path: '/v3/store/refund/3/completion', body: { reference: 'r' }, may: ['paymentsKey', 'adminKey'] },
  { method: 'POST', path: '/v3/store/order/1/shipment', body: { carrier: 'c', trackingNumber: 't' }, may: ['shipmentsSession', 'adminKey'] },
  { method: 'POST', path: '/v3/store/order/1/delivery', may: ['shipmentsSession', 'adminKey'] },
  { method: 'GET', path: '/v3/store/inventory', may: [...orderers, ...anyKey, 'readerSession'] },
  { method: 'GET', path: '/v3/store/inventory/1', may: ['stockKey', 'adminKey'] },
  { method: 'HEAD', path: '/v3/store/inventory/1', may: ['stockKey', 'adminKey'] },
  { method: 'PUT', path: '/v3/store/inventory/1', body: { free: 1 }, may: ['stockKey', 'adminKey'] },
  { method: 'POST', path: '/v3/user', body: { username: 'a', password: 'b' }, may: 'all' },
  { method: 'POST', path: '/v3/user/createWithList', body: [{ username: 'a', password: 'b' }], may: 'all' },
  { method: 'GET', path: '/v3/user/a', may: 'all' },
  { method: 'GET', path: '/v3/user?q=a&role=staff', may: ['adminKey'] },
  { method: 'PUT', path: '/v3/user/a/role', body: { role: 'staff' }, may: ['adminKey'] },
  { method: 'PUT', path: '/v3/user/a', body: {}, may: 'shown' },
  { method: 'DELETE', path: '/v3/user/a', may: 'shown' },
  { method: 'POST', path: '/v3/user/a/apiKeys', body: { name: 'k' }, may: 'shown' },
  { method: 'GET', path: '/v3/user/a/apiKeys', may: 'shown' },
  { method: 'DELETE', path: `/v3/user/a/apiKeys/${userId(7)}`, may: 'shown' },
  { method: 'POST', path: `/v3/user/a/apiKeys/${userId(7)}/rotation`, body: {}, may: 'shown' },
  { method: 'GET', path: '/v3/user/a/sessions', may: 'shown' },
  { method: 'DELETE', path: '/v3/user/a/sessions', may: 'shown' },
  { method: 'DELETE', path: `/v3/user/a/sessions/${userId(7)}`, may: 'shown' },
  { method: 'POST', path: '/v3/oauth/clients', body: { name: 'c', grantTypes: ['client_credentials'], scopes: ['write:orders'] }, may: ['adminKey'] },
  { method: 'GET', path: '/v3/oauth/clients', may: ['adminKey'] },
  { method: 'GET', path: '/v3/oauth/clients/c', may: ['adminKey'] },
  { method: 'DELETE', path: '/v3/oauth/clients/c', may: ['adminKey'] },
  { method: 'POST', path: '/v3/oauth/clients/c/rotateSecret', may: ['adminKey'] },
  { method: 'GET', path: '/v3/audit', may: ['adminKey'] },
  { method: 'POST', path: '/v3/webhooks', body: { url: 'https://a.example', eventTypes: ['order.status_changed'] }, may: webhookOwners },
  { method: 'GET', path: '/v3/webhooks', may: webhookOwners },
  { method: 'GET', path: `/v3/webhooks/${userId(8)}`, may: webhookOwners },
  { method: 'HEAD', path: `/v3/webhooks/${userId(8)}`, may: webhookOwners },
  { method: 'PUT', path: `/v3/webhooks/${userId(8)}`, body: { url: 'https://a.example', eventTypes: ['order.status_changed'] }, may: webhookOwners },
  { method: 'DELETE', path: `/v3/webhooks/${userId(8)}`, may: webhookOwners },
  { method: 'POST', path: `/v3/webhooks/${userId(8)}/rotateSecret`, body: {}, may: webhookOwners },
  { method: 'POST', path: `/v3/webhooks/${userId(8)}/test`, may: webhookOwners },
  { method: 'GET', path: `/v3/webhooks/${userId(8)}/deliveries`, may: webhookOwners },
  { method: 'POST', path: `/v3/webhooks/${userId(8)}/deliveries/1/resend`, may: webhookOwners },
  { method: 'POST', path: `/v3/webhooks/${userId(8)}/replay`, body: { since: '2026-05-01T00:00:00Z' }, may: webhookOwners },
];

describe('the routes', () => {
  let shop: Shop;
  beforeAll(async () => {
    const key = { id: userId(7), name: 'k', prefix: 'pk', permissions: [], createdAt: '2026-05-01T09:30:00.000Z' };
    shop = await startShop({
      ...echoes,
      catalog: [...(echoes['catalog'] ?? []), fake(catalog.readAudit)],
      store: [...(echoes['store'] ?? []), fake(store.readAudit)],
      identity: [
        ...(echoes['identity'] ?? []),
        fake(identity.createApiKey, () => ({ ...key, key: 'secret' })),
        fake(identity.listApiKeys, () => [key]),
        fake(identity.revokeApiKey, () => key),
        fake(identity.rotateApiKey, () => ({ ...key, key: 'secret' })),
        fake(identity.listSessions),
        fake(identity.endSession),
        fake(identity.endSessions),
        fake(identity.readAudit),
        fake(identity.resolveUserIds),
        fake(identity.listOAuthClients),
        fake(identity.getOAuthClient),
        fake(identity.deleteOAuthClient),
        fake(identity.rotateOAuthClientSecret),
        fake(identity.createOAuthClient),
      ],
    });
    const know = (secret: string, kind: 'session' | 'apiKey', permissions: Permission[]): void =>
      shop.identity.addCredential(secret, { kind, permissions });
    know('customer-session', 'session', customer);
    know('customer-key', 'apiKey', customer);
    know('webhooks-key', 'apiKey', ['webhooks']);
    know('plants-key', 'apiKey', ['write:plants']);
    know('stock-key', 'apiKey', ['write:stock']);
    know('reader-session', 'session', ['read:orders']);
    know('plants-session', 'session', ['write:plants']);
    know('manager-session', 'session', ['manage:orders']);
    know('payments-key', 'apiKey', ['write:payments']);
    know('shipments-session', 'session', ['write:shipments']);
    shop.identity.addCredential('admin-key', { kind: 'apiKey' });
    // Until revocations are followed, no credential is judged.
    await until(async () => (await shop.get('/v3/store/inventory', { api_key: 'made-up' })).status !== 503, 15_000);
  });
  afterAll(() => shop.stop());

  it('each have a line in the access table, HEAD as its GET', () => {
    expect(shop.gateway.routes.length).toBeGreaterThan(40);
    for (const { method, url, spec } of shop.gateway.routes) {
      expect(spec.access).toBe(access[spec.operation]);
      if (method !== 'GET') continue;
      const head = shop.gateway.routes.find((one) => one.method === 'HEAD' && one.url === url);
      expect(head?.spec).toEqual(spec.unsafeGet ? undefined : spec);
    }
  });

  it.each(['/v3/user/login?username=a&password=b', '/v3/user/logout'])('HEAD %s, which would change something, is refused', async (path) => {
    const asked = (): number => shop.calls.filter(({ operation }) => /\.log(in|out)$/.test(operation)).length;
    const before = asked();
    const response = await fetch(shop.gateway.url + path, { method: 'HEAD', headers: callers.customerSession });
    expect(response.status).toBe(405);
    expect(response.headers.get('allow')).toBe('GET');
    expect(asked()).toBe(before);
  });

  it('are all in the rows below', () => {
    const asPattern = (url: string): RegExp => new RegExp(`^${url.replaceAll(/:\w+/g, '[^/]+')}$`);
    const unasked = shop.gateway.routes.filter(
      ({ method, url, spec }) =>
        method !== 'HEAD' &&
        !['open', 'login', 'getImage', 'uploadImage'].some((one) => one === spec.access.kind || one === spec.operation) &&
        !rows.some((row) => row.method === method && asPattern(url).test(row.path.split('?')[0]!)),
    );
    expect(unasked.map(({ spec }) => spec.operation)).toEqual([]);
  });

  it('use every line of the access table', () => {
    const used = new Set<string>(shop.gateway.routes.map(({ spec }) => spec.operation));
    expect(Object.keys(access).filter((one) => !used.has(one))).toEqual([]);
  });

  const statusFor = (may: Row['may'], who: Who): number => {
    if (may === 'all') return 200;
    if (who === 'stranger' || who === 'nobody') return 401;
    return may === 'shown' || may.includes(who) ? 200 : 403;
  };

  /** One for each answer there may be. Every kind of credential is tried on the whole shop: tests/acceptance/src/security/access.spec.ts. */
  const askersOf = (may: Row['may']): Who[] => {
    const allowed = typeof may === 'string' ? 'customerSession' : may[0]!;
    const others = typeof may === 'string' ? [] : everybody.filter((who) => statusFor(may, who) === 403).slice(0, 1);
    return ['nobody', 'stranger', allowed, ...others];
  };

  const ask = ({ method, path, body, type = 'application/json' }: Row, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(shop.gateway.url + path, {
      method,
      headers: { ...headers, ...(body !== undefined && { 'content-type': type }) },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });

  describe.each(rows.map((row) => [`${row.method} ${row.path}`, row] as const))('%s', (_, row) => {
    it.each(askersOf(row.may))('asked by %s', async (who) => {
      const response = await ask(row, callers[who]);
      const status = statusFor(row.may, who);
      expect(response.status).toBe(status);
      expect(response.headers.has('www-authenticate')).toBe(status === 401 || status === 403);
    });

    // The router decodes a path before it matches, so an encoded letter leads to the same route, with the same rule.
    it.each([
      ['/%76', statusFor(row.may, 'nobody')],
      ['//v', 404],
      ['/V', 404],
    ])('spelled with %s at its start: %i', async (start, status) => {
      expect((await ask({ ...row, path: row.path.replace('/v', start) })).status).toBe(status);
    });
  });

  describe('hand a request on', () => {
    const last = (): { payload: unknown; principal: unknown; requestId: string } => {
      const { payload, context } = shop.calls.filter(({ operation }) => !/\.(readRevocations|checkCredential|resolveSubject)$/.test(operation)).at(-1)!;
      return { payload: JSON.parse(JSON.stringify(payload)), principal: context.principal, requestId: context.requestId };
    };

    it('with its body, its parameters, its id and who it is from', async () => {
      await shop.send('PUT', '/v3/store/inventory/77', { free: 5 }, { api_key: 'stock-key', 'x-request-id': 'mine.1' });
      expect(last()).toEqual({
        payload: { plantId: 77, stock: { free: 5 } },
        principal: { subject: userId(1), permissions: ['write:stock'], shown: ['apiKey'] },
        requestId: 'mine.1',
      });
    });

    it('without a principal when nothing was shown', async () => {
      await shop.get('/v3/user/J%C3%BCrgen%2Fx');
      expect(last()).toMatchObject({ payload: { username: 'Jürgen/x' }, principal: undefined });
    });

    it('without what the body claims about other parameters', async () => {
      await shop.send('PUT', '/v3/store/inventory/77', '{"free":5,"plantId":1,"stock":{"free":9}}', { api_key: 'stock-key' });
      expect(last().payload).toEqual({ plantId: 77, stock: { free: 5 } });
    });

    it('with the session that a change of the password leaves alive', async () => {
      await shop.send('PUT', '/v3/user/a', { password: 'new' }, { session_token: 'customer-session' });
      expect(last().payload).toMatchObject({ ownSession: expect.stringMatching(/^[\w-]{43}$/) });
    });

    it('with statuses and tags as lists, however they were written', async () => {
      await shop.get('/v3/plant/findByStatus?status=sold,%20pending%20&status=+sold');
      expect(last().payload).toEqual({ status: ['sold', 'pending'] });
      await shop.get('/v3/plant/findByTags?tags=a+b%2Cc&limit=5&cursor=x');
      expect(last().payload).toEqual({ tags: ['a b', 'c'], limit: 5, cursor: 'x' });
      await shop.get('/v3/plant/search?q=tree+fern&status=sold,pending&tags=a&tags=b&category=x%2Cy&sort=name&limit=5&cursor=x');
      const filter = { q: 'tree fern', status: ['sold', 'pending'], tags: ['a', 'b'], category: 'x,y' };
      expect(last().payload).toEqual({ ...filter, sort: 'name', limit: 5, cursor: 'x' });
      await shop.get('/v3/plant/facets?q=tree+fern&status=sold,pending&tags=a,b&category=x%2Cy');
      expect(last().payload).toEqual(filter);
    });
  });

  describe('answer', () => {
    it('with the request id that was given, when it is sane', async () => {
      const idFor = async (given: string): Promise<string | null> =>
        (await shop.get('/v3/plant/1', { 'x-request-id': given })).headers.get('x-request-id');
      expect(await idFor('abc-1._Z')).toBe('abc-1._Z');
      expect(await idFor('a b')).toMatch(/^[0-9a-f-]{36}$/);
      expect(await idFor('x'.repeat(129))).toMatch(/^[0-9a-f-]{36}$/);
    });

    it('HEAD with the headers of GET and nothing else', async () => {
      const get = await shop.get('/v3/plant/1');
      const head = await fetch(`${shop.gateway.url}/v3/plant/1`, { method: 'HEAD' });
      expect(head.headers.get('content-length')).toBe(get.headers.get('content-length'));
      expect(await head.text()).toBe('');
    });

    it('deletions with the ApiResponse of the specification', async () => {
      const deleted = await fetch(`${shop.gateway.url}/v3/plant/7`, { method: 'DELETE', headers: callers.adminKey });
      expect(await deleted.json()).toEqual({ code: 200, type: 'SUCCESS', message: '7' });
    });

    it('with a page for each type of problem', async () => {
      const index = await (await shop.get('/problems')).text();
      expect(index).toContain('insufficient-stock');
      expect((await shop.get('/problems/insufficient-stock')).headers.get('content-type')).toContain('text/html');
      expect((await shop.get('/problems/made-up')).status).toBe(404);
      expect((await shop.get('/problems/__proto__')).status).toBe(404);
    });
  });
});
