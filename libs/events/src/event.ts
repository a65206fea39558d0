/** One event of a feed. Id and body never change: every reader gets the same bytes, at any time. */
export interface FeedEvent {
  /** 1, 2, 3, … without gaps. Followers track their progress by it. */
  readonly seq: number;
  /** UUIDv7 */
  readonly id: string;
  /** The account that may see the event, or a constant of the service for one that depends on permissions. */
  readonly subject: string;
  /** As clients receive it: serialised once, by the service where the event happened. */
  readonly body: string;
  /** Trace context of the change, when it was traced (W3C Trace Context). Internal: clients never receive it. */
  readonly traceparent?: string;
}

/** The end of a feed. */
export interface FeedHead {
  /**
   * Names one history. A restore or failover begins a new one above all earlier numbers; skipped numbers are never assigned.
   */
  readonly epoch: string;
  /** The last number assigned. */
  readonly head: number;
}

/** A position in a feed: the last event that a follower has. `seq` 0 without an id is the beginning. */
export interface FeedPosition {
  readonly seq: number;
  readonly id?: string;
}

/** Events that were just numbered. `events` is empty when they are too large for one message. */
export interface FeedMessage extends FeedHead {
  /** The event before the first one, in the feed's current history. */
  readonly after: FeedPosition;
  /**
   * Followers may delay this message and log it together with the next ones: at most 50 ms (150 ms on replicas that stand by while
   * another one logs), or until 32 messages wait.
   */
  readonly mayWait?: boolean;
  readonly events: readonly FeedEvent[];
}

/** The events after a position. */
export interface FeedPage extends FeedHead {
  /** Whether the position is part of this history. If not, one of the two databases was restored: `Feed.startEpoch`. */
  readonly matches: boolean;
  /**
   * The number at which the feed continues after the position: the next one, or a higher one when the events between were
   * deleted for their age or lost with a history.
   */
  readonly next: number;
  /** The first number of `epoch`; earlier events belong to earlier epochs. Absent in the first epoch. */
  readonly epochBegins?: number;
  /** From `next` on, with consecutive numbers. */
  readonly events: readonly FeedEvent[];
}
