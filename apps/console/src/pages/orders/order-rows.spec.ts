import { describe, expect, it } from '@jest/globals';
import type { Order } from '../../shop/day.js';
import { withOrder, withRead } from './order-rows.js';

const orders = (...ids: number[]): Order[] => ids.map((id) => ({ id, plantId: 1, quantity: 1, status: 'placed', complete: false, placedAt: '2026-01-01T00:00:00.000Z', updatedAt: '2026-01-01T00:00:00.000Z' }));
const idsOf = (rows: readonly Order[]): number[] => rows.map(({ id }) => id);

describe('the order rows', () => {
  it('are those that were read again', () => {
    expect(idsOf(withRead(orders(4, 3, 2, 1), orders(5, 4, 2)))).toEqual([5, 4, 2]);
  });

  it('are the same objects, and the same list, as long as they have not changed', () => {
    const [third, second, first] = orders(3, 2, 1);
    const rows = [third!, second!, first!];
    expect(withRead(rows, orders(3, 2, 1))).toBe(rows);
    const changed = { ...third!, status: 'approved' as const };
    const after = withRead(rows, [...orders(4), changed, ...orders(2, 1)]);
    expect(after[1]).toEqual(changed);
    expect(after[2]).toBe(second);
    expect(after[3]).toBe(first);
  });

  it('take an order where its time is, in both directions', () => {
    const at = (id: number, day: number): Order => ({ ...orders(id)[0]!, placedAt: `2026-01-0${day}T00:00:00.000Z` });
    const [first, second, third] = [at(1, 1), at(2, 2), at(3, 3)];
    expect(idsOf(withOrder([first, third], second, { isOldestFirst: true, isEnd: false }))).toEqual([1, 2, 3]);
    expect(idsOf(withOrder([third, first], second, { isOldestFirst: false, isEnd: false }))).toEqual([3, 2, 1]);
    expect(idsOf(withOrder([first, second], third, { isOldestFirst: true, isEnd: true }))).toEqual([1, 2, 3]);
    // It comes with the next page.
    expect(idsOf(withOrder([first, second], third, { isOldestFirst: true, isEnd: false }))).toEqual([1, 2]);
    expect(idsOf(withOrder([first, second], second, { isOldestFirst: true, isEnd: true }))).toEqual([1, 2]);
  });
});
