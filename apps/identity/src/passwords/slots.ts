import { overloaded } from '@plant-shop/platform/errors';

/** Lets `count` pieces of work run at the same time, the others wait in their order of arrival. */
export class Slots {
  private free: number;
  private readonly queue: (() => void)[] = [];

  constructor(
    count: number,
    private readonly maxWaiting: number,
  ) {
    this.free = count;
  }

  /** @throws CodedError `overloaded` when too many wait already */
  async run<T>(work: () => Promise<T>): Promise<T> {
    await this.take();
    try {
      return await work();
    } finally {
      this.release();
    }
  }

  get waiting(): number {
    return this.queue.length;
  }

  private async take(): Promise<void> {
    if (this.free > 0) {
      this.free--;
      return;
    }
    if (this.queue.length >= this.maxWaiting) throw overloaded('identity');
    await new Promise<void>((resolve) => this.queue.push(resolve));
  }

  private release(): void {
    const next = this.queue.shift();
    if (next) next();
    else this.free++;
  }
}
