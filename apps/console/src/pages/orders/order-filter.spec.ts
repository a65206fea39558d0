import { describe, expect, it } from '@jest/globals';
import { mayMatch, toOrderFilter, toQuery } from './order-filter.js';

describe('the order filter', () => {
  it('is read from the URL; invalid values are ignored', () => {
    expect(toOrderFilter({ status: 'approved,lost,placed', plantId: '7', owner: 42, from: '2026-05-01T10:00', before: 'soon', other: 1 })).toEqual({
      status: 'placed,approved',
      plantId: 7,
      owner: '42',
      from: '2026-05-01T10:00',
    });
    expect(toOrderFilter({ status: '', plantId: -1, owner: '' })).toEqual({});
  });

  it('requests all orders if the user may read them, otherwise only their own', () => {
    expect(toQuery({}, true)).toEqual({ owner: '*' });
    expect(toQuery({ owner: 'ann', status: 'placed' }, true)).toEqual({ owner: 'ann', status: ['placed'] });
    expect(toQuery({ owner: 'ann' }, false)).toEqual({});
  });

  it('interprets times in the local time zone', () => {
    expect(toQuery({ from: '2026-05-01T10:00' }, false)).toEqual({ placedFrom: new Date('2026-05-01T10:00').toISOString() });
  });

  it('excludes orders by plant and status', () => {
    expect(mayMatch({}, { plantId: 1, status: 'placed' })).toBe(true);
    expect(mayMatch({ plantId: 2 }, { plantId: 1, status: 'placed' })).toBe(false);
    expect(mayMatch({ status: 'approved,delivered' }, { plantId: 1, status: 'placed' })).toBe(false);
  });
});
