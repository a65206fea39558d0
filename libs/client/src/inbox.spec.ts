import { describe, expect, it } from '@jest/globals';
import { Inbox } from './inbox.js';

describe('the inbox', () => {
  it('returns entries in order, also to waiting callers', async () => {
    const inbox = new Inbox<number>(4);
    const first = inbox.take();
    inbox.put(1);
    inbox.put(2);
    expect([await first, await inbox.take()]).toEqual([1, 2]);
  });

  it('is full at its size, and has room again when it is half empty', async () => {
    const inbox = new Inbox<number>(4);
    for (const item of [1, 2, 3, 4]) inbox.put(item);
    expect(inbox.isFull).toBe(true);
    let hasRoom = false;
    const room = inbox.room().then(() => (hasRoom = true));
    await inbox.take();
    await new Promise(setImmediate);
    expect(hasRoom).toBe(false);
    await inbox.take();
    await room;
  });

  it('is awaited while a caller waits, until the next entry is put', async () => {
    const inbox = new Inbox<number>(4);
    const states = [inbox.isAwaited];
    const first = inbox.take();
    states.push(inbox.isAwaited);
    inbox.put(1);
    states.push(inbox.isAwaited);
    await first;
    expect([...states, inbox.isAwaited]).toEqual([false, true, false, false]);
  });

  it('ends after its last entry, and wakes waiting callers', async () => {
    const inbox = new Inbox<number>(1);
    inbox.put(1);
    inbox.close({ error: new Error('refused') });
    expect(await inbox.take()).toBe(1);
    await expect(inbox.take()).rejects.toThrow('refused');
    const other = new Inbox<number>(1);
    const waiting = other.take();
    other.close();
    expect(await waiting).toBeUndefined();
    await other.room();
  });

  it('discards remaining entries on request', async () => {
    const inbox = new Inbox<number>(2);
    inbox.put(1);
    inbox.close({}, { isDiscarded: true });
    expect(await inbox.take()).toBeUndefined();
  });
});
