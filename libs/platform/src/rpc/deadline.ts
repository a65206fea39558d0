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

  static in(budgetMs: number): Deadline {
    return new Deadline(Date.now() + budgetMs, performance.now() + budgetMs);
  }

  /** The deadline of a call that just came in with its remaining budget and absolute time. */
  static received(budgetMs: number, absolute: number): Deadline {
    return new Deadline(absolute, performance.now() + budgetMs);
  }

  /** Milliseconds left, 0 when it is past. */
  get leftMs(): number {
    return Math.max(0, Math.min(this.absolute - Date.now(), this.monotonic - performance.now()));
  }

  get isPast(): boolean {
    return this.leftMs === 0;
  }
}
