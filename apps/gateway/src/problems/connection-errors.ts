import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import { HttpError, problemOf } from '@plant-shop/contracts/problem';
import { defaultHeaders } from '../security-headers.js';

/** Answers connections on which Node's HTTP parser failed: there is no request, only the socket. */
export function answerConnectionError(publicUrl: string): (error: NodeJS.ErrnoException, socket: Socket) => void {
  return (error, socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    const requestId = randomUUID();
    const { status, headers, body } = problemOf(refusalOf(error.code), { publicUrl, requestId, instance: undefined });
    const lines = Object.entries({
      ...defaultHeaders(publicUrl),
      ...headers,
      'x-request-id': requestId,
      'content-type': 'application/problem+json; charset=utf-8',
      'content-length': String(Buffer.byteLength(body)),
      connection: 'close',
    }).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.end(`HTTP/1.1 ${status} Refused\r\n${lines.join('')}\r\n${body}`);
  };
}

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
