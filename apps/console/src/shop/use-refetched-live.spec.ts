import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Cell } from './cell.js';
import type { LiveEvents, LiveState } from './live-events.js';
import { followLive } from './use-refetched-live.js';

describe('a query that follows the events', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  const liveOf = (first: LiveState) => {
    const state = new Cell(first);
    const opening = Promise.withResolvers<undefined>();
    let tell = (): void => undefined;
    const subscribe = (listener: () => void): (() => void) => {
      tell = listener;
      return () => (tell = () => undefined);
    };
    const live = { state, opened: () => opening.promise, subscribe } as unknown as LiveEvents;
    return { live, tell: () => tell(), open: () => opening.resolve(undefined) };
  };
  const pass = (ms: number): Promise<void> => jest.advanceTimersByTimeAsync(ms);

  it('is read again once for a burst, and after it', async () => {
    const { live, tell } = liveOf('live');
    const refetch = jest.fn();
    followLive(live, () => false, refetch, 1_000);
    for (let n = 0; n < 15; n += 1) {
      tell();
      await pass(100);
    }
    expect(refetch).toHaveBeenCalledTimes(1);
    await pass(1_000);
    expect(refetch).toHaveBeenCalledTimes(2);
    await pass(10_000);
    expect(refetch).toHaveBeenCalledTimes(2);
  });

  it('is read again after its first read, if an event came meanwhile', async () => {
    const { live, tell } = liveOf('live');
    const refetch = jest.fn();
    let isFirst = true;
    followLive(live, () => isFirst, refetch, 1_000);
    tell();
    await pass(5_500);
    expect(refetch).not.toHaveBeenCalled();
    isFirst = false;
    await pass(1_000);
    expect(refetch).toHaveBeenCalledTimes(1);
  });

  it('is read again when the stream opens, unless nobody waits for it any more', async () => {
    for (const isLeft of [false, true]) {
      const { live, open } = liveOf('connecting');
      const refetch = jest.fn();
      const stop = followLive(live, () => false, refetch, 1_000);
      await pass(5_000);
      if (isLeft) stop();
      open();
      await pass(2_000);
      expect(refetch).toHaveBeenCalledTimes(isLeft ? 0 : 1);
    }
  });
});
