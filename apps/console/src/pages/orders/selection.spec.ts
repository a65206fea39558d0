import { describe, expect, it } from '@jest/globals';
import { extended, nothingSelected, toggled } from './selection.js';

const rows = [5, 4, 3, 2, 1].map((id) => ({ id }));
const idsOf = ({ ids }: { readonly ids: ReadonlySet<number> }): number[] => [...ids].sort();

describe('the selection of orders', () => {
  it('takes an order and leaves it again', () => {
    const one = toggled(nothingSelected, 3);
    expect(idsOf(one)).toEqual([3]);
    expect(idsOf(toggled(one, 3))).toEqual([]);
  });

  it('takes a range in both directions, from the order that was taken last', () => {
    expect(idsOf(extended(toggled(nothingSelected, 4), rows, 2, true))).toEqual([2, 3, 4]);
    expect(idsOf(extended(toggled(nothingSelected, 2), rows, 4, true))).toEqual([2, 3, 4]);
    expect(idsOf(extended(toggled(toggled(nothingSelected, 5), 3), rows, 2, true))).toEqual([2, 3, 5]);
  });

  it('shrinks a range that the keyboard moves back', () => {
    const three = extended(toggled(nothingSelected, 5), rows, 3, false);
    expect(idsOf(extended(three, rows, 4, false))).toEqual([4, 5]);
  });

  it('begins anew where the range began with an order that is gone', () => {
    expect(idsOf(extended(toggled(nothingSelected, 9), rows, 2, true))).toEqual([2, 9]);
  });
});
