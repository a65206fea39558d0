import type { CloseCode } from './client-transport.js';

/**
 * Reconnections a second that a closing replica causes at most. When 10,000 came at once, one replica took 3,800 a second, and a
 * client waited up to 3.3 s for its handshake; at 1,000 a second it waited 0.4 s (docs/decisions/stream-rebalancing.md).
 */
const reconnectsPerSecond = 1_000;
/** A client that waits for its turn gets its events late. */
const longestSpreadMs = 30_000;
/** The pause after a close for too much work, here or at the client. */
const backOffMs = { least: 1_000, most: 5_000 };

/**
 * How many milliseconds a closed client should wait before it reconnects. Random, so that clients that are closed together come back one by one.
 * Undefined for codes after which it should not reconnect, or need not wait.
 * @param leaving how many clients this replica closes for the same reason at the same time
 * @param random from 0 to 1
 */
export function reconnectAfterMs(code: CloseCode, leaving: number, random: number): number | undefined {
  switch (code) {
    case 4200:
      return Math.round(random * Math.min((leaving * 1_000) / reconnectsPerSecond, longestSpreadMs));
    case 4100:
    case 4101:
      return Math.round(backOffMs.least + random * (backOffMs.most - backOffMs.least));
    case 1008:
    case 4001:
    case 4003:
    case 4201:
      return undefined;
    default:
      return code satisfies never;
  }
}

/**
 * How long an EventSource should wait when its connection breaks without a word, which ends all connections of a replica at once.
 * Browsers wait three or five seconds, all of a kind equally long.
 */
export const brokenRetryMs = (random: number): number => Math.round(1_000 + random * 4_000);

/** `Retry-After` of a refusal that many get at the same moment, in seconds. */
export const retryAfterSeconds = (random: number): number => 1 + Math.floor(random * 5);
