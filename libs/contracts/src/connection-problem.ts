import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { HttpError, type ProblemOrigin, problemResponse } from './problem.js';

/** How long a refused connection stays open for its client to read the response. */
const lingerMs = 1_000;

/** Returns a listener for `clientError`. It answers connections on which Node's HTTP parser failed: there is no request, only the socket. */
export function answerConnectionError(origin: ProblemOrigin): (error: NodeJS.ErrnoException, socket: Duplex) => void {
  return (error, socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable || isAnswering(socket)) {
      socket.destroy();
      return;
    }
    const { status, headers, body } = problemResponse(refusalOf(error.code), { ...origin, requestId: randomUUID(), instance: undefined });
    const lines = Object.entries({ ...headers, 'content-length': String(Buffer.byteLength(body)), connection: 'close' });
    socket.end(`HTTP/1.1 ${status} Refused\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`);
    // The client may keep its side open. Until then it can read the response.
    setTimeout(() => socket.destroy(), lingerMs).unref();
  };
}

/**
 * Returns whether a response on this connection has begun, such as an event stream: a problem would end up in its body. Node's own
 * handler looks at the same internal member.
 */
const isAnswering = (socket: Duplex & { readonly _httpMessage?: ServerResponse | null }): boolean => socket._httpMessage?.headersSent === true;

function refusalOf(code: string | undefined): HttpError {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return new HttpError('headers-too-large', 'Send a request line and headers of at most 16 KiB together.');
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new HttpError('request-timeout', 'Send the request faster, or a smaller one.');
    default:
      return new HttpError('malformed-request', 'The request is not HTTP/1.1.');
  }
}

/**
 * Returns an error if a request of HTTP/1.1 has no Host header (RFC 9112, section 3.2). The server needs `requireHostHeader: false`,
 * otherwise Node answers such a request itself, without a problem document.
 */
export const missingHostOf = ({ headers, httpVersion }: IncomingMessage): HttpError | undefined =>
  headers.host === undefined && httpVersion === '1.1' ? new HttpError('malformed-request', 'Send a Host header.') : undefined;
