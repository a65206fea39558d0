import { describe, expect, it } from '@jest/globals';
import { operationsOf } from '@plant-shop/platform/rpc/operation';
import { authenticated } from './permissions.js';
import { objectOf, text } from './answers.js';
import { deprecated, forClientsUnder, jsonObject, message } from './client-operation.js';
import { clientOperations } from './client-operations.js';
import { Id, Text } from './fields.js';
import { schemaOfClass } from './schema.js';

class Pot {
  @Id()
  potId: number;

  @Text()
  glaze: string;
}
interface Fired {
  readonly kiln: string;
}

const fired = objectOf('Fired')({ kiln: text() });
const fire = operationsOf('pottery').write<Fired>()('fire', Pot);
const forClients = forClientsUnder('Shop');
const texts = { access: authenticated, summary: 'Fire a pot' };

describe('a declaration', () => {
  it('adds method, path and answer to the operation of the service', () => {
    const { client, ...operation } = forClients(fire, { ...texts, route: 'POST /v3/pots/:potId/firing', body: jsonObject('glaze'), answer: fired });
    expect(operation).toEqual(fire);
    expect(client).toMatchObject({ name: 'fire', method: 'POST', url: '/v3/pots/:potId/firing', calls: [fire], conditional: false, answer: { kind: 'forwarded', schema: fired } });
  });

  it('does not compile with what the payload or the answer lacks', () => {
    const route = 'POST /v3/pots/:potId/firing';
    // @ts-expect-error -- a parameter in the path
    forClients(fire, { ...texts, route: 'POST /v3/pots/:kilnId/firing', answer: fired });
    // @ts-expect-error -- an unknown method
    forClients(fire, { ...texts, route, body: jsonObject('colour'), answer: fired });
    // @ts-expect-error -- a query parameter
    forClients(fire, { ...texts, route, query: ['colour'], answer: fired });
    // @ts-expect-error -- a member of the answer
    forClients(fire, { ...texts, route, answer: message('colour', 'blue') });
    // @ts-expect-error -- the schema of another answer
    forClients(fire, { ...texts, route, answer: text() });
    // @ts-expect-error -- requests with different parameters cannot share a read
    forClients(fire, { ...texts, route, shared: 'coalesced', answer: fired });
    // @ts-expect-error -- a method
    forClients(fire, { ...texts, route: 'TRACE /v3/pots/:potId', answer: fired });
    expect(forClients(fire, { ...texts, route, query: ['glaze'], answer: message('kiln', 'k1') }).client.query).toEqual(['glaze']);
  });
});

describe('the operations of clients', () => {
  it('have names and routes of their own', () => {
    expect(clientOperations.length).toBeGreaterThan(55);
    for (const key of ['name', 'route'] as const) {
      const all = clientOperations.map(({ name, method, url }) => (key === 'name' ? name : `${method} ${url}`));
      expect(all.filter((one, n) => all.indexOf(one) !== n)).toEqual([]);
    }
  });

  it.each(clientOperations.filter(({ calls }) => calls.length > 0).map((one) => [one.name, one] as const))(
    '%s honours If-Match if its payload has an expected version',
    (_, { calls: [call], conditional }) => {
      expect('ifVersion' in schemaOfClass(call!.payload).properties).toBe(conditional);
    },
  );
});

describe('a deprecation', () => {
  it('ends at least 180 days after it begins', () => {
    expect(deprecated('2026-12-01', '2027-05-30').sunset).toEqual(new Date('2027-05-30T00:00:00Z'));
    expect(() => deprecated('2026-12-01', '2027-05-29')).toThrow('180 days');
    expect(() => deprecated('2026-12-01', '2027-02-30')).toThrow('2027-02-30 is not a date');
    expect(() => deprecated('soon', '2027-06-01')).toThrow('soon is not a date');
  });
});
