import { isRateLimited } from '@plant-shop/contracts/access';
import type { ClientOperation } from '@plant-shop/contracts/client-operation';
import type { ServedRoute } from '../http/routes.js';
import { type HeaderName, headerRefs } from './headers.js';
import type { Schemas } from './schemas.js';

export const apiResponseSchema = {
  type: 'object',
  properties: { code: { type: 'integer', const: 200 }, type: { type: 'string', const: 'SUCCESS' }, message: { type: 'string' } },
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
  const isPage = operation.query?.includes('cursor') ?? false;
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
      const example = { code: 200, type: 'SUCCESS', message: answer.example };
      return { '200': json('Success', { $ref: '#/components/schemas/ApiResponse' }, example, Object.fromEntries(more) as object) };
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

/** `application/x-ndjson` as a string: OpenAPI 3.1 cannot describe a schema per line. */
export const linesOf = (example: readonly object[], more: object = {}): object => ({
  'application/x-ndjson': { schema: { type: 'string', ...more }, example: example.map((one) => `${JSON.stringify(one)}\n`).join('') },
});

const when = (is: boolean, ...names: readonly HeaderName[]): readonly HeaderName[] => (is ? names : []);

const binary = { schema: { type: 'string', contentMediaType: 'application/octet-stream' } };
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
