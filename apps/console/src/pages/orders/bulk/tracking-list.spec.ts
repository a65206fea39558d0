import { describe, expect, it } from '@jest/globals';
import { readTrackingList } from './tracking-list.js';

describe('a pasted list of tracking numbers', () => {
  const both = { numbers: { 8: 'GP 1', 9: 'GP 2' }, faults: [] };
  const unclear = { numbers: {}, faults: [expect.stringMatching(/^It is not clear which column/)] };

  it('is in the order of the page, and an empty line leaves an order out', () => {
    expect(readTrackingList('GP 1\r\n GP 2 \n\n', [8, 9])).toEqual(both);
    expect(readTrackingList('AAA\n\nCCC\nDDD', [6, 7, 8, 9])).toEqual({ numbers: { 6: 'AAA', 8: 'CCC', 9: 'DDD' }, faults: [] });
    expect(readTrackingList('\nB1', [8, 9])).toEqual({ numbers: { 9: 'B1' }, faults: [] });
    expect(readTrackingList('1\n2\n3', [8, 9])).toEqual({ numbers: { 8: '1', 9: '2' }, faults: ['1 line fits none of the orders: 3'] });
    expect(readTrackingList('Tracking number\nGP 1\nGP 2', [8, 9])).toEqual(both);
  });

  it('names the orders, in any order, on either side, with or without titles', () => {
    for (const separator of ['\t', ';', ',']) {
      for (const quote of ['', '"']) {
        const lines = [['Order', 'Tracking number'], ['9', 'GP 2'], ['8', ' GP 1']].map((cells) => cells.map((cell) => `${quote}${cell}${quote}`));
        expect(readTrackingList(lines.map((cells) => cells.join(separator)).join('\n'), [8, 9])).toEqual(both);
        expect(readTrackingList(lines.slice(1).map((cells) => cells.toReversed().join(separator)).join('\r\n'), [8, 9])).toEqual(both);
      }
    }
    expect(readTrackingList('9 GP 2\n8 GP 1', [8, 9])).toEqual(both);
  });

  it('finds the numbers among other columns, or says that they are not clear', () => {
    expect(readTrackingList('8\tMonstera\tGP 1\n9\tFern\tGP 2', [8, 9])).toEqual(both);
    expect(readTrackingList('Order\tPlant\tTracking\n8\tMonstera 2\tGP 1\n9\tFern 3\tGP 2', [8, 9])).toEqual(both);
    expect(readTrackingList('8\tMonstera 2\tGP 1\n9\tFern 3\tGP 2', [8, 9])).toEqual(unclear);
    expect(readTrackingList('8\tMonstera\tGP\n9\tFern\tGP', [8, 9])).toEqual(unclear);
  });

  it('says what it leaves out', () => {
    expect(readTrackingList('9;GP 2\n7;GP 7\nGP 1\n8;', [8, 9])).toEqual({ numbers: { 9: 'GP 2' }, faults: ['3 lines fit none of the orders: 7;GP 7, GP 1, 8;'] });
    expect(readTrackingList('8;GP 1\n9;GP 2\n8;GP 3', [8, 9])).toEqual({ numbers: { 9: 'GP 2' }, faults: ['More than one line is for order 8, so none is filled in.'] });
    expect(readTrackingList('8;1.23457E+11\n9;GP 2', [8, 9])).toEqual({ numbers: { 9: 'GP 2' }, faults: ['The spreadsheet has shortened 1.23457E+11. Format the column as text.'] });
  });
});
