import { afterEach, beforeEach, jest } from '@jest/globals';
import type { Revocation, Revocations } from '@plant-shop/contracts/identity';
import { createLogger } from '@plant-shop/platform/logging';
import { pullIntervalMs, RevocationLog } from './revocation-log.js';

export const entry = (position: number, kind: Revocation['kind'] = 'apiKey', id = `id-${position}`): Revocation => ({ position, kind, id });

interface Pull {
  readonly after: number;
  readonly afterId: string | undefined;
  readonly limitMs: number;
  readonly answer: (revocations: Revocations) => void;
  readonly fail: () => void;
}

/** Pulls that a test answers when it likes, and that fail when their limit is over; a clock that moves only with the timers. */
export class FakeIdentity {
  pulls: Pull[] = [];
  revoked: Revocation[] = [];
  forgotten = 0;
  log!: RevocationLog;

  /** Fake timers and a new log for each test of a suite. */
  static forEachTest(): FakeIdentity {
    const identity = new FakeIdentity();
    beforeEach(() => identity.begin());
    afterEach(() => identity.end());
    return identity;
  }

  /** Starts the log, and answers its first pull. */
  async follow(head = 0, ...entries: Revocation[]): Promise<void> {
    this.log.start();
    await this.answer(head, ...entries);
  }

  /** Answers the latest pull and lets everything that waits for it run. */
  async answer(head: number, ...entries: Revocation[]): Promise<void> {
    await this.answerWith({ head, entries });
  }

  /** The same, with all that an answer may say. */
  async answerWith(revocations: Revocations): Promise<void> {
    this.pulls.at(-1)?.answer(revocations);
    await settled();
  }

  /** Another log, whose pulls are answered here too. */
  logWith(clock: () => number): RevocationLog {
    return new RevocationLog(
      ({ after, afterId }, limitMs) =>
        new Promise((answer, reject) => {
          const fail = (): void => reject(new Error('identity is away'));
          setTimeout(fail, limitMs);
          this.pulls.push({ after, afterId, limitMs, answer, fail });
        }),
      createLogger('test', 'fatal'),
      clock,
    );
  }

  /** Fails all pulls that are under way. */
  async fail(): Promise<void> {
    for (const { fail } of this.pulls) fail();
    await settled();
  }

  private begin(): void {
    jest.useFakeTimers();
    this.pulls = [];
    this.revoked = [];
    this.forgotten = 0;
    this.log = this.logWith(() => Date.now());
    this.log.listen({
      revoked: (entries) => this.revoked.push(...entries),
      forget: () => this.forgotten++,
    });
  }

  /** Ends the log, whose last pull may be under way, and gives back the clock. */
  private async end(): Promise<void> {
    const stopped = this.log.stop();
    await this.fail();
    await advance(pullIntervalMs);
    await stopped;
    jest.useRealTimers();
  }
}

export const advance = (ms: number): Promise<void> => jest.advanceTimersByTimeAsync(ms);
export const settled = (): Promise<void> => advance(0);
