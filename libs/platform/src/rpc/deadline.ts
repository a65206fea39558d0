import { processNow } from './process-clock.js';

/** What a timer of Node can wait; one that is asked for more fires at once. */
export const maxTimerMs = 2 ** 31 - 1;

/**
 * Until when an answer is of use, as a reading of this process's clock. It travels as that reading; the receiver converts
 * it by the offset that it measured between the two clocks (caller-clock.ts).
 */
export class Deadline {
  /** Whole milliseconds of the process clock: short on the wire. */
  readonly at: number;

  private constructor(at: number) {
    this.at = Math.floor(Math.min(at, processNow() + maxTimerMs));
  }

  /** @throws RangeError when the budget is not a number: such a deadline would never be past */
  static in(budgetMs: number): Deadline {
    return Deadline.at(processNow() + budgetMs);
  }

  /** @param at a reading of this process's clock */
  static at(at: number): Deadline {
    if (Number.isNaN(at)) throw new RangeError('A deadline is a number of milliseconds.');
    return new Deadline(at);
  }

  /** Milliseconds left, 0 when it is past. */
  get leftMs(): number {
    return Math.max(0, this.at - processNow());
  }

  get isPast(): boolean {
    return this.leftMs === 0;
  }
}
