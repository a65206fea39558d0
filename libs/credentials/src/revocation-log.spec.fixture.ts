import { jest } from '@jest/globals';
import type { Revocation, Revocations } from '@plant-shop/contracts/identity';
import { createLogger } from '@plant-shop/platform/logging';
import { pullIntervalMs, RevocationLog } from './revocation-log.js';

export const entry = (position: number, kind: Revocation['kind'] = 'apiKey', id = `id-${position}`): Revocation => ({ position, kind, id });

interface Pull {
  readonly after: number;
  readonly limitMs: number;
  readonly answer: (revocations: Revocations) => void;
  readonly fail: () => void;
}

/** Pulls that a test answers when it likes, and that fail when their limit is over; a clock that moves only with the timers. */
export class Identity {
  readonly pulls: Pull[] = [];
  readonly revoked: Revocation[] = [];
  forgotten = 0;
  readonly log: RevocationLog;

  constructor() {
    const logger = createLogger('test', 'fatal');
    this.log = new RevocationLog(
      (after, limitMs) =>
        new Promise((answer, reject) => {
          const fail = (): void => reject(new Error('identity is away'));
          setTimeout(fail, limitMs);
          this.pulls.push({ after, limitMs, answer, fail });
        }),
      logger,
      () => Date.now(),
    );
    this.log.listen({
      revoked: (entries) => this.revoked.push(...entries),
      forget: () => this.forgotten++,
    });
  }

  /** Answers the latest pull and lets everything that waits for it run. */
  async answer(head: number, ...entries: Revocation[]): Promise<void> {
    this.pulls.at(-1)?.answer({ head, entries });
    await settled();
  }

  /** Fails all pulls that are under way. */
  async fail(): Promise<void> {
    for (const { fail } of this.pulls) fail();
    await settled();
  }

  /** Ends the log, whose last pull may be under way, and gives back the clock. */
  async end(): Promise<void> {
    const stopped = this.log.stop();
    await this.fail();
    await pass(pullIntervalMs);
    await stopped;
    jest.useRealTimers();
  }
}

export const pass = (ms: number): Promise<void> => jest.advanceTimersByTimeAsync(ms);
export const settled = (): Promise<void> => pass(0);
