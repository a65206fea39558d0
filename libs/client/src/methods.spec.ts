import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { answered, Elsewhere, json } from './calls.spec.fixture.js';
import { methods } from './generated/methods.js';
import { createShop, type Shop } from './index.js';

const document = JSON.parse(readFileSync(new URL('../../../docs/api/openapi.json', import.meta.url), 'utf8')) as { readonly paths: Record<string, Record<string, { readonly operationId?: string }>> };

const textOf = (path: string): string => readFileSync(new URL(path, import.meta.url), 'utf8');

describe('the README', () => {
  const readme = textOf('../README.md');

  it('lists all named methods', () => {
    const listed = [...readme.matchAll(/^(\w+)\.\{([^}]+)\}$/gm)].map(([, group, names = '']) => [group, names.split(',').map((name) => name.trim())]);
    expect(listed).toEqual(Object.entries(methods).map(([group, named]) => [group, Object.keys(named)]));
  });

  it('names all options of events', () => {
    const [, options = ''] = /interface EventsOptions[^{]+\{\n(.+?)\n\}/s.exec(textOf('../src/events.ts')) ?? [];
    const names = [...options.matchAll(/^ {2}readonly (\w+)\?/gm)].map(([, name]) => `\`${name}\``);
    expect(names).toContain('`silenceMs`');
    const [, bullet = ''] = /\*\*Options\*\*(.+?)\n-/s.exec(readme) ?? [];
    expect(bullet.match(/`\w+`/g)).toEqual(expect.arrayContaining(names));
  });
});

describe('named methods', () => {
  it('are every operation of the document, once', () => {
    const named = Object.values(methods).flatMap((group: Record<string, string>) => Object.values(group).map((entry) => entry.slice(0, entry.lastIndexOf(' '))));
    const documented = Object.entries(document.paths).flatMap(([path, item]) => Object.entries(item).flatMap(([method, { operationId }]) => (operationId === undefined ? [] : [`${method.toUpperCase()} ${path}`])));
    expect(named.sort()).toEqual(documented.sort());
  });

  describe('send the same request as the path', () => {
    let server: Elsewhere;
    let shop: Shop;
    const lines: Parameters<typeof Elsewhere.start>[0] = answered(200, { 'content-type': 'application/x-ndjson' }, '{"id":1}\n');
    beforeAll(async () => {
      server = await Elsewhere.start((request, response) => (/import|export/.test(request.url ?? '') ? lines : json([{ id: 1 }]))(request, response));
      shop = createShop({ url: server.url, credential: { apiKey: 'k' } });
    });
    beforeEach(() => {
      server.requests.splice(0);
      server.bodies.splice(0);
    });
    afterAll(() => server.stop());
    const ofList = async (list: AsyncIterable<unknown>): Promise<void> => {
      for await (const one of list) expect(one).toEqual({ id: 1 });
    };

    it.each<[string, () => Promise<unknown>, string, string?]>([
      ['a body', () => shop.orders.place({ plantId: 7 }), 'POST /v3/store/order', '{"plantId":7}'],
      ['an id and a body', () => shop.orders.ship(7, { carrier: 'Post', trackingNumber: 'P-1' }), 'POST /v3/store/order/7/shipment', '{"carrier":"Post","trackingNumber":"P-1"}'],
      ['two ids', () => shop.users.endSession('ada/x', 's-1'), 'DELETE /v3/user/ada%2Fx/sessions/s-1'],
      ['an id and a query', () => shop.orders.get(7, { expand: ['plant'] }), 'GET /v3/store/order/7?expand=plant'],
      ['an id without its query', () => shop.orders.get(7), 'GET /v3/store/order/7'],
      ['a form', () => shop.plants.change(7, { name: 'a b' }), 'POST /v3/plant/7', 'name=a+b'],
      ['a list', () => ofList(shop.orders.list({ status: ['placed', 'approved'] })), 'GET /v3/store/order?status=placed,approved'],
      ['a list of an id', () => ofList(shop.webhooks.listDeliveries('w-1', { limit: 5 })), 'GET /v3/webhooks/w-1/deliveries?limit=5'],
      ['nothing', () => shop.service.live(), 'GET /livez'],
    ])('with %s', async (_, call, expected, body = '') => {
      await call();
      expect(server.requests.map(({ method, url }) => `${method} ${url}`)).toEqual([expected]);
      expect(server.bodies).toEqual([body]);
    });

    it('with the options of the call', async () => {
      await shop.orders.deliver(7, { idempotencyKey: 'mine', headers: { 'if-match': '"1"' } });
      expect(server.requests[0]?.headers).toMatchObject({ 'idempotency-key': 'mine', 'if-match': '"1"', api_key: 'k' });
      await expect(shop.orders.place({ plantId: 7 }, { signal: AbortSignal.abort(new Error('enough')) })).rejects.toThrow('enough');
    });

    it('and give lines and files as a stream, or as asked', async () => {
      const { data } = await shop.plants.export();
      expect(await new Response(data).text()).toBe('{"id":1}\n');
      const { data: text } = await shop.plants.import('{"id":1}\n', { parseAs: 'text' });
      expect(text.length).toBe(9);
      expect(await new Response((await shop.GET('/plant/export')).data).text()).toBe('{"id":1}\n');
    });
  });
});

/** Compiled, never called: what the types must refuse. */
export const refused = async (shop: Shop): Promise<void> => {
  // @ts-expect-error -- without its body
  await shop.orders.place();
  // @ts-expect-error -- a member with another name
  await shop.orders.place({ plant: 7 });
  // @ts-expect-error -- an option with another name
  await shop.orders.place({ plantId: 7 }, { parseAs: 'json', deadline: 3 });
  // @ts-expect-error -- an id with another type
  await shop.orders.get('7');
  // @ts-expect-error -- a list without its required parameter
  shop.plants.findByTags();
  // @ts-expect-error -- the cursor of a list, whose pages are followed
  shop.orders.list({ cursor: 'c' });
  // @ts-expect-error -- the type of another operation's answer
  (await shop.orders.get(7)).data satisfies Awaited<ReturnType<Shop['plants']['get']>>['data'];
};
