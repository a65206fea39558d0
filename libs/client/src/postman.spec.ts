import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { methods } from './generated/methods.js';

interface Item {
  readonly name: string;
  readonly item?: readonly Item[];
  readonly request?: { readonly method: string; readonly url: { readonly path: readonly string[] }; readonly body?: { readonly raw?: string; readonly options?: object } };
}
interface Collection {
  readonly item: readonly Item[];
  readonly variable: readonly { readonly key: string; readonly value: string }[];
}

const collection = JSON.parse(readFileSync(new URL('../../../docs/api/postman.json', import.meta.url), 'utf8')) as Collection;
const requests = collection.item.flatMap(({ item = [] }) => item.flatMap(({ request }) => request ?? []));

// generated.spec.ts tests that it is current.
describe('the Postman collection', () => {
  it('has every operation once, but for those that change a whole sandbox', () => {
    const found = requests.map(({ method, url }) => `${method} /${url.path.map((one) => one.replace(/^:(\w+)$/, '{$1}')).join('/')}`.replace(' /v3/', ' /'));
    const documented = Object.values(methods).flatMap((group: Record<string, string>) => Object.values(group).map((entry) => entry.slice(0, entry.lastIndexOf(' '))));
    expect(found.sort()).toEqual(documented.filter((one) => !one.includes(' /test/')).sort());
  });

  it('has bodies of JSON, in which only variables that it has are replaced', () => {
    const known = new Map(collection.variable.map(({ key, value }) => [key, value]));
    const bodies = requests.flatMap(({ body }) => (body?.options && body.raw ? [body.raw] : []));
    expect(bodies.length).toBeGreaterThan(20);
    for (const body of bodies) {
      expect(() => JSON.parse(body.replaceAll(/\{\{[$\w]+\}\}/g, '1')) as unknown).not.toThrow();
      for (const [, name = ''] of body.matchAll(/\{\{(\w+)\}\}/g)) expect(known.has(name)).toBe(true);
    }
  });

  it('deletes nothing that it did not create', () => {
    const deleted = requests.filter(({ method }) => method === 'DELETE').flatMap(({ url }) => url.path.filter((one) => one.startsWith(':')).map((one) => one.slice(1)));
    const values = new Map(collection.variable.map(({ key, value }) => [key, value]));
    expect(new Set(deleted)).toEqual(new Set(['plantId', 'orderId', 'basketId', 'username', 'apiKeyId', 'sessionId', 'factorId', 'clientId', 'webhookId', 'destinationId']));
    expect([...new Set(deleted)].filter((name) => values.get(name) !== '')).toEqual(['sessionId', 'factorId']);
    // They are those of the user that it created.
    expect(requests.filter(({ url }) => url.path.includes(':factorId')).map(({ url }) => url.path)).toEqual([['v3', 'user', ':username', 'factors', ':factorId']]);
    expect(requests.filter(({ url }) => url.path.includes(':sessionId')).map(({ url }) => url.path)).toEqual([['v3', 'user', ':username', 'sessions', ':sessionId']]);
  });
});
