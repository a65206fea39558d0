import { describe, expect, it } from '@jest/globals';
import { readTrackingList } from './tracking-list.js';

describe('a pasted list of tracking numbers', () => {
  it('is in the order of the page', () => {
    expect(readTrackingList('GP 1\r\n\r\n GP 2 \n', [8, 9])).toEqual({ numbers: { 8: 'GP 1', 9: 'GP 2' }, unused: [] });
    expect(readTrackingList('1\n2\n3', [8, 9])).toEqual({ numbers: { 8: '1', 9: '2' }, unused: ['3'] });
  });

  it('names the orders, in any order, with or without titles', () => {
    for (const separator of ['\t', ';', ',']) {
      expect(readTrackingList(`Order${separator}Tracking number\n9${separator}GP 2\n8${separator} GP 1`, [8, 9])).toEqual({ numbers: { 8: 'GP 1', 9: 'GP 2' }, unused: [] });
    }
  });

  it('says which lines fit no order', () => {
    expect(readTrackingList('9;GP 2\n7;GP 7\nGP 1\n8;', [8, 9])).toEqual({ numbers: { 9: 'GP 2' }, unused: ['7;GP 7', 'GP 1', '8;'] });
  });
});
