import { describe, expect, it } from '@jest/globals';
import { catalog } from '@plant-shop/contracts/catalog';
import { readmeRows, settingsRows, unnamedOperations } from '@plant-shop/testing/readme';
import { catalogSettings, migrationSettings } from './config.js';

describe('the README', () => {
  it('lists the settings as they are', () => {
    expect(readmeRows(new URL('../README.md', import.meta.url))).toEqual(settingsRows({ ...catalogSettings, ...migrationSettings }));
  });

  it('names every operation', () => {
    expect(unnamedOperations(catalog, new URL('../README.md', import.meta.url))).toEqual([]);
  });
});
