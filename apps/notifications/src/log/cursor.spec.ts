import { describe, expect, it } from '@jest/globals';
import { decodeCursor, encodeCursor } from './history.js';

const epoch = 'a0000000-0000-4000-8000-0000000000ff';

describe('cursors', () => {
  it.each([0, 1, 2 ** 32, Number.MAX_SAFE_INTEGER])('hold the number %s and its epoch', (seq) => {
    const text = encodeCursor({ epoch, seq });
    expect(text).toMatch(/^[\w-]{32}$/);
    expect(decodeCursor(text)).toEqual({ epoch, seq });
  });

  it('reject every other text', () => {
    const good = encodeCursor({ epoch, seq: 7 });
    const beyond = Buffer.from(good, 'base64url').fill(0xff, 1, 8).toString('base64url');
    for (const bad of ['', 'latest', good.slice(1), `${good}A`, `${good}=`, ` ${good}`, `B${good.slice(1)}`, '+'.repeat(32), beyond]) {
      expect(decodeCursor(bad)).toBeUndefined();
    }
  });
});
