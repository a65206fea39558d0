import { describe, expect, it } from '@jest/globals';
import type { Order } from '../../shop/day.js';
import { withNewest } from './order-rows.js';

const orders = (...ids: number[]): Order[] => ids.map((id) => ({ id, plantId: 1, quantity: 1, status: 'placed', complete: false, placedAt: '2026-01-01T00:00:00.000Z', updatedAt: '2026-01-01T00:00:00.000Z' }));
const idsOf = (rows: readonly Order[] | undefined): number[] | undefined => rows?.map(({ id }) => id);

describe('the order rows', () => {
  it('start with new orders', () => {
    expect(idsOf(withNewest(orders(3, 2, 1), orders(5, 4, 3, 2), false))).toEqual([5, 4, 3, 2, 1]);
  });

  it('lose orders that the newest page no longer contains', () => {
    expect(idsOf(withNewest(orders(4, 3, 2, 1), orders(5, 4, 2), false))).toEqual([5, 4, 2, 1]);
  });

  it('are replaced by the newest page if it is the whole list', () => {
    expect(idsOf(withNewest(orders(3, 2, 1), orders(3), true))).toEqual([3]);
  });

  it('must be reloaded if there is a gap between them and the newest page', () => {
    expect(withNewest(orders(3, 2, 1), orders(9, 8), false)).toBeUndefined();
    expect(idsOf(withNewest([], orders(9, 8), false))).toEqual([9, 8]);
  });
});
