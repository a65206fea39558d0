import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
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
const publicUrl = 'http://127.0.0.1:8080';
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

describe('the OpenAPI document', () => {
  let shop: Shop;
  beforeAll(async () => {
    shop = await startShop({}, { publicUrl, sandbox: true });
  });
  afterAll(() => shop.stop());

  it('equals the committed document (npm run openapi updates it)', async () => {
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

  it('is valid OpenAPI 3.1', async () => {
    const validator = new Validator();
    const result = await validator.validate(structuredClone(committed) as object as Record<string, unknown>);
    expect(result).toEqual({ valid: true });
    expect(validator.version).toBe('3.1');
  });

  it('has examples that are valid by its schemas', () => {
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

  it('has every component that it refers to, and no unused schemas', () => {
    const references = new Set(JSON.stringify(committed).match(/(?<="\$ref":"#\/components\/)[^"]+/g));
    const named = Object.entries(committed.components).flatMap(([kind, all]) => Object.keys(all).map((name) => `${kind}/${name}`));
    expect([...references].filter((one) => !named.includes(one))).toEqual([]);
    const unused = named.filter((one) => one.startsWith('schemas/') && !references.has(one));
    expect(unused).toEqual([]);
  });
});
