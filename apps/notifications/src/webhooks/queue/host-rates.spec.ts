import { describe, expect, it } from '@jest/globals';
import { afterResults, HostRates, type HostState } from './host-rates.js';

const base = 50;
const state = (given: Partial<HostState> = {}): HostState => ({ host: 'one', rate: base, tokens: 10, countedSeconds: 1, good: 0, bad: 0, ...given });
const none = { good: 0, bad: 0 };

describe('the rate of a host', () => {
  it.each([
    ['doubles after a second of good answers', state(), { good: 50, bad: 0 }, 100],
    ['doubles if no more than half are bad', state(), { good: 25, bad: 25 }, 100],
    ['stays if the host was sent less than half of it', state({ rate: 200 }), { good: 99, bad: 0 }, 200],
    ['is halved if most answers are bad', state({ rate: 400 }), { good: 10, bad: 11 }, 200],
    ['is never below the first', state(), { good: 0, bad: 50 }, base],
    ['stays within the second', state({ countedSeconds: 0.9 }), { good: 50, bad: 0 }, base],
    ['begins again after a minute', state({ rate: 800, countedSeconds: 61 }), { good: 800, bad: 0 }, base],
    ['counts what other replicas have counted', state({ good: 40 }), { good: 10, bad: 0 }, 100],
  ])('%s', (_what, before, results, rate) => {
    expect(afterResults(before, results, base).rate).toBe(rate);
  });

  it('starts a new count each second', () => {
    expect(afterResults(state({ good: 7 }), none, base)).toMatchObject({ good: 0, bad: 0, isNewCount: true });
    expect(afterResults(state({ countedSeconds: 0.5, good: 7 }), { good: 1, bad: 2 }, base)).toMatchObject({ good: 8, bad: 2, isNewCount: false });
  });

  it('grows with 2xx within a second only', () => {
    const rates = new HostRates();
    for (const result of [{ status: 200, durationMs: 1_000 }, { status: 200, durationMs: 1_001 }, { status: 404, durationMs: 1 }, { durationMs: 1 }]) rates.note('one', result);
    expect(rates.takeResults('one')).toEqual({ good: 1, bad: 3 });
    expect(rates.takeResults('one')).toEqual(none);
  });
});

describe("a host's tokens", () => {
  const asking = (ownerId: string, webhookId: string, room = 10, host = 'one') => ({ ownerId, webhookId, host, room });
  const hosts = (tokens: number) => new Map([['one', state({ tokens })], ['two', state({ host: 'two', tokens })]]);
  const roomsOf = (rates: HostRates, all: ReturnType<typeof asking>[], tokens: number) => [...rates.allot(all, hosts(tokens)).values()].map(({ room }) => room);

  it('are shared evenly among owners, however many endpoints they have', () => {
    const all = [...Array.from({ length: 9 }, (_, n) => asking('many', `many ${n}`)), asking('few', 'few')];
    for (const tokens of [2, 8, 16]) {
      const rooms = new HostRates().allot(all, hosts(tokens));
      expect(rooms.get('few')!.room).toBe(tokens / 2);
      expect([...rooms.values()].reduce((sum, { room }) => sum + room, 0)).toBe(tokens);
    }
  });

  it('go first to the owner that was served least recently', () => {
    const rates = new HostRates();
    const all = [asking('a', 'a'), asking('b', 'b')];
    for (const first of ['a', 'b', 'a']) {
      const rooms = rates.allot(all, hosts(1));
      expect(rooms.get(first)!.room).toBe(1);
      rates.noteServed({ host: 'one', ownerId: first }, 1);
    }
  });

  it('of other hosts stay untouched, and nobody gets more than asked for', () => {
    expect(roomsOf(new HostRates(), [asking('a', 'a', 3), asking('b', 'b', 4, 'two'), asking('c', 'c', 20)], 12.9)).toEqual([3, 9, 4]);
  });

  it("make an owner's endpoints wait in turn, as long as the rate needs", () => {
    const rooms = new HostRates().allot([asking('a', 'a 1', 2), asking('a', 'a 2', 1), asking('b', 'b', 1), asking('c', 'c', 1)], hosts(2));
    expect([...rooms].map(([id, { waitMs }]) => [id, waitMs])).toEqual([['a 1', 20], ['b', undefined], ['c', 20], ['a 2', 40]]);
  });
});
