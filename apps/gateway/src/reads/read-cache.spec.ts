import { describe, expect, it } from '@jest/globals';
import { type CachedResponse, ReadCache } from './cached-reads.js';

const read = (bytes: number): CachedResponse => ({ payload: Buffer.alloc(bytes), etag: undefined, link: undefined, stamp: 's' });

describe('cached responses', () => {
  it('never exceed the size of the cache (slow)', () => {
    const cache = new ReadCache(1_000_000);
    for (let n = 0; n < 10_000; n++) {
      cache.set(`key ${n % 700}`, read((n * 7_919) % 20_000));
      expect(cache.bytes).toBeLessThanOrEqual(1_000_000);
    }
    expect(cache.size).toBeGreaterThan(50);
  });

  it('include an overhead per entry in the size (slow)', () => {
    const cache = new ReadCache(1_000_000);
    for (let n = 0; n < 100_000; n++) cache.set(`key ${n}`, read(0));
    expect(cache.size).toBeLessThan(2_000);
  });

  it('are evicted in the order of their last use', () => {
    const cache = new ReadCache(20_000);
    for (const key of 'abcdefgh') cache.set(key, read(1_800));
    cache.get('a');
    cache.set('new', read(1_800));
    expect(cache.get('a')).toBeDefined();
    expect(cache.get('b')).toBeUndefined();
  });

  it('are replaced under the same key and counted once', () => {
    const cache = new ReadCache(1_000_000);
    cache.set('a', read(10));
    const before = cache.bytes;
    cache.set('a', read(10));
    expect(cache.bytes).toBe(before);
    cache.delete('a');
    expect([cache.bytes, cache.size]).toEqual([0, 0]);
  });

  it('do not include one that is too large, nor its predecessor', () => {
    const cache = new ReadCache(80_000);
    cache.set('a', read(10));
    cache.set('a', read(10_000));
    expect(cache.get('a')).toBeUndefined();
  });
});
