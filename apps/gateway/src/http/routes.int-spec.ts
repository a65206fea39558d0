import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type AccessPolicy, isRateLimited, type Permission, permissions } from '@plant-shop/contracts/permissions';
import { catalog } from '@plant-shop/contracts/catalog';
import type { ClientOperation } from '@plant-shop/contracts/client-operation';
import { clientOperations } from '@plant-shop/contracts/client-operations';
import { sampleOf } from '@plant-shop/contracts/samples';
import { unwrapResponse, Versioned } from '@plant-shop/platform/rpc/answer';
import { type Fake, fake } from '@plant-shop/service-testing/service';
import { until } from '@plant-shop/testing/until';
import { echoes, type Shop, startShop, userId } from '../gateway.spec.fixture.js';
import { routeSpecOf, undocumented } from './route.js';

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

/** Who gets through to an operation. `all`: with any credential or none; `authenticated`: with any valid credential. */
type Permitted = 'all' | 'authenticated' | readonly CallerName[];

interface Row {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly type?: string;
  /** Others get 403, or 401 without a valid credential. */
  readonly permitted: Permitted;
  readonly operation: ClientOperation;
}

/** What each caller has, apart from `invalidKey` and `anonymous`. */
const credentials: Readonly<Partial<Record<CallerName, { readonly permissions: readonly Permission[]; readonly kind: 'session' | 'apiKey' }>>> = {
  customerSession: { kind: 'session', permissions: customer },
  customerBearer: { kind: 'session', permissions: customer },
  customerKey: { kind: 'apiKey', permissions: customer },
  webhooksKey: { kind: 'apiKey', permissions: ['webhooks'] },
  plantsKey: { kind: 'apiKey', permissions: ['write:plants'] },
  stockKey: { kind: 'apiKey', permissions: ['write:stock'] },
  readerSession: { kind: 'session', permissions: ['read:orders'] },
  plantsSession: { kind: 'session', permissions: ['write:plants'] },
  managerSession: { kind: 'session', permissions: ['manage:orders'] },
  paymentsKey: { kind: 'apiKey', permissions: ['write:payments'] },
  shipmentsSession: { kind: 'session', permissions: ['write:shipments'] },
  adminKey: { kind: 'apiKey', permissions },
};

function permittedBy(access: AccessPolicy): Permitted {
  if (access.kind === 'authenticated') return 'authenticated';
  if (access.kind !== 'permission') return 'all';
  return callerNames.filter((caller) => {
    const held = credentials[caller];
    return held !== undefined && (held.kind === access.orKind || access.anyOf.some((one) => held.permissions.includes(one)));
  });
}

/** The session, token or key in a caller's header. */
const secretOf = (caller: CallerName): string => Object.values<string>(callers[caller])[0]!.replace('Bearer ', '');

const jsonType = 'application/json';
const plantLine = '{"id":1,"name":"Fern"}';

/** A request for an operation, from the sample of its first call. */
function rowOf(operation: ClientOperation): Row {
  const { name, method, url, required = {}, body, calls: [call], access } = operation;
  const sample = call ? (sampleOf(call).request as Readonly<Record<string, unknown>>) : {};
  const texts = Object.keys(required).map((one) => `${one}=${encodeURIComponent(String(sample[one]))}`);
  const path = url.replaceAll(/:(\w+)/g, (_, one: string) => encodeURIComponent(String(sample[one])));
  const row = { name, method, path: texts.length > 0 ? `${path}?${texts.join('&')}` : path, permitted: permittedBy(access), operation };
  switch (body?.kind) {
    case 'json':
      return { ...row, body: sample[body.member], type: body.isMergePatch ? 'application/merge-patch+json' : jsonType };
    case 'form':
      return { ...row, body: body.fields.map((one) => `${one}=${String(sample[one])}`).join('&'), type: 'application/x-www-form-urlencoded' };
    case 'lines':
      return { ...row, body: plantLine, type: 'application/x-ndjson' };
    case 'multipart':
      return {
        ...row,
        body: `--part\r\ncontent-disposition: form-data; name="file"; filename="fern.png"\r\ncontent-type: image/png\r\n\r\nfern\r\n--part--\r\n`,
        type: 'multipart/form-data; boundary=part',
      };
    default:
      // Their handlers name what they require themselves.
      return name === 'login' ? { ...row, path: `${path}?username=ada&password=secret` } : row;
  }
}

const rows: readonly Row[] = clientOperations
  .map(rowOf)
  .flatMap((row) => (row.method === 'GET' && !row.operation.unsafeGet ? [row, { ...row, method: 'HEAD' }] : [row]));

