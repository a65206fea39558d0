import type { IncomingMessage } from 'node:http';
import { isAllowedOrigin } from '@plant-shop/platform/service/origins';

/** What a page of another origin may read of an answer, beside its body. */
const exposed = 'Retry-After, X-Request-Id, WWW-Authenticate';
const allowed = 'api_key, authorization, session_token, last-event-id, x-request-id';
/** How long a browser need not ask again, in seconds. */
const maxAge = '600';

/** Headers that let pages of other origins read an answer. No cookies are involved: a page must show a key that it has. */
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
  'access-control-max-age': maxAge,
};
