import { describe, expect, it } from '@jest/globals';
import { store } from '@plant-shop/contracts/store';
import { readmeRows, settingsRows, unnamedOperations } from '@plant-shop/testing/readme';
import { migrationSettings, storeSettings } from './config.js';

describe('the README', () => {
  it('lists the settings as they are', () => {
    expect(readmeRows(new URL('../README.md', import.meta.url))).toEqual(settingsRows({ ...storeSettings, ...migrationSettings }));
  });

  it('names every operation', () => {
    expect(unnamedOperations(store, new URL('../README.md', import.meta.url))).toEqual([]);
  });
});
