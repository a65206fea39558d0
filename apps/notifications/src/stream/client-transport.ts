import type { Socket } from 'node:net';
import type { FrameFormat } from './frames.js';

/** Reasons for closing a stream, by close code. docs/api/asyncapi.json says what a client should do after each. */
export const closeReasons = {
  1008: 'clients must not send messages',
  4001: 'credential revoked',
  4003: 'may no longer read orders',
  4100: 'overloaded',
  4101: 'too slow',
  4200: 'going away',
  4201: 'credential expires',
} as const;

export type CloseCode = keyof typeof closeReasons;

/** How long a client has to read what was sent before the close. */
export const closeLimitMs = 3_000;

/** Sends frames to one client. */
export interface ClientTransport {
  readonly kind: 'websocket' | 'sse';
  readonly format: FrameFormat;
  readonly socket: Socket;
  send(bytes: Buffer): void;
  /** Sends a sign of life. Returns whether the client must answer it. */
  ping(): boolean;
  /**
   * Sends the code and its reason after everything sent before, and closes the connection.
   * @param reconnectAfterMs how long the client should wait before it reconnects; undefined for codes that need no delay
   */
  close(code: CloseCode, reconnectAfterMs: number | undefined): void;
}
