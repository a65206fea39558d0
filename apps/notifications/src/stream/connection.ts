import type { Caller } from '@plant-shop/credentials/caller';
import type { PresentedCredentials } from '@plant-shop/credentials/presented-credentials';
import type { Position } from '../log/history.js';
import type { GapReason } from '../log/log-entry.js';
import { type Filter, isFiltered, type Visibility, visibilityOf, type Subscription } from '../log/subscription.js';
import type { CloseCode, ClientTransport } from './client-transport.js';

/**
 * - `opening`: its handshake is under way.
 * - `resuming`: it is on its way from its position to the end of the log.
 * - `live`: it has everything that was flushed.
 * - `held`: its credentials are being checked again; nothing is sent meanwhile.
 */
export type ConnectionState = 'opening' | 'resuming' | 'live' | 'held' | 'closed';

/** One open stream. */
export class Connection implements Subscription {
  state: ConnectionState = 'opening';
  visibility: Visibility;
  readonly isFiltered: boolean;
  /** Everything up to here was sent; not kept while live. */
  position: Position = 0;
  /** What it must be told before anything else. */
  gap: GapReason | undefined;
  transport: ClientTransport | undefined;
  /** Why it ended, once it has. */
  closeCode: CloseCode | undefined;
  /** Its credentials are being checked again. */
  isRechecking = false;
  /** A sign of life is awaited. */
  awaitsPong = false;
  /** Messages that came from the client since the last ping. */
  messagesSincePing = 0;
  /** What was sent and is not yet away: the number of bytes that the socket must have passed, and since when. */
  unsent: { readonly bytes: number; readonly since: number } | undefined;
  /** Its position in the heartbeat. */
  heartbeatSlot = 0;
  /** Counts the journeys to the end of the log: an older one stops. */
  catchUpRun = 0;

  constructor(
    readonly credentials: PresentedCredentials,
    public caller: Caller,
    readonly filter: Filter,
  ) {
    this.visibility = visibilityOf(caller.principal);
    this.isFiltered = isFiltered(filter);
  }

  /** Its credentials were checked again. */
  renew(caller: Caller): void {
    this.caller = caller;
    this.visibility = visibilityOf(caller.principal);
  }
}
