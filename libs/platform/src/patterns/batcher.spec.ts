import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import { Batcher, type BatcherOptions, dropExpired } from './batcher.js';
import { Deadline } from '../rpc/context.js';

const dataError = Object.assign(new Error('out of range'), { code: '22003' });

/** A batcher that records its batches. A batch that contains 13 fails on its data; a negative number gets an error as its result. */
function recording(options: Pick<BatcherOptions<number>, 'lanes' | 'maxBatch' | 'size'>): { batches: number[][]; batcher: Batcher<number, string> } {
  const batches: number[][] = [];
  const batcher = new Batcher<number, string>({ name: 'test', ...options }, async (batch) => {
    batches.push([...batch]);
    await new Promise((resolve) => setImmediate(resolve));
    if (batch.includes(13)) throw dataError;
    return batch.map((one) => (one < 0 ? new Error(`no ${one}`) : `done ${one}`));
  });
  return { batches, batcher };
}

describe('dropping expired requests', () => {
  it('answers them with unavailable and runs the others', async () => {
    const ran: string[][] = [];
    const run = dropExpired<{ name: string; deadline: Deadline }, string>('store', (batch) => {
      ran.push(batch.map(({ name }) => name));
      return Promise.resolve(batch.map(({ name }) => `done ${name}`));
    });
    const request = (name: string, leftMs: number) => ({ name, deadline: Deadline.in(leftMs) });
    const results = await run([request('late', -1), request('a', 10_000), request('later', -1_000), request('b', 10_000)]);
    expect(results).toEqual([expect.objectContaining({ code: 'unavailable' }), 'done a', expect.objectContaining({ code: 'unavailable' }), 'done b']);
    await run([request('alone', -1)]);
    expect(ran).toEqual([['a', 'b']]);
  });
});

describe('a batcher', () => {
  it('runs a single request at once, in a batch of one', async () => {
    const { batches, batcher } = recording({ lanes: 2, maxBatch: 10 });
    await expect(batcher.submit(0, 1)).resolves.toBe('done 1');
    expect(batches).toEqual([[1]]);
    expect(batcher.waiting).toBe(0);
  });

  it('joins the requests of one turn, and those that arrive while a batch runs, in order of arrival', async () => {
    const { batches, batcher } = recording({ lanes: 1, maxBatch: 10 });
    const first = [1, 2, 3].map((one) => batcher.submit(0, one));
    await new Promise((resolve) => setImmediate(resolve));
    const second = [4, 5].map((one) => batcher.submit(0, one));
    await Promise.all([...first, ...second]);
    expect(batches).toEqual([[1, 2, 3], [4, 5]]);
  });

  it('never exceeds the largest batch', async () => {
    const { batches, batcher } = recording({ lanes: 1, maxBatch: 2 });
    await Promise.all([1, 2, 3, 4, 5].map((one) => batcher.submit(0, one)));
    expect(batches).toEqual([[1, 2], [3, 4], [5]]);
  });

  it('fails only the request whose result is an error or whose data is invalid', async () => {
    const { batcher } = recording({ lanes: 1, maxBatch: 100 });
    const requests = [1, -2, 3, 13, 5, 13, 7];
    const results = await Promise.allSettled(requests.map((one) => batcher.submit(0, one)));
    expect(results.map((one) => (one.status === 'fulfilled' ? one.value : (one.reason as Error).message))).toEqual([
      'done 1', 'no -2', 'done 3', 'out of range', 'done 5', 'out of range', 'done 7',
    ]);
  });

  it('ends a batch with the request that reaches its size, or the largest number', async () => {
    const { batches, batcher } = recording({ lanes: 1, maxBatch: 3, size: { of: (request) => request, max: 100 } });
    await Promise.all([60, 60, 60, 200, 1, 2, 3, 4].map((one) => batcher.submit(0, one)));
    expect(batches).toEqual([[60, 60], [60, 200], [1, 2, 3], [4]]);
  });

  it('fails all requests of a batch on any other error, without running it again, and continues', async () => {
    let runs = 0;
    const batcher = new Batcher<number, number>({ name: 'test', lanes: 1, maxBatch: 10 }, async (batch) => {
      if (++runs === 1) throw new Error('the database is unreachable');
      return batch;
    });
    const results = await Promise.allSettled([1, 2].map((one) => batcher.submit(0, one)));
    expect(results.map((one) => one.status)).toEqual(['rejected', 'rejected']);
    expect(runs).toBe(1);
    await expect(batcher.submit(0, 3)).resolves.toBe(3);
  });

  it('answers every request exactly once and keeps the order within a key, for any requests', async () => {
    const requests = fc.array(fc.record({ key: fc.nat(1_000_000), wait: fc.boolean() }), { maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(requests, fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 8 }), async (list, lanes, maxBatch) => {
        const ran: { key: number; n: number }[] = [];
        const batcher = new Batcher<{ key: number; n: number }, number>({ name: 'test', lanes, maxBatch }, async (batch) => {
          ran.push(...batch);
          await Promise.resolve();
          return batch.map((one) => one.n);
        });
        const answers: Promise<number>[] = [];
        for (const [n, { key, wait }] of list.entries()) {
          answers.push(batcher.submit(key, { key, n }));
          if (wait) await new Promise((resolve) => setImmediate(resolve));
        }
        expect(await Promise.all(answers)).toEqual(list.map((_, n) => n));
        for (const { key } of list) {
          const order = ran.filter((one) => one.key === key).map((one) => one.n);
          expect(order).toEqual([...order].sort((a, b) => a - b));
        }
      }),
      { numRuns: 50 },
    );
  });
});

