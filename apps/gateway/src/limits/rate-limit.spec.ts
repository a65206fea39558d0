import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type ReplicaCounts, RateLimit } from './rate-limit.js';

describe('the rate limit', () => {
  it('counts each key separately', () => {
    const limit = new RateLimit(2, () => 0);
    expect([limit.take('a').remaining, limit.take('a').remaining, limit.take('a').remaining]).toEqual([1, 0, -1]);
    expect(limit.take('b').remaining).toBe(1);
  });

  it('reports the seconds until the window ends, and starts from zero after it', () => {
    let now = 0;
    const limit = new RateLimit(1, () => now);
    expect(limit.take('a')).toEqual({ remaining: 0, resetSeconds: 60 });
    now = 59_500;
    expect(limit.take('a')).toEqual({ remaining: -1, resetSeconds: 1 });
    now = 60_000;
    expect(limit.take('a')).toEqual({ remaining: 0, resetSeconds: 60 });
  });

  it('counts an expensive request as several, and always allows one', () => {
    const limit = new RateLimit(10, () => 0);
    expect([limit.take('a', 4).remaining, limit.take('a', 4).remaining, limit.take('a', 4).remaining]).toEqual([6, 2, -2]);
    expect([limit.take('b', 100).remaining, limit.take('b').remaining]).toEqual([0, -1]);
  });

  it('lets a request take more than remains if half of the limit remains, and the following minutes pay', () => {
    let now = 0;
    const limit = new RateLimit(600, () => now);
    limit.take('a', 300);
    expect(limit.take('a', 10_000)).toEqual({ remaining: 0, resetSeconds: 60 + 16 * 60 });
    for (let minute = 1; minute <= 16; minute++) {
      now = minute * 60_000;
      expect(limit.take('a').remaining).toBeLessThan(0);
    }
    // 300 and 10,000 are 17 minutes and a bit.
    now = 17 * 60_000;
    expect(limit.take('a').remaining).toBe(17 * 600 + 600 - 10_300 - 1);
    expect(limit.take('a', 10_000).remaining).toBeGreaterThanOrEqual(0);
    expect(limit.take('b', 301).remaining).toBe(299);
    expect(limit.take('b', 10_000).remaining).toBeLessThan(0);
  });

  it('keeps a debt while nothing is asked, and takes nothing for refused requests', () => {
    let now = 0;
    const limit = new RateLimit(10, () => now);
    limit.take('a', 35);
    for (let n = 0; n < 1_000; n++) limit.take('a', 35);
    now = 2 * 60_000;
    expect(limit.take('a').remaining).toBeLessThan(0);
    now = 3 * 60_000;
    expect(limit.take('a').remaining).toBe(4);
    now = 4 * 60_000;
    expect(limit.take('a').remaining).toBe(9);
  });

  it('counts what a request has used, even beyond the limit', () => {
    let now = 0;
    const limit = new RateLimit(10, () => now);
    limit.charge('a', 25);
    expect(limit.take('a').remaining).toBeLessThan(0);
    now = 2 * 60_000;
    expect(limit.take('a').remaining).toBe(4);
  });

  it('is exhausted when the next request would exceed it', () => {
    const limit = new RateLimit(1, () => 0);
    expect(limit.isExhausted('a')).toBe(false);
    limit.take('a');
    expect(limit.isExhausted('a')).toBe(true);
  });

  it('has bounded memory: keys beyond the bound share one counter', () => {
    const limit = new RateLimit(10, () => 0, 2);
    limit.take('a');
    limit.take('b');
    for (let n = 0; n < 9; n++) limit.take(`c${n}`);
    expect(limit.take('d').remaining).toBe(0);
    expect(limit.take('a').remaining).toBe(8);
  });
});

