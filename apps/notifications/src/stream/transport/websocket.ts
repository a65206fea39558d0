import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { HttpError } from '@plant-shop/contracts/problem';
import { WebSocket } from 'ws';
import { type ClientTransport, type CloseCode, closeReasons, type Connection } from '../connection.js';
import { type FrameFormat, pingFrame } from '../frames.js';
import type { StartingPosition } from '../subscribers/starting-positions.js';

/** Subprotocol that requests frames with id and cursor without giving a cursor. */
export const resumableProtocol = 'orders.v1.resumable';
const keyForm = /^[+/0-9A-Za-z]{22}==$/;

/** Throws `malformed-request` when the request is no valid WebSocket handshake (RFC 6455, 4.2.1). */
export function checkHandshake({ headers }: IncomingMessage): void {
  const version = headers['sec-websocket-version'];
  if (version !== '13') {
    throw new HttpError('malformed-request', 'The handshake must use WebSocket version 13.', {}, { 'sec-websocket-version': '13' });
  }
  if (!keyForm.test(headers['sec-websocket-key'] ?? '')) {
    throw new HttpError('malformed-request', 'The handshake must have a Sec-WebSocket-Key of 16 bytes in base64.');
  }
}

export const offersResumable = ({ headers }: IncomingMessage): boolean =>
  (headers['sec-websocket-protocol'] ?? '').split(',').some((one) => one.trim() === resumableProtocol);

/** The client object that Nest passes to the gateway's methods. */
export class StreamSocket extends WebSocket {
  /** Set by `handleConnection`, the first of these methods to run. */
  connection!: Connection;
}

/** What `StreamAdapter` passes to the gateway with an admitted client. */
export interface AdmittedSocket {
  readonly connection: Connection;
  readonly socket: Socket;
  readonly format: FrameFormat;
  readonly start: StartingPosition;
}

/** Writes preformatted frames to the network socket. `ws` does the handshake and parses what clients send. */
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

  ping(cursor = ''): boolean {
    this.send(pingFrame(this.format === 'resumable' ? cursor : ''));
    return true;
  }

  /** Puts the delay into the reason, because a close frame has only code and reason. */
  close(code: CloseCode, reconnectAfterMs: number | undefined): void {
    this.client.close(code, reconnectAfterMs === undefined ? closeReasons[code] : `${closeReasons[code]}; reconnect-after-ms=${reconnectAfterMs}`);
  }
}