describe('a batcher whose clients send their next request as soon as they are answered', () => {
  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  const batchMs = 3;
  const turns = async (count: number): Promise<void> => {
    for (let n = 0; n < count; n++) await new Promise((resolve) => setImmediate(resolve));
  };
  const timed = (maxBatch: number, lingers = true): { batches: number[][]; batcher: Batcher<number, number> } => {
    const batches: number[][] = [];
    const batcher = new Batcher<number, number>({ name: 'test', lanes: 1, maxBatch, lingers }, async (batch) => {
      batches.push([...batch]);
      await turns(1);
      jest.advanceTimersByTime(batchMs);
      return batch;
    });
    return { batches, batcher };
  };

  it.each([
    ['all of them', 10, [3, 5, 5, 5]],
    ['a full batch', 4, [3, 4, 4, 4]],
  ])('waits for %s instead of alternating between two halves', async (_, maxBatch, expected) => {
    const { batches, batcher } = timed(maxBatch);
    const client = async (n: number): Promise<void> => {
      while (batches.length < expected.length) {
        await batcher.submit(0, n);
        await turns(1);
      }
    };
    const first = [1, 2, 3].map(client);
    await turns(1);
    const all = [...first, ...[4, 5].map(client)];
    while (batches.length < expected.length) await turns(1);
    // The batcher still lingers for clients that have stopped.
    while (batcher.waiting > 0) {
      await turns(2);
      jest.advanceTimersByTime(batchMs);
    }
    await Promise.all(all);
    expect(batches.slice(0, expected.length).map((batch) => batch.length)).toEqual(expected);
  });

  it('waits for missing clients no longer than the last batch took', async () => {
    const { batches, batcher } = timed(10);
    await Promise.all([1, 2, 3, 4].map((n) => batcher.submit(0, n)));
    const one = batcher.submit(0, 5);
    await turns(3);
    jest.advanceTimersByTime(batchMs - 1);
    await turns(3);
    expect(batches).toEqual([[1, 2, 3, 4]]);
    const another = batcher.submit(0, 6);
    jest.advanceTimersByTime(1);
    await Promise.all([one, another]);
    expect(batches).toEqual([[1, 2, 3, 4], [5, 6]]);
  });

  it('does not wait without the option', async () => {
    const { batches, batcher } = timed(10, false);
    await Promise.all([1, 2, 3, 4].map((n) => batcher.submit(0, n)));
    await batcher.submit(0, 5);
    expect(batches).toEqual([[1, 2, 3, 4], [5]]);
  });

  it('does not wait for a few clients', async () => {
    const { batches, batcher } = timed(10);
    await Promise.all([1, 2].map((n) => batcher.submit(0, n)));
    await batcher.submit(0, 3);
    await batcher.submit(0, 4);
    expect(batches).toEqual([[1, 2], [3], [4]]);
  });
});
