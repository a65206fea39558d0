/** So long a read may keep those waiting who came after it. Far longer than healthy reads take. */
const patienceMs = 250;

/** A read for so many is worth waiting for the next ones. */
const many = 8;
const gatherMs = 1;

/**
 * One read for all who ask at about the same time, never older than their asking: whoever asks while a read is under way,
 * which may have seen what was before, waits for the next one. One is under way at a time, and so the more ask, the less
 * each costs. Who asks alone waits for nobody.
 *
 * After a read for many the next one waits a millisecond: those who were just answered come back with their next question.
 *
 * A read that hangs (its answer is lost, a server does not answer) keeps the next one from beginning for 250 ms, no longer:
 * every caller gets an outcome within that and the time limit that a read has by itself.
 */
export class CoalescedRead<T> {
  private underWay: Promise<T> | undefined;
  private next: Promise<T> | undefined;
  /** Who waits for the next one. */
  private waiting = 0;
  /** Who waited for the one under way. */
  private served = 0;

  constructor(private readonly read: () => Promise<T>) {}

  /** What a read finds, or fails with, that begins after this call. */
  get(): Promise<T> {
    this.waiting++;
    if (this.isIdle && this.served < many) return this.begin();
    return (this.next ??= this.afterwards());
  }

  /** Nobody waits for anything. */
  get isIdle(): boolean {
    return this.next === undefined && this.underWay === undefined;
  }

  private async afterwards(): Promise<T> {
    if (this.underWay) await settledOrLate(this.underWay);
    if (this.served >= many) await pause(gatherMs);
    return this.begin();
  }

  private async begin(): Promise<T> {
    this.next = undefined;
    this.served = this.waiting;
    this.waiting = 0;
    const reading = this.read();
    this.underWay = reading;
    try {
      return await reading;
    } finally {
      if (this.underWay === reading) this.underWay = undefined;
    }
  }
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

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
