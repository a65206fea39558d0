import { expect, it } from '@jest/globals';
import { overlaps } from './faults.js';

it('finds the windows in which all gateways are down: from the kill of the last to the return of the first', () => {
  const first = [{ from: 0, to: 10 }, { from: 20, to: 30 }, { from: 40, to: Infinity }];
  const second = [{ from: 5, to: 8 }, { from: 10, to: 20 }, { from: 25, to: 45 }];
  expect(overlaps(first, second)).toEqual([{ from: 5, to: 8 }, { from: 25, to: 30 }, { from: 40, to: 45 }]);
});
