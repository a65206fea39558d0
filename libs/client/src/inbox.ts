/** What was received and not yet asked for. One side puts, the other takes; whoever has to wait, waits here. */
export class Inbox<T> {
  private readonly items: T[] = [];
  private taker: (() => void) | undefined;
  private putter: (() => void) | undefined;
  private end: { readonly error?: unknown } | undefined;

  /** @param size entries that it holds before the putting side must stop */
  constructor(private readonly size: number) {}

  get isFull(): boolean {
    return this.items.length >= this.size;
  }

  /** Puts an entry, also when it is full: the caller sees to it that there are few of those. */
  put(item: T): void {
    this.items.push(item);
    this.wakeTaker();
  }

  /** Resolves when it is at most half full. */
  async room(): Promise<void> {
    while (this.items.length > this.size / 2 && !this.end) await new Promise<void>((resolve) => (this.putter = resolve));
  }

  /** The next entry; undefined at the end. @throws what it was ended with, after the last entry */
  async take(): Promise<T | undefined> {
    while (this.items.length === 0 && !this.end) await new Promise<void>((resolve) => (this.taker = resolve));
    const item = this.items.shift();
    if (this.items.length <= this.size / 2) this.wakePutter();
    if (item === undefined && this.end && 'error' in this.end) throw this.end.error;
    return item;
  }

  /** Nothing more comes. What is there can still be taken, unless it is thrown away. */
  close(end: { readonly error?: unknown } = {}, { isDiscarded = false } = {}): void {
    this.end ??= end;
    if (isDiscarded) this.items.length = 0;
    this.wakeTaker();
    this.wakePutter();
  }

  private wakeTaker(): void {
    this.taker?.();
    this.taker = undefined;
  }

  private wakePutter(): void {
    this.putter?.();
    this.putter = undefined;
  }
}
