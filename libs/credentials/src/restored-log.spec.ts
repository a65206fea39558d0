import { describe, expect, it, jest } from '@jest/globals';
import { freshForMs, pullIntervalMs } from './revocation-log.js';
import { entry, FakeIdentity, advance } from './revocation-log.spec.fixture.js';

const uuid = (n: number): string => `00000000-0000-4000-8000-000000000${String(n).padStart(3, '0')}`;
const [id2, id5, other5, other7] = [uuid(2), uuid(5), uuid(105), uuid(107)];

describe('the follower of a revocation log that was restored from a backup', () => {
  const identity = FakeIdentity.forEachTest();

  const follow = async (): Promise<void> => {
    identity.log.start();
    const entries = [entry(4, 'session', 'lost'), entry(5, 'accessToken', 'lost')];
    await identity.answerWith({ head: 5, entries, lastId: id5, matches: true });
    await advance(pullIntervalMs);
  };

  it('sends the id of its last entry, as the page gave it', async () => {
    identity.log.start();
    await identity.answerWith({ head: 5, entries: [entry(1), entry(2)], lastId: id2, matches: true });
    expect(identity.pulls.at(-1)).toMatchObject({ after: 2, afterId: id2 });
    await identity.answerWith({ head: 5, entries: [entry(3), entry(4), entry(5)], lastId: id5, matches: true });
    await advance(pullIntervalMs);
    expect(identity.pulls.at(-1)).toMatchObject({ after: 5, afterId: id5 });
    await identity.answerWith({ head: 5, entries: [], lastId: id5, matches: true });
    await advance(pullIntervalMs);
    expect(identity.pulls.at(-1)).toMatchObject({ after: 5, afterId: id5 });
    expect(identity.log.generation).toBe(0);
  });

  it('forgets everything and reads from 0, even if the log has grown past its position and continues with the next one', async () => {
    await follow();
    const { forgotten } = identity;
    await identity.answerWith({ head: 7, entries: [entry(6), entry(7)], lastId: other7, matches: false });
    expect(identity.log.generation).toBe(1);
    expect(identity.forgotten).toBe(forgotten + 1);
    expect(identity.pulls.at(-1)).toMatchObject({ after: 0, afterId: undefined });
    await identity.answerWith({ head: 7, entries: [entry(4), entry(5), entry(6), entry(7)], lastId: other7, matches: true });
    expect(identity.log.position).toBe(7);
    expect(identity.log.isFresh).toBe(true);
    await advance(pullIntervalMs);
    expect(identity.pulls.at(-1)).toMatchObject({ after: 7, afterId: other7 });
  });

  it('does the same when the log has grown to exactly its position', async () => {
    await follow();
    await identity.answerWith({ head: 5, entries: [], lastId: other5, matches: false });
    expect(identity.log.generation).toBe(1);
    expect(identity.pulls.at(-1)).toMatchObject({ after: 0, afterId: undefined });
  });

  it('is not fresh between the break and the end of rereading', async () => {
    await follow();
    await advance(freshForMs - pullIntervalMs);
    await identity.answerWith({ head: 7, entries: [], lastId: other7, matches: false });
    await advance(1);
    expect(identity.log.isFresh).toBe(false);
  });

  it('forgets everything, but reads nothing again, when the log is the same, but not the database', async () => {
    const answer = { head: 5, entries: [], lastId: id5, matches: true };
    await follow();
    await identity.answerWith({ ...answer, epoch: 'original' });
    await advance(pullIntervalMs);
    expect(identity.log.generation).toBe(0);
    const { forgotten } = identity;
    await identity.answerWith({ ...answer, epoch: 'restored' });
    expect(identity.log.generation).toBe(1);
    expect(identity.forgotten).toBe(forgotten + 1);
    expect(identity.forgetReason).toBe('broken');
    expect(identity.log.isFresh).toBe(true);
    await advance(pullIntervalMs);
    expect(identity.pulls.at(-1)).toMatchObject({ after: 5, afterId: id5 });
    expect(identity.pulls.map(({ after }) => after)).toEqual([0, 5, 5, 5]);
  });

  it('continues with entries that the other database has added to the same log', async () => {
    await follow();
    await identity.answerWith({ head: 7, entries: [entry(6), entry(7)], lastId: other7, matches: true, epoch: 'restored' });
    expect(identity.log.generation).toBe(1);
    expect(identity.revoked.map(({ position }) => position)).toEqual([4, 5, 6, 7]);
    expect(identity.log.position).toBe(7);
    expect(identity.log.isFresh).toBe(true);
  });

  it.each([
    ['does not have the last known entry', { head: 7, entries: [entry(6), entry(7)], lastId: other7, matches: false }],
    ['is shorter', { head: 3, entries: [], lastId: id2, matches: true }],
    ['lacks the next entry', { head: 7, entries: [entry(7)], lastId: other7, matches: true }],
  ])('reads from 0 when the other database %s', async (_, answer) => {
    await follow();
    await identity.answerWith({ ...answer, epoch: 'restored' });
    expect(identity.log.generation).toBe(1);
    expect(identity.pulls.at(-1)).toMatchObject({ after: 0, afterId: undefined });
  });

  it('reads from 0 in another database if the last known entry had no id', async () => {
    await identity.follow(5);
    await advance(pullIntervalMs);
    await identity.answerWith({ head: 5, entries: [], matches: true, epoch: 'restored' });
    expect(identity.pulls.at(-1)).toMatchObject({ after: 0, afterId: undefined });
  });

  it.each(['accessToken:lost', 'session:lost'])('still reports as revoked what the log no longer contains: %s', async (key) => {
    await follow();
    await identity.answerWith({ head: 7, entries: [], lastId: other7, matches: false });
    await identity.answerWith({ head: 7, entries: [entry(7)], lastId: other7, matches: true });
    expect(identity.log.isFresh).toBe(true);
    expect(identity.log.isRevoked(key)).toBe(true);
  });
});

describe('remembered revocations of what tokens are issued for', () => {
  const identity = FakeIdentity.forEachTest();

  it('are all while tokens live, then the last 10,000; single tokens are forgotten when they have expired', async () => {
    const grants = Array.from({ length: 10_001 }, (_, n) => entry(n + 1, 'grant', `g${n}`));
    await identity.follow(10_002, ...grants, entry(10_002, 'accessToken', 't'));
    const known = (): boolean[] => ['grant:g0', 'grant:g1', 'accessToken:t'].map((key) => identity.log.isRevoked(key));
    expect(known()).toEqual([true, true, true]);
    await advance(pullIntervalMs);
    jest.setSystemTime(Date.now() + 2 * 3_600_000);
    await identity.answer(10_003, entry(10_003, 'accessToken', 'new'));
    expect(known()).toEqual([false, true, false]);
  });
});

describe('remembered revocations of sessions, API keys and users', () => {
  const identity = FakeIdentity.forEachTest();

  it('are the last 10,000, without users who only changed', async () => {
    const entries = Array.from({ length: 10_001 }, (_, n) => entry(n + 1, 'session', `s${n}`));
    await identity.follow(10_002, ...entries, entry(10_002, 'userChanged', 'u'));
    expect(identity.log.isRevoked('session:s0')).toBe(false);
    expect(identity.log.isRevoked('session:s1')).toBe(true);
    expect(identity.log.isRevoked('session:s10000')).toBe(true);
    expect(identity.log.isRevoked('userChanged:u')).toBe(false);
  });
});
