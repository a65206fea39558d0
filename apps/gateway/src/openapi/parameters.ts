import type { FieldSchema } from '@plant-shop/contracts/schema';
import type { ServedRoute } from '../http/route-checks.js';
import { exampleEtag, type Schemas } from './components.js';

interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly [member: string]: unknown;
}

/**
 * `#/components/parameters`: headers that several operations accept.
 *
 * Examples of optional parameters are in their schemas: tools pre-fill forms with examples of the parameter itself, and would
 * send every change with the If-Match and Idempotency-Key of an example.
 */
export const headerParameters = {
  RequestId: {
    name: 'X-Request-Id',
    in: 'header',
    description: "The client's id of the request: 1 to 128 characters of A-Z a-z 0-9 . _ -. Others are replaced.",
    schema: { type: 'string', examples: ['checkout.4711'] },
  },
  IdempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    description:
      'Makes the request safe to repeat: for 24 hours, the same request with the same key gets the response to the first. ' +
      'A refused request is decided again. Ignored without a valid credential.',
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
    description: 'Applies the change only to the version with this ETag, of any caller; otherwise answers 412.',
    schema: { type: 'string', examples: [exampleEtag] },
  },
  IfNoneMatch: {
    name: 'If-None-Match',
    in: 'header',
    description: 'ETags of bodies that the client has. Answers 304 without a body if one of them is current.',
    schema: { type: 'string', examples: [exampleEtag] },
  },
  CurrentPassword: {
    name: 'Current-Password',
    in: 'header',
    description: "The caller's password, percent-encoded. For a sensitive change without a session that began in the last ten minutes.",
    schema: { type: 'string', format: 'password', examples: ['correct%20horse'] },
  },
  CurrentCode: {
    name: 'Current-Code',
    in: 'header',
    description: "A code of the caller's authenticator app, or a recovery code. Required with Current-Password if the caller has a second factor.",
    schema: { type: 'string', examples: ['123456'] },
  },
  Range: {
    name: 'Range',
    in: 'header',
    description: 'One range of bytes. A request for several ranges gets the whole file.',
    schema: { type: 'string', examples: ['bytes=0-1023'] },
  },
  IfRange: {
    name: 'If-Range',
    in: 'header',
    description: 'Applies Range only if the file has this ETag; otherwise answers with the whole file.',
    schema: { type: 'string', examples: [exampleEtag] },
  },
} as const satisfies Record<string, Parameter>;

export const headerParameter = (name: keyof typeof headerParameters): object => ({ $ref: `#/components/parameters/${name}` });

export const namesInPath = ({ url }: Pick<ServedRoute, 'url'>): string[] => [...url.matchAll(/:(\w+)/g)].map(([, name = '']) => name);

export interface Fields {
  readonly properties: Readonly<Record<string, FieldSchema>>;
  readonly required: readonly string[];
  /** Values of a sample message. */
  readonly examples: Readonly<Record<string, unknown>>;
}

/** Describes a member of the payload that is sent in the path or query. */
export function parameterOf(name: string, place: 'path' | 'query', fields: Fields, schemas: Schemas): Parameter {
  const field = fields.properties[name];
  if (!field) throw new Error(`the payload has no member ${name}`);
  const { description, ...schema } = schemas.ofField(field);
  const required = place === 'path' || fields.required.includes(name);
  const example = fields.examples[name];
  const withExample = example === undefined ? {} : required ? { example } : { schema: { ...schema, examples: [example] } };
  return {
    name,
    in: place,
    ...(description !== undefined && { description }),
    required,
    ...(schema.type === 'array' && { style: 'form', explode: false }),
    ...(schema.type === 'object' && { style: 'deepObject', explode: true }),
    schema,
    ...withExample,
  };
}
