import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { mutualImports } from '@plant-shop/testing/folders';

describe('the folders of the store', () => {
  it('import each other in one direction only', () => {
    expect(mutualImports(join(import.meta.dirname, '../src'))).toEqual([]);
  });
});
