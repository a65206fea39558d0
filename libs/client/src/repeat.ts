import { keyedOperations } from './generated/operations.js';
import type { ShopError } from './errors.js';

/** GET operations with effects: a login opens a session, a logout ends one. */
const changing: readonly string[] = ['GET /user/login', 'GET /user/logout'];

/** Whether the operation honours an Idempotency-Key. */
export const takesKey = (operation: string): boolean => keyedOperations.includes(operation);

/** Whether the operation only reads. */
export const isRead = (operation: string): boolean => operation.startsWith('GET ') && !changing.includes(operation);

/**
 * Whether the same request may be sent again after this failure.
 *
 * After `unknown` only reads and requests with an Idempotency-Key are repeated. PUT and DELETE are not, although HTTP calls them
 * idempotent: another client's change may have happened in between, and a repeated DELETE could delete a new plant with the same id.
 *
 * @param isSafe whether the request takes effect at most once, however often it is sent
 */
export function mayRepeat({ kind, outcome }: ShopError, isSafe: boolean): boolean {
  if (outcome === 'not-done') return true;
  return outcome === 'unknown' && isSafe && kind !== 'invalid-json';
}

const firstMs = 200;
const longestMs = 5_000;

/**
 * Returns the pause before a repetition in milliseconds: as long as the shop asked, plus up to 250 ms to spread clients; otherwise a
 * random time up to 0.2, 0.4, 0.8 … 5 s ("full jitter").
 *
 * @param failures number of failures before this one
 * @param random from 0 to 1
 */
export function pauseMs(retryAfterMs: number | undefined, failures: number, random: number): number {
  if (retryAfterMs !== undefined) return retryAfterMs + random * 250;
  return random * Math.min(firstMs * 2 ** failures, longestMs);
}

/** Returns `Retry-After` in milliseconds (RFC 9110, 10.2.3). */
export function retryAfterOf(headers: Headers): number | undefined {
  const text = headers.get('retry-after');
  if (text === null) return undefined;
  const ms = /^\d{1,9}$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.max(ms, 0);
}
