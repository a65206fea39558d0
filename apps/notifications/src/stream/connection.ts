import type { Authentication } from '@plant-shop/credentials/authentication';
import type { PresentedCredentials } from '@plant-shop/credentials/presented-credentials';
import type { Position } from '../log/history.js';
import type { GapReason } from '../log/log-entry.js';
import { type Filter, isFiltered, type Visibility, visibilityOf, type Subscription } from '../log/subscription.js';
import type { CloseCode, ClientTransport } from './client-transport.js';

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
  /** Sent up to here. While live and in no round: ignore it, everything up to the broadcaster's `matched` was sent. */
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
  /** Messages and pings received from the client since the last ping. */
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
