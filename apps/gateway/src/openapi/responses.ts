import { isRateLimited } from '@plant-shop/contracts/permissions';
import type { ClientOperation, MoreMembers } from '@plant-shop/contracts/client-operation';
import { type ProblemCode, problemTable } from '@plant-shop/contracts/problem-table';
import { maxBasketLines } from '@plant-shop/contracts/store';
import { isPaged } from '../http/route.js';
import type { ServedRoute } from '../http/route-checks.js';
import { detailsWith, exampleOf, membersAlways } from '../http/problem.js';
import { type HeaderName, headerRefs, type Schemas } from './components.js';
import { namesInPath } from './parameters.js';

export const apiResponseSchema = {
  type: 'object',
  properties: {
    code: { type: 'integer', const: 200 },
    type: { type: 'string', const: 'SUCCESS' },
    message: { type: 'string' },
  },
  required: ['code', 'type', 'message'],
};

export interface DescribedResponse {
  readonly description: string;
  readonly headers: object;
  readonly content?: object;
}

interface Parts {
  readonly schemas: Schemas;
  /** The answer of a sample message. */
  readonly example: unknown;
  readonly takesKey: boolean;
  readonly versioned: boolean;
}

/** Describes the operation's successful responses, by status. */
export function successResponses({ spec, method }: ServedRoute, operation: ClientOperation, parts: Parts): Record<string, DescribedResponse> {
  const isPage = isPaged(operation);
  const headers = headerRefs(
    'X-Request-Id',
    ...when(isRateLimited(spec.access), 'RateLimit', 'RateLimit-Policy'),
    ...when(parts.versioned, 'ETag'),
    ...when(isPage, 'Link'),
    ...when(parts.takesKey, 'Idempotency-Replayed'),
  );
  const json = (description: string, schema: object, example: unknown, more: object = {}): DescribedResponse => ({
    description,
    headers: { ...headers, ...more },
    content: { 'application/json': { schema, ...(example !== undefined && { example }) } },
  });
  const unchanged = {
    '304': { description: 'The client already has this version', headers: headerRefs('X-Request-Id', 'ETag') },
  };
  const { answer } = operation;
  switch (answer.kind) {
    case 'forwarded':
      return {
        '200': json('Success', parts.schemas.ofAnswer(answer.schema), parts.example),
        ...(method === 'GET' && parts.versioned && unchanged),
      };
    case 'apiResponse': {
      const more = Object.entries(answer.headers ?? {}).map(([name, schema]) => [name, { schema }]);
      const example = { code: 200, type: 'SUCCESS', message: answer.example, ...answer.more?.example };
      return { '200': json('Success', apiResponseOf(answer.more, parts.schemas), example, Object.fromEntries(more) as object) };
    }
    case 'json': {
      const own = json('Success', answer.schema, answer.example, answer.hasEtag && headerRefs('ETag'));
      return { '200': own, ...(answer.hasEtag && unchanged), ...(answer.alsoStatus && { [answer.alsoStatus]: json('Not ready', answer.schema, undefined) }) };
    }
    case 'lines':
      return { '200': { description: answer.description, headers, content: linesOf(answer.example) } };
    case 'image':
      return { '200': image, '206': partOfImage, ...unchanged };
  }
}

/** All members in one schema: some generators lose those of a reference in `allOf`. */
function apiResponseOf(more: MoreMembers | undefined, schemas: Schemas): object {
  if (!more) return { $ref: '#/components/schemas/ApiResponse' };
  const { properties, required, type } = apiResponseSchema;
  return schemas.put(more.schema, { type, properties: { ...properties, ...more.properties }, required: [...required, ...more.required] });
}

/** `application/x-ndjson` as a string: OpenAPI 3.1 cannot describe a schema per line. */
export const linesOf = (example: readonly object[], more: object = {}): object => ({
  'application/x-ndjson': { schema: { type: 'string', ...more }, example: example.map((one) => `${JSON.stringify(one)}\n`).join('') },
});

