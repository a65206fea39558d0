import { describe, expect, it, jest } from '@jest/globals';
import { freshForMs, pullIntervalMs } from './revocation-log.js';
import { entry, FakeIdentity, advance, settled } from './revocation-log.spec.fixture.js';

describe('the follower of the revocation log, when a pull is not answered', () => {
  const identity = FakeIdentity.forEachTest();

  it('sends another pull each interval, and is never stale if the next one is answered', async () => {
    await identity.follow(2, entry(1), entry(2));
    await advance(pullIntervalMs);
    for (let n = 0; n < 20; n++) {
      const lost = identity.pulls.length;
      await advance(pullIntervalMs);
      expect(identity.pulls).toHaveLength(lost + 1);
      expect(identity.pulls.at(-1)?.after).toBe(2);
      await advance(200);
      expect(identity.log.isFresh).toBe(true);
      await identity.answer(2);
      expect(identity.log.ageMs).toBe(200);
      await advance(pullIntervalMs);
    }
    expect(identity.log.isFresh).toBe(true);
  });

  it('is not stale after two lost pulls in a row', async () => {
    await identity.follow();
    await advance(3 * pullIntervalMs + 200);
    expect(identity.log.isFresh).toBe(true);
    await identity.answer(0);
    expect(identity.log.ageMs).toBe(200);
  });

  it('still uses the first answer when all pulls are slow, so that it cannot fail for ever', async () => {
    await identity.follow();
    for (let n = 0; n < 20; n++) {
      await advance(pullIntervalMs);
      const slow = identity.pulls.at(-1);
      await advance(300);
      slow?.answer({ head: n + 1, entries: [entry(n + 1)] });
      await settled();
      expect(identity.log.position).toBe(n + 1);
      expect(identity.log.ageMs).toBe(300);
    }
  });

  it('counts freshness from when the answered pull was sent, not from the first or the last', async () => {
    await identity.follow();
    await advance(pullIntervalMs);
    const first = identity.pulls.length - 1;
    await advance(2 * pullIntervalMs + 100);
    expect(identity.pulls).toHaveLength(first + 3);
    identity.pulls[first + 1]?.answer({ head: 0, entries: [] });
    await settled();
    expect(identity.log.ageMs).toBe(pullIntervalMs + 100);
  });

  it('ignores an answer that arrives after another one', async () => {
    await identity.follow();
    await advance(pullIntervalMs);
    const [, lost] = identity.pulls;
    await advance(pullIntervalMs);
    await identity.answer(2, entry(1), entry(2));
    await advance(pullIntervalMs);
    await identity.answer(3, entry(3));
    const { ageMs, generation } = identity.log;
    lost?.answer({ head: 1, entries: [entry(1)] });
    await settled();
    const { log } = identity;
    expect({ position: log.position, generation: log.generation, ageMs: log.ageMs }).toEqual({ position: 3, generation, ageMs });
    expect(identity.revoked).toEqual([entry(1), entry(2), entry(3)]);
  });

  it('pulls no more often without answers than with immediate ones, and gives up after a second', async () => {
    await identity.follow();
    await advance(pullIntervalMs);
    const { length } = identity.pulls;
    const caughtUp = identity.log.catchUp().catch(() => 'gave up');
    await advance(freshForMs - 1);
    expect(identity.pulls.slice(length - 1).map(({ limitMs }) => limitMs)).toEqual([1_000, 750, 500, 250]);
    await advance(1 + pullIntervalMs);
    expect(identity.pulls).toHaveLength(length + 4);
    await identity.fail();
    expect(await caughtUp).toBe('gave up');
  });

  it('waits for a pending pull when another fails', async () => {
    await identity.follow();
    await advance(pullIntervalMs);
    const slow = identity.pulls.at(-1);
    await advance(pullIntervalMs);
    identity.pulls.at(-1)?.fail();
    await settled();
    slow?.answer({ head: 1, entries: [entry(1)] });
    await settled();
    expect(identity.log.position).toBe(1);
  });

  it('sends another pull after a pause of this process, and waits for its answer', async () => {
    await identity.follow();
    await advance(pullIntervalMs);
    const { length } = identity.pulls;
    jest.setSystemTime(Date.now() + 5_000);
    await advance(pullIntervalMs);
    expect(identity.pulls).toHaveLength(length + 1);
    expect(identity.pulls.at(-1)?.limitMs).toBe(freshForMs);
    await advance(freshForMs - 1);
    await identity.answer(0);
    expect(identity.log.isFresh).toBe(true);
  });
});
