import { StreamClosed } from './errors.js';

/** How a connection of the stream ended. */
export interface Ending {
  /** 4xxx: a code of the stream (AsyncAPI document). 1006: the connection broke. 1000: this side closed it. */
  readonly code: number;
  readonly reason: string;
  /** How long the stream asked to wait before reconnecting. */
  readonly retryAfterMs?: number | undefined;
  /** Whether it had been open. */
  readonly wasOpen: boolean;
}

/** Returns `reconnect-after-ms` from the end of a close reason. */
export function adviceIn(reason: string): number | undefined {
  const [, ms] = /(?:^|; )reconnect-after-ms=(\d{1,9})$/.exec(reason) ?? [];
  return ms === undefined ? undefined : Number(ms);
}

/** Close codes after which another connection with the same credential would end the same way. */
const final: Readonly<Record<number, string>> = {
  4001: 'The credential is no longer valid: it was revoked, or its user was deleted.',
  4003: 'The credential may no longer read order events.',
};

export const isFinal = (code: number): boolean => code in final;
export const closedFor = (code: number): StreamClosed => new StreamClosed(code, final[code] ?? `The stream was closed (${code}).`);

const brokenMs = 5_000;
const longestMs = 30_000;

/**
 * Returns the wait before reconnecting in milliseconds: as long as the stream advised; not at all when the credential is about to expire (4201) or
 * this side closed the connection (1000); otherwise a random time of up to 5 s, doubled after each failed attempt, up to 30 s.
 *
 * @param failures attempts without an open connection before this one
 * @param random from 0 to 1
 */
export function reconnectMs({ code, retryAfterMs }: Pick<Ending, 'code' | 'retryAfterMs'>, failures: number, random: number): number {
  if (retryAfterMs !== undefined) return retryAfterMs;
  if ((code === 4201 || code === 1000) && failures === 0) return 0;
  return random * Math.min(brokenMs * 2 ** failures, longestMs);
}