/** Headers that an operation's own handler sets when it succeeds. */
const ownHeaders: Readonly<Record<string, object>> = {
  login: { 'x-rate-limit': '20', 'x-expires-after': '2026-05-01T17:45:12.345Z' },
  getImage: {
    'content-type': 'image/png',
    'content-disposition': 'inline',
    'content-security-policy': "default-src 'none'; sandbox",
    'cross-origin-resource-policy': 'cross-origin',
    'cache-control': 'public, max-age=31536000, immutable',
    'accept-ranges': 'bytes',
    etag: '"4c4b6a3be1314ab86138bef4314dde022e600960d8689a2c8f8631802d20dab6"',
  },
  ready: { 'cache-control': 'no-store' },
  getOpenApi: { 'cache-control': 'no-cache', etag: expect.stringMatching(/^W\/"[\w-]{22}"$/) },
};

/** All headers of the response, as the declaration has them. */
function headersFor({ name, method, operation: { access, unsafeGet, deprecated, answer, calls } }: Row, status: number): object {
  const isLimited = isRateLimited(access);
  const isLines = status === 200 && answer.kind === 'lines';
  // The fake catalog has no plants to export.
  const someLines = method === 'POST' ? { 'transfer-encoding': 'chunked' } : { 'content-length': '0' };
  return {
    'x-content-type-options': 'nosniff',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    'referrer-policy': 'no-referrer',
    'strict-transport-security': 'max-age=31536000; includeSubDomains',
    'cross-origin-opener-policy': 'same-origin',
    // Only what is the same for everybody may be stored.
    'cache-control': access.kind === 'open' && status === 200 && /GET|HEAD/.test(method) && !unsafeGet ? 'private, no-cache' : 'no-store',
    'x-request-id': expect.stringMatching(/^[0-9a-f-]{36}$/),
    ...(isLimited && { ratelimit: expect.stringMatching(/^"requests";r=\d+;t=\d+$/), 'ratelimit-policy': '"requests";q=1000000;w=60' }),
    ...(deprecated && { deprecation: expect.any(String), sunset: expect.any(String) }),
    ...((status === 401 || status === 403) && { 'www-authenticate': expect.stringMatching(/^Bearer realm="plant-shop"/) }),
    'content-type': isLines ? 'application/x-ndjson' : `application/${status === 200 ? '' : 'problem+'}json; charset=utf-8`,
    ...(isLines ? someLines : { 'content-length': expect.stringMatching(/^[1-9]\d*$/) }),
    ...(status === 200 && calls[0]?.versioned && { etag: expect.stringMatching(/^"7-\w{1,7}"$/) }),
    ...(status === 200 && ownHeaders[name]),
    date: expect.any(String),
    // fetch asks to close the connection after HEAD.
    ...(method === 'HEAD' ? { connection: 'close' } : { connection: 'keep-alive', 'keep-alive': 'timeout=72' }),
  };
}

/** Answers with a version, as the services do; of plants the gateway caches it. */
const withVersion = ({ operation, answer }: Fake): Fake => ({
  operation,
  answer: async (...request) => {
    const { value } = unwrapResponse(await answer(...request));
    return operation.versioned ? new Versioned(value, 7, 'unchanged') : value;
  },
});

