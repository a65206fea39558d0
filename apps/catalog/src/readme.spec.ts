import { describe, expect, it } from '@jest/globals';
import { catalog } from '@plant-shop/contracts/catalog';
import { unnamedOperations } from '@plant-shop/testing/readme';

describe('the README', () => {
  it('names every operation', () => {
    expect(unnamedOperations(catalog, new URL('../README.md', import.meta.url))).toEqual([]);
  });
});
