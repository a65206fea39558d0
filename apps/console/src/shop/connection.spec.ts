import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Connection } from './connection.js';

/** How long the gateway waits for a service that is frozen. */
const budgetMs = 1_500;
const allReady = { gateway: 'ready', store: 'ready', notifications: 'ready' };

describe('the connection to the shop', () => {
  let services: Record<string, string> = allReady;
  let hangs = false;
  let asked = 0;
  const page = Object.assign(new EventTarget(), { visibilityState: 'visible' });
  const real = globalThis.fetch;

  beforeEach(() => {
    jest.useFakeTimers();
    services = allReady;
    hangs = false;
    asked = 0;
    page.visibilityState = 'visible';
    Object.assign(globalThis, { window: new EventTarget(), document: page });
    // Node's own runs by real time.
    jest.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => {
      const controller = new AbortController();
      setTimeout(() => controller.abort(new DOMException('It took too long.', 'TimeoutError')), ms);
      return controller.signal;
    });
    globalThis.fetch = (_, init) => {
      asked += 1;
      if (hangs) return new Promise((_resolve, reject) => init?.signal?.addEventListener('abort', () => reject(init.signal?.reason as Error)));
      // A real answer is read by timers that do not run here.
      const answer = { json: () => Promise.resolve({ services }) } as unknown as Response;
      return services === allReady ? Promise.resolve(answer) : new Promise((resolve) => setTimeout(() => resolve(answer), budgetMs));
    };
  });
  afterEach(() => {
    jest.useRealTimers();
    jest.restoreAllMocks();
    globalThis.fetch = real;
  });

  it.each(['store', 'notifications'])('is lost within 13 s when the service %s freezes, although no request fails, and comes back', async (service) => {
    const { state } = new Connection();
    await jest.advanceTimersByTimeAsync(20_000);
    expect(state.get()).toEqual({ isAway: false });
    services = { ...allReady, [service]: 'slow: no answer in 1.5 s' };
    await jest.advanceTimersByTimeAsync(10_000 + 2 * budgetMs);
    expect(state.get()).toEqual({ isAway: true, services });
    services = allReady;
    await jest.advanceTimersByTimeAsync(2_000);
    expect(state.get()).toEqual({ isAway: false });
  });

  it('is lost within 16 s when the gateway itself freezes, not when one check has no answer, and comes back', async () => {
    const { state } = new Connection();
    await jest.advanceTimersByTimeAsync(9_000);
    hangs = true;
    await jest.advanceTimersByTimeAsync(2_000);
    hangs = false;
    await jest.advanceTimersByTimeAsync(8_000);
    expect(state.get()).toEqual({ isAway: false });
    hangs = true;
    await jest.advanceTimersByTimeAsync(7_000);
    expect(state.get()).toEqual({ isAway: true, services: undefined });
    hangs = false;
    await jest.advanceTimersByTimeAsync(5_000);
    expect(state.get()).toEqual({ isAway: false });
  });

  it('is checked only while the page is seen, and as soon as it is', async () => {
    page.visibilityState = 'hidden';
    const { state } = new Connection();
    services = { ...allReady, store: 'no answer' };
    await jest.advanceTimersByTimeAsync(60_000);
    expect([state.get().isAway, asked]).toEqual([false, 0]);
    page.visibilityState = 'visible';
    page.dispatchEvent(new Event('visibilitychange'));
    await jest.advanceTimersByTimeAsync(2 * budgetMs);
    expect(state.get().isAway).toBe(true);
  });
});
