import { describe, expect, it } from '@jest/globals';
import { faultsOf } from './config.js';

describe('settings of the store', () => {
  it('a pool has a connection for each lane, and some for everything else', () => {
    expect(faultsOf({ placingLanes: 1, databasePoolSize: 4, archiveAfterDays: 0 })).toEqual([]);
    expect(faultsOf({ placingLanes: 16, databasePoolSize: 19, archiveAfterDays: 7 })).toEqual([]);
    expect(faultsOf({ placingLanes: 16, databasePoolSize: 18, archiveAfterDays: 0 })).toEqual([expect.stringMatching(/^STORE_DATABASE_POOL_SIZE must be at least PLACING_LANES \+ 3/)]);
  });

  it('orders become old after a week or more, or never', () => {
    expect(faultsOf({ placingLanes: 1, databasePoolSize: 4, archiveAfterDays: 6 })).toEqual(['ORDERS_ARCHIVE_AFTER_DAYS must be 0 or at least 7']);
  });
});
