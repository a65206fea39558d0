import type { QueueLimits } from '../../options.js';

// Decides how much of an endpoint's backlog is claimed, when its next turn is, and when a delivery's next attempt is (mail's, too).

/** An endpoint whose turn it is, with its current state. */
export interface Turn {
  readonly webhookId: string;
  readonly ownerId: string;
  /** Version (`xmin`) of the queue's row. */
  readonly version: string;
  readonly isEnabled: boolean;
  readonly url: string;
  readonly host: string;
  /** The secrets that sign now, encrypted, newest first. */
  readonly secrets: readonly Buffer[];
  /** The id of the one that ends first. */
  readonly oldestSecret: number | null;
  /** Attempts that the rate limit allows now. */
  readonly tokens: number;
  /** Deliveries that are claimed. */
  readonly leased: number;
  readonly silentAttempts: number;
  /** Rest of the endpoint's pause; 0 or less if there is none. */
  readonly pausedForMs: number;
}

/** Returns how many deliveries the endpoint's limits allow to be claimed. */
export function roomOf(turn: Turn, limits: QueueLimits): number {
  if (!turn.isEnabled || turn.pausedForMs > 0) return 0;
  const inFlight = turn.silentAttempts < limits.silentAttempts ? limits.inFlight : 1;
  return Math.max(0, Math.min(inFlight - turn.leased, Math.floor(turn.tokens)));
}

/** Pause of an endpoint with its maximum of claimed deliveries. The end of one brings the turn forward. */
const fullMs = 250;

/**
 * Returns the minimum pause before the next turn: none if only the share of the free slots or the backlog was used up, longer if a limit
 * of the endpoint was reached, Infinity for a disabled endpoint.
 * @param room what the limits of the endpoint and its host allowed
 * @param share how much of it got slots
 * @param hostWaitMs how long its host's rate makes it wait, if it asked for more
 */
export function pauseBeforeNextTurn(turn: Turn, room: number, share: number, claimed: number, limits: QueueLimits, hostWaitMs?: number): number {
  if (!turn.isEnabled) return Infinity;
  if (turn.pausedForMs > 0) return turn.pausedForMs;
  if (claimed < share || share < room) return 0;
  if (hostWaitMs !== undefined) return hostWaitMs;
  if (turn.tokens - claimed < 1) return Math.max(20, ((1 - (turn.tokens - claimed)) * 1_000) / limits.perSecond);
  return fullMs;
}

/**
 * Pauses before each attempt, in milliseconds: none, then 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h and 24 h, three days in
 * total. Source: the example schedule of Standard Webhooks 1.0.
 */
const pauses = [0, 5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400].map((seconds) => seconds * 1_000);
/** Most attempts of a delivery. */
export const maxAttempts = pauses.length;

/** Random part of a pause, so that deliveries that failed together are not retried together. */
const jitter = 0.1;

/**
 * Returns the pause after an attempt in milliseconds, undefined if it was the last.
 * @param attempts number of attempts, that one included
 * @param random from 0 to 1
 */
export function pauseAfter(attempts: number, timeScale: number, random: number): number | undefined {
  const pause = pauses[attempts];
  return pause === undefined ? undefined : pause * timeScale * (1 + jitter * (2 * random - 1));
}
