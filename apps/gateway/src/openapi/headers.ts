import { etagOf } from '../http/conditions.js';

const header = (description: string, example: string, more: object = {}): object => ({
  description,
  schema: { type: 'string', ...more },
  example,
});

/** It is there whenever the response is the one that names it. */
const always = (description: string, example: string, more: object = {}): object => ({
  ...header(description, example, more),
  required: true,
});

/** `#/components/headers` */
export const headers = {
  'X-Request-Id': always(
    'Names the request in the log of the shop: as the request did, when that was sane.',
    '6f1ed002-ab5c-4f0e-9c3a-0d6f3ab8c1de',
  ),
  'RateLimit-Policy': always('Requests (q) in a window of seconds (w).', '"requests";q=60000;w=60'),
  RateLimit: always('Requests left (r) and seconds until the window ends (t).', '"requests";r=59993;t=41'),
  ETag: always('Version of the resource, for If-Match and If-None-Match.', etagOf(3), { pattern: '^(W/)?"[^"]+"$' }),
  Link: header(
    'Where the next page is; absent on the last one.',
    '<https://shop.example/v3/store/order?cursor=WyJ4IiwxXQ>; rel="next"',
    { pattern: '^<[^>]+>; rel="next"$' },
  ),
  'Idempotency-Replayed': header(
    'Present when this is what an earlier request with the same Idempotency-Key was answered.',
    'true',
    { const: 'true' },
  ),
  'Retry-After': always('Seconds to wait before the next try.', '1', { pattern: '^\\d+$' }),
  'WWW-Authenticate': always('Which credential is missing, or which permission.', 'Bearer realm="plant-shop"'),
  'Accept-Ranges': always('Parts of it can be read.', 'bytes', { const: 'bytes' }),
  'Content-Range': always('Which bytes these are, of how many.', 'bytes 0-99/48213', { pattern: '^bytes (\\d+-\\d+|\\*)/\\d+$' }),
  Deprecation: always(
    'The day since which the operation is deprecated, in seconds since 1970 (RFC 9745).',
    '@1796083200',
    { pattern: '^@\\d+$' },
  ),
  Sunset: always('The day after which the operation may be gone (RFC 8594).', 'Tue, 01 Jun 2027 00:00:00 GMT'),
  Allow: always('The methods that the path has.', 'GET, HEAD'),
} as const;

export type HeaderName = keyof typeof headers;

export const headerRefs = (...names: readonly HeaderName[]): object =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
