/** Runs at most `count` pieces of work at once; the others wait in order of arrival. */
export class Semaphore {
  private readonly queue: (() => void)[] = [];
  private running = 0;

  constructor(private readonly count: number) {}

  /** The number of pieces of work that wait. */
  get waiting(): number {
    return this.queue.length;
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.running >= this.count) await new Promise<void>((resolve) => this.queue.push(resolve));
    else this.running++;
    try {
      return await work();
    } finally {
      const next = this.queue.shift();
      if (next) next();
      else this.running--;
    }
  }
}
