import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Permission } from '@plant-shop/contracts/permissions';
import { fake } from '@plant-shop/testing/service';
import { until } from '@plant-shop/testing/until';
import { catalog } from '@plant-shop/contracts/catalog';
import { identity } from '@plant-shop/contracts/identity';
import { store } from '@plant-shop/contracts/store';
import { access } from '../access.js';
import { echoes, type Shop, startShop, userId } from '../gateway.spec.fixture.js';

/** The callers, with the headers that they send. */
const callers = {
  anonymous: {},
  invalidKey: { api_key: 'made-up' },
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
type CallerName = keyof typeof callers;
const callerNames = Object.keys(callers) as CallerName[];

const customer: Permission[] = ['read:plants', 'write:orders', 'webhooks'];

interface Row {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly type?: string;
  /**
   * Who is permitted; others get 403, or 401 without a valid credential. `all`: with any credential or none;
   * `authenticated`: with any valid credential.
   */
  readonly permitted: 'all' | 'authenticated' | readonly CallerName[];
}

const plantWriters: CallerName[] = ['plantsKey', 'plantsSession', 'adminKey'];
const anyKey: CallerName[] = ['customerKey', 'webhooksKey', 'plantsKey', 'stockKey', 'paymentsKey', 'adminKey'];
const orderers: CallerName[] = ['customerSession', 'customerBearer', 'customerKey', 'adminKey'];
const webhookOwners: CallerName[] = [...orderers, 'webhooksKey'];

const rows: readonly Row[] = [
  { method: 'POST', path: '/v3/plant', body: { name: 'Fern' }, permitted: plantWriters },
  { method: 'PUT', path: '/v3/plant', body: { id: 1, name: 'Fern' }, permitted: plantWriters },
  { method: 'POST', path: '/v3/plant/1', body: 'name=Fern', type: 'application/x-www-form-urlencoded', permitted: plantWriters },
  { method: 'DELETE', path: '/v3/plant/1', permitted: plantWriters },
  { method: 'GET', path: '/v3/plant/1', permitted: 'all' },
  { method: 'HEAD', path: '/v3/plant/1', permitted: 'all' },
  { method: 'GET', path: '/v3/plant/findByStatus?status=sold', permitted: 'all' },
  { method: 'GET', path: '/v3/plant/findByTags?tags=a', permitted: 'all' },
  { method: 'GET', path: '/v3/plant/search?q=fern', permitted: 'all' },
  { method: 'GET', path: '/v3/plant/facets', permitted: 'all' },
  { method: 'POST', path: '/v3/plant/import', body: '{"id":1,"name":"Fern"}', type: 'application/x-ndjson', permitted: plantWriters },
  { method: 'GET', path: '/v3/plant/export', permitted: plantWriters },
  { method: 'POST', path: '/v3/store/order', body: { plantId: 1 }, permitted: orderers },
  { method: 'GET', path: '/v3/store/order/1', permitted: [...orderers, ...anyKey, 'readerSession'] },
  { method: 'HEAD', path: '/v3/store/order/1', permitted: [...orderers, ...anyKey, 'readerSession'] },
  { method: 'DELETE', path: '/v3/store/order/1', permitted: [...orderers, 'managerSession'] },
  { method: 'GET', path: '/v3/store/order', permitted: [...orderers, ...anyKey, 'readerSession'] },
  { method: 'GET', path: '/v3/store/order/1/timeline', permitted: [...orderers, ...anyKey, 'readerSession'] },
  { method: 'POST', path: '/v3/store/order/1/transfer', body: { username: 'a' }, permitted: ['managerSession', 'adminKey'] },
  { method: 'POST', path: '/v3/store/order/1/payment', body: { outcome: 'succeeded', reference: 'r' }, permitted: ['paymentsKey', 'adminKey'] },
  { method: 'GET', path: '/v3/store/refund', permitted: ['paymentsKey', 'adminKey'] },
  { method: 'GET', path: '/v3/store/refund/3', permitted: ['paymentsKey', 'adminKey'] },
  { method: 'POST', path: '/v3/store/refund/3/completion', body: { reference: 'r' }, permitted: ['paymentsKey', 'adminKey'] },
  { method: 'POST', path: '/v3/store/order/1/shipment', body: { carrier: 'c', trackingNumber: 't' }, permitted: ['shipmentsSession', 'adminKey'] },
  { method: 'POST', path: '/v3/store/order/1/delivery', permitted: ['shipmentsSession', 'adminKey'] },
  { method: 'GET', path: '/v3/store/inventory', permitted: [...orderers, ...anyKey, 'readerSession'] },
  { method: 'GET', path: '/v3/store/inventory/1', permitted: ['stockKey', 'adminKey'] },
  { method: 'HEAD', path: '/v3/store/inventory/1', permitted: ['stockKey', 'adminKey'] },
  { method: 'PUT', path: '/v3/store/inventory/1', body: { free: 1 }, permitted: ['stockKey', 'adminKey'] },
  { method: 'POST', path: '/v3/user', body: { username: 'a', password: 'b' }, permitted: 'all' },
  { method: 'POST', path: '/v3/user/createWithList', body: [{ username: 'a', password: 'b' }], permitted: 'all' },
  { method: 'GET', path: '/v3/user/a', permitted: 'all' },
  { method: 'GET', path: '/v3/user?q=a&role=staff', permitted: ['adminKey'] },
  { method: 'PUT', path: '/v3/user/a/role', body: { role: 'staff' }, permitted: ['adminKey'] },
  { method: 'PUT', path: '/v3/user/a', body: {}, permitted: 'authenticated' },
  { method: 'DELETE', path: '/v3/user/a', permitted: 'authenticated' },
  { method: 'POST', path: '/v3/user/a/apiKeys', body: { name: 'k' }, permitted: 'authenticated' },
  { method: 'GET', path: '/v3/user/a/apiKeys', permitted: 'authenticated' },
  { method: 'DELETE', path: `/v3/user/a/apiKeys/${userId(7)}`, permitted: 'authenticated' },
  { method: 'POST', path: `/v3/user/a/apiKeys/${userId(7)}/rotation`, body: {}, permitted: 'authenticated' },
  { method: 'GET', path: '/v3/user/a/sessions', permitted: 'authenticated' },
  { method: 'DELETE', path: '/v3/user/a/sessions', permitted: 'authenticated' },
  { method: 'DELETE', path: `/v3/user/a/sessions/${userId(7)}`, permitted: 'authenticated' },
  { method: 'POST', path: '/v3/oauth/clients', body: { name: 'c', grantTypes: ['client_credentials'], scopes: ['write:orders'] }, permitted: ['adminKey'] },
  { method: 'GET', path: '/v3/oauth/clients', permitted: ['adminKey'] },
  { method: 'GET', path: '/v3/oauth/clients/c', permitted: ['adminKey'] },
  { method: 'DELETE', path: '/v3/oauth/clients/c', permitted: ['adminKey'] },
  { method: 'POST', path: '/v3/oauth/clients/c/rotateSecret', permitted: ['adminKey'] },
  { method: 'GET', path: '/v3/audit', permitted: ['adminKey'] },
  { method: 'POST', path: '/v3/webhooks', body: { url: 'https://a.example', eventTypes: ['order.status_changed'] }, permitted: webhookOwners },
  { method: 'GET', path: '/v3/webhooks', permitted: webhookOwners },
  { method: 'GET', path: `/v3/webhooks/${userId(8)}`, permitted: webhookOwners },
  { method: 'HEAD', path: `/v3/webhooks/${userId(8)}`, permitted: webhookOwners },
  { method: 'PUT', path: `/v3/webhooks/${userId(8)}`, body: { url: 'https://a.example', eventTypes: ['order.status_changed'] }, permitted: webhookOwners },
  { method: 'DELETE', path: `/v3/webhooks/${userId(8)}`, permitted: webhookOwners },
  { method: 'POST', path: `/v3/webhooks/${userId(8)}/rotateSecret`, body: {}, permitted: webhookOwners },
  { method: 'POST', path: `/v3/webhooks/${userId(8)}/test`, permitted: webhookOwners },
  { method: 'GET', path: `/v3/webhooks/${userId(8)}/deliveries`, permitted: webhookOwners },
  { method: 'POST', path: `/v3/webhooks/${userId(8)}/deliveries/1/resend`, permitted: webhookOwners },
  { method: 'POST', path: `/v3/webhooks/${userId(8)}/replay`, body: { since: '2026-05-01T00:00:00Z' }, permitted: webhookOwners },
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
    const add = (secret: string, kind: 'session' | 'apiKey', permissions: Permission[]): void =>
      shop.identity.addCredential(secret, { kind, permissions });
    add('customer-session', 'session', customer);
    add('customer-key', 'apiKey', customer);
    add('webhooks-key', 'apiKey', ['webhooks']);
    add('plants-key', 'apiKey', ['write:plants']);
    add('stock-key', 'apiKey', ['write:stock']);
    add('reader-session', 'session', ['read:orders']);
    add('plants-session', 'session', ['write:plants']);
    add('manager-session', 'session', ['manage:orders']);
    add('payments-key', 'apiKey', ['write:payments']);
    add('shipments-session', 'session', ['write:shipments']);
    shop.identity.addCredential('admin-key', { kind: 'apiKey' });
    // Until the gateway has loaded the revocation log, it cannot check credentials.
    await until(async () => (await shop.get('/v3/store/inventory', { api_key: 'made-up' })).status !== 503, 15_000);
  });
  afterAll(() => shop.stop());

  it('each have an entry in the access table; HEAD has that of GET', () => {
    expect(shop.gateway.routes.length).toBeGreaterThan(40);
    for (const { method, url, spec } of shop.gateway.routes) {
      expect(spec.access).toBe(access[spec.operation]);
      if (method !== 'GET') continue;
      const head = shop.gateway.routes.find((one) => one.method === 'HEAD' && one.url === url);
      expect(head?.spec).toEqual(spec.unsafeGet ? undefined : spec);
    }
  });

  it.each(['/v3/user/login?username=a&password=b', '/v3/user/logout'])('HEAD %s, which would change state, is refused', async (path) => {
    const callCount = (): number => shop.calls.filter(({ operation }) => /\.log(in|out)$/.test(operation)).length;
    const before = callCount();
    const response = await fetch(shop.gateway.url + path, { method: 'HEAD', headers: callers.customerSession });
    expect(response.status).toBe(405);
    expect(response.headers.get('allow')).toBe('GET');
    expect(callCount()).toBe(before);
  });

  it('are all tested below', () => {
    const asPattern = (url: string): RegExp => new RegExp(`^${url.replaceAll(/:\w+/g, '[^/]+')}$`);
    const untested = shop.gateway.routes.filter(
      ({ method, url, spec }) =>
        method !== 'HEAD' &&
        !['open', 'login', 'getImage', 'uploadImage'].some((one) => one === spec.access.kind || one === spec.operation) &&
        !rows.some((row) => row.method === method && asPattern(url).test(row.path.split('?')[0]!)),
    );
    expect(untested.map(({ spec }) => spec.operation)).toEqual([]);
  });

  it('use every entry of the access table', () => {
    const used = new Set<string>(shop.gateway.routes.map(({ spec }) => spec.operation));
    expect(Object.keys(access).filter((one) => !used.has(one))).toEqual([]);
  });

  const statusFor = (permitted: Row['permitted'], caller: CallerName): number => {
    if (permitted === 'all') return 200;
    if (caller === 'invalidKey' || caller === 'anonymous') return 401;
    return permitted === 'authenticated' || permitted.includes(caller) ? 200 : 403;
  };

  /** One caller per status. tests/acceptance/src/security/access.spec.ts tries all kinds of credentials on the whole shop. */
  const callersFor = (permitted: Row['permitted']): CallerName[] => {
    const allowed = typeof permitted === 'string' ? 'customerSession' : permitted[0]!;
    const others = typeof permitted === 'string' ? [] : callerNames.filter((caller) => statusFor(permitted, caller) === 403).slice(0, 1);
    return ['anonymous', 'invalidKey', allowed, ...others];
  };

  const ask = ({ method, path, body, type = 'application/json' }: Row, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(shop.gateway.url + path, {
      method,
      headers: { ...headers, ...(body !== undefined && { 'content-type': type }) },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });

  describe.each(rows.map((row) => [`${row.method} ${row.path}`, row] as const))('%s', (_, row) => {
    it.each(callersFor(row.permitted))('called by %s', async (caller) => {
      const response = await ask(row, callers[caller]);
      const status = statusFor(row.permitted, caller);
      expect(response.status).toBe(status);
      expect(response.headers.has('www-authenticate')).toBe(status === 401 || status === 403);
    });

    // The router decodes a path before it matches, so an encoded letter reaches the same route with the same checks.
    it.each([
      ['/%76', statusFor(row.permitted, 'anonymous')],
      ['//v', 404],
      ['/V', 404],
    ])('with the spelling %s at the start: %i', async (start, status) => {
      expect((await ask({ ...row, path: row.path.replace('/v', start) })).status).toBe(status);
    });
  });

  describe('forward a request', () => {
    const last = (): { payload: unknown; principal: unknown; requestId: string } => {
      const { payload, context } = shop.calls.filter(({ operation }) => !/\.(readRevocations|checkCredential|resolveSubject)$/.test(operation)).at(-1)!;
      return { payload: JSON.parse(JSON.stringify(payload)), principal: context.principal, requestId: context.requestId };
    };

    it('with its body, parameters, id and principal', async () => {
      await shop.send('PUT', '/v3/store/inventory/77', { free: 5 }, { api_key: 'stock-key', 'x-request-id': 'mine.1' });
      expect(last()).toEqual({
        payload: { plantId: 77, stock: { free: 5 } },
        principal: { subject: userId(1), permissions: ['write:stock'], shown: ['apiKey'] },
        requestId: 'mine.1',
      });
    });

    it('without a principal if it has no credential', async () => {
      await shop.get('/v3/user/J%C3%BCrgen%2Fx');
      expect(last()).toMatchObject({ payload: { username: 'Jürgen/x' }, principal: undefined });
    });

    it('without members of the body that are named like parameters', async () => {
      await shop.send('PUT', '/v3/store/inventory/77', '{"free":5,"plantId":1,"stock":{"free":9}}', { api_key: 'stock-key' });
      expect(last().payload).toEqual({ plantId: 77, stock: { free: 5 } });
    });

    it('with the session that survives a change of the password', async () => {
      await shop.send('PUT', '/v3/user/a', { password: 'new' }, { session_token: 'customer-session' });
      expect(last().payload).toMatchObject({ ownSession: expect.stringMatching(/^[\w-]{43}$/) });
    });

    it('with statuses and tags as lists, in any notation', async () => {
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
    it("with the client's request id, if it is valid", async () => {
      const idFor = async (given: string): Promise<string | null> =>
        (await shop.get('/v3/plant/1', { 'x-request-id': given })).headers.get('x-request-id');
      expect(await idFor('abc-1._Z')).toBe('abc-1._Z');
      expect(await idFor('a b')).toMatch(/^[0-9a-f-]{36}$/);
      expect(await idFor('x'.repeat(129))).toMatch(/^[0-9a-f-]{36}$/);
    });

    it('HEAD with the headers of GET and no body', async () => {
      const get = await shop.get('/v3/plant/1');
      const head = await fetch(`${shop.gateway.url}/v3/plant/1`, { method: 'HEAD' });
      expect(head.headers.get('content-length')).toBe(get.headers.get('content-length'));
      expect(await head.text()).toBe('');
    });

    it('deletions with an ApiResponse', async () => {
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
