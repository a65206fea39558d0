/** One event of a feed. Body and id are the same bytes on every repetition, whoever reads it and whenever. */
export interface FeedEvent {
  /** 1, 2, 3, … without a hole: what followers count by. */
  readonly seq: number;
  /** UUIDv7 */
  readonly id: string;
  /** Whose event it is: the account that may see it. */
  readonly subject: string;
  /** As clients get it: serialised once, by the service where it happened. */
  readonly body: string;
  /** What it happened in, when that is traced (W3C Trace Context). Not for clients, and not among the bytes they get. */
  readonly traceparent?: string;
}

/** Where a feed stands. */
export interface FeedHead {
  /**
   * Names one history. A feed whose database was restored from a backup goes on above every number that it ever gave,
   * under a new epoch; what was in between is lost.
   */
  readonly epoch: string;
  /** The last number that was given. */
  readonly head: number;
}

/** A place in a feed: the last event that a follower has, if it has one. */
export interface FeedPosition {
  readonly seq: number;
  readonly id?: string;
}

/** What was just numbered; empty when it is too much for a message. */
export interface FeedNudge extends FeedHead {
  /** The event before the first, of the feed's present history; absent from an owner of the release before. */
  readonly after?: FeedPosition;
  /** Followers may take it together with what comes next. */
  readonly mayWait?: boolean;
  readonly events: readonly FeedEvent[];
}

/** What comes after a place. */
export interface FeedPage extends FeedHead {
  /** The place is part of this history. If not, one of the two databases was set back: `Feed.startNewEpoch`. */
  readonly matches: boolean;
  /**
   * The number that comes after the place: the next one, or a higher one where the feed has nothing in between any more,
   * because it was dropped for its age or lost with a history.
   */
  readonly next: number;
  /** From `next` on, in ascending order without a hole. */
  readonly events: readonly FeedEvent[];
}
