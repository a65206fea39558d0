import { describe, expect, it } from '@jest/globals';
import { faultsOf } from './config.js';

describe('settings of the store', () => {
  it('a pool has a connection for each lane, and some for everything else', () => {
    expect(faultsOf({ placingLanes: 1, databasePoolSize: 4 })).toEqual([]);
    expect(faultsOf({ placingLanes: 16, databasePoolSize: 19 })).toEqual([]);
    expect(faultsOf({ placingLanes: 16, databasePoolSize: 18 })).toEqual([expect.stringMatching(/^STORE_DATABASE_POOL_SIZE must be at least PLACING_LANES \+ 3/)]);
  });
});
