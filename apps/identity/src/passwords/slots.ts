import { overloaded } from '@plant-shop/platform/errors';

/** Runs at most `count` pieces of work at a time; others wait in order of arrival. */
export class Slots {
  private free: number;
  private readonly queue: (() => void)[] = [];

  constructor(
    count: number,
    private readonly maxWaiting: number,
  ) {
    this.free = count;
  }

  /** @throws CodedError `overloaded` when `maxWaiting` others already wait */
  async run<T>(work: () => Promise<T>): Promise<T> {
    await this.acquire();
    try {
      return await work();
    } finally {
      this.release();
    }
  }

  get waiting(): number {
    return this.queue.length;
  }

  private async acquire(): Promise<void> {
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
