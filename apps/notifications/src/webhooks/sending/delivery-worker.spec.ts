import { describe, expect, it } from '@jest/globals';
import { AgreedTime, healthOf, outcomeOf } from './delivery-worker.js';
import type { SendResult } from './webhook-sender.js';

const at = new Date('2027-03-01T08:00:00.000Z');
const claimed = (recordedAttempts = 0) => ({ id: 1, webhookId: 'one', eventId: 'event', orderId: 7, inLane: true, body: '{}', isWanted: true, traceparent: null, recordedAttempts });
const sent = (given: Partial<SendResult> = {}): SendResult => ({ at, durationMs: 5, ...given });
const outcome = (of: SendResult, made = 0) => outcomeOf(claimed(made), 'lease', of, 1, 0.5);

describe('the outcome of an attempt', () => {
  it('is `delivered` with any 2xx', () => {
    expect(outcome(sent({ status: 204 }))).toMatchObject({ state: 'delivered', attempt: { at: '2027-03-01T08:00:00.000Z', status: 204, durationMs: 5 } });
  });

  it('is a retry, and `failed` after the tenth attempt', () => {
    expect(outcome(sent({ status: 500, error: 'No.' }))).toMatchObject({ state: 'pending', pauseMs: 5_000, attempt: { error: 'No.' } });
    expect(outcome(sent(), 8)).toMatchObject({ state: 'pending', pauseMs: 86_400_000 });
    expect(outcome(sent(), 9)).toMatchObject({ state: 'failed' });
  });

  it('waits for Retry-After if that is longer, and only with 429 and 503', () => {
    expect(outcome(sent({ status: 429, retryAfterMs: 60_000 }))).toMatchObject({ pauseMs: 60_000 });
    expect(outcome(sent({ status: 503, retryAfterMs: 1_000 }))).toMatchObject({ pauseMs: 5_000 });
    expect(outcome(sent({ status: 500, retryAfterMs: 60_000 }))).toMatchObject({ pauseMs: 5_000 });
  });

  it('stays pending after a 410, even after the last attempt', () => {
    expect(outcome(sent({ status: 410 }), 9)).toMatchObject({ state: 'pending' });
  });
});

describe('the health of endpoints', () => {
  it('summarises the attempts of a batch per endpoint', () => {
    const attempts = [
      { webhookId: 'dead', sent: sent() },
      { webhookId: 'dead', sent: sent() },
      { webhookId: 'ill', sent: sent({ status: 500 }) },
      { webhookId: 'ill', sent: sent() },
      { webhookId: 'well', sent: sent({ status: 429, retryAfterMs: 10 * 3_600_000 }) },
      { webhookId: 'well', sent: sent({ status: 200 }) },
    ];
    attempts.push({ webhookId: 'slow', sent: sent({ status: 200, durationMs: 5_001 }) });
    attempts.push({ webhookId: 'dripping', sent: sent({ status: 200, durationMs: 1_000, isUnfinished: true }) });
    expect(healthOf(attempts, 5_000)).toEqual([
      { webhookId: 'dead', delivered: false, answered: false, prompt: false, silentAttempts: 2, pauseMs: 0 },
      { webhookId: 'ill', delivered: false, answered: true, prompt: true, silentAttempts: 1, pauseMs: 0 },
      { webhookId: 'well', delivered: true, answered: true, prompt: true, silentAttempts: 0, pauseMs: 3_600_000 },
      { webhookId: 'slow', delivered: true, answered: true, prompt: false, silentAttempts: 1, pauseMs: 0 },
      { webhookId: 'dripping', delivered: true, answered: true, prompt: false, silentAttempts: 1, pauseMs: 0 },
    ]);
  });
});

describe('the time of signatures', () => {
  const [start, step] = [1_900_000_000_000, 600_000];
  /** How wrong each clock is. */
  let [identity, host, elapsed] = [0, 0, 0];
  const time = (): AgreedTime => {
    [identity, host, elapsed] = [0, 0, 0];
    return new AgreedTime(() => start + elapsed + identity, () => start + elapsed + host, () => elapsed);
  };
  const errorOf = (one: AgreedTime): number => one.now().getTime() - start - elapsed;

  it.each([-step, step])('is right while either clock is wrong by %i ms', (wrong) => {
    const one = time();
    expect(errorOf(one)).toBe(0);
    for ([identity, host] of [[wrong, 0], [0, 0], [0, wrong]] as const) {
      elapsed += 10_000;
      expect(errorOf(one)).toBe(0);
    }
  });

  it("is identity's until both clocks have agreed, and after an hour without that", () => {
    const one = time();
    host = step;
    expect(errorOf(one)).toBe(0);
    [identity, host] = [-step, 0];
    expect(errorOf(one)).toBe(-step);
    [identity, host] = [0, 0];
    one.now();
    [identity, host] = [-step, step];
    elapsed = 3_599_999;
    expect(errorOf(one)).toBe(0);
    elapsed = 3_600_000;
    expect(errorOf(one)).toBe(-step);
  });
});
