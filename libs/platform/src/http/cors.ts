import type { IncomingMessage } from 'node:http';

/** Allows the origins of this machine on any port, such as `http://localhost:3000`. */
export const loopback = 'loopback';

/**
 * How long browsers may cache a preflight, in seconds. A page then sends one preflight in ten minutes for each address and method,
 * and a change of `CORS_ORIGINS` reaches every browser in that time.
 */
const preflightMaxAge = 600;

const loopbackOrigin = /^https?:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?$/;

/** Whether pages of an origin may read answers. @param allowed the setting `CORS_ORIGINS` */
export const isAllowedOrigin = (origin: string, allowed: readonly string[]): boolean =>
  allowed.includes('*') || allowed.includes(origin) || (allowed.includes(loopback) && loopbackOrigin.test(origin));

/** Response headers that pages of other origins may read. */
const exposed = [
  'ETag',
  'Link',
  'Retry-After',
  'Content-Range',
  'X-Request-Id',
  'RateLimit',
  'RateLimit-Policy',
  'Idempotency-Replayed',
  'X-Rate-Limit',
  'X-Expires-After',
  'WWW-Authenticate',
  'Allow',
  'Accept-Patch',
  'Deprecation',
  'Sunset',
  'X-Shop-Mode',
].join(', ');

const none = {};
const onlyVary = { vary: 'Origin' };

/**
 * Returns the headers that let pages of allowed origins read an answer, for every answer. Cookies are not used, so a page needs a
 * credential of its own.
 */
export function corsHeaders(origin: string | undefined, allowed: readonly string[]): Readonly<Record<string, string>> {
  if (allowed.length === 0) return none;
  if (allowed.includes('*')) return { 'access-control-allow-origin': '*', 'access-control-expose-headers': exposed };
  if (origin === undefined || !isAllowedOrigin(origin, allowed)) return onlyVary;
  return { vary: 'Origin', 'access-control-allow-origin': origin, 'access-control-expose-headers': exposed };
}

/**
 * Returns the headers of the answer to a browser's preflight, besides `corsHeaders`; undefined if the request is none, or of a page of
 * another origin. Browsers send preflights without credentials, so they are answered before any check of the request they announce.
 */
export function preflightHeaders({ method, headers }: IncomingMessage, allowed: readonly string[], methods: string): Record<string, string> | undefined {
  if (method !== 'OPTIONS' || headers.origin === undefined || headers['access-control-request-method'] === undefined) return undefined;
  if (!isAllowedOrigin(headers.origin, allowed)) return undefined;
  return {
    'access-control-allow-methods': methods,
    'access-control-allow-headers': headers['access-control-request-headers'] ?? '',
    'access-control-max-age': String(preflightMaxAge),
  };
}
