import type { Caller } from '@plant-shop/credentials/caller';
import type { PresentedCredentials } from '@plant-shop/credentials/presented-credentials';
import type { GapReason } from './entry.js';
import type { Place } from './history.js';
import type { CloseCode, Outlet } from './outlet.js';
import { type Filter, isFiltered, type Sees, seenBy, type Subscription } from './subscription.js';

/**
 * - `opening`: its handshake is under way.
 * - `resuming`: it is on its way from its place to the end of the log.
 * - `live`: it has everything that was flushed.
 * - `held`: its credentials are being checked again; nothing is sent meanwhile.
 */
export type ConnectionState = 'opening' | 'resuming' | 'live' | 'held' | 'closed';

/** One open stream. */
export class Connection implements Subscription {
  state: ConnectionState = 'opening';
  sees: Sees;
  readonly isFiltered: boolean;
  /** Everything up to here was sent; not kept while live. */
  place: Place = 0;
  /** What it must be told before anything else. */
  gap: GapReason | undefined;
  outlet: Outlet | undefined;
  /** Why it ended, once it has. */
  closedWith: CloseCode | undefined;
  /** Its credentials are being checked again. */
  isChecked = false;
  /** A sign of life is awaited. */
  isAwaited = false;
  /** Messages that came from the client since the last ping. */
  heard = 0;
  /** What was sent and is not yet away: the number of bytes that the socket must have passed, and since when. */
  unsent: { readonly bytes: number; readonly since: number } | undefined;
  /** Its place in the heartbeat. */
  slot = 0;
  /** Counts the journeys to the end of the log: an older one stops. */
  journey = 0;

  constructor(
    readonly shown: PresentedCredentials,
    public caller: Caller,
    readonly filter: Filter,
  ) {
    this.sees = seenBy(caller.principal);
    this.isFiltered = isFiltered(filter);
  }

  /** Its credentials were checked again. */
  renew(caller: Caller): void {
    this.caller = caller;
    this.sees = seenBy(caller.principal);
  }
}