describe('the counts of several gateways', () => {
  /** Sends one replica's pending counts to others. */
  const gossip = (from: RateLimit, replica: string, ...to: RateLimit[]): ReplicaCounts => {
    const counts = { ...from.takePending(1_000), replica };
    for (const one of to) one.merge(counts);
    return counts;
  };
  const two = (perMinute: number): [RateLimit, RateLimit] => [new RateLimit(perMinute, () => 0), new RateLimit(perMinute, () => 0)];
  const take = (limit: RateLimit, times: number): number => Array.from({ length: times }, () => limit.take('k').remaining).at(-1)!;

  it('add up once they are exchanged', () => {
    const [a, b] = two(10);
    expect([take(a, 4), take(b, 3)]).toEqual([6, 7]);
    gossip(a, 'a', b);
    gossip(b, 'b', a);
    expect([take(a, 1), take(b, 1)]).toEqual([2, 2]);
    gossip(a, 'a', b);
    expect(b.isExhausted('k')).toBe(false);
    expect(take(b, 2)).toBe(-1);
    expect(b.isExhausted('k')).toBe(true);
  });

  it('converge although messages are lost, repeated or reordered', () => {
    const order = fc.array(fc.tuple(fc.integer({ min: 1, max: 5 }), fc.boolean()), { minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(order, fc.func(fc.integer()), (rounds, shuffle) => {
        const [a, b] = two(1_000);
        let sum = 0;
        const messages: ReplicaCounts[] = [];
        for (const [times, isLost] of rounds) {
          take(a, times);
          sum += times;
          const counts = { ...a.takePending(10), replica: 'a' };
          if (!isLost) messages.push(counts, counts);
        }
        // The last message arrives, as that of the key's next count would.
        take(a, 1);
        messages.push({ ...a.takePending(10), replica: 'a' });
        for (const one of messages.sort((x, y) => shuffle(x) - shuffle(y))) b.merge(one);
        expect(b.take('k').remaining).toBe(1_000 - sum - 2);
      }),
    );
  });

  it('are published once per change, in batches, and not beyond the limit', () => {
    const limit = new RateLimit(3, () => 0);
    for (const key of ['k', 'l', 'k']) limit.take(key);
    const [first, second] = [limit.takePending(1), limit.takePending(5)];
    expect([first, second].map(({ counts }) => counts.map(([, count]) => count))).toEqual([[2], [1]]);
    expect(limit.takePending(5).counts).toEqual([]);
    for (let n = 0; n < 5; n++) limit.take('k');
    expect(limit.takePending(5).counts).toHaveLength(1);
    limit.take('k');
    expect(limit.takePending(5).counts).toEqual([]);
  });

  it('include debts in the following minutes', () => {
    let now = 0;
    const [a, b] = [new RateLimit(10, () => now), new RateLimit(10, () => now)];
    a.take('k', 25);
    gossip(a, 'a', b);
    now = 60_000;
    expect(b.take('k', 0).remaining).toBe(10);
    gossip(a, 'a', b);
    expect(b.take('k').remaining).toBeLessThan(0);
    now = 120_000;
    gossip(a, 'a', b);
    expect(b.take('k').remaining).toBe(4);
  });

  it('are published again if large, for gateways that missed them', () => {
    const [a, b] = two(100);
    take(a, 60);
    a.take('little');
    a.takePending(10);
    a.requeueLargeCounts();
    expect(gossip(a, 'a', b).counts.map(([, count]) => count).sort()).toEqual([1, 60]);
    const large = new RateLimit(1_000, () => 0);
    large.take('little');
    large.takePending(10);
    large.requeueLargeCounts();
    expect(large.takePending(10).counts).toEqual([]);
  });

  it('start from zero each minute, even if clocks differ a little', () => {
    let [here, there] = [59_990, 60_010];
    const [behind, ahead] = [new RateLimit(10, () => here), new RateLimit(10, () => there)];
    take(ahead, 4);
    gossip(ahead, 'ahead', behind);
    take(behind, 9);
    gossip(behind, 'behind', ahead);
    // Neither counts the other's minute, and early counts are not lost.
    expect([take(ahead, 1), take(behind, 1)]).toEqual([5, 0]);
    here = there = 60_020;
    expect(take(behind, 1)).toBe(10 - 1 - 4);
    gossip(behind, 'behind', ahead);
    expect(take(ahead, 1)).toBe(10 - 6 - 1);
    here = there = 120_000;
    expect([take(ahead, 1), take(behind, 1)]).toEqual([9, 9]);
  });

  it.each([-600_000, 600_000])('are not merged if the clocks differ by %i ms: each gateway has its own limit', (apartMs) => {
    const start = 3_600_000;
    let now = start;
    const [here, there] = [new RateLimit(10, () => now), new RateLimit(10, () => now + apartMs)];
    for (; now < start + 900_000; now += 15_000) {
      // Together they exceed one limit per minute; each stays below it.
      expect(take(here, 2)).toBeGreaterThanOrEqual(0);
      expect(take(there, 2)).toBeGreaterThanOrEqual(0);
      gossip(here, 'here', there);
      gossip(there, 'there', here);
    }
  });

  it('have bounded memory, whatever is received', () => {
    const limit = new RateLimit(10, () => 0, 3);
    const hashes = Array.from({ length: 10 }, (_, n) => `hash-number-${n}`.padEnd(16, 'x'));
    limit.merge({ window: 0, replica: 'a', counts: hashes.map((hash) => [hash, 5] as const) });
    // The bound is reached, so this gateway's own keys share one counter.
    expect([limit.take('k').remaining, limit.take('l').remaining]).toEqual([9, 8]);
  });

  it('are stored for at most 100 replicas, and 100 messages about the next minute', () => {
    let now = 0;
    const [limit, other] = [new RateLimit(10_000, () => now), new RateLimit(10_000, () => now)];
    other.take('k');
    const [[hash]] = other.takePending(1).counts as [[string, number]];
    for (let replica = 0; replica < 1_000; replica++) limit.merge({ window: 0, replica: `${replica}`, counts: [[hash, 1]] });
    expect(limit.take('k').remaining).toBe(10_000 - 100 - 1);
    // Each message has a higher count than the one before.
    for (let count = 1; count <= 1_000; count++) limit.merge({ window: 1, replica: 'early', counts: [[hash, count]] });
    now = 60_000;
    expect(limit.take('k').remaining).toBe(10_000 - 100 - 1);
  });
});
