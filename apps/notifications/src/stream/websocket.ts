import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { WebSocket } from 'ws';
import { type CloseCode, closeReasons, type ClientTransport } from './client-transport.js';
import type { Connection } from './connection.js';
import { type FrameFormat, pingFrame } from './frames.js';
import { HttpProblem } from './problems.js';
import type { StartingPosition } from './starting-positions.js';

/** With it, frames carry id and cursor although the client gave no cursor. */
export const resumableProtocol = 'orders.v1.resumable';
const keyForm = /^[+/0-9A-Za-z]{22}==$/;

/** @throws HttpProblem when the request is no WebSocket handshake (RFC 6455, 4.2.1) */
export function checkHandshake({ headers }: IncomingMessage): void {
  const version = headers['sec-websocket-version'];
  if (version !== '13') {
    throw new HttpProblem('malformed-request', 'The handshake must be that of WebSocket version 13.', { 'sec-websocket-version': '13' });
  }
  if (!keyForm.test(headers['sec-websocket-key'] ?? '')) {
    throw new HttpProblem('malformed-request', 'The handshake must have a Sec-WebSocket-Key of 16 bytes in base64.');
  }
}

export const offersResumable = ({ headers }: IncomingMessage): boolean =>
  (headers['sec-websocket-protocol'] ?? '').split(',').some((one) => one.trim() === resumableProtocol);

/** The client object that Nest passes to the gateway's methods. */
export class StreamSocket extends WebSocket {
  /** Set by `handleConnection`, the first of them. */
  connection!: Connection;
}

/** What the gateway gets with an admitted client. */
export interface AdmittedSocket {
  readonly connection: Connection;
  readonly socket: Socket;
  readonly format: FrameFormat;
  readonly start: StartingPosition;
}

/** `ws` does the handshake and parses what clients send; frames of events go to the network socket preformatted. */
export class WebSocketTransport implements ClientTransport {
  readonly kind = 'websocket';

  constructor(
    private readonly client: WebSocket,
    readonly socket: Socket,
    readonly format: FrameFormat,
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
