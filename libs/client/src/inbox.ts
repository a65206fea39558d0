/** A bounded queue between the connection, which puts entries, and the consumer, which takes them. */
export class Inbox<T> {
  private readonly items: T[] = [];
  private taker: (() => void) | undefined;
  private putter: (() => void) | undefined;
  private end: { readonly error?: unknown } | undefined;

  /** @param size number of entries at which the putting side must stop */
  constructor(private readonly size: number) {}

  get isFull(): boolean {
    return this.items.length >= this.size;
  }

  /** Whether the consumer has handled every entry and waits for the next. */
  get isAwaited(): boolean {
    return this.taker !== undefined;
  }

  /** Adds an entry, even beyond `size`: the caller stops soon after. */
  put(item: T): void {
    this.items.push(item);
    this.wakeTaker();
  }

  /** Resolves when the queue is at most half full. */
  async room(): Promise<void> {
    while (this.items.length > this.size / 2 && !this.end) await new Promise<void>((resolve) => (this.putter = resolve));
  }

  /** Returns the next entry; undefined at the end. @throws the error given to `close`, after the last entry */
  async take(): Promise<T | undefined> {
    while (this.items.length === 0 && !this.end) await new Promise<void>((resolve) => (this.taker = resolve));
    const item = this.items.shift();
    if (this.items.length <= this.size / 2) this.wakePutter();
    if (item === undefined && this.end && 'error' in this.end) throw this.end.error;
    return item;
  }

  /** Ends the queue. Remaining entries can still be taken, unless they are discarded. */
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
