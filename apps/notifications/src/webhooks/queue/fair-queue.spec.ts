import { beforeEach, describe, expect, it } from '@jest/globals';
import { type Candidate, FairQueue, type Queued, shareOf } from './fair-queue.js';

const endpoint = (ownerId: string, name = '', silentAttempts = 0, room = 1_000): Candidate => ({
  ...{ ownerId, webhookId: `${ownerId}'s ${name}`, room, silentAttempts },
});
const endpoints = (ownerId: string, count: number): Candidate[] => Array.from({ length: count }, (_, n) => endpoint(ownerId, `${n}`));
const named = (owners: number): string[] => Array.from({ length: owners }, (_, n) => `owner ${n}`);
const jobsOf = ({ ownerId, webhookId }: Queued, count: number): Queued[] => Array.from({ length: count }, () => ({ ownerId, webhookId }));

let time: number;
beforeEach(() => {
  time = 0;
});
const newQueue = (perOwner: number): FairQueue<Queued> => new FairQueue(perOwner, () => time);

/** Takes all jobs that may begin now, in order. */
const begin = (queue: FairQueue<Queued>): Queued[] => {
  const begun: Queued[] = [];
  for (let job; (job = queue.next()); ) begun.push(job);
  return begun;
};
/** Claims what may be claimed, and begins what may begin. Returns the jobs that have begun. */
const claim = (queue: FairQueue<Queued>, ...candidates: readonly Candidate[]): Queued[] => {
  const shares = queue.sharesOf(candidates);
  queue.add(candidates.flatMap((one, n) => jobsOf(one, shares[n]!)));
  return begin(queue);
};
const endAll = (queue: FairQueue<Queued>, jobs: readonly Queued[], wasQuick?: boolean): void => {
  for (const job of jobs) queue.end(job, wasQuick);
};
/** Grows the windows of endpoints and their owners to the maximum, by quick attempts long ago. */
const withFullWindows = (queue: FairQueue<Queued>, ...candidates: readonly Candidate[]): FairQueue<Queued> => {
  for (const one of candidates) {
    for (let n = 0; n < 64; n++) {
      queue.add(jobsOf(one, 1));
      queue.end(queue.next()!, true);
    }
  }
  time += 1_000;
  return queue;
};
const count = (jobs: readonly Queued[], by: keyof Queued): Record<string, number> =>
  Object.fromEntries([...Map.groupBy(jobs, (job) => job[by])].map(([key, group]) => [key, group.length]));

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
    expect(claim(withFullWindows(newQueue(64), endpoint('a')), endpoint('a'))).toHaveLength(64);
  });

  it.each([4, 16, 64])('are shared equally by %i owners, and some stay free for the next', (owners) => {
    const candidates = named(owners).map((owner) => endpoint(owner));
    const queue = withFullWindows(newQueue(64), ...candidates);
    const counts = Object.values(count(claim(queue, ...candidates), 'ownerId'));
    expect(counts).toHaveLength(owners);
    expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
    expect(claim(queue, endpoint('next')).length).toBeGreaterThanOrEqual(1);
  });

  it('stay free for the next owner after 200 owners whose receivers hang', () => {
    const queue = newQueue(64);
    for (const owner of named(200)) expect(claim(queue, endpoint(owner))).toHaveLength(2);
    expect(claim(queue, endpoint('next'))).toHaveLength(2);
  });

  it('stay free for the next owner after 100 owners with 20 endpoints that hang', () => {
    const queue = newQueue(64);
    for (const owner of named(100)) claim(queue, ...endpoints(owner, 20));
    expect(claim(queue, endpoint('next'))).toHaveLength(2);
  });

  it('of an endpoint grow by one with each quick attempt, and halve with each slow one', () => {
    const queue = newQueue(64);
    const [first, second] = claim(queue, endpoint('a'));
    queue.end(first!, true);
    time += 1_000;
    expect(claim(queue, endpoint('a'))).toHaveLength(2);
    queue.end(second!, false);
    expect([queue.underWay, claim(queue, endpoint('a'))]).toEqual([2, []]);
    queue.end(first!);
    expect(claim(queue, endpoint('a'))).toEqual([]);
    queue.end(first!);
    expect(claim(queue, endpoint('a'))).toHaveLength(1);
  });

  it('that hang take nothing from another endpoint of the same owner', () => {
    const queue = newQueue(64);
    const [hanging, healthy] = [endpoints('a', 6), endpoint('a', 'healthy')];
    for (const each of [2, 1, 1]) {
      const hung = claim(queue, ...hanging);
      expect(Object.values(count(hung, 'webhookId'))).toEqual(hanging.map(() => each));
      withFullWindows(queue, healthy);
      const rest = claim(queue, healthy);
      expect(rest).toHaveLength(64 - hung.length);
      endAll(queue, rest);
      endAll(queue, hung, false);
    }
  });

  it('go to an endpoint without an attempt even if others that hang have used up the share of its owner', () => {
    const hanging = endpoints('a', 6);
    const queue = withFullWindows(newQueue(64), ...hanging);
    expect(claim(queue, ...hanging)).toHaveLength(64);
    expect(queue.full()).toEqual({ owners: [], endpoints: hanging.map((one) => one.webhookId) });
    for (let n = 0; n < 3; n++) {
      const [job, ...more] = claim(queue, endpoint('a', 'healthy'));
      expect([job?.webhookId, more]).toEqual(["a's healthy", []]);
      queue.end(job!, true);
      time += 1_000;
    }
  });

  it('of an owner with many endpoints are as many as its window while most slots are in use', () => {
    const others = named(8).map((owner) => endpoint(owner));
    const queue = withFullWindows(newQueue(4), ...others);
    claim(queue, ...others);
    expect(queue.underWay).toBeGreaterThan(16);
    expect(claim(queue, ...endpoints('many', 20)).length).toBeLessThanOrEqual(2);
    expect(queue.full().owners).toContain('many');
  });

  it('go first to the owner that has the fewest, independent of the number of endpoints', () => {
    const candidates = [...endpoints('many', 20), endpoint('one')];
    const queue = withFullWindows(newQueue(64), ...candidates);
    const counts = count(claim(queue, ...candidates), 'ownerId');
    expect(Math.abs(counts['many']! - counts['one']!)).toBeLessThanOrEqual(1);
  });

  it('go first to the endpoint that has the fewest among those of one owner, and then to one that responds', () => {
    const candidates = [endpoint('a', 'slow'), endpoint('a', 'quick', 0, 2)];
    expect(count(claim(withFullWindows(newQueue(4), ...candidates), ...candidates), 'webhookId')).toEqual({ "a's slow": 2, "a's quick": 2 });
    const silent = [...endpoints('a', 8).map((one) => ({ ...one, silentAttempts: 3 })), endpoint('a', 'well')];
    expect(claim(newQueue(1), ...silent)).toContainEqual({ ownerId: 'a', webhookId: "a's well" });
  });

  it('are reused when they become free', () => {
    const queue = newQueue(1);
    queue.add(jobsOf(endpoint('a'), 3));
    const [first] = begin(queue);
    expect(begin(queue)).toEqual([]);
    queue.end(first!);
    expect(begin(queue)).toHaveLength(1);
    expect(queue.underWay).toBe(1);
  });

  it('can all be in use', () => {
    const queue = newQueue(1);
    for (const owner of named(8)) claim(queue, endpoint(owner));
    expect([queue.hasFreeSlots, queue.sharesOf([endpoint('next')])]).toEqual([false, [0]]);
    queue.end(jobsOf(endpoint('owner 3'), 1)[0]!);
    expect(queue.hasFreeSlots).toBe(true);
  });
});