const when = (is: boolean, ...names: readonly HeaderName[]): readonly HeaderName[] => (is ? names : []);

const binary = { schema: { type: 'string', format: 'binary', contentMediaType: 'application/octet-stream' } };
const imageHeaders = {
  ...headerRefs('X-Request-Id', 'RateLimit', 'RateLimit-Policy', 'ETag', 'Accept-Ranges'),
  'Content-Disposition': { schema: { type: 'string', enum: ['inline', 'attachment'] } },
  'Cache-Control': { schema: { type: 'string' }, example: 'public, max-age=31536000, immutable' },
};
const content = { 'image/*': binary, 'application/octet-stream': binary };
const image = {
  description: 'The uploaded file; files that are not pictures are attachments',
  headers: imageHeaders,
  content,
};
const partOfImage = {
  description: 'The requested range',
  headers: { ...imageHeaders, ...headerRefs('Content-Range') },
  content,
};

const codes = Object.keys(problemTable) as ProblemCode[];
const isCode = (code: string): code is ProblemCode => Object.hasOwn(problemTable, code);

export const problemSchema = {
  type: 'object',
  description: 'RFC 9457. Problems may have more members than these.',
  properties: {
    type: { type: 'string', format: 'uri', description: 'A page that explains the problem and what to do.' },
    title: { type: 'string' },
    status: { type: 'integer', minimum: 400, maximum: 599 },
    detail: { type: 'string', description: 'What to do. Absent for defects of the shop.' },
    instance: { type: 'string', description: 'The path of the request.' },
    code: { type: 'string', enum: codes, description: 'Stable; use this in programs.' },
    requestId: { type: 'string' },
    errors: {
      type: 'array',
      description: 'The invalid parts of the request.',
      items: {
        type: 'object',
        properties: {
          pointer: { type: 'string', format: 'json-pointer', description: 'The place in the body (RFC 6901).' },
          parameter: { type: 'string', description: 'The name of a path or query parameter.' },
          header: { type: 'string' },
          detail: { type: 'string' },
        },
        required: ['detail'],
      },
    },
    available: { type: 'integer', minimum: 0, description: 'With `insufficient-stock`: the units left in stock, if they are few or the caller has `read:stock`.' },
    orders: { type: 'array', items: { type: 'integer' }, maxItems: 100, description: 'The first 100 orders that prevent the operation.' },
    orderId: { type: 'integer', minimum: 1, description: 'With `external-id-exists`: the order that has it, if the caller may see that order.' },
    basketId: { type: 'integer', minimum: 1, description: 'With `external-id-exists`: the basket that has the external id.' },
    lines: {
      type: 'array',
      maxItems: maxBasketLines,
      description: 'The lines of a basket that prevent it. The lines of one plant count together.',
      items: { $ref: '#/components/schemas/RefusedLine' },
    },
    payment: { type: 'string', const: 'refund-due', description: 'With `order-not-payable`: the payment must be refunded.' },
    retryAfter: { type: 'number', description: 'Seconds to wait.' },
    waiting: { type: 'integer', minimum: 0, description: 'With `too-many-deliveries` and `replay-in-progress`: deliveries that wait.' },
  },
  required: ['type', 'title', 'status', 'code', 'requestId'],
};

export const refusedLineSchema = {
  type: 'object',
  properties: {
    pointer: { type: 'string', format: 'json-pointer' },
    plantId: { type: 'integer' },
    available: { type: 'integer', minimum: 0, description: 'With `insufficient-stock`: as `available` of an order.' },
  },
  required: ['pointer', 'plantId'],
};

