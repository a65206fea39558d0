import type { Socket } from 'node:net';
import type { FrameFormat } from './frames.js';

/** Why we end an open stream, by the code that the client gets; what it should do then says the README. */
export const closeReasons = {
  1008: 'clients have nothing to say here',
  4001: 'credential gone',
  4003: 'may not read orders any more',
  4100: 'overloaded',
  4101: 'too slow',
  4200: 'going away',
  4201: 'credential expires',
} as const;

export type CloseCode = keyof typeof closeReasons;

/** How long a client has to take what was sent before its end. */
export const closeLimitMs = 3_000;

/** The way to one client. */
export interface ClientTransport {
  readonly kind: 'websocket' | 'sse';
  readonly format: FrameFormat;
  readonly socket: Socket;
  send(bytes: Buffer): void;
  /** Says that this side is there. @returns whether the client answers it */
  ping(): boolean;
  /**
   * Says why, after all that was sent before, and ends.
   * @param reconnectAfterMs how long the client should wait before it reconnects; undefined: the code says all
   */
  close(code: CloseCode, reconnectAfterMs: number | undefined): void;
}
