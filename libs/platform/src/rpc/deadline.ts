import { processNow } from './process-clock.js';

/** The longest delay of a Node timer, in milliseconds. A longer one fires at once. */
export const maxTimerMs = 2 ** 31 - 1;

/**
 * The time until which an answer is useful, as a reading of this process's clock. It is sent as that reading; the receiver converts
 * it with the measured offset between the two clocks (caller-clock.ts).
 */
export class Deadline {
  /** Process clock, rounded down to whole milliseconds: short on the wire. */
  readonly at: number;

  private constructor(at: number) {
    this.at = Math.floor(Math.min(at, processNow() + maxTimerMs));
  }

  /** @throws RangeError when the budget is NaN: such a deadline would never pass */
  static in(budgetMs: number): Deadline {
    return Deadline.at(processNow() + budgetMs);
  }

  /** @param at a reading of this process's clock */
  static at(at: number): Deadline {
    if (Number.isNaN(at)) throw new RangeError('A deadline is a number of milliseconds.');
    return new Deadline(at);
  }

  /** Remaining milliseconds; 0 once the deadline has passed. */
  get leftMs(): number {
    return Math.max(0, this.at - processNow());
  }

  get isPast(): boolean {
    return this.leftMs === 0;
  }
}