/** Returns every code that the operation may answer with, derived from its route and its calls. */
export function codesOf({ spec, url }: ServedRoute, operation: ClientOperation): ProblemCode[] {
  const { calls } = operation;
  const found = new Set<string>(['malformed-request', 'not-acceptable', 'expectation-failed', 'headers-too-large', 'request-timeout', 'internal']);
  const add = (when: boolean, ...some: ProblemCode[]): void => {
    if (when) for (const code of some) found.add(code);
  };
  const hasPath = namesInPath({ url }).length > 0;
  add(hasPath, 'uri-too-long');
  add(operation.answer.kind === 'image', 'range-not-satisfiable');
  const isAuthenticated = spec.access.kind === 'authenticated' || spec.access.kind === 'permission';
  // An Idempotency-Key is checked also where it has no effect.
  add(hasPath || operation.query !== undefined || spec.body !== undefined || spec.conditional || (operation.method === 'POST' && isAuthenticated), 'invalid-input');
  add(spec.body !== undefined, 'unsupported-media-type', 'payload-too-large');
  add(spec.body?.kind === 'json', 'malformed-json');
  add(isAuthenticated, 'unauthorized', 'credential-refused', 'unavailable');
  add(isRateLimited(spec.access), 'too-many-requests');
  add(spec.access.kind === 'permission', 'forbidden');
  add(calls.length > 0, 'unavailable', 'overloaded', 'unknown-operation');
  add(calls.some(({ effect }) => effect === 'write'), 'outcome-unknown');
  for (const { errors } of calls) for (const code of errors) found.add(code);
  return [...found].filter(isCode).sort((a, b) => codes.indexOf(a) - codes.indexOf(b));
}

/** Error responses by status, as shared components that are named by their codes. */
export class ProblemResponses {
  readonly all: Record<string, object> = {};

  constructor(private readonly publicUrl: string) {}

  of(some: readonly ProblemCode[], own: ClientOperation['problemMembers'] = {}): Record<string, object> {
    const byStatus = Map.groupBy(some, (code) => problemTable[code].status);
    return Object.fromEntries([...byStatus].map(([status, group]) => [String(status), this.refTo(status, group, own)]));
  }

  private refTo(status: number, group: readonly ProblemCode[], own: NonNullable<ClientOperation['problemMembers']>): object {
    const name = [...group, ...new Set(group.flatMap((code) => own[code] ?? []))].join('.');
    const membersOf = (code: ProblemCode): readonly string[] => own[code] ?? membersAlways(code);
    this.all[name] ??= {
      description: [...new Set(group.map((code) => problemTable[code].title))].join('. Or: '),
      headers: headerRefs('X-Request-Id', ...(headersOf[status] ?? [])),
      content: {
        'application/problem+json': {
          schema: schemaOf(status, group, membersOf),
          examples: Object.fromEntries(group.map((code) => [code, { value: exampleOf(code, this.publicUrl, detailsWith(code, membersOf(code))) }])),
        },
      },
    };
    return { $ref: `#/components/responses/${name}` };
  }
}

/**
 * Describes the problems of a status, with the members that those of a code always have. Many generators ignore what is beside a
 * `$ref`, or the reference itself.
 */
function schemaOf(status: number, group: readonly ProblemCode[], membersOf: (code: ProblemCode) => readonly string[]): object {
  const problem = { $ref: '#/components/schemas/Problem' };
  const forms = [...Map.groupBy(group, (code) => membersOf(code).join())].map(([joined, alike]) => {
    const members = joined === '' ? [] : joined.split(',');
    const own = Object.fromEntries(Object.entries(problemSchema.properties).filter(([name]) => members.includes(name)));
    return { properties: { status: { const: status }, code: { enum: alike }, ...own }, required: ['status', 'code', ...members] };
  });
  return { allOf: [problem, ...(forms.length === 1 ? forms : [{ oneOf: forms }])] };
}

const headersOf: Readonly<Record<number, readonly HeaderName[]>> = {
  401: ['WWW-Authenticate'],
  405: ['Allow'],
  415: ['Accept-Patch'],
  416: ['Content-Range'],
  429: ['Retry-After', 'RateLimit', 'RateLimit-Policy'],
  503: ['Retry-After'],
};
