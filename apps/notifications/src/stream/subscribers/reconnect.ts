import type { CloseCode } from '../connection.js';

/**
 * Maximum reconnections per second that a closing replica causes. When 10,000 clients reconnected at once, one replica accepted
 * 3,800 a second and a client waited up to 3.3 s for its handshake; at 1,000 a second it waited 0.4 s
 * (docs/decisions/stream.md).
 */
const reconnectsPerSecond = 1_000;
/** Limits the spread, because a waiting client gets its events late. */
const longestSpreadMs = 30_000;
/** Bounds of the pause after a close for overload, of this replica or of the client. */
const backOffMs = { min: 1_000, max: 5_000 };

/**
 * Returns how many milliseconds a closed client should wait before it reconnects: random, so that clients that are closed together
 * do not reconnect together. Undefined for codes after which the client should not reconnect, or need not wait.
 * @param leaving number of clients that this replica closes for the same reason at the same time
 * @param random from 0 to 1
 */
export function reconnectAfterMs(code: CloseCode, leaving: number, random: number): number | undefined {
  switch (code) {
    case 4200:
      return Math.round(random * Math.min((leaving * 1_000) / reconnectsPerSecond, longestSpreadMs));
    case 4100:
    case 4101:
      return Math.round(backOffMs.min + random * (backOffMs.max - backOffMs.min));
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
 * Returns how many milliseconds an EventSource should wait when its connection breaks, which happens to all connections of a replica
 * at once. By default every browser of a kind waits equally long, three or five seconds.
 */
export const brokenRetryMs = (random: number): number => Math.round(1_000 + random * 4_000);

/** Returns a `Retry-After` in seconds, for refusals that many clients get at the same moment. */
export const retryAfterSeconds = (random: number): number => 1 + Math.floor(random * 5);