describe('claims', () => {
  it('are only for free slots while no attempt ends', () => {
    const queue = newQueue(64);
    expect(queue.sharesOf([endpoint('new')])).toEqual([2]);
    expect(withFullWindows(queue, endpoint('a')).sharesOf([endpoint('a'), endpoint('a', '2'), endpoint('b', '', 0, 1)])).toEqual([62, 2, 1]);
  });

  it('are made ahead for as many as end quickly in a fifth of a second, and twice the slots at most', () => {
    const queue = withFullWindows(newQueue(64), endpoint('a'));
    const jobs = claim(queue, endpoint('a'));
    expect(jobs).toHaveLength(64);
    const endAndRepeat = (times: number): void => {
      for (let n = 0; n < times; n++) {
        queue.end(jobs[0]!, true);
        queue.add([jobs[0]!]);
        queue.next();
      }
    };
    endAndRepeat(40);
    expect(queue.sharesOf([endpoint('a')])).toEqual([40]);
    time += 150;
    endAndRepeat(460);
    expect(queue.sharesOf([endpoint('a')])).toEqual([128]);
    expect(queue.sharesOf([endpoint('a', '', 0, 7)])).toEqual([7]);
    time += 500;
    expect(queue.sharesOf([endpoint('a')])).toEqual([0]);
  });

  it('are worth a transaction again when half of those made ahead have begun', () => {
    const queue = withFullWindows(newQueue(4), endpoint('a'));
    const [job] = claim(queue, endpoint('a'));
    for (let n = 0; n < 8; n++) {
      queue.end(job!, true);
      claim(queue, endpoint('a', '', 0, 1));
    }
    queue.add(jobsOf(job!, 8 - queue.takeWaiting().length));
    expect([queue.full().endpoints, queue.wantsMore(job!)]).toEqual([["a's "], false]);
    for (const waiting of queue.takeWaiting().slice(0, 3)) queue.add([waiting]);
    expect([queue.full().endpoints, queue.wantsMore(job!)]).toEqual([[], true]);
  });

  it('can be given back as long as they wait', () => {
    const queue = newQueue(64);
    const [first, second, third] = jobsOf(endpoint('a'), 3) as [Queued, Queued, Queued];
    queue.add([first, second, third]);
    expect(begin(queue)).toEqual([first, second]);
    expect([queue.remove(first), queue.remove(third), queue.remove(third)]).toEqual([false, true, false]);
    queue.add([third]);
    expect(queue.takeWaiting()).toEqual([third]);
    endAll(queue, [first, second]);
    expect([queue.underWay, queue.full()]).toEqual([0, { owners: [], endpoints: [] }]);
  });
});
