import { describe, expect, it } from '@jest/globals';
import { store } from '@plant-shop/contracts/store';
import { unnamedOperations } from '@plant-shop/testing/readme';

describe('the README', () => {
  it('names every operation', () => {
    expect(unnamedOperations(store, new URL('../README.md', import.meta.url))).toEqual([]);
  });
});
