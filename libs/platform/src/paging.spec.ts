import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { CodedError } from './errors.js';
import { type PageBounds, type PageRequest, Paging, TextPaging } from './paging.js';
import type { Page } from './rpc/answer.js';

const view = { entry: (row: number) => ({ id: row }), position: (row: number) => row };
/** Reads rows like a repository: newest first, below `before`, one more than the limit. */
const rowsOf = (all: readonly number[], { before, limit }: PageBounds): number[] =>
  all.filter((row) => row < before).sort((a, b) => b - a).slice(0, limit + 1);
const pageOf = (paging: Paging, all: readonly number[], asked: PageRequest): Page<{ id: number }> => {
  const bounds = paging.bounds(asked);
  return paging.page(rowsOf(all, bounds), bounds, view);
};
const asked = (limit: number, cursor?: string): PageRequest => ({ limit, ...(cursor !== undefined && { cursor }) });

describe('a paged list', () => {
  it('yields every entry once, newest first, while entries are added', () => {
    const ids = fc.uniqueArray(fc.integer({ min: 1, max: 1_000 }), { maxLength: 40 });
    fc.assert(
      fc.property(ids, fc.integer({ min: 1, max: 7 }), (all, limit) => {
        const paging = new Paging('plants');
        const seen: number[] = [];
        const growing = [...all];
        for (let cursor: string | undefined, pages = 0; pages === 0 || cursor !== undefined; pages++) {
          const { value, meta } = pageOf(paging, growing, asked(limit, cursor));
          seen.push(...value.map((one) => one.id));
          cursor = meta.next;
          growing.push(2_000 + pages);
        }
        expect(seen).toEqual([...all].sort((a, b) => b - a));
      }),
    );
  });

  it('ends a page at about 512 KiB, after at least one entry', () => {
    const paging = new Paging('plants');
    const big = { ...view, entry: (row: number) => ({ id: row, text: 'x'.repeat(300_000) }) };
    const bounds = paging.bounds({});
    const page = paging.page([3, 2, 1], bounds, big);
    expect(page.value.map((one) => one.id)).toEqual([3]);
    expect(paging.bounds({ cursor: page.meta.next ?? '' }).before).toBe(3);
  });

  it('refuses cursors of another list or filter, and made-up cursors', () => {
    const { meta } = pageOf(new Paging('plants', ['available', 'sold']), [1, 2, 3], { limit: 1 });
    const cursor = meta.next ?? '';
    expect(new Paging('plants', ['sold', 'available', 'sold']).bounds({ cursor }).before).toBe(3);
    for (const other of [new Paging('plants'), new Paging('orders', ['available', 'sold'])]) {
      expect(() => other.bounds({ cursor })).toThrow(expect.objectContaining({ code: 'invalid-cursor' }));
    }
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.base64String(), fc.json().map((text) => Buffer.from(text).toString('base64url'))), (made) => {
        try {
          new Paging('plants').bounds({ cursor: made });
          return false;
        } catch (error) {
          return error instanceof CodedError && error.code === 'invalid-cursor';
        }
      }),
    );
  });

  it('in text order yields every entry once, even if the entry of a cursor is deleted', () => {
    const names = ['ada', 'bo', 'bob', 'eve', 'mallory'];
    const paging = new TextPaging('users', ['q=']);
    const seen: string[] = [];
    for (let cursor: string | undefined, pages = 0; pages === 0 || cursor !== undefined; pages++) {
      const bounds = paging.bounds(asked(2, cursor));
      const rows = names.filter((name) => name > bounds.after && !(pages > 0 && name === 'bo')).slice(0, bounds.limit + 1);
      const { value, meta } = paging.page(rows, bounds, { entry: (name) => name, position: (name) => name });
      seen.push(...value);
      cursor = meta.next;
    }
    expect(seen).toEqual(names);
  });

  it('in text order refuses the cursor of a list in number order, and vice versa', () => {
    const number = pageOf(new Paging('plants'), [1, 2], { limit: 1 }).meta.next ?? '';
    const text = new TextPaging('plants');
    const { next = '' } = text.page(['a', 'b'], { limit: 1 }, { entry: (name) => name, position: (name) => name }).meta;
    expect(() => text.bounds({ cursor: number })).toThrow(expect.objectContaining({ code: 'invalid-cursor' }));
    expect(() => new Paging('plants').bounds({ cursor: next })).toThrow(expect.objectContaining({ code: 'invalid-cursor' }));
    expect(text.bounds({ cursor: next }).after).toBe('a');
  });
});
