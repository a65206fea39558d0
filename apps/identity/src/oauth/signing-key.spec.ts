import { describe, expect, it } from '@jest/globals';
import {
  accessTokenTtl,
  isCurrent,
  keysLookMs,
  publishedAheadSeconds,
  signingKidOf,
  verifiesOnSeconds,
} from './signing-key.js';

const key = (kid: string, maySign = true) => ({ kid, maySign });

describe('of the signing keys', () => {
  it('the newest one that may sign does', () => {
    expect(signingKidOf([key('new'), key('old')])).toBe('new');
    expect(signingKidOf([key('newest', false), key('new'), key('old')])).toBe('new');
    expect(() => signingKidOf([key('new', false)])).toThrow('no key');
  });

  it('each is published before it signs, and verifies until its last token has ended', () => {
    expect(publishedAheadSeconds * 1_000).toBeGreaterThan(2 * keysLookMs);
    expect(publishedAheadSeconds * 1_000 + keysLookMs).toBeLessThan(60_000);
    expect(verifiesOnSeconds).toBeGreaterThan(publishedAheadSeconds + keysLookMs / 1_000 + accessTokenTtl);
  });

  it('a ring is current until one comes, begins to sign, or ends', () => {
    const ring = { signingKid: 'one', jwks: [{ kid: 'two' }, { kid: 'one' }] };
    expect(isCurrent(ring, [key('two', false), key('one')])).toBe(true);
    expect(isCurrent(ring, [key('two'), key('one')])).toBe(false);
    expect(isCurrent(ring, [key('one')])).toBe(false);
    expect(isCurrent(ring, [key('three', false), key('two', false), key('one')])).toBe(false);
    expect(isCurrent(ring, [key('three', false), key('one')])).toBe(false);
  });
});
