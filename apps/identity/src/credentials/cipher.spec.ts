import { describe, expect, it } from '@jest/globals';
import { Cipher } from './cipher.js';

describe('what is encrypted at rest', () => {
  const cipher = new Cipher('a secret of the tests, 32 characters or more');

  it('is read again with the same secret, and looks different each time', () => {
    const [first, second] = [cipher.encrypt('a private key', 'key 1'), cipher.encrypt('a private key', 'key 1')];
    expect(cipher.decrypt(first, 'key 1')).toBe('a private key');
    expect(first.equals(second)).toBe(false);
    expect(first.toString('latin1')).not.toContain('private');
  });

  it('has a fingerprint, which is another one under another secret', () => {
    const other = new Cipher('another secret of 32 characters, or more');
    expect(cipher.fingerprint('a password')).toEqual(cipher.fingerprint('a password'));
    expect(cipher.fingerprint('a password')).not.toEqual(cipher.fingerprint('a passwore'));
    expect(cipher.fingerprint('a password')).not.toEqual(other.fingerprint('a password'));
  });

  it('cannot be read under another secret, for another purpose, or changed', () => {
    const encrypted = cipher.encrypt('a private key', 'key 1');
    expect(() => new Cipher('another secret of 32 characters, or more').decrypt(encrypted, 'key 1')).toThrow(
      /IDENTITY_SECRET/,
    );
    expect(() => cipher.decrypt(encrypted, 'key 2')).toThrow(/key 2 cannot be decrypted/);
    const changed = Buffer.from(encrypted);
    changed[changed.length - 1]! ^= 1;
    expect(() => cipher.decrypt(changed, 'key 1')).toThrow(/cannot be decrypted/);
    expect(() => cipher.decrypt(Buffer.of(9, 9, 9), 'key 1')).toThrow(/format/);
  });
});
