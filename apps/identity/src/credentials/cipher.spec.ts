import { describe, expect, it } from '@jest/globals';
import { Cipher } from './cipher.js';

describe('what is encrypted at rest', () => {
  const [secret, another] = ['a secret of the tests, 32 characters or more', 'another secret of 32 characters, or more'];
  const cipher = new Cipher([secret]);

  it('is read again with the same secret, and looks different each time', () => {
    const [first, second] = [cipher.encrypt('a private key', 'key 1').bytes, cipher.encrypt('a private key', 'key 1').bytes];
    expect(cipher.decrypt(first, 'key 1')).toBe('a private key');
    expect(first.equals(second)).toBe(false);
    expect(first.toString('latin1')).not.toContain('private');
  });

  it('has a fingerprint, which is another one under another secret', () => {
    const other = new Cipher([another]);
    expect(cipher.fingerprint('a password')).toEqual(cipher.fingerprint('a password'));
    expect(cipher.fingerprint('a password')).not.toEqual(cipher.fingerprint('a passwore'));
    expect(cipher.fingerprint('a password')).not.toEqual(other.fingerprint('a password'));
  });

  it('cannot be read under another secret, for another purpose, or changed', () => {
    const { bytes: encrypted } = cipher.encrypt('a private key', 'key 1');
    expect(() => new Cipher([another]).decrypt(encrypted, 'key 1')).toThrow(/IDENTITY_SECRET/);
    expect(() => cipher.decrypt(encrypted, 'key 2')).toThrow(/key 2 cannot be decrypted/);
    const changed = Buffer.from(encrypted);
    changed[changed.length - 1]! ^= 1;
    expect(() => cipher.decrypt(changed, 'key 1')).toThrow(/cannot be decrypted/);
    expect(() => cipher.decrypt(Buffer.of(9, 9, 9), 'key 1')).toThrow(/format/);
  });

  describe('under several secrets', () => {
    const [before, after] = [new Cipher([secret, another]), new Cipher([another, secret])];

    it('is read whichever of them made it, and tells which one did', () => {
      for (const [made, read] of [[before, after], [after, before], [cipher, after]] as const) {
        const { keyId, bytes } = made.encrypt('a private key', 'key 1');
        expect(read.decrypt(bytes, 'key 1')).toBe('a private key');
        expect(keyId).toBe(made.keyId);
      }
      expect(before.keyId).toBe(cipher.keyId);
      expect(after.formerKeyIds).toEqual([cipher.keyId]);
      expect(new Cipher([secret, secret]).formerKeyIds).toEqual([]);
    });

    it('is encrypted anew with the first one, and then the other one is of no use', () => {
      const anew = after.encryptAnew(cipher.encrypt('a private key', 'key 1').bytes, 'key 1');
      expect(anew?.keyId).toBe(after.keyId);
      expect(new Cipher([another]).decrypt(anew!.bytes, 'key 1')).toBe('a private key');
      expect(() => cipher.decrypt(anew!.bytes, 'key 1')).toThrow(/IDENTITY_SECRET/);
      expect(after.encryptAnew(cipher.encrypt('a private key', 'key 1').bytes, 'key 2')).toBeUndefined();
      expect(after.encryptAnew(Buffer.of(9), 'key 1')).toBeUndefined();
    });

    it('has the fingerprints that each of them makes', () => {
      const text = 'a password';
      expect([after.fingerprint(text), ...after.formerFingerprints(text)]).toEqual([before.fingerprint(text), ...before.formerFingerprints(text)].reverse());
    });
  });
});
