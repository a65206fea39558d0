import { describe, expect, it } from '@jest/globals';
import { notifications } from '@plant-shop/contracts/notifications';
import { readmeRows, settingsRows, unnamedOperations } from '@plant-shop/testing/readme';
import { migrationSettings, notificationsSettings } from './config.js';

describe('the README', () => {
  it('lists the settings as they are', () => {
    expect(readmeRows(new URL('../README.md', import.meta.url))).toEqual(settingsRows({ ...notificationsSettings, ...migrationSettings }));
  });

  it('names every operation', () => {
    expect(unnamedOperations(notifications, new URL('../README.md', import.meta.url))).toEqual([]);
  });
});
