import { describe, expect, it } from '@jest/globals';
import { unavailable } from '@plant-shop/platform/errors';
import { StepSize, wasTooLarge, windowOf } from './enqueuers.js';

const sqlError = (code: string): Error => Object.assign(new Error(code), { code });

describe('the size of a step', () => {
  it('halves down to one delivery, and doubles up to its initial value', () => {
    const size = new StepSize(10);
    const sizeAfter = (change: () => void): number => {
      change();
      return size.rows;
    };
    const sizes = Array.from({ length: 5 }, () => sizeAfter(() => size.halve()));
    expect(sizes).toEqual([5, 2, 1, 1, 1]);
    const grown = Array.from({ length: 5 }, () => sizeAfter(() => size.grow()));
    expect(grown).toEqual([2, 4, 8, 10, 10]);
  });

  it('is shared by half as many endpoints after halving, at least one, and never more than there are deliveries', () => {
    const size = new StepSize(200);
    const shared = Array.from({ length: 8 }, () => {
      const both = [size.rows, size.endpoints(64)];
      size.halve();
      return both;
    });
    expect(shared).toEqual([[200, 64], [100, 32], [50, 16], [25, 8], [12, 3], [6, 1], [3, 1], [1, 1]]);
    expect(new StepSize(7).endpoints(64)).toBe(7);
  });

  it.each([
    ['57014', true],
    ['55P03', true],
    ['53200', false],
    ['57P01', false],
  ])('is too large after SQLSTATE %s: %s', (code, expected) => {
    expect(wasTooLarge(unavailable('The database', sqlError(code)))).toBe(expected);
  });

  it.each([undefined, null, 'text', new Error('another one')])('is not too large after other errors: %s', (error) => {
    expect(wasTooLarge(error)).toBe(false);
  });
});

describe('the window of an endpoint', () => {
  it.each([
    [0, 1_000],
    [1, 1_000],
    [200, 1_000],
    [400, 500],
    [2_000, 100],
    [1_000_000, 20],
  ])('with %d endpoints in total is %d', (endpoints, window) => {
    expect(windowOf(endpoints)).toBe(window);
  });
});
