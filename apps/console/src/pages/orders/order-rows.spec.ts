import { describe, expect, it } from '@jest/globals';
import type { Order } from '../../shop/day.js';
import { withNewest } from './order-rows.js';

const orders = (...ids: number[]): Order[] => ids.map((id) => ({ id, plantId: 1, quantity: 1, status: 'placed', complete: false }));
const idsOf = (rows: readonly Order[] | undefined): number[] | undefined => rows?.map(({ id }) => id);

describe('the rows of the orders', () => {
  it('get new ones in front', () => {
    expect(idsOf(withNewest(orders(3, 2, 1), orders(5, 4, 3, 2), false))).toEqual([5, 4, 3, 2, 1]);
  });

  it('lose those of the newest page that no longer match', () => {
    expect(idsOf(withNewest(orders(4, 3, 2, 1), orders(5, 4, 2), false))).toEqual([5, 4, 2, 1]);
  });

  it('are those of the newest page alone when that is the whole list', () => {
    expect(idsOf(withNewest(orders(3, 2, 1), orders(3), true))).toEqual([3]);
  });

  it('are read anew when some between are missing', () => {
    expect(withNewest(orders(3, 2, 1), orders(9, 8), false)).toBeUndefined();
    expect(idsOf(withNewest([], orders(9, 8), false))).toEqual([9, 8]);
  });
});
