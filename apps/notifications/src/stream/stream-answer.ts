import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/** An RFC 9457 problem, ready to be sent. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const updatesPath = '/v1/orders/updates';
const saneRequestId = /^[A-Za-z0-9._-]{1,128}$/;

/** What this release answers, also to a WebSocket handshake: it has the place of the stream, and not yet the stream. */
export function answerTo(request: Pick<IncomingMessage, 'url' | 'headers'>, publicUrl: string): Answer {
  // The query is left out of everything: it holds the API key.
  const [path = '/'] = (request.url ?? '/').split('?', 1);
  const given = request.headers['x-request-id'];
  const requestId = typeof given === 'string' && saneRequestId.test(given) ? given : randomUUID();
  const problem =
    path === updatesPath
      ? {
          code: 'unavailable',
          title: 'Temporarily unavailable',
          status: 503,
          detail: 'This release does not serve the stream of order events yet. Read orders from the API meanwhile.',
        }
      : {
          code: 'route-not-found',
          title: 'No such route',
          status: 404,
          detail: `Nothing is served here. The stream of order events will be at ${updatesPath}.`,
        };
  return {
    status: problem.status,
    headers: {
      'content-type': 'application/problem+json',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'x-request-id': requestId,
      ...(problem.status === 503 && { 'retry-after': '3600' }),
      // Nothing of what clients send is read.
      connection: 'close',
    },
    body: JSON.stringify({ type: `${publicUrl}/problems/${problem.code}`, ...problem, instance: path, requestId }),
  };
}
