import { describe, expect, it } from '@jest/globals';
import { CoalescedRead } from './coalesced-read.js';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A source whose reads the test answers. */
class Source {
  value = 0;
  readonly reads: PromiseWithResolvers<number>[] = [];
  readonly shared = new CoalescedRead(() => {
    const read = Promise.withResolvers<number>();
    this.reads.push(read);
    return read.promise;
  });

  answer(read: number): void {
    this.reads[read]?.resolve(this.value);
  }
}

describe('a coalesced read', () => {
  it('begins at once for the first caller; all later callers share the next one', async () => {
    const source = new Source();
    const asked = Array.from({ length: 100 }, () => source.shared.get());
    expect(source.reads).toHaveLength(1);
    source.answer(0);
    await turn();
    source.answer(1);
    expect(await Promise.all(asked)).toEqual(Array.from({ length: 100 }, () => 0));
    expect(source.reads).toHaveLength(2);
    expect(source.shared.isIdle).toBe(true);
  });

  it('waits briefly for the callers that were just answered, if there are many', async () => {
    const source = new Source();
    const first = source.shared.get();
    const asked = Array.from({ length: 20 }, () => source.shared.get());
    source.answer(0);
    await first;
    await turn();
    expect(source.reads).toHaveLength(2);
    asked.push(source.shared.get());
    source.answer(1);
    await asked[0];
    const last = source.shared.get();
    expect(source.reads).toHaveLength(2);
    while (source.reads.length < 3) await turn();
    source.answer(2);
    expect(await last).toBe(0);
    await Promise.all(asked);
    expect(source.reads).toHaveLength(3);
  });

  it('never returns a state older than the call: a caller during a read gets the next one', async () => {
    const source = new Source();
    const first = source.shared.get();
    await turn();
    const late = [source.shared.get(), source.shared.get()];
    await turn();
    expect(source.reads).toHaveLength(1);
    source.answer(0);
    source.value = 1;
    expect(await first).toBe(0);
    await turn();
    source.answer(1);
    expect(await Promise.all(late)).toEqual([1, 1]);
    expect(source.reads).toHaveLength(2);
  });

  it('does not share a failure with later callers', async () => {
    const source = new Source();
    const first = source.shared.get();
    await turn();
    const second = source.shared.get();
    source.reads[0]?.reject(new Error('unreachable'));
    await expect(first).rejects.toThrow('unreachable');
    await turn();
    source.answer(1);
    expect(await second).toBe(0);
  });

  it('begins the next read after 250 ms if one hangs', async () => {
    const source = new Source();
    void source.shared.get();
    await turn();
    const begun = performance.now();
    const second = source.shared.get();
    while (source.reads.length < 2) await turn();
    expect(performance.now() - begun).toBeGreaterThan(200);
    source.answer(1);
    expect(await second).toBe(0);
  });

  it('rejects when the read throws synchronously', async () => {
    const shared = new CoalescedRead<number>(() => {
      throw new Error('synchronous');
    });
    await expect(shared.get()).rejects.toThrow('synchronous');
    expect(shared.isIdle).toBe(true);
  });
});
