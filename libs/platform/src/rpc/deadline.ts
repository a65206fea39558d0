/** What a timer of Node can wait; one that is asked for more fires at once. */
export const maxTimerMs = 2 ** 31 - 1;

function bounded(budgetMs: number): number {
  if (Number.isNaN(budgetMs)) throw new RangeError('A budget is a number of milliseconds.');
  return Math.min(budgetMs, maxTimerMs);
}

/**
 * Until when an answer is of use. Two clocks: what is left of the budget counts on the monotonic clock of this process;
 * the absolute time travels with the call, so that a process that was paused drops what it finds in its socket
 * buffers instead of carrying it out late.
 */
export class Deadline {
  private constructor(
    /** Milliseconds since the epoch. */
    readonly absolute: number,
    private readonly monotonic: number,
  ) {}

  /** @throws RangeError when the budget is not a number: such a deadline would never be past */
  static in(budgetMs: number): Deadline {
    const budget = bounded(budgetMs);
    return new Deadline(Date.now() + budget, performance.now() + budget);
  }

  /** The deadline of a call that just came in with its remaining budget and absolute time. */
  static received(budgetMs: number, absolute: number): Deadline {
    return new Deadline(absolute, performance.now() + bounded(budgetMs));
  }

  /** Milliseconds left, 0 when it is past. */
  get leftMs(): number {
    return Math.max(0, Math.min(this.absolute - Date.now(), this.monotonic - performance.now()));
  }

  get isPast(): boolean {
    return this.leftMs === 0;
  }
}
