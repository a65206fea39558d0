import { describe, expect, it } from '@jest/globals';
import { openStock, type StockState } from './stock.js';
import { stockEventOf } from './stock.repository.js';

describe('an opening', () => {
  const stock: StockState = {
    plantId: 7,
    incarnation: 20,
    listing: 'retired',
    listingVersion: 20,
    refusedAttempt: 3,
    writtenOff: 0,
    lowStockAt: 5,
    free: 0,
    reserved: 0,
    sold: 9,
    version: 5,
  };
  const opening = { status: 'pending', version: 31, units: 6 } as const;

  it('of a higher incarnation replaces listing and free units, and keeps what was sold', () => {
    expect(openStock(stock, { ...opening, incarnation: 21 }, 42)).toEqual({
      ...stock,
      incarnation: 21,
      uncounted: false,
      lowStockAt: null,
      listing: 'pending',
      listingVersion: 31,
      free: 6,
    });
  });

  it('without units opens the initial stock; with zero units, none', () => {
    expect(openStock(stock, { incarnation: 21, status: 'available', version: 31 }, 42)).toMatchObject({ free: 42 });
    expect(openStock(stock, { ...opening, incarnation: 21, units: 0 }, 42)).toMatchObject({ free: 0 });
  });

  it('of a known or older incarnation is ignored', () => {
    for (const incarnation of [20, 19]) expect(openStock(stock, { ...opening, incarnation }, 42)).toBeUndefined();
  });
});

describe('a change of free units', () => {
  const at = new Date('2027-03-01T08:00:00.000Z');
  it.each([
    [10, 6, 5, undefined],
    [10, 5, 5, 'stock.low'],
    [6, 4, 5, 'stock.low'],
    [5, 4, 5, undefined],
    [4, 6, 5, undefined],
    [6, 6, 6, undefined],
    [10, 1, null, undefined],
    [10, 0, 5, 'stock.out'],
    [3, 0, null, 'stock.out'],
    [0, 3, 5, 'stock.back'],
    [0, 10, null, 'stock.back'],
    [0, 0, 0, undefined],
    [1, 0, 0, 'stock.out'],
  ])('from %i to %i with the threshold %s has the event %s', (before, free, lowStockAt, event) => {
    const data = { plantId: 7, free, ...(lowStockAt !== null && { lowStockAt }) };
    expect(stockEventOf({ plantId: 7, free: before, lowStockAt }, free, at)).toEqual(event && { event, timestamp: at.toISOString(), data });
  });
});
