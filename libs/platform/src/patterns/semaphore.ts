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

/** Like `Semaphore`, but of each key one piece at a time runs or waits to run, so that many of one key do not delay those of others. */
export class SemaphoreByKey {
  private readonly all: Semaphore;
  /** The last piece of work of each key. */
  private readonly last = new Map<string, Promise<void>>();

  constructor(count: number) {
    this.all = new Semaphore(count);
  }

  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.last.get(key);
    let end: (() => void) | undefined;
    const own = new Promise<void>((resolve) => (end = resolve));
    this.last.set(key, own);
    try {
      await before;
      return await this.all.run(work);
    } finally {
      end?.();
      if (this.last.get(key) === own) this.last.delete(key);
    }
  }
}
