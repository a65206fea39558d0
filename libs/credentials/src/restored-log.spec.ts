import { describe, expect, it } from '@jest/globals';
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

  it('does the same when the log is the same, but not the database', async () => {
    const answer = { head: 5, entries: [], lastId: id5, matches: true };
    await follow();
    await identity.answerWith({ ...answer, epoch: 'original' });
    await advance(pullIntervalMs);
    expect(identity.log.generation).toBe(0);
    const { forgotten } = identity;
    await identity.answerWith({ ...answer, epoch: 'restored' });
    expect(identity.log.generation).toBe(1);
    expect(identity.forgotten).toBe(forgotten + 1);
    expect(identity.pulls.at(-1)).toMatchObject({ after: 0, afterId: undefined });
    await identity.answerWith({ ...answer, epoch: 'restored' });
    expect(identity.log.generation).toBe(1);
    expect(identity.log.isFresh).toBe(true);
  });

  it.each(['accessToken:lost', 'session:lost'])('still reports as revoked what the log no longer contains: %s', async (key) => {
    await follow();
    await identity.answerWith({ head: 7, entries: [], lastId: other7, matches: false });
    await identity.answerWith({ head: 7, entries: [entry(7)], lastId: other7, matches: true });
    expect(identity.log.isFresh).toBe(true);
    expect(identity.log.isRevoked(key)).toBe(true);
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
