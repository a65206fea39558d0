import type { FieldSchema } from '@plant-shop/contracts/schema';
import type { ServedRoute } from '../http/routes.js';
import { etagOf } from '../http/conditions.js';
import type { Schemas } from './schemas.js';

interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly [member: string]: unknown;
}

/**
 * `#/components/parameters`: headers that several operations take.
 *
 * Examples of what may be left out stand in its schema: tools fill a form with those of the parameter, and would send each
 * change under the condition and the key of an example.
 */
export const headerParameters = {
  RequestId: {
    name: 'X-Request-Id',
    in: 'header',
    description: "The client's own name for the request: 1 to 128 of A-Z a-z 0-9 . _ -. Others are replaced.",
    schema: { type: 'string', examples: ['checkout.4711'] },
  },
  IdempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    description:
      'Names the request, so that it can be repeated: for 24 hours, the same key and request get the answer of the first. ' +
      'Honoured for callers who show a credential.',
    schema: {
      type: 'string',
      minLength: 1,
      maxLength: 255,
      pattern: '^[\\x21-\\x7e]+$',
      examples: ['7c9e2a54-0f1d-4f7e-8b1c-2f6f0f1c9a33'],
    },
  },
  IfMatch: {
    name: 'If-Match',
    in: 'header',
    description: 'The change is made only to the version that this ETag names; else 412.',
    schema: { type: 'string', examples: [etagOf(3)] },
  },
  IfNoneMatch: {
    name: 'If-None-Match',
    in: 'header',
    description: 'ETags that the client has already: 304 without a body when the resource is still the same.',
    schema: { type: 'string', examples: [etagOf(3)] },
  },
  Range: {
    name: 'Range',
    in: 'header',
    description: 'One part of the file. What asks for several is answered with the whole.',
    schema: { type: 'string', examples: ['bytes=0-1023'] },
  },
  IfRange: {
    name: 'If-Range',
    in: 'header',
    description: 'The ETag that the part must belong to; else the whole file is answered.',
    schema: { type: 'string', examples: [etagOf(1)] },
  },
} as const satisfies Record<string, Parameter>;

export const headerParameter = (name: keyof typeof headerParameters): object => ({ $ref: `#/components/parameters/${name}` });

export const namesInPath = ({ url }: Pick<ServedRoute, 'url'>): string[] => [...url.matchAll(/:(\w+)/g)].map(([, name = '']) => name);

export interface Fields {
  readonly properties: Readonly<Record<string, FieldSchema>>;
  readonly required: readonly string[];
  /** Of a sample message. */
  readonly examples: Readonly<Record<string, unknown>>;
}

/** A member of the payload that travels in the path or the query. */
export function parameterOf(name: string, place: 'path' | 'query', fields: Fields, schemas: Schemas): Parameter {
  const field = fields.properties[name];
  if (!field) throw new Error(`the payload has no member ${name}`);
  const { description, ...schema } = schemas.ofField(field);
  const required = place === 'path' || fields.required.includes(name);
  const example = fields.examples[name];
  const shown = example === undefined ? {} : required ? { example } : { schema: { ...schema, examples: [example] } };
  return {
    name,
    in: place,
    ...(description !== undefined && { description }),
    required,
    ...(schema.type === 'array' && { style: 'form', explode: false }),
    schema,
    ...shown,
  };
}
