import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

const acceptable = /^[A-Za-z0-9._-]{1,128}$/;

/**
 * Returns the client's `X-Request-Id` if it has 1 to 128 characters of `A-Z a-z 0-9 . _ -`, else a new UUID.
 * Call it once per request: every call may generate another id.
 */
export function requestIdOf(request: Pick<IncomingMessage, 'headers'>): string {
  const given = request.headers['x-request-id'];
  return typeof given === 'string' && acceptable.test(given) ? given : randomUUID();
}
