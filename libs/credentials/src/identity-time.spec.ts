import { describe, expect, it, jest } from '@jest/globals';
import { freshForMs, pullIntervalMs } from './revocation-log.js';
import { FakeIdentity, advance } from './revocation-log.spec.fixture.js';

const tenMinutes = 600_000;

describe("identity's time, as seen by a follower", () => {
  const identity = FakeIdentity.forEachTest();
  const answer = (time: number): Promise<void> => identity.answerWith({ head: 0, entries: [], time });

  it.each([-tenMinutes, 0, tenMinutes])('is the time in the answer, %d ms apart from the local clock', async (skew) => {
    identity.log.start();
    const time = Date.now() + skew;
    await answer(time);
    expect(identity.log.identityTime()).toBe(time);
    await advance(200);
    expect(identity.log.identityTime()).toBe(time + 200);
  });

  it('is never ahead of identity, and behind by at most the transit time of the answer', async () => {
    identity.log.start();
    // Identity reads its clock at once, and its answer takes 900 ms to arrive.
    const time = Date.now();
    await advance(freshForMs - 100);
    identity.pulls[0]?.answer({ head: 0, entries: [], time });
    await advance(0);
    expect(identity.log.isFresh).toBe(true);
    expect(identity.log.identityTime()).toBe(time);
  });

  it.each([-tenMinutes, tenMinutes])("follows a step of identity's clock with the next pull: %d ms", async (step) => {
    identity.log.start();
    await answer(Date.now());
    await advance(pullIntervalMs);
    await answer(Date.now() + step);
    expect(identity.log.identityTime()).toBe(Date.now() + step);
  });

  it("ignores a step of this process's wall clock", async () => {
    let monotonic = 0;
    const log = identity.logWith(() => monotonic);
    log.start();
    const time = Date.now();
    await answer(time);
    jest.setSystemTime(time + tenMinutes);
    monotonic = 100;
    expect(log.identityTime()).toBe(time + 100);
    await log.stop();
  });
});
