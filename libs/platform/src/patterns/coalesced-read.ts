/** How long a running read may delay the next one. Far longer than a healthy read takes. */
const maxWaitMs = 250;

/** After a read for at least this many callers, the next read waits `lingerMs`. */
const minToLinger = 8;
const lingerMs = 1;

/**
 * Coalesces concurrent reads. A caller never gets a result older than its call: a read that is already running may have seen an
 * older state, so the caller shares the next one. Reads run one at a time, so each costs less the more callers there are. A
 * single caller never waits for others.
 *
 * After a read for at least 8 callers the next one waits 1 ms, since callers often read again as soon as they are answered.
 *
 * A read that hangs (lost answer, unresponsive server) delays the next one by at most 250 ms. Every caller gets an outcome within
 * that time plus the time limit of a single read.
 */
export class CoalescedRead<T> {
  private running: Promise<T> | undefined;
  private next: Promise<T> | undefined;
  /** Number of callers that wait for the next read. */
  private waiting = 0;
  /** Number of callers of the last read. */
  private served = 0;

  constructor(private readonly read: () => Promise<T>) {}

  /** Returns the outcome of a read that begins after this call. */
  get(): Promise<T> {
    this.waiting++;
    if (this.isIdle && this.served < minToLinger) return this.begin();
    return (this.next ??= this.beginNext());
  }

  /** Whether no read is running or scheduled. */
  get isIdle(): boolean {
    return this.next === undefined && this.running === undefined;
  }

  private async beginNext(): Promise<T> {
    if (this.running) await settledOrLate(this.running);
    if (this.served >= minToLinger) await pause(lingerMs);
    return this.begin();
  }

  private async begin(): Promise<T> {
    this.next = undefined;
    this.served = this.waiting;
    this.waiting = 0;
    const reading = this.read();
    this.running = reading;
    try {
      return await reading;
    } finally {
      if (this.running === reading) this.running = undefined;
    }
  }
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

function settledOrLate(reading: Promise<unknown>): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, maxWaitMs);
    const settled = (): void => {
      clearTimeout(timer);
      resolve();
    };
    reading.then(settled, settled);
  });
}
