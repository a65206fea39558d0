import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { problemTable } from '@plant-shop/contracts/problem-table';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { type Shop, startShop } from '../gateway.spec.fixture.js';

interface Media {
  readonly schema: object;
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>;
}
interface Document {
  readonly paths: Readonly<Record<string, unknown>>;
  readonly components: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

/** The public address in the committed document. */
const publicUrl = 'http://localhost:8080';
const committed = JSON.parse(
  readFileSync(new URL('../../../../docs/api/openapi.json', import.meta.url), 'utf8'),
) as Document;

/** Returns all examples of a document with their schemas. */
function examplesIn(value: unknown, at = ''): { readonly at: string; readonly schema: object; readonly example: unknown }[] {
  if (typeof value !== 'object' || value === null) return [];
  const { schema, example, examples } = value as Partial<Media>;
  // An array of examples is a member of its schema; other forms are next to it.
  const all = Array.isArray(examples) ? (examples as unknown[]) : Object.values(examples ?? {}).map((one) => one.value);
  const own = schema === undefined && !Array.isArray(examples) ? [] : [...(example === undefined ? [] : [example]), ...all];
  return [
    ...own.map((one) => ({ at, schema: schema ?? value, example: one })),
    ...Object.entries(value).flatMap(([name, one]) => (name.startsWith('example') ? [] : examplesIn(one, `${at}/${name}`))),
  ];
}

const objectsIn = (value: unknown): object[] =>
  typeof value !== 'object' || value === null ? [] : [...(Array.isArray(value) ? [] : [value]), ...Object.values(value).flatMap(objectsIn)];

describe('the OpenAPI document', () => {
  let shop: Shop;
  beforeAll(async () => {
    shop = await startShop({}, { publicUrl, sandbox: true });
  });
  afterAll(() => shop.stop());

  it('equals the committed document (npm run openapi updates it) (slow)', async () => {
    const response = await shop.get('/v3/openapi.json');
    expect(response.headers.get('content-type')).toMatch(/^application\/json/);
    expect(await response.json()).toEqual(committed);
  });

  it('is revalidated with 304', async () => {
    const first = await shop.get('/v3/openapi.json');
    // An unread body would keep the connection busy.
    await first.arrayBuffer();
    const etag = first.headers.get('etag') ?? '';
    expect((await shop.get('/v3/openapi.json', { 'if-none-match': etag })).status).toBe(304);
  });

  it('is valid OpenAPI 3.1 (slow)', async () => {
    const validator = new Validator();
    const result = await validator.validate(structuredClone(committed) as object as Record<string, unknown>);
    expect(result).toEqual({ valid: true });
    expect(validator.version).toBe('3.1');
  });

  it('has examples that are valid by its schemas (slow)', () => {
    const ajv = new Ajv2020({ strict: false, allErrors: true });
    formats.default(ajv);
    ajv.addSchema({ ...committed, $id: 'document' });
    const found = examplesIn(committed);
    expect(found.length).toBeGreaterThan(100);
    for (const { at, schema, example } of found) {
      const resolved = JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"document#/')) as object;
      const validate = ajv.compile(resolved);
      expect({ at, faults: validate(example) ? [] : validate.errors }).toEqual({ at, faults: [] });
    }
  });

  // Tools pre-fill their forms with the example of a parameter, and would send it.
  it('has no examples directly on optional parameters', () => {
    const parametersIn = (value: unknown): object[] =>
      typeof value !== 'object' || value === null
        ? []
        : [...('in' in value && 'schema' in value ? [value] : []), ...Object.values(value).flatMap(parametersIn)];
    const parameters = parametersIn(committed);
    expect(parameters.length).toBeGreaterThan(30);
    expect(parameters.filter((one) => !('required' in one && one.required) && ('example' in one || 'examples' in one))).toEqual([]);
  });

  // Many generators ignore what is beside a reference, or lose the reference: types of problems then have no code, or nothing else.
  it('has no schema that adds members to a reference', () => {
    const mixed = objectsIn(committed).filter((one) => '$ref' in one && ('properties' in one || 'required' in one));
    expect(mixed).toEqual([]);
  });

  it('has no defaults in bodies, for which generators make a member required, and names of members have a type', () => {
    const all = objectsIn(committed.components['schemas']);
    expect(all.filter((one) => 'default' in one)).toEqual([]);
    const names = objectsIn(committed).flatMap((one) => ('propertyNames' in one ? [one.propertyNames] : []));
    expect(names.length).toBeGreaterThan(3);
    for (const one of names) expect(one).toMatchObject({ type: 'string' });
  });

  it('has the members that problems of an operation always have, as required', () => {
    const ajv = new Ajv2020({ strict: false });
    formats.default(ajv);
    ajv.addSchema({ ...committed, $id: 'document' });
    const isProblemOf = (path: string, status: number, body: object): boolean => {
      const { $ref } = (committed.paths[path] as { post: { responses: Record<number, { $ref: string }> } }).post.responses[status]!;
      return ajv.validate({ $ref: `document${$ref}/content/application~1problem+json/schema` }, { type: 'http://shop/problems', title: 'No', status, requestId: 'r', ...body });
    };
    const lines = [{ pointer: '/lines/0', plantId: 7 }];
    for (const [path, status, code, members] of [
      ['/store/basket', 409, 'insufficient-stock', { lines }],
      ['/store/basket', 404, 'plant-not-found', { lines }],
      ['/store/basket', 409, 'external-id-exists', { basketId: 7 }],
      ['/store/order', 409, 'unpaid-limit', { orders: [7] }],
      ['/store/inventory/{plantId}/adjustment', 409, 'insufficient-stock', { available: 7 }],
      ['/webhooks/{webhookId}/replay', 409, 'replay-in-progress', { waiting: 7, retryAfter: 10 }],
    ] as const) {
      expect([path, code, isProblemOf(path, status, { code, ...members }), isProblemOf(path, status, { code })]).toEqual([path, code, true, false]);
    }
    expect(isProblemOf('/store/order', 409, { code: 'insufficient-stock' })).toBe(true);
    expect(isProblemOf('/store/order', 409, { code: 'plant-not-found' })).toBe(false);
  });

  it('has, in the schema of problems, each member that the explanations of problems name', () => {
    const { properties } = committed.components['schemas']!['Problem'] as { properties: object };
    const named = Object.values(problemTable).flatMap(({ meaning, remedy }) => `${meaning} ${remedy}`.match(/(?<=`)[a-z]+[A-Za-z]*(?=`)/g) ?? []);
    expect(named).toContain('waiting');
    expect(Object.keys(properties)).toEqual(expect.arrayContaining(named));
  });

  it('says that an upload always answers where the image is', () => {
    const { UploadedImage, ApiResponse } = committed.components['schemas'] as Record<string, { required: string[]; properties: object }>;
    expect(UploadedImage!.required).toEqual(['code', 'type', 'message', 'imageUrl', 'shown']);
    expect(Object.keys(ApiResponse!.properties)).toEqual(['code', 'type', 'message']);
  });

  it('has every component that it refers to, and no unused schemas', () => {
    const references = new Set(JSON.stringify(committed).match(/(?<="\$ref":"#\/components\/)[^"]+/g));
    const named = Object.entries(committed.components).flatMap(([kind, all]) => Object.keys(all).map((name) => `${kind}/${name}`));
    expect([...references].filter((one) => !named.includes(one))).toEqual([]);
    const unused = named.filter((one) => one.startsWith('schemas/') && !references.has(one));
    expect(unused).toEqual([]);
  });
});
