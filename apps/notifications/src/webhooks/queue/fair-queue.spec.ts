import { describe, expect, it } from '@jest/globals';
import { FairQueue, type Queued, shareOf } from './fair-queue.js';

const jobsOf = (ownerId: string, count: number, webhookId = `${ownerId}'s`): Queued[] =>
  Array.from({ length: count }, () => ({ ownerId, webhookId }));
/** Takes all jobs that may begin now, in order. */
const begin = (queue: FairQueue<Queued>): Queued[] => {
  const begun: Queued[] = [];
  for (let job; (job = queue.next()); ) begun.push(job);
  return begun;
};
const count = (jobs: readonly Queued[], by: keyof Queued): Record<string, number> =>
  Object.fromEntries([...Map.groupBy(jobs, (job) => job[by])].map(([key, group]) => [key, group.length]));

/** Grows the windows of owners to the maximum, by quick attempts. */
const withFullWindows = (queue: FairQueue<Queued>, ...owners: readonly string[]): FairQueue<Queued> => {
  for (const owner of owners) {
    for (let n = 0; n < 64; n++) {
      queue.add(jobsOf(owner, 1));
      queue.end(queue.next()!, true);
    }
  }
  return queue;
};
const named = (owners: number): string[] => Array.from({ length: owners }, (_, n) => `owner ${n}`);

describe('slots', () => {
  it.each([
    [512, 0, 64],
    [512, 64, 56],
    [512, 511, 1],
    [512, 512, 0],
  ])('of %i, with %i used by others, one owner gets at most %i', (slots, used, share) => {
    expect(shareOf(slots, used)).toBe(share);
  });

  it('go to a single owner up to its limit', () => {
    const queue = withFullWindows(new FairQueue(64, 2), 'a');
    queue.add(jobsOf('a', 100));
    expect(begin(queue)).toHaveLength(64);
  });

  it.each([4, 16, 64])('are shared equally by %i owners, and some stay free for the next', (owners) => {
    const queue = withFullWindows(new FairQueue(64, 2), ...named(owners));
    for (const owner of named(owners)) queue.add(jobsOf(owner, 100));
    const counts = Object.values(count(begin(queue), 'ownerId'));
    expect(counts).toHaveLength(owners);
    expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
    queue.add(jobsOf('next', 1));
    expect(begin(queue)).toEqual(jobsOf('next', 1));
  });

  it('stay free for the next owner after 200 owners whose receivers hang', () => {
    const queue = new FairQueue(64, 2);
    for (const owner of named(200)) {
      queue.add(jobsOf(owner, 32));
      expect(begin(queue)).toHaveLength(2);
    }
    queue.add(jobsOf('next', 2));
    expect(begin(queue)).toEqual(jobsOf('next', 2));
  });

  it('of an owner grow by one with each quick attempt, and halve with each slow one', () => {
    const queue = new FairQueue(64, 2);
    queue.add(jobsOf('a', 100));
    const [first, second] = begin(queue);
    queue.end(first!, true);
    expect(begin(queue)).toHaveLength(2);
    queue.end(second!, false);
    expect([queue.underWay, begin(queue)]).toEqual([2, []]);
    queue.takeWaiting();
    queue.add(jobsOf('b', 100));
    expect(begin(queue)).toHaveLength(2);
  });

  it('go first to the owner that has the fewest, independent of the number of endpoints', () => {
    const queue = withFullWindows(new FairQueue(2, 2), 'many', 'one');
    for (let n = 0; n < 20; n++) queue.add(jobsOf('many', 5, `webhook ${n}`));
    queue.add(jobsOf('one', 5));
    expect(count(begin(queue), 'ownerId')).toEqual({ many: 2, one: 2 });
  });

  it('go first to the endpoint that has the fewest among those of one owner', () => {
    const queue = withFullWindows(new FairQueue(4, 2), 'a');
    queue.add(jobsOf('a', 10, 'slow'));
    queue.add(jobsOf('a', 2, 'quick'));
    expect(count(begin(queue), 'webhookId')).toEqual({ slow: 2, quick: 2 });
  });

  it('are reused when they become free', () => {
    const queue = new FairQueue(2, 2);
    queue.add(jobsOf('a', 3));
    const [first] = begin(queue);
    expect(begin(queue)).toEqual([]);
    queue.end(first!);
    expect(begin(queue)).toHaveLength(1);
    expect(queue.underWay).toBe(2);
  });
});

describe('claims', () => {
  const turns = (ownerId: string, endpoints: number): Queued[] =>
    Array.from({ length: endpoints }, (_, n) => ({ ownerId, webhookId: `${ownerId} ${n}` }));

  it('of a single owner are its concurrent attempts and twice as many waiting', () => {
    expect(withFullWindows(new FairQueue(64, 2), 'a').sharesOf(turns('a', 1))).toEqual([192]);
    expect(new FairQueue(64, 2).sharesOf(turns('new', 1))).toEqual([6]);
  });

  it('are shared by owner, and within an owner by endpoint', () => {
    const shares = withFullWindows(new FairQueue(64, 2), 'many', 'one').sharesOf([...turns('many', 20), ...turns('one', 1)]);
    // 1,536 in total: two owners get a ninth each, and seven ninths stay free.
    expect(shares.slice(0, 20).reduce((sum, share) => sum + share)).toBe(171);
    expect(Math.max(...shares.slice(0, 20))).toBe(9);
    expect(shares[20]).toBe(171);
  });

  it('always leave room for the next owner', () => {
    const queue = withFullWindows(new FairQueue(4, 2), ...named(20));
    for (const owner of named(20)) queue.add(jobsOf(owner, queue.sharesOf(turns(owner, 1))[0]!));
    expect(queue.sharesOf(turns('next', 1))[0]).toBeGreaterThanOrEqual(1);
  });

  it('are not made for an owner that still has half of its share waiting', () => {
    const queue = withFullWindows(new FairQueue(4, 2), 'a', 'b');
    queue.add(jobsOf('a', 12));
    queue.add(jobsOf('b', 1));
    expect(queue.fullOwners()).toEqual(['a']);
    expect(queue.isFull('c')).toBe(false);
  });

  it('end with the jobs that are removed', () => {
    const queue = new FairQueue(2, 2);
    queue.add(jobsOf('a', 6));
    const [job] = begin(queue);
    expect(queue.takeWaiting()).toHaveLength(4);
    expect(begin(queue)).toEqual([]);
    queue.end(job!);
    expect(queue.sharesOf(turns('a', 1))).toEqual([5]);
  });
});
