import { describe, expect, it } from '@jest/globals';
import { brokenRetryMs, reconnectAfterMs, retryAfterSeconds } from './reconnect.js';

const evenly = Array.from({ length: 10_000 }, (_, n) => n / 10_000);

/** The most of some times that fall into one second. */
function mostInASecond(times: readonly number[]): number {
  const counts = new Map<number, number>();
  for (const ms of times) counts.set(Math.floor(ms / 1_000), (counts.get(Math.floor(ms / 1_000)) ?? 0) + 1);
  return Math.max(...counts.values());
}

describe('the advice when to reconnect', () => {
  it('spreads the clients of a replica that stops over so long that 1,000 come in a second', () => {
    const advised = evenly.map((random) => reconnectAfterMs(4200, 10_000, random) ?? NaN);
    expect([Math.min(...advised), Math.max(...advised)]).toEqual([0, 9_999]);
    expect(mostInASecond(advised)).toBeLessThanOrEqual(1_001);
  });

  it('lets a single client come back at once, and nobody wait longer than 30 s', () => {
    expect(reconnectAfterMs(4200, 1, 0.999)).toBeLessThanOrEqual(1);
    expect(reconnectAfterMs(4200, 1_000_000, 0.999)).toBeLessThan(30_000);
  });

  it('is a pause of one to five seconds where there was too much work', () => {
    for (const code of [4100, 4101] as const) {
      expect([reconnectAfterMs(code, 1, 0), reconnectAfterMs(code, 1, 1)]).toEqual([1_000, 5_000]);
    }
  });

  it('is none for clients that should not come back, or not with what they have', () => {
    expect(([1008, 4001, 4003, 4201] as const).map((code) => reconnectAfterMs(code, 10, 0.5))).toEqual([undefined, undefined, undefined, undefined]);
  });

  it('of broken connections and of refusals is spread over seconds', () => {
    expect(mostInASecond(evenly.map(brokenRetryMs))).toBeLessThan(2_600);
    expect(new Set(evenly.map(retryAfterSeconds))).toEqual(new Set([1, 2, 3, 4, 5]));
  });
});
