import { describe, expect, it } from '@jest/globals';
import { readmeRows, settingsRows } from '@plant-shop/testing/readme';
import { gatewaySettings } from './config.js';

describe('the README', () => {
  it('lists the settings as they are', () => {
    expect(readmeRows(new URL('../README.md', import.meta.url))).toEqual(settingsRows(gatewaySettings));
  });
});
