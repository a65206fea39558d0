import { describe, expect, it, jest } from '@jest/globals';
import { freshForMs, pullIntervalMs } from './revocation-log.js';
import { FakeIdentity, advance } from './revocation-log.spec.fixture.js';

const tenMinutes = 600_000;

describe("identity's time, as a follower knows it", () => {
  const identity = FakeIdentity.forEachTest();
  const answer = (time: number): Promise<void> => identity.answerWith({ head: 0, entries: [], time });

  it.each([-tenMinutes, 0, tenMinutes])('is what the answer says, however far the own clock is from it: %d ms', async (skew) => {
    identity.log.start();
    const time = Date.now() + skew;
    await answer(time);
    expect(identity.log.identityTime()).toBe(time);
    await advance(200);
    expect(identity.log.identityTime()).toBe(time + 200);
  });

  it('is never ahead of identity, and behind by the way of the answer, which is below a second while the log is fresh', async () => {
    identity.log.start();
    // Identity reads its clock at once, and its answer is 900 ms on the way.
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

  it("takes no notice of a step of this process's wall clock", async () => {
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

  it('is that of this process beside an identity of the release before, which does not tell it', async () => {
    await identity.follow();
    expect(identity.log.identityTime()).toBe(Date.now());
  });

  it('goes on from the last that was told when such a one answers in between', async () => {
    identity.log.start();
    const time = Date.now() + tenMinutes;
    await answer(time);
    await advance(pullIntervalMs);
    await identity.answer(0);
    expect(identity.log.identityTime()).toBe(time + pullIntervalMs);
  });
});
