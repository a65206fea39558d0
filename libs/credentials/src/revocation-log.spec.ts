import { describe, expect, it, jest } from '@jest/globals';
import { freshForMs, pullIntervalMs } from './revocation-log.js';
import { entry, FakeIdentity, advance, settled } from './revocation-log.spec.fixture.js';

describe('the follower of the revocation log', () => {
  const identity = FakeIdentity.forEachTest();

  it('is not fresh before its first pull is answered', async () => {
    expect(identity.log.isFresh).toBe(false);
    identity.log.start();
    expect(identity.log.isFresh).toBe(false);
    await identity.answer(0);
    expect(identity.log.isFresh).toBe(true);
  });

  it('begins at 0 and accepts the retained entries, wherever they begin', async () => {
    await identity.follow(42, entry(41), entry(42));
    expect(identity.pulls[0]?.after).toBe(0);
    expect(identity.revoked).toEqual([entry(41), entry(42)]);
    expect(identity.log.position).toBe(42);
    expect(identity.log.generation).toBe(0);
  });

  it('uses the head as its position when no entries are retained', async () => {
    await identity.follow(42);
    expect(identity.log.position).toBe(42);
    expect(identity.log.isFresh).toBe(true);
  });

  it('pulls every 250 ms, from its position', async () => {
    await identity.follow(2, entry(1), entry(2));
    await advance(pullIntervalMs);
    expect(identity.pulls.map(({ after }) => after)).toEqual([0, 2]);
    await identity.answer(3, entry(3));
    await advance(pullIntervalMs);
    expect(identity.pulls.map(({ after }) => after)).toEqual([0, 2, 3]);
  });

  it('pulls at once on a message', async () => {
    await identity.follow();
    identity.log.pullNow();
    await settled();
    expect(identity.pulls).toHaveLength(2);
  });

  it('pulls again at once after a message during a pull, whose answer may be older than the message', async () => {
    await identity.follow();
    await advance(pullIntervalMs);
    identity.log.pullNow();
    identity.log.pullNow();
    await identity.answer(0);
    expect(identity.pulls).toHaveLength(3);
    await identity.answer(0);
    expect(identity.pulls).toHaveLength(3);
  });

  it('counts freshness from the moment when the pull was sent, not from its answer', async () => {
    identity.log.start();
    await advance(freshForMs - 1);
    identity.pulls[0]?.answer({ head: 0, entries: [] });
    await settled();
    expect(identity.log.isFresh).toBe(true);
    jest.setSystemTime(Date.now() + 2);
    expect(identity.log.isFresh).toBe(false);
  });

  it('is stale after more than a second without an answer, even if unused since', async () => {
    await identity.follow();
    await advance(freshForMs);
    expect(identity.log.isFresh).toBe(true);
    await advance(1);
    expect(identity.log.isFresh).toBe(false);
  });

  it('is stale after a pause of the process, before any timer has run', async () => {
    await identity.follow();
    jest.setSystemTime(Date.now() + 20_000);
    expect(identity.log.isFresh).toBe(false);
  });

  it('is not fresh until it has all pages of an answer', async () => {
    identity.log.start();
    await identity.answer(3, entry(1), entry(2));
    expect(identity.log.isFresh).toBe(false);
    expect(identity.pulls.at(-1)?.after).toBe(2);
    await identity.answer(3, entry(3));
    expect(identity.log.isFresh).toBe(true);
    expect(identity.revoked).toHaveLength(3);
  });

  it('makes listeners forget after more than a second without an answer', async () => {
    await identity.follow();
    const { forgotten } = identity;
    await advance(freshForMs + pullIntervalMs);
    await identity.fail();
    await advance(pullIntervalMs);
    await identity.answer(0);
    expect(identity.log.isFresh).toBe(true);
    expect(identity.forgotten).toBe(forgotten + 1);
    expect(identity.forgetReason).toBe('stale');
  });

  it('makes listeners forget nothing while answers come in time', async () => {
    await identity.follow();
    const { forgotten } = identity;
    for (let n = 0; n < 20; n++) {
      await advance(pullIntervalMs);
      await identity.answer(0);
    }
    expect(identity.forgotten).toBe(forgotten);
  });

  it('forgets everything and reads from 0 when an entry is missing', async () => {
    await identity.follow(2, entry(1), entry(2));
    const { forgotten } = identity;
    await advance(pullIntervalMs);
    await identity.answer(5, entry(4), entry(5));
    expect(identity.forgotten).toBe(forgotten + 1);
    expect(identity.forgetReason).toBe('broken');
    expect(identity.log.generation).toBe(1);
    expect(identity.pulls.at(-1)?.after).toBe(0);
    await identity.answer(5, entry(4), entry(5));
    expect(identity.log.position).toBe(5);
    expect(identity.log.isFresh).toBe(true);
  });

  it('forgets everything and reads from 0 when all following entries are missing', async () => {
    await identity.follow(2, entry(1), entry(2));
    await advance(pullIntervalMs);
    await identity.answer(9);
    expect(identity.log.generation).toBe(1);
    expect(identity.pulls.at(-1)?.after).toBe(0);
  });

  it('forgets everything and reads from 0 when the history is shorter than before: a restored backup', async () => {
    await identity.follow(9, entry(9));
    await advance(pullIntervalMs);
    await identity.answer(4);
    expect(identity.log.generation).toBe(1);
    await identity.answer(4, entry(3), entry(4));
    expect(identity.log.position).toBe(4);
    expect(identity.log.isFresh).toBe(true);
  });

  it.each(['accessToken', 'client', 'grant', 'clientSecret', 'signingKey'] as const)('remembers revocations of kind %s', async (kind) => {
    await identity.follow(2, entry(1, kind, 'one'), entry(2, 'apiKey', 'two'));
    expect(identity.log.isRevoked(`${kind}:one`)).toBe(true);
    expect(identity.log.isRevoked(`${kind}:two`)).toBe(false);
  });

  it('drops a revoked token once no token can live that long', async () => {
    await identity.follow(1, entry(1, 'accessToken', 'old'));
    await advance(pullIntervalMs);
    jest.setSystemTime(Date.now() + 49 * 3_600_000);
    await identity.answer(2, entry(2, 'accessToken', 'new'));
    expect(identity.log.isRevoked('accessToken:old')).toBe(false);
    expect(identity.log.isRevoked('accessToken:new')).toBe(true);
  });

  describe('waiting until it is fresh', () => {
    const wait = (limitMs: number): { isOver: boolean } => {
      const waiting = { isOver: false };
      void identity.log.waitUntilFresh(limitMs).then(() => (waiting.isOver = true));
      return waiting;
    };

    it('ends when a pull is answered, after any number that failed', async () => {
      identity.log.start();
      const waiting = wait(3_000);
      await identity.fail();
      await advance(pullIntervalMs);
      await identity.fail();
      expect(waiting.isOver).toBe(false);
      await advance(pullIntervalMs);
      await identity.answer(0);
      expect(waiting.isOver).toBe(true);
    });

    it('ends after its limit', async () => {
      identity.log.start();
      const waiting = wait(3_000);
      for (let ms = 0; ms < 3_000; ms += pullIntervalMs) {
        expect(waiting.isOver).toBe(false);
        await identity.fail();
        await advance(pullIntervalMs);
      }
      await identity.fail();
      expect(waiting.isOver).toBe(true);
      expect(identity.log.isFresh).toBe(false);
    });
  });

  describe('catching up', () => {
    it('waits for a pull that is sent after the call, not for one under way', async () => {
      await identity.follow();
      await advance(pullIntervalMs);
      let caughtUp = false;
      void identity.log.catchUp().then(() => (caughtUp = true));
      await identity.answer(0);
      expect(caughtUp).toBe(false);
      await identity.answer(1, entry(1));
      expect(caughtUp).toBe(true);
      expect(identity.log.position).toBe(1);
    });

    it('shares one pull between all callers', async () => {
      await identity.follow();
      const all = Promise.all([identity.log.catchUp(), identity.log.catchUp(), identity.log.catchUp()]);
      await settled();
      expect(identity.pulls).toHaveLength(2);
      await identity.answer(0);
      await all;
    });

    it('fails when its pull fails', async () => {
      await identity.follow();
      const waiting = expect(identity.log.catchUp()).rejects.toThrow('identity is down');
      await settled();
      await identity.fail();
      await waiting;
    });

    it('rejects when the log is stopped', async () => {
      await identity.follow();
      await advance(pullIntervalMs);
      const waiting = expect(identity.log.catchUp()).rejects.toThrow('stopping');
      const stopped = identity.log.stop();
      await identity.answer(0);
      await stopped;
      await waiting;
    });

    it('rejects when the log is stopped during its pull, whose answer is not applied', async () => {
      await identity.follow();
      const waiting = expect(identity.log.catchUp()).rejects.toThrow('stopping');
      await settled();
      expect(identity.pulls).toHaveLength(2);
      const stopped = identity.log.stop();
      await identity.answer(1, entry(1));
      await stopped;
      await waiting;
      expect(identity.log.position).toBe(0);
    });

    it('rejects at once after the log was stopped', async () => {
      await identity.follow();
      await identity.log.stop();
      await expect(identity.log.catchUp()).rejects.toThrow('stopping');
    });
  });

  describe('a request with credentials', () => {
    it('proceeds at once while the log is fresh', async () => {
      await identity.follow();
      await identity.log.ensureFresh();
      expect(identity.pulls).toHaveLength(1);
    });

    it('waits for one pull when this process was paused', async () => {
      await identity.follow();
      jest.setSystemTime(Date.now() + 5_000);
      const fresh = identity.log.ensureFresh();
      await settled();
      await identity.answer(0);
      await fresh;
      expect(identity.log.isFresh).toBe(true);
    });

    it('is refused at once while identity does not answer', async () => {
      await identity.follow();
      await advance(pullIntervalMs);
      await advance(freshForMs);
      await identity.fail();
      await expect(identity.log.ensureFresh()).rejects.toMatchObject({ code: 'unavailable' });
    });

    it('triggers no additional pulls while identity does not answer', async () => {
      await identity.follow();
      await advance(pullIntervalMs);
      await identity.fail();
      const { length } = identity.pulls;
      for (let n = 0; n < 50; n++) void identity.log.catchUp().catch(() => undefined);
      await advance(pullIntervalMs - 1);
      expect(identity.pulls).toHaveLength(length);
      await advance(1);
      expect(identity.pulls).toHaveLength(length + 1);
    });

    it('proceeds again once identity is back', async () => {
      await identity.follow();
      await advance(pullIntervalMs + freshForMs);
      await identity.fail();
      await advance(pullIntervalMs);
      await identity.answer(0);
      await identity.log.ensureFresh();
    });
  });
});
