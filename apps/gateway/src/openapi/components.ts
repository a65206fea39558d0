import { isDeepStrictEqual } from 'node:util';
import type { Type } from '@nestjs/common';
import type { SchemaWithComponents } from '@plant-shop/contracts/answers';
import { type FieldSchema, type JsonSchema, schemaOfClass } from '@plant-shop/contracts/schema';
import { etagOf } from '../http/headers.js';

export const exampleEtag = etagOf(3, Buffer.from('{}'));

const header = (description: string, example: string, more: object = {}): object => ({
  description,
  schema: { type: 'string', ...more },
  example,
});

/** A header that is always present in the responses that list it. */
const always = (description: string, example: string, more: object = {}): object => ({
  ...header(description, example, more),
  required: true,
});

/** `#/components/headers` */
export const headers = {
  'X-Request-Id': always(
    "The request's id in the shop's logs: the one sent in X-Request-Id, or a new one if that is absent or malformed.",
    '6f1ed002-ab5c-4f0e-9c3a-0d6f3ab8c1de',
  ),
  'RateLimit-Policy': always('The limit: requests (q) per window in seconds (w).', '"requests";q=60000;w=60'),
  RateLimit: always('Requests remaining (r) and seconds until the window ends (t).', '"requests";r=59993;t=41'),
  ETag: always('Names this body of this version of the resource, for If-Match and If-None-Match.', exampleEtag, { pattern: '^(W/)?"[^"]+"$' }),
  Link: header(
    'The URL of the next page; absent on the last page.',
    '<https://shop.example/v3/store/order?cursor=WyJ4IiwxXQ>; rel="next"',
    { pattern: '^<[^>]+>; rel="next"$' },
  ),
  'Idempotency-Replayed': header(
    'Present if this is the response to an earlier request with the same Idempotency-Key.',
    'true',
    { const: 'true' },
  ),
  'Retry-After': always('Seconds to wait before trying again.', '1', { pattern: '^\\d+$' }),
  'WWW-Authenticate': always('The required authentication, or the missing permission as `scope`.', 'Bearer realm="plant-shop"'),
  'Accept-Ranges': always('The unit of range requests.', 'bytes', { const: 'bytes' }),
  'Content-Range': always('The range of bytes in this response, and the total.', 'bytes 0-99/48213', { pattern: '^bytes (\\d+-\\d+|\\*)/\\d+$' }),
  Deprecation: always(
    'The date since which the operation is deprecated, in seconds since 1970 (RFC 9745).',
    '@1796083200',
    { pattern: '^@\\d+$' },
  ),
  Sunset: always('The date from which the operation may be removed (RFC 8594).', 'Tue, 01 Jun 2027 00:00:00 GMT'),
  'Accept-Patch': header('Of PATCH: the type of body that it takes.', 'application/merge-patch+json'),
  Allow: always('The methods that the path supports.', 'GET, HEAD'),
} as const;

export type HeaderName = keyof typeof headers;

export const headerRefs = (...names: readonly HeaderName[]): object =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));

/** `#/components/schemas` of a document; each reference adds its schema. */
export class Schemas {
  readonly all: Record<string, JsonSchema> = {};

  /** Returns a reference to the schema of a payload class. */
  ofClass(type: Type<object>): JsonSchema {
    const { properties, required } = schemaOfClass(type);
    return this.put(type.name, {
      type: 'object',
      properties: Object.fromEntries(Object.entries(properties).map(([name, field]) => [name, this.ofField(field)])),
      ...(required.length > 0 && { required }),
    });
  }

  /** Returns the schema of a field of a payload class. */
  ofField({ objectOf, items, clearable, ...schema }: FieldSchema): JsonSchema {
    // A reference takes no other type.
    if (clearable && objectOf) return { oneOf: [this.ofClass(objectOf()), { type: 'null' }], ...schema };
    if (clearable) return { ...this.ofField({ ...schema, ...(objectOf && { objectOf }), ...(items && { items }) }), type: [schema.type, 'null'] };
    if (objectOf) return { ...this.ofClass(objectOf()), ...schema };
    return items ? { ...schema, items: this.ofField(items) } : schema;
  }

  ofAnswer({ json, components }: SchemaWithComponents): JsonSchema {
    for (const [name, schema] of Object.entries(components)) this.put(name, schema);
    return json;
  }

  /** @throws Error if the name already belongs to another schema */
  put(name: string, schema: JsonSchema): JsonSchema {
    const known = this.all[name];
    if (known && !isDeepStrictEqual(known, schema)) throw new Error(`two different schemas are named ${name}`);
    this.all[name] = schema;
    return { $ref: `#/components/schemas/${name}` };
  }
}
