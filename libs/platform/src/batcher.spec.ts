import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import { Batcher, dropExpired } from './batcher.js';
import { Deadline } from './rpc/deadline.js';

const dataError = Object.assign(new Error('out of range'), { code: '22003' });

/** Lanes that note their batches; a batch with a 13 fails on its data. */
function noting(options: { count: number; maxBatch: number }): { batches: number[][]; lanes: Batcher<number, string> } {
  const batches: number[][] = [];
  const lanes = new Batcher<number, string>({ name: 'test', ...options }, async (batch) => {
    batches.push([...batch]);
    await new Promise((resolve) => setImmediate(resolve));
    if (batch.includes(13)) throw dataError;
    return batch.map((one) => (one < 0 ? new Error(`no ${one}`) : `done ${one}`));
  });
  return { batches, lanes };
}

describe('a batch without those whose deadline is past', () => {
  it('runs the others, and answers the late ones that nothing happened', async () => {
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

describe('lanes', () => {
  it('run a request alone at once, in a batch of one', async () => {
    const { batches, lanes } = noting({ count: 2, maxBatch: 10 });
    await expect(lanes.submit(0, 1)).resolves.toBe('done 1');
    expect(batches).toEqual([[1]]);
    expect(lanes.waiting).toBe(0);
  });

  it('join the requests of one turn, and those that come while a batch is under way, in order of arrival', async () => {
    const { batches, lanes } = noting({ count: 1, maxBatch: 10 });
    const first = [1, 2, 3].map((one) => lanes.submit(0, one));
    await new Promise((resolve) => setImmediate(resolve));
    const second = [4, 5].map((one) => lanes.submit(0, one));
    await Promise.all([...first, ...second]);
    expect(batches).toEqual([[1, 2, 3], [4, 5]]);
  });

  it('keep a batch below its limit', async () => {
    const { batches, lanes } = noting({ count: 1, maxBatch: 2 });
    await Promise.all([1, 2, 3, 4, 5].map((one) => lanes.submit(0, one)));
    expect(batches).toEqual([[1, 2], [3, 4], [5]]);
  });

  it('fail a request alone, when its result is an error or its data is at fault', async () => {
    const { lanes } = noting({ count: 1, maxBatch: 100 });
    const requests = [1, -2, 3, 13, 5, 13, 7];
    const results = await Promise.allSettled(requests.map((one) => lanes.submit(0, one)));
    expect(results.map((one) => (one.status === 'fulfilled' ? one.value : (one.reason as Error).message))).toEqual([
      'done 1', 'no -2', 'done 3', 'out of range', 'done 5', 'out of range', 'done 7',
    ]);
  });

  it('fail all requests of a batch for every other reason, without running it again, and go on', async () => {
    let runs = 0;
    const lanes = new Batcher<number, number>({ name: 'test', count: 1, maxBatch: 10 }, async (batch) => {
      if (++runs === 1) throw new Error('the database is away');
      return batch;
    });
    const results = await Promise.allSettled([1, 2].map((one) => lanes.submit(0, one)));
    expect(results.map((one) => one.status)).toEqual(['rejected', 'rejected']);
    expect(runs).toBe(1);
    await expect(lanes.submit(0, 3)).resolves.toBe(3);
  });

  it('answer everybody exactly once and keep the order within a key, whatever comes', async () => {
    const requests = fc.array(fc.record({ key: fc.nat(1_000_000), wait: fc.boolean() }), { maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(requests, fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 8 }), async (list, count, maxBatch) => {
        const ran: { key: number; n: number }[] = [];
        const lanes = new Batcher<{ key: number; n: number }, number>({ name: 'test', count, maxBatch }, async (batch) => {
          ran.push(...batch);
          await Promise.resolve();
          return batch.map((one) => one.n);
        });
        const answers: Promise<number>[] = [];
        for (const [n, { key, wait }] of list.entries()) {
          answers.push(lanes.submit(key, { key, n }));
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

describe('lanes whose requests come again when they are answered', () => {
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
  const timed = (maxBatch: number, gathers = true): { batches: number[][]; lanes: Batcher<number, number> } => {
    const batches: number[][] = [];
    const lanes = new Batcher<number, number>({ name: 'test', count: 1, maxBatch, lingers: gathers }, async (batch) => {
      batches.push([...batch]);
      await turns(1);
      jest.advanceTimersByTime(batchMs);
      return batch;
    });
    return { batches, lanes };
  };

  it.each([
    ['all of them', 10, [3, 5, 5, 5]],
    ['as many as a batch holds', 4, [3, 4, 4, 4]],
  ])('gather %s and do not go on in two halves', async (_, maxBatch, expected) => {
    const { batches, lanes } = timed(maxBatch);
    const client = async (n: number): Promise<void> => {
      while (batches.length < expected.length) {
        await lanes.submit(0, n);
        await turns(1);
      }
    };
    const first = [1, 2, 3].map(client);
    await turns(1);
    const all = [...first, ...[4, 5].map(client)];
    while (batches.length < expected.length) await turns(1);
    // Whoever is left now is waited for with others who come no more.
    while (lanes.waiting > 0) {
      await turns(2);
      jest.advanceTimersByTime(batchMs);
    }
    await Promise.all(all);
    expect(batches.slice(0, expected.length).map((batch) => batch.length)).toEqual(expected);
  });

  it('wait for those who do not come no longer than the batch before took', async () => {
    const { batches, lanes } = timed(10);
    await Promise.all([1, 2, 3, 4].map((n) => lanes.submit(0, n)));
    const one = lanes.submit(0, 5);
    await turns(3);
    jest.advanceTimersByTime(batchMs - 1);
    await turns(3);
    expect(batches).toEqual([[1, 2, 3, 4]]);
    const another = lanes.submit(0, 6);
    jest.advanceTimersByTime(1);
    await Promise.all([one, another]);
    expect(batches).toEqual([[1, 2, 3, 4], [5, 6]]);
  });

  it('wait for nobody when they are not to gather', async () => {
    const { batches, lanes } = timed(10, false);
    await Promise.all([1, 2, 3, 4].map((n) => lanes.submit(0, n)));
    await lanes.submit(0, 5);
    expect(batches).toEqual([[1, 2, 3, 4], [5]]);
  });

  it('wait for nobody when they are few', async () => {
    const { batches, lanes } = timed(10);
    await Promise.all([1, 2].map((n) => lanes.submit(0, n)));
    await lanes.submit(0, 3);
    await lanes.submit(0, 4);
    expect(batches).toEqual([[1, 2], [3], [4]]);
  });
});
