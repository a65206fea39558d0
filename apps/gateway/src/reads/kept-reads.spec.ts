import { describe, expect, it } from '@jest/globals';
import { type KeptRead, KeptReads } from './kept-reads.js';

const read = (bytes: number): KeptRead => ({ payload: Buffer.alloc(bytes), etag: undefined, link: undefined, stamp: 's' });

describe('answers that are kept', () => {
  it('take no more room than they are given, whatever comes', () => {
    const kept = new KeptReads(1_000_000);
    for (let n = 0; n < 10_000; n++) {
      kept.keep(`key ${n % 700}`, read((n * 7_919) % 20_000));
      expect(kept.bytes).toBeLessThanOrEqual(1_000_000);
    }
    expect(kept.size).toBeGreaterThan(50);
  });

  it('count what small ones take beside their bytes', () => {
    const kept = new KeptReads(1_000_000);
    for (let n = 0; n < 100_000; n++) kept.keep(`key ${n}`, read(0));
    expect(kept.size).toBeLessThan(2_000);
  });

  it('go in the order of their last use', () => {
    const kept = new KeptReads(20_000);
    for (const key of 'abcdefgh') kept.keep(key, read(1_800));
    kept.get('a');
    kept.keep('new', read(1_800));
    expect(kept.get('a')).toBeDefined();
    expect(kept.get('b')).toBeUndefined();
  });

  it('are replaced by what is newer, and then count once', () => {
    const kept = new KeptReads(1_000_000);
    kept.keep('a', read(10));
    const before = kept.bytes;
    kept.keep('a', read(10));
    expect(kept.bytes).toBe(before);
    kept.drop('a');
    expect([kept.bytes, kept.size]).toEqual([0, 0]);
  });

  it('hold none that would drive out most of the others, and not its predecessor either', () => {
    const kept = new KeptReads(80_000);
    kept.keep('a', read(10));
    kept.keep('a', read(10_000));
    expect(kept.get('a')).toBeUndefined();
  });
});
