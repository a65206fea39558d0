import type { Socket } from 'node:net';
import type { Authentication } from '@plant-shop/credentials/authentication';
import type { PresentedCredentials } from '@plant-shop/credentials/presented-credentials';
import type { Position } from '../log/history.js';
import type { GapReason } from '../log/log-entry.js';
import { type Filter, isFiltered, type Subscription, type Visibility, visibilityOf } from '../log/subscription.js';
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
  /**
   * Sends a sign of life, with the cursor if the client can resume. Returns whether the client must answer it.
   * @param cursor after everything that was sent; undefined while a gap notice is still to be sent
   */
  ping(cursor: string | undefined): boolean;
  /**
   * Sends the code and its reason after everything sent before, and closes the connection.
   * @param reconnectAfterMs how long the client should wait before it reconnects; undefined for codes that need no delay
   */
  close(code: CloseCode, reconnectAfterMs: number | undefined): void;
}

/**
 * - `opening`: the handshake is in progress.
 * - `resuming`: it is catching up from its position to the end of the log.
 * - `live`: it has reached the end of the log, and the broadcaster sends it new entries.
 * - `rechecking`: nothing is sent while its credentials are checked again.
 */
export type ConnectionState = 'opening' | 'resuming' | 'live' | 'rechecking' | 'closed';

/** One client of the stream by WebSocket or SSE. */
export class Connection implements Subscription {
  state: ConnectionState = 'opening';
  visibility: Visibility;
  readonly isFiltered: boolean;
  /**
   * Sent up to here; half a number more after a gap notice (log/history.ts). While live and in no round: ignore it, everything up to the
   * broadcaster's `matched` was sent.
   */
  position: Position = 0;
  /** Number of the broadcaster's round that will write to it; 0 if it lacks nothing or is not live. */
  pendingRound = 0;
  /** The gap notice to send before any event. */
  gap: GapReason | undefined;
  transport: ClientTransport | undefined;
  /** Set when this side has closed the connection. */
  closeCode: CloseCode | undefined;
  /** Whether its credentials are being checked again. */
  isRechecking = false;
  /** Whether the last ping is unanswered. */
  awaitsPong = false;
  /** Messages, pings and pongs received from the client since the last ping. */
  messagesSincePing = 0;
  /** Set while the socket has unsent data: `bytesWritten` and the time, by `performance.now`, when that was noticed. */
  unsent: { readonly bytes: number; readonly since: number } | undefined;
  /** Its index in the heartbeat's slots. */
  heartbeatSlot = 0;
  /** Number of the current catch-up run; a run with an older number stops. */
  catchUpRun = 0;

  constructor(
    readonly credentials: PresentedCredentials,
    public authentication: Authentication,
    readonly filter: Filter,
  ) {
    this.visibility = visibilityOf(authentication.principal);
    this.isFiltered = isFiltered(filter);
  }

  /** Replaces the authentication after the credentials were checked again. */
  renew(authentication: Authentication): void {
    this.authentication = authentication;
    this.visibility = visibilityOf(authentication.principal);
  }
}
