import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { type CloseCode, closeLimitMs, closeReasons, type ClientTransport } from './client-transport.js';
import type { Connection } from './connection.js';
import type { Connections } from './connections.js';
import { retryLine, sseComment } from './frames.js';
import { brokenRetryMs } from './reconnect.js';
import type { StartingPosition } from './starting-positions.js';

/** Server-Sent Events (HTML, 9.2): the same entries as by WebSocket, with the cursor as the id that browsers come back with. */
export const wantsEventStream = ({ headers }: IncomingMessage): boolean =>
  /(^|[\s,])text\/event-stream\s*(;|,|$)/i.test(headers.accept ?? '');

/** Begins the answer, after which the client may rely on every event behind its position. */
export function beginEventStream(
  response: ServerResponse,
  headers: Readonly<Record<string, string>>,
  { connections, connection, start }: { connections: Connections; connection: Connection; start: StartingPosition },
): void {
  const { socket } = response;
  if (!socket || socket.destroyed) return;
  socket.setNoDelay();
  // Its connection ends with it: a request that came after it would meet the timer in `close`.
  response.shouldKeepAlive = false;
  // Proxies that gather answers before they pass them on are asked not to.
  response.writeHead(200, { ...headers, 'content-type': 'text/event-stream; charset=utf-8', 'x-accel-buffering': 'no' });
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

  /** A comment: for proxies that end what is silent, and to find out whether the client is still there. */
  ping(): boolean {
    this.send(sseComment);
    return false;
  }

  /** A last message of the type `close`. An EventSource keeps to `retry` by itself. */
  close(code: CloseCode, reconnectAfterMs: number | undefined): void {
    const data = JSON.stringify({ code, reason: closeReasons[code], reconnectAfterMs });
    this.response.end(`event: close\ndata: ${data}\n${reconnectAfterMs === undefined ? '' : retryLine(reconnectAfterMs)}\n`);
    setTimeout(() => this.socket.destroy(), closeLimitMs).unref();
  }
}
