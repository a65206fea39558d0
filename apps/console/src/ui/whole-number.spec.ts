import { describe, expect, it } from '@jest/globals';
import { wholeNumber } from './whole-number.js';

describe('a whole number', () => {
  it('is written in digits', () => {
    expect(['0', '12', ' 7 ', '007', '1000000000'].map((text) => wholeNumber(text))).toEqual([0, 12, 7, 7, 1_000_000_000]);
  });

  it('is never guessed from another text', () => {
    for (const text of ['', ' ', '-5', '+5', '1.5', '1,000', '1 000', '1e3', '0x10', '٣', 'five', '99999999999999999999']) expect(wholeNumber(text)).toBeUndefined();
  });

  it('lies within its range', () => {
    expect(['0', '1', '5', '6'].map((text) => wholeNumber(text, { min: 1, max: 5 }))).toEqual([undefined, 1, 5, undefined]);
  });
});
