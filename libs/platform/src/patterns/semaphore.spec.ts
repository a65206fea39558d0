import { describe, expect, it } from '@jest/globals';
import { Semaphore } from './semaphore.js';

describe('a semaphore', () => {
  it('bounds concurrency, runs waiting work in order, and is released when work fails', async () => {
    const semaphore = new Semaphore(2);
    const started: number[] = [];
    const ends: (() => void)[] = [];
    const runs = [0, 1, 2, 3].map((n) =>
      semaphore.run(async () => {
        started.push(n);
        await new Promise<void>((resolve) => ends.push(resolve));
        if (n === 0) throw new Error('failed');
      }),
    );
    const outcome = Promise.allSettled(runs);
    expect(semaphore.waiting).toBe(2);
    for (const expected of [
      [0, 1],
      [0, 1, 2],
      [0, 1, 2, 3],
    ]) {
      await new Promise((resolve) => setImmediate(resolve));
      expect(started).toEqual(expected);
      ends.shift()!();
    }
    ends.shift()!();
    expect((await outcome).map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled', 'fulfilled']);
  });
});
