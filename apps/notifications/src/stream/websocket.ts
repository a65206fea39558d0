import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';
import type { Connection } from './connection.js';
import type { Connections } from './connections.js';
import { type Form, pingFrame } from './frames.js';
import { type CloseCode, closeLimitMs, closeReasons, type Outlet } from './outlet.js';
import { Refusal } from './problems.js';
import type { StartingPlace } from './starting-places.js';

/** With it, frames carry id and cursor although the client gave no cursor. */
export const resumableProtocol = 'orders.v1.resumable';
const maxInboundBytes = 4 * 1024;
/** Newer than the types of `ws`. */
const closeTimeout = { closeTimeout: closeLimitMs };
const keyForm = /^[+/0-9A-Za-z]{22}==$/;

/** @throws Refusal when the request is no WebSocket handshake (RFC 6455, 4.2.1) */
export function checkHandshake({ headers }: IncomingMessage): void {
  const version = headers['sec-websocket-version'];
  if (version !== '13') {
    throw new Refusal('malformed-request', 'The handshake must be that of WebSocket version 13.', { 'sec-websocket-version': '13' });
  }
  if (!keyForm.test(headers['sec-websocket-key'] ?? '')) {
    throw new Refusal('malformed-request', 'The handshake must have a Sec-WebSocket-Key of 16 bytes in base64.');
  }
}

export const offersResumable = ({ headers }: IncomingMessage): boolean =>
  (headers['sec-websocket-protocol'] ?? '').split(',').some((one) => one.trim() === resumableProtocol);

/** `ws` makes the handshake and reads what clients send; frames of events go to the socket ready-made. */
export class WebSockets {
  private readonly server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: maxInboundBytes,
    ...closeTimeout,
    handleProtocols: (offered) => offered.has(resumableProtocol) && resumableProtocol,
  });

  /** `headers` are what its answers say beside the handshake. */
  constructor(
    private readonly connections: Connections,
    headers: Headers,
  ) {
    this.server.on('headers', (lines) => {
      for (const [name, value] of headers) lines.push(`${name}: ${value}`);
    });
  }

  /** Sends the 101, after which the client may rely on every event behind its place. */
  accept(request: IncomingMessage, socket: Socket, head: Buffer, connection: Connection, form: Form, start: StartingPlace): void {
    this.server.handleUpgrade(request, socket, head, (client) => {
      this.connections.open(connection, new WebSocketOutlet(client, socket, form), start);
      const hear = (): number => connection.heard++;
      client.on('pong', () => (connection.isAwaited = false));
      client.on('ping', hear);
      client.on('message', hear);
      client.on('error', waitForClose);
      client.on('close', (code) => this.connections.gone(connection, code));
    });
  }
}

/** After an error, `ws` says the code with `close`. */
const waitForClose = (): void => undefined;

class WebSocketOutlet implements Outlet {
  readonly transport = 'websocket';

  constructor(
    private readonly client: WebSocket,
    readonly socket: Socket,
    readonly form: Form,
  ) {}

  send(bytes: Buffer): void {
    if (this.client.readyState === this.client.OPEN) this.socket.write(bytes);
  }

  ping(): boolean {
    this.send(pingFrame);
    return true;
  }

  /** The advice is part of the reason, which is all that a close frame can carry. */
  close(code: CloseCode, reconnectAfterMs: number | undefined): void {
    this.client.close(code, reconnectAfterMs === undefined ? closeReasons[code] : `${closeReasons[code]}; reconnect-after-ms=${reconnectAfterMs}`);
  }
}
