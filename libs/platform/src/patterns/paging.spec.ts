import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { CodedError } from '../errors.js';
import { byNumber, byText, byTime, type PageBounds, type PageRequest, Paging } from './paging.js';
import type { Page } from '../rpc/answer.js';

const view = { entry: (row: number) => ({ id: row }), position: (row: number) => row };
/** Reads rows like a repository: newest first, after the position, one more than the limit. */
const rowsOf = (all: readonly number[], { after, limit }: PageBounds): number[] =>
  all.filter((row) => row < after).sort((a, b) => b - a).slice(0, limit + 1);
const pageOf = (paging: Paging<number>, all: readonly number[], asked: PageRequest): Page<{ id: number }> => {
  const bounds = paging.bounds(asked);
  return paging.page(rowsOf(all, bounds), bounds, view);
};
const asked = (limit: number, cursor?: string): PageRequest => ({ limit, ...(cursor !== undefined && { cursor }) });

describe('a paged list', () => {
  it('yields every entry once, newest first, while entries are added', () => {
    const ids = fc.uniqueArray(fc.integer({ min: 1, max: 1_000 }), { maxLength: 40 });
    fc.assert(
      fc.property(ids, fc.integer({ min: 1, max: 7 }), (all, limit) => {
        const paging = new Paging('plants', byNumber);
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
    const paging = new Paging('plants', byNumber);
    const big = { ...view, entry: (row: number) => ({ id: row, text: 'x'.repeat(300_000) }) };
    const bounds = paging.bounds({});
    const page = paging.page([3, 2, 1], bounds, big);
    expect(page.value.map((one) => one.id)).toEqual([3]);
    expect(paging.bounds({ cursor: page.meta.next ?? '' }).after).toBe(3);
  });

  it('refuses cursors of another list or filter, and made-up cursors', () => {
    const { meta } = pageOf(new Paging('plants', byNumber, ['available', 'sold']), [1, 2, 3], { limit: 1 });
    const cursor = meta.next ?? '';
    expect(new Paging('plants', byNumber, ['sold', 'available', 'sold']).bounds({ cursor }).after).toBe(3);
    for (const other of [new Paging('plants', byNumber), new Paging('orders', byNumber, ['available', 'sold'])]) {
      expect(() => other.bounds({ cursor })).toThrow(expect.objectContaining({ code: 'invalid-cursor' }));
    }
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.base64String(), fc.json().map((text) => Buffer.from(text).toString('base64url'))), (made) => {
        try {
          new Paging('plants', byNumber).bounds({ cursor: made });
          return false;
        } catch (error) {
          return error instanceof CodedError && error.code === 'invalid-cursor';
        }
      }),
    );
  });

  it('in text order yields every entry once, even if the entry of a cursor is deleted', () => {
    const names = ['ada', 'bo', 'bob', 'eve', 'mallory'];
    const paging = new Paging('users', byText, ['q=']);
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
    const number = pageOf(new Paging('plants', byNumber), [1, 2], { limit: 1 }).meta.next ?? '';
    const text = new Paging('plants', byText);
    const { next = '' } = text.page(['a', 'b'], { limit: 1 }, { entry: (name) => name, position: (name) => name }).meta;
    expect(() => text.bounds({ cursor: number })).toThrow(expect.objectContaining({ code: 'invalid-cursor' }));
    expect(() => new Paging('plants', byNumber).bounds({ cursor: next })).toThrow(expect.objectContaining({ code: 'invalid-cursor' }));
    expect(text.bounds({ cursor: next }).after).toBe('a');
  });

  it('in order of time continues among rows of one time, and refuses positions that are no time and id', () => {
    const paging = new Paging('orders', byTime);
    const rows = [3, 2, 1].map((id) => ({ at: '2026-11-26T07:00:00.123Z', id }));
    const { next = '' } = paging.page(rows, { limit: 2 }, { entry: (row) => row, position: (row) => row }).meta;
    expect(paging.bounds({ cursor: next }).after).toEqual(rows[1]);
    for (const position of [null, 7, {}, { at: 'infinity', id: 1 }, { at: '2026-13-26T07:00:00.123Z', id: 1 }, { at: rows[0]?.at, id: '1' }]) {
      const { next: other = '' } = paging.page([1, 2], { limit: 1 }, { entry: (row) => row, position: () => position as never }).meta;
      expect(() => paging.bounds({ cursor: other })).toThrow(expect.objectContaining({ code: 'invalid-cursor' }));
    }
  });
});