describe('the routes', () => {
  let shop: Shop;
  beforeAll(async () => {
    const { catalog: ofCatalog = [], ...others } = Object.fromEntries(Object.entries(echoes).map(([service, fakes]) => [service, fakes.map(withVersion)]));
    const withImages = ofCatalog.filter(({ operation }) => operation.name !== 'getImage');
    shop = await startShop({ ...others, catalog: [...withImages, fake(catalog.getImage), fake(catalog.readStamps, () => ['unchanged'])] });
    for (const [caller, held] of Object.entries(credentials)) shop.identity.addCredential(secretOf(caller as CallerName), held);
    // Until the gateway has loaded the revocation log, it cannot check credentials.
    await until(async () => (await shop.get('/v3/store/inventory', { api_key: 'made-up' })).status !== 503, 15_000);
  });
  afterAll(() => shop.stop());

  it('each have the checks of their declaration; HEAD has those of GET', () => {
    for (const operation of clientOperations) {
      const own = shop.gateway.routes.filter(({ method, spec }) => method !== 'HEAD' && spec.operation === operation.name);
      expect(own).toEqual([{ method: operation.method, url: operation.url, spec: routeSpecOf(operation) }]);
    }
    for (const { method, url, spec } of shop.gateway.routes) {
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

  it('are the declared operations, and pages that no document describes', () => {
    const served = new Set(shop.gateway.routes.map(({ spec }) => spec.operation));
    expect([...served].sort()).toEqual([...clientOperations.map(({ name }) => name), ...Object.keys(undocumented)].sort());
  });

  const statusFor = (permitted: Permitted, caller: CallerName): number => {
    if (permitted === 'all') return 200;
    if (caller === 'invalidKey' || caller === 'anonymous') return 401;
    return permitted === 'authenticated' || permitted.includes(caller) ? 200 : 403;
  };

  /** One caller per status. tests/acceptance/src/security/access.spec.ts tries all kinds of credentials on the whole shop. */
  const callersFor = (permitted: Permitted): CallerName[] => {
    const allowed = typeof permitted === 'string' ? 'customerSession' : permitted[0]!;
    const others = typeof permitted === 'string' ? [] : callerNames.filter((caller) => statusFor(permitted, caller) === 403).slice(0, 1);
    return ['anonymous', 'invalidKey', allowed, ...others];
  };

  const ask = ({ method, path, body, type = jsonType }: Row, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(shop.gateway.url + path, {
      method,
      headers: { ...headers, 'accept-encoding': 'identity', ...(body !== undefined && { 'content-type': type }) },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });

  describe.each(rows.map((row) => [`${row.method} ${row.path} (${row.name})`, row] as const))('%s', (_, row) => {
    it.each(callersFor(row.permitted))('called by %s', async (caller) => {
      const response = await ask(row, callers[caller]);
      const status = statusFor(row.permitted, caller);
      expect(response.status).toBe(status);
      expect(Object.fromEntries(response.headers)).toEqual(headersFor(row, status));
    });

    // The router decodes a path before it matches, so an encoded letter reaches the same route with the same checks.
    it.each([
      [`/%${row.path.charCodeAt(1).toString(16)}`, statusFor(row.permitted, 'anonymous')],
      [`//${row.path[1]}`, 404],
      [`/${row.path[1]?.toUpperCase()}`, 404],
    ])('with the spelling %s at the start: %i', async (start, status) => {
      expect((await ask({ ...row, path: start + row.path.slice(2) })).status).toBe(status);
    });
  });

  describe('forward a request', () => {
    const last = (): { payload: unknown; principal: unknown; requestId: string } => {
      const { payload, context } = shop.calls.filter(({ operation }) => !/\.(readRevocations|checkCredential|resolveSubject)$/.test(operation)).at(-1)!;
      return { payload: JSON.parse(JSON.stringify(payload)), principal: context.principalIfAny, requestId: context.requestId };
    };

    it('with its body, parameters, id and principal', async () => {
      await shop.send('PUT', '/v3/store/inventory/77', { free: 5 }, { api_key: 'stock-key', 'x-request-id': 'mine.1' });
      expect(last()).toEqual({
        payload: { plantId: 77, stock: { free: 5 } },
        principal: { subject: userId(1), permissions: ['write:stock'], shown: ['apiKey'], shownIds: [shop.identity.idOf('stock-key')] },
        requestId: 'mine.1',
      });
    });

    it('without a principal if it has no credential', async () => {
      await shop.get('/v3/user/J%C3%BCrgen%2Fx');
      expect(last()).toMatchObject({ payload: { username: 'Jürgen/x' }, principal: undefined });
    });

    it('without members of the body that are named like parameters', async () => {
      await shop.send('PUT', '/v3/store/inventory/77', '{"free":5,"plantId":1}', { api_key: 'stock-key' });
      expect(last().payload).toEqual({ plantId: 77, stock: { free: 5 } });
    });

    it('with the session that survives a change of the password', async () => {
      await shop.send('PUT', '/v3/user/a', { password: 'new' }, { session_token: 'customer-session' });
      expect(last().payload).toMatchObject({ ownSession: expect.stringMatching(/^[\w-]{43}$/) });
    });

    it('with the fields of a form in the query, as Petstore v3 sends them', async () => {
      const headers = { ...callers.adminKey };
      for (const [query, fields] of [['name=Tree+fern&status=sold', { name: 'Tree fern', status: 'sold' }], ['status=pending&other=1', { status: 'pending' }]] as const) {
        const response = await fetch(`${shop.gateway.url}/v3/plant/77?${query}`, { method: 'POST', headers });
        expect([response.status, last().payload]).toEqual([200, { plantId: 77, ...fields }]);
      }
    });

    it('with available plants without a status', async () => {
      await shop.get('/v3/plant/findByStatus');
      expect(last().payload).toEqual({});
    });

    it('with statuses and tags as lists, in any notation', async () => {
      await shop.get('/v3/plant/findByStatus?status=sold,%20pending%20&status=+sold');
      expect(last().payload).toEqual({ status: ['sold', 'pending'] });
      await shop.get('/v3/plant/findByTags?tags=a+b%2Cc,d&limit=5&cursor=x');
      expect(last().payload).toEqual({ tags: ['a b,c', 'd'], limit: 5, cursor: 'x' });
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
