import { describe, expect, it } from '@jest/globals';
import { notifications } from '@plant-shop/contracts/notifications';
import { unnamedOperations } from '@plant-shop/testing/readme';

describe('the README', () => {
  it('names every operation', () => {
    expect(unnamedOperations(notifications, new URL('../README.md', import.meta.url))).toEqual([]);
  });
});
