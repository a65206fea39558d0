import { describe, expect, it, jest } from '@jest/globals';
import type { Shop } from '@plant-shop/client';
import { bufferSize, type Frame, maxEntries, Tail } from './tail.js';

const frame = (orderId: number): Frame => ({ event: 'order.shipped', cursor: `c${orderId}`, timestamp: '2027-03-01T08:00:00.000Z', data: { orderId, plantId: 1, carrier: 'DHL', trackingNumber: '1' } });

/** A scripted stream. */
class Source {
  private readonly waiting: Frame[] = [];
  private wake: (() => void) | undefined;
  isClosed = false;

  /** Where each connection began. */
  readonly cursors: (string | undefined)[] = [];
  private handled: string | undefined;

  readonly shop = {
    events: ({ cursor }: { readonly cursor?: string }) => {
      this.cursors.push(cursor);
      this.isClosed = false;
      return Object.defineProperty(Object.assign(this.read(), { close: () => this.close() }), 'cursor', { get: () => this.handled });
    },
  } as unknown as Shop;

  emit(...frames: readonly Frame[]): void {
    this.waiting.push(...frames);
    this.wake?.();
  }

  private close(): Promise<void> {
    this.isClosed = true;
    this.wake?.();
    return Promise.resolve();
  }

  private async *read(): AsyncGenerator<Frame> {
    for (;;) {
      while (this.waiting.length === 0 && !this.isClosed) await new Promise<void>((resolve) => (this.wake = resolve));
      const next = this.waiting.shift();
      if (!next) return;
      yield next;
      this.handled = next.cursor;
    }
  }
}

const settle = async (): Promise<void> => {
  await jest.advanceTimersByTimeAsync(1_000);
};

describe('the tail of the stream', () => {
  jest.useFakeTimers();
  const numbersOf = (tail: Tail): number[] => tail.snapshot.get().entries.map((one) => one.frame.data).flatMap((data) => ('orderId' in data ? [data.orderId] : []));

  it('keeps only the newest events, and updates a few times a second', async () => {
    const source = new Source();
    const tail = new Tail(source.shop, {});
    let draws = 0;
    tail.snapshot.subscribe(() => (draws += 1));
    tail.start();
    source.emit(...Array.from({ length: 3 * maxEntries }, (_, n) => frame(n)));
    await settle();
    expect(tail.snapshot.get().received).toBe(3 * maxEntries);
    expect(tail.snapshot.get().entries).toHaveLength(maxEntries);
    expect(numbersOf(tail).at(-1)).toBe(3 * maxEntries - 1);
    expect(draws).toBeLessThan(15);
    tail.close();
  });

  it('shows no new events while it is paused, and all of them afterwards', async () => {
    const source = new Source();
    const tail = new Tail(source.shop, {});
    tail.start();
    source.emit(frame(1));
    await settle();
    tail.setPaused(true);
    source.emit(frame(2), frame(3));
    await settle();
    expect(numbersOf(tail)).toEqual([1]);
    tail.setPaused(false);
    await settle();
    expect(numbersOf(tail)).toEqual([1, 2, 3]);
    tail.close();
  });

  it('closes the stream with the page, even while it is paused', async () => {
    const source = new Source();
    const tail = new Tail(source.shop, {});
    tail.start();
    tail.setPaused(true);
    source.emit(frame(1));
    await settle();
    tail.close();
    await settle();
    expect(source.isClosed).toBe(true);
    expect(numbersOf(tail)).toEqual([]);
  });

  it('goes on from where it was closed, with what it had and what waits', async () => {
    const source = new Source();
    const tail = new Tail(source.shop, { cursor: 'latest' });
    tail.start();
    source.emit(frame(1));
    await settle();
    tail.setPaused(true);
    source.emit(frame(2), frame(3));
    await settle();
    expect(tail.snapshot.get()).toMatchObject({ received: 1, waiting: 2 });
    tail.close();
    await settle();
    tail.start();
    tail.setPaused(true);
    expect(source.cursors).toEqual(['latest', 'c3']);
    source.emit(frame(4));
    await settle();
    expect(numbersOf(tail)).toEqual([1]);
    expect(tail.snapshot.get()).toMatchObject({ isPaused: true, waiting: 3 });
    tail.setPaused(false);
    await settle();
    expect(numbersOf(tail)).toEqual([1, 2, 3, 4]);
    expect(tail.snapshot.get().waiting).toBe(0);
    tail.close();
  });

  it('holds only so many events while it is paused', async () => {
    const source = new Source();
    const tail = new Tail(source.shop, {});
    tail.start();
    tail.setPaused(true);
    source.emit(...Array.from({ length: bufferSize + 5 }, (_, n) => frame(n)));
    await settle();
    expect(tail.snapshot.get().waiting).toBe(bufferSize);
    tail.setPaused(false);
    await settle();
    expect(tail.snapshot.get().received).toBe(bufferSize + 5);
    tail.close();
  });
});
