/** So long a read may keep those waiting who came after it. Far longer than healthy reads take. */
const patienceMs = 250;

/**
 * One read for all who ask at about the same time, never older than their asking: whoever asks while a read is under way,
 * which may have seen what was before, waits for the next one. One is under way at a time, and so the more ask, the less
 * each costs.
 *
 * A read that hangs (its answer is lost, a server does not answer) keeps the next ones from beginning for 250 ms, no longer:
 * every caller gets an outcome in that and the time limit that a read has by itself.
 */
export class SharedRead<T> {
  private next: Promise<T> | undefined;
  private underWay: Promise<unknown> | undefined;

  constructor(private readonly read: () => Promise<T>) {}

  /** What a read finds, or fails with, that begins after this call. */
  get(): Promise<T> {
    this.next ??= this.begin();
    return this.next;
  }

  /** Nobody waits for anything. */
  get isIdle(): boolean {
    return this.next === undefined && this.underWay === undefined;
  }

  private async begin(): Promise<T> {
    // Alone, it waits for the end of its turn of the event loop, for all that came in with it.
    await (this.underWay ? settledOrLate(this.underWay) : endOfTurn());
    this.next = undefined;
    const reading = this.read();
    this.underWay = reading;
    try {
      return await reading;
    } finally {
      if (this.underWay === reading) this.underWay = undefined;
    }
  }
}

const endOfTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function settledOrLate(reading: Promise<unknown>): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, patienceMs);
    const settled = (): void => {
      clearTimeout(timer);
      resolve();
    };
    reading.then(settled, settled);
  });
}
