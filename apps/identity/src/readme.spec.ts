import { describe, expect, it } from '@jest/globals';
import { identity } from '@plant-shop/contracts/identity';
import { unnamedOperations } from '@plant-shop/testing/readme';

describe('the README', () => {
  it('names every operation', () => {
    expect(unnamedOperations(identity, new URL('../README.md', import.meta.url))).toEqual([]);
  });
});
