import type { IncomingMessage } from 'node:http';
import { isAllowedOrigin, preflightMaxAge } from '@plant-shop/platform/http/origins';

/** Response headers that pages of allowed origins may read. */
const exposed = 'Retry-After, X-Request-Id, WWW-Authenticate';
const allowed = 'api_key, authorization, session_token, last-event-id, x-request-id';

/** Returns the headers that let pages of allowed origins read a response. No cookies are used: a page must send a key. */
export function corsHeaders({ headers }: IncomingMessage, origins: readonly string[]): Record<string, string> {
  const { origin } = headers;
  if (origins.length === 0) return {};
  const isAllowed = origin !== undefined && isAllowedOrigin(origin, origins);
  return { vary: 'Origin', ...(isAllowed && { 'access-control-allow-origin': origin, 'access-control-expose-headers': exposed }) };
}

export const isPreflight = ({ method, headers }: IncomingMessage): boolean =>
  method === 'OPTIONS' && headers.origin !== undefined && headers['access-control-request-method'] !== undefined;

export const preflightHeaders: Readonly<Record<string, string>> = {
  'access-control-allow-methods': 'GET',
  'access-control-allow-headers': allowed,
  'access-control-max-age': String(preflightMaxAge),
};
