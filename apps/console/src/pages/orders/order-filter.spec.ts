import { describe, expect, it } from '@jest/globals';
import { mayMatch, toOrderFilter, toQuery } from './order-filter.js';

describe('the filter of the orders', () => {
  it('is what an address says, without what makes no sense', () => {
    expect(toOrderFilter({ status: 'approved,lost,placed', plantId: '7', owner: 42, from: '2026-05-01T10:00', before: 'soon', other: 1 })).toEqual({
      status: 'placed,approved',
      plantId: 7,
      owner: '42',
      from: '2026-05-01T10:00',
    });
    expect(toOrderFilter({ status: '', plantId: -1, owner: '' })).toEqual({});
  });

  it('asks for everybody\'s orders where the person may read them, else for their own', () => {
    expect(toQuery({}, true)).toEqual({ owner: '*' });
    expect(toQuery({ owner: 'ann', status: 'placed' }, true)).toEqual({ owner: 'ann', status: ['placed'] });
    expect(toQuery({ owner: 'ann' }, false)).toEqual({});
  });

  it('takes times as those of the reader', () => {
    expect(toQuery({ from: '2026-05-01T10:00' }, false)).toEqual({ placedFrom: new Date('2026-05-01T10:00').toISOString() });
  });

  it('knows from plant and status which orders cannot be meant', () => {
    expect(mayMatch({}, { plantId: 1, status: 'placed' })).toBe(true);
    expect(mayMatch({ plantId: 2 }, { plantId: 1, status: 'placed' })).toBe(false);
    expect(mayMatch({ status: 'approved,delivered' }, { plantId: 1, status: 'placed' })).toBe(false);
  });
});
