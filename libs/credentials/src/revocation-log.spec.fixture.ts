import { afterEach, beforeEach, jest } from '@jest/globals';
import type { Revocation, Revocations } from '@plant-shop/contracts/identity';
import { createLogger } from '@plant-shop/platform/logging';
import { type ForgetReason, pullIntervalMs, RevocationLog } from './revocation-log.js';

export const entry = (position: number, kind: Revocation['kind'] = 'apiKey', id = `id-${position}`): Revocation => ({ position, kind, id });

/** By default the answer of one database that was never restored. */
type Answer = Pick<Revocations, 'head' | 'entries'> & Partial<Revocations>;

interface Pull {
  readonly after: number;
  readonly afterId: string | undefined;
  readonly limitMs: number;
  readonly answer: (revocations: Answer) => void;
  readonly fail: () => void;
}

/** Records pulls, which the test answers and which fail after their limit. The clock moves only with the fake timers. */
export class FakeIdentity {
  pulls: Pull[] = [];
  revoked: Revocation[] = [];
  /** Number of times that listeners had to forget. */
  forgotten = 0;
  /** Why they last had to. */
  forgetReason: ForgetReason | undefined;
  log!: RevocationLog;

  /** Sets up fake timers and a new log before each test of a suite. */
  static forEachTest(): FakeIdentity {
    const identity = new FakeIdentity();
    beforeEach(() => identity.begin());
    afterEach(() => identity.end());
    return identity;
  }

  /** Starts the log and answers its first pull. */
  async follow(head = 0, ...entries: Revocation[]): Promise<void> {
    this.log.start();
    await this.answer(head, ...entries);
  }

  /** Answers the latest pull and runs everything that waits for it. */
  async answer(head: number, ...entries: Revocation[]): Promise<void> {
    await this.answerWith({ head, entries });
  }

  /** Answers the latest pull. */
  async answerWith(revocations: Answer): Promise<void> {
    this.pulls.at(-1)?.answer(revocations);
    await settled();
  }

  /** Returns another log, whose pulls are recorded here as well. */
  logWith(clock: () => number): RevocationLog {
    return new RevocationLog(
      ({ after, afterId }, limitMs) =>
        new Promise((resolve, reject) => {
          const answer = (revocations: Answer): void => resolve({ matches: true, epoch: 'original', time: Date.now(), ...revocations });
          const fail = (): void => reject(new Error('identity is down'));
          setTimeout(fail, limitMs);
          this.pulls.push({ after, afterId, limitMs, answer, fail });
        }),
      createLogger('test', 'fatal'),
      clock,
    );
  }

  /** Fails all pending pulls. */
  async fail(): Promise<void> {
    for (const { fail } of this.pulls) fail();
    await settled();
  }

  private begin(): void {
    jest.useFakeTimers();
    this.pulls = [];
    this.revoked = [];
    this.forgotten = 0;
    this.forgetReason = undefined;
    this.log = this.logWith(() => Date.now());
    this.log.addListener({
      revoked: (entries) => this.revoked.push(...entries),
      forget: (reason) => {
        this.forgotten++;
        this.forgetReason = reason;
      },
    });
  }

  /** Stops the log, whose last pull may be pending, and restores the real clock. */
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
