import { describe, expect, it } from '@jest/globals';
import { brokenRetryMs, reconnectAfterMs, retryAfterSeconds } from './reconnect.js';

const evenly = Array.from({ length: 10_000 }, (_, n) => n / 10_000);

/** Returns the maximum number of times within one second. */
function maxInASecond(times: readonly number[]): number {
  const counts = new Map<number, number>();
  for (const ms of times) counts.set(Math.floor(ms / 1_000), (counts.get(Math.floor(ms / 1_000)) ?? 0) + 1);
  return Math.max(...counts.values());
}

describe('the reconnect delay', () => {
  it('spreads the clients of a stopping replica so that 1,000 reconnect in a second', () => {
    const delays = evenly.map((random) => reconnectAfterMs(4200, 10_000, random) ?? NaN);
    expect([Math.min(...delays), Math.max(...delays)]).toEqual([0, 9_999]);
    expect(maxInASecond(delays)).toBeLessThanOrEqual(1_001);
  });

  it('lets a single client reconnect at once, and none wait longer than 30 s', () => {
    expect(reconnectAfterMs(4200, 1, 0.999)).toBeLessThanOrEqual(1);
    expect(reconnectAfterMs(4200, 1_000_000, 0.999)).toBeLessThan(30_000);
  });

  it('is one to five seconds after an overload', () => {
    for (const code of [4100, 4101] as const) {
      expect([reconnectAfterMs(code, 1, 0), reconnectAfterMs(code, 1, 1)]).toEqual([1_000, 5_000]);
    }
  });

  it('is undefined for clients that should not reconnect, or need another credential', () => {
    expect(([1008, 4001, 4003, 4201] as const).map((code) => reconnectAfterMs(code, 10, 0.5))).toEqual([undefined, undefined, undefined, undefined]);
  });

  it('after broken connections and refusals is spread over seconds', () => {
    expect(maxInASecond(evenly.map(brokenRetryMs))).toBeLessThan(2_600);
    expect(new Set(evenly.map(retryAfterSeconds))).toEqual(new Set([1, 2, 3, 4, 5]));
  });
});
