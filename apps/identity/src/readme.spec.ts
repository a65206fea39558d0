import { describe, expect, it } from '@jest/globals';
import { identity } from '@plant-shop/contracts/identity';
import { readmeRows, settingsRows, unnamedOperations } from '@plant-shop/testing/readme';
import { identitySettings, migrationSettings } from './config.js';

describe('the README', () => {
  it('lists the settings as they are', () => {
    expect(readmeRows(new URL('../README.md', import.meta.url))).toEqual(settingsRows({ ...identitySettings, ...migrationSettings }));
  });

  it('names every operation', () => {
    expect(unnamedOperations(identity, new URL('../README.md', import.meta.url))).toEqual([]);
  });
});
