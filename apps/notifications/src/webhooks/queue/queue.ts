// How much of an endpoint's backlog is claimed, and when it is looked at again.

/** What one endpoint may take of everybody's time. */
export interface QueueLimits {
  readonly inFlight: number;
  readonly perSecond: number;
  /** Attempts in a row without a prompt answer after which it gets one at a time. */
  readonly silentAttempts: number;
  /** Then nothing is sent for this long after each attempt; twice as long each time, and at most for the second, if it does not answer at all. */
  readonly pauseMs: number;
  readonly longestPauseMs: number;
}

/** An endpoint whose turn it is, as it stands now. */
export interface Turn {
  readonly webhookId: string;
  readonly ownerId: string;
  /** Of its queue's row. */
  readonly version: string;
  readonly isEnabled: boolean;
  readonly url: string;
  /** Attempts that its rate allows now. */
  readonly tokens: number;
  readonly leased: number;
  readonly silentAttempts: number;
  /** For how long nothing is sent; 0 or less: it may go on. */
  readonly pausedForMs: number;
}

/** How many deliveries may be claimed for it: of `share`, what its limits leave. */
export function roomOf(turn: Turn, share: number, limits: QueueLimits): number {
  if (!turn.isEnabled || turn.pausedForMs > 0) return 0;
  const inFlight = turn.silentAttempts < limits.silentAttempts ? limits.inFlight : 1;
  return Math.max(0, Math.min(share, inFlight - turn.leased, Math.floor(turn.tokens)));
}

/** How often an endpoint is looked at that waits for its own deliveries to end; an end brings its turn forward anyway. */
const fullMs = 250;

/**
 * When it is its turn again at the earliest: at once if only its share was used up, later if its limits were. Infinity: not
 * before somebody says so.
 */
export function pauseBeforeNextTurn(turn: Turn, room: number, claimed: number, share: number, limits: QueueLimits): number {
  if (!turn.isEnabled) return Infinity;
  if (turn.pausedForMs > 0) return turn.pausedForMs;
  if (claimed < room || room === share) return 0;
  if (turn.tokens - claimed < 1) return Math.max(20, ((1 - (turn.tokens - claimed)) * 1_000) / limits.perSecond);
  return fullMs;
}
