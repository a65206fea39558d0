import { describe, expect, it } from '@jest/globals';
import { Semaphore, SemaphoreByKey } from './semaphore.js';

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

describe('a semaphore by key', () => {
  it('runs one piece of work of each key at a time, those of other keys beside it, and forgets idle keys', async () => {
    const semaphore = new SemaphoreByKey(2);
    const started: string[] = [];
    const ends = new Map<string, () => void>();
    const run = (key: string, name: string): Promise<void> =>
      semaphore.run(key, async () => {
        started.push(name);
        await new Promise<void>((resolve) => ends.set(name, resolve));
        if (name === 'a1') throw new Error('failed');
      });
    const all = Promise.allSettled([run('a', 'a1'), run('a', 'a2'), run('a', 'a3'), run('b', 'b1'), run('c', 'c1')]);
    for (const [expected, ended] of [[['a1', 'b1'], 'a1'], [['a1', 'b1', 'c1'], 'b1'], [['a1', 'b1', 'c1', 'a2'], 'a2'], [['a1', 'b1', 'c1', 'a2', 'a3'], 'a3']] as const) {
      await new Promise((resolve) => setImmediate(resolve));
      expect(started).toEqual(expected);
      ends.get(ended)!();
    }
    ends.get('c1')!();
    expect((await all).map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled', 'fulfilled', 'fulfilled']);
    expect(semaphore).toMatchObject({ last: new Map() });
  });
});
