import { describe, expect, it } from '@jest/globals';
import {
  accessTokenTtl,
  isCurrent,
  signingKeysRefreshMs,
  publishedAheadSeconds,
  signingKidOf,
  retiredKeyTtlSeconds,
} from './signing-key.js';

const key = (kid: string, maySign = true) => ({ kid, maySign });

describe('signing keys', () => {
  it('sign with the newest key that may sign, or with the oldest if the clock was set back before all', () => {
    expect(signingKidOf([key('new'), key('old')])).toBe('new');
    expect(signingKidOf([key('newest', false), key('new'), key('old')])).toBe('new');
    expect(signingKidOf([key('new', false), key('old', false)])).toBe('old');
    expect(() => signingKidOf([])).toThrow('no signing key');
  });

  it('are published before they sign, and verify until their last token has expired', () => {
    expect(publishedAheadSeconds * 1_000).toBeGreaterThan(2 * signingKeysRefreshMs);
    expect(publishedAheadSeconds * 1_000 + signingKeysRefreshMs).toBeLessThan(60_000);
    expect(retiredKeyTtlSeconds).toBeGreaterThan(publishedAheadSeconds + signingKeysRefreshMs / 1_000 + accessTokenTtl);
  });

  it('leave a key ring current until a key is added, starts to sign, or ends', () => {
    const ring = { signingKid: 'one', jwks: [{ kid: 'two' }, { kid: 'one' }] };
    expect(isCurrent(ring, [key('two', false), key('one')])).toBe(true);
    expect(isCurrent(ring, [key('two'), key('one')])).toBe(false);
    expect(isCurrent(ring, [key('one')])).toBe(false);
    expect(isCurrent(ring, [key('three', false), key('two', false), key('one')])).toBe(false);
    expect(isCurrent(ring, [key('three', false), key('one')])).toBe(false);
  });
});
