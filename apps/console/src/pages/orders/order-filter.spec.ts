import { describe, expect, it } from '@jest/globals';
import { mayMatch, toOrderFilter, toQuery } from './order-filter.js';

describe('the order filter', () => {
  it('is read from the URL; invalid values are ignored', () => {
    expect(toOrderFilter({ status: 'approved,lost,placed', plantId: '7', owner: 42, from: '2026-05-01T10:00', before: 'soon', other: 1 })).toEqual({
      status: 'placed,approved',
      plantId: 7,
      owner: '42',
      from: new Date('2026-05-01T10:00').toISOString(),
    });
    expect(toOrderFilter({ status: '', plantId: -1, owner: '', shipped: 'no', refund: 'lost', sort: 'plantId' })).toEqual({});
    expect(toOrderFilter({ shipped: false, refund: 'due', sort: 'placedAt' })).toEqual({ shipped: false, refund: 'due', sort: 'placedAt' });
  });

  it('requests all orders if the user may read them, otherwise only their own', () => {
    expect(toQuery({}, true)).toEqual({ owner: '*' });
    expect(toQuery({ owner: 'ann', status: 'placed' }, true)).toEqual({ owner: 'ann', status: ['placed'] });
    expect(toQuery({ owner: 'ann' }, false)).toEqual({});
  });

  it('keeps times in UTC, so that a link means the same in every time zone', () => {
    const filter = toOrderFilter({ from: '2026-05-01T10:00:00+02:00' });
    expect(filter).toEqual({ from: '2026-05-01T08:00:00.000Z' });
    expect(toQuery(filter, false)).toEqual({ placedFrom: '2026-05-01T08:00:00.000Z' });
  });

  it('excludes orders by plant and status', () => {
    expect(mayMatch({}, { plantId: 1, status: 'placed' })).toBe(true);
    expect(mayMatch({ plantId: 2 }, { plantId: 1, status: 'placed' })).toBe(false);
    expect(mayMatch({ status: 'approved,delivered' }, { plantId: 1, status: 'placed' })).toBe(false);
  });

  it('excludes orders by shipment and refund, as far as they are known', () => {
    expect(mayMatch({ shipped: false }, { plantId: 1, isShipped: true })).toBe(false);
    expect(mayMatch({ refund: 'due' }, { plantId: 1, refund: undefined })).toBe(false);
    expect(mayMatch({ shipped: false, refund: 'due' }, { plantId: 1, status: 'approved' })).toBe(true);
  });
});
