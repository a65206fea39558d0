import { describe, expect, it } from '@jest/globals';
import { toOrderFilter } from './order-filter.js';
import { countOf, matches, mayMatch, tabOf, toQuery } from './order-query.js';

const order = { id: 1, plantId: 1, quantity: 1, status: 'approved', complete: false, placedAt: '2026-05-01T10:00:00.000Z', updatedAt: '2026-05-01T10:00:00.000Z' } as const;
const newestFirst = { sort: '-placedAt', expand: ['plant'] };

describe('the order filter', () => {
  it('is read from the URL; invalid values are ignored', () => {
    expect(toOrderFilter({ status: 'approved,lost,placed', plantId: '7', owner: 42, q: 12, from: '2026-05-01T10:00', before: 'soon', other: 1 })).toEqual({
      status: 'placed,approved',
      q: '12',
      plantId: 7,
      owner: '42',
      from: '2026-05-01T10:00:00.000Z',
    });
    for (const q of ['272 ', '\t272', '#272', 'Order 272', 'order #272 ']) expect(toOrderFilter({ q })).toEqual({ q: '272' });
    expect(toOrderFilter({ q: ' Order A 7 ' })).toEqual({ q: 'Order A 7' });
    expect(toOrderFilter({ tab: 'lost', status: '', plantId: -1, owner: '', q: '', sort: 'plantId' })).toEqual({});
    expect(toOrderFilter({ tab: 'to-ship', status: 'cancelled', sort: '-placedAt' })).toEqual({ tab: 'to-ship', sort: '-placedAt' });
  });

  it('shows who ships orders what is to ship, unless they look for something', () => {
    expect(tabOf({}, true)).toBe('to-ship');
    expect(tabOf({}, false)).toBe('all');
    expect(tabOf({ plantId: 7 }, true)).toBe('all');
    expect(tabOf({ tab: 'refund' }, true)).toBe('refund');
  });

  it('requests all orders if the user may read them, otherwise only their own', () => {
    expect(toQuery({ tab: 'all' }, true)).toEqual({ owner: '*', ...newestFirst });
    expect(toQuery({ tab: 'all', owner: 'ann', status: 'placed' }, true)).toEqual({ owner: 'ann', status: ['placed'], ...newestFirst });
    expect(toQuery({ tab: 'all', owner: 'ann' }, false)).toEqual(newestFirst);
  });

  it('requests first who has waited longest, unless the reader wants another order', () => {
    expect(toQuery({ tab: 'to-ship' }, false)).toEqual({ status: ['approved'], shipped: false, sort: 'placedAt', expand: ['plant'] });
    expect(toQuery({ tab: 'refund', sort: '-placedAt' }, false)).toEqual({ refund: 'due', ...newestFirst });
  });

  it('keeps times in UTC, so that a link means the same in every time zone', () => {
    const filter = toOrderFilter({ from: '2026-05-01T10:00:00+02:00' });
    expect(filter).toEqual({ from: '2026-05-01T08:00:00.000Z' });
    expect(toQuery({ tab: 'all', ...filter }, false)).toEqual({ placedFrom: '2026-05-01T08:00:00.000Z', ...newestFirst });
    expect(toOrderFilter({ from: '2026-05-01T10:00:00 02:00', before: '2026-05-02' })).toEqual({ from: '2026-05-01T08:00:00.000Z', before: '2026-05-02T00:00:00.000Z' });
    expect(toOrderFilter({ from: '1 May 2026', before: '+020266-05-01T00:00:00.000Z' })).toEqual({});
  });

  it('excludes orders by plant and status', () => {
    expect(mayMatch({ tab: 'all' }, { plantId: 1, status: 'placed' })).toBe(true);
    expect(mayMatch({ tab: 'all', plantId: 2 }, { plantId: 1, status: 'placed' })).toBe(false);
    expect(mayMatch({ tab: 'all', status: 'approved,delivered' }, { plantId: 1, status: 'placed' })).toBe(false);
    expect(mayMatch({ tab: 'awaiting' }, { plantId: 1, status: 'approved' })).toBe(false);
  });

  it('excludes orders by shipment and refund, as far as they are known', () => {
    expect(mayMatch({ tab: 'to-ship' }, { plantId: 1, isShipped: true })).toBe(false);
    expect(mayMatch({ tab: 'refund' }, { plantId: 1, refund: undefined })).toBe(false);
    expect(mayMatch({ tab: 'to-ship' }, { plantId: 1, status: 'approved' })).toBe(true);
  });

  it('excludes orders by owner and time, once they are read', () => {
    expect(matches({ tab: 'to-ship', from: '2026-05-01T10:00:00.000Z' }, order)).toBe(true);
    expect(matches({ tab: 'to-ship', before: '2026-05-01T10:00:00.000Z' }, order)).toBe(false);
    expect(matches({ tab: 'to-ship', owner: 'ann' }, { ...order, owner: 'ben' })).toBe(false);
    expect(matches({ tab: 'to-ship' }, { ...order, carrier: 'Green Post' })).toBe(false);
  });

  it('counts the orders of each tab', () => {
    const counts = { complete: true, counts: [
      { status: 'placed' as const, shipped: false, orders: 1 },
      { status: 'approved' as const, shipped: false, orders: 2 },
      { status: 'approved' as const, shipped: true, orders: 4 },
      { status: 'cancelled' as const, shipped: false, refund: 'due' as const, orders: 8 },
      { status: 'cancelled' as const, shipped: false, refund: 'completed' as const, orders: 16 },
    ] };
    expect((['to-ship', 'awaiting', 'shipped', 'refund', 'all'] as const).map((tab) => countOf(counts, tab))).toEqual([2, 1, 4, 8, 31]);
    expect(countOf(counts, 'all', 'cancelled')).toBe(24);
  });
});
