import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { weightOf } from '@plant-shop/contracts/request-checks';
import { type ClientTransport, type CloseCode, closeLimitMs, closeReasons, type Connection } from '../connection.js';
import type { Connections } from '../subscribers/connections.js';
import { retryLine, sseComment, sseCursor } from '../frames.js';
import { brokenRetryMs } from '../subscribers/reconnect.js';
import type { StartingPosition } from '../subscribers/starting-positions.js';

export const eventStreamType = 'text/event-stream';

/**
 * Server-Sent Events (HTML, 9.2): the same entries as by WebSocket. The cursor is the id, which browsers send back as Last-Event-ID.
 * For clients that name the type in `Accept`, and like it no less than JSON.
 */
export function wantsEventStream({ headers: { accept = '' } }: IncomingMessage): boolean {
  const weight = weightOf(accept, eventStreamType) ?? 0;
  return weight > 0 && weight >= (weightOf(accept, 'application/json') ?? 0);
}

/** Starts the response. From then on the client receives every event after its position. */
export function beginEventStream(
  response: ServerResponse,
  headers: Readonly<Record<string, string>>,
  { connections, connection, start }: { connections: Connections; connection: Connection; start: StartingPosition },
): void {
  const { socket } = response;
  if (!socket || socket.destroyed) return;
  socket.setNoDelay();
  // The connection ends with the stream: the timer in `close` would destroy it under a later request.
  response.shouldKeepAlive = false;
  // Asks proxies not to buffer the response.
  response.writeHead(200, { ...headers, 'content-type': `${eventStreamType}; charset=utf-8`, 'x-accel-buffering': 'no' });
  response.write(`${retryLine(brokenRetryMs(Math.random()))}\n`);
  connections.open(connection, new EventStreamTransport(response, socket), start);
  response.on('close', () => connections.disconnected(connection, 'none'));
}

class EventStreamTransport implements ClientTransport {
  readonly kind = 'sse';
  readonly format = 'sse';

  constructor(
    private readonly response: ServerResponse,
    readonly socket: Socket,
  ) {}

  send(bytes: Buffer): void {
    if (!this.response.writableEnded) this.response.write(bytes);
  }

  /** Keeps proxies from closing an idle connection, and reveals a client that is gone. Clients do not answer it. */
  ping(cursor: string | undefined): boolean {
    this.send(cursor === undefined ? sseComment : sseCursor(cursor));
    return false;
  }

  /** Sends a last message of type `close`. `retry` makes an EventSource wait before it reconnects. */
  close(code: CloseCode, reconnectAfterMs: number | undefined): void {
    const data = JSON.stringify({ code, reason: closeReasons[code], reconnectAfterMs });
    this.response.end(`event: close\ndata: ${data}\n${reconnectAfterMs === undefined ? '' : retryLine(reconnectAfterMs)}\n`);
    setTimeout(() => this.socket.destroy(), closeLimitMs).unref();
  }
}
