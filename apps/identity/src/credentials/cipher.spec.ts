import { describe, expect, it } from '@jest/globals';
import { Cipher } from './cipher.js';

describe('data encrypted at rest', () => {
  const [secret, another] = ['a test secret of 32 characters or more', 'another secret of 32 characters or more'];
  const cipher = new Cipher([secret]);

  it('is decrypted with the same secret, and has a different ciphertext each time', () => {
    const [first, second] = [cipher.encrypt('a private key', 'key 1').bytes, cipher.encrypt('a private key', 'key 1').bytes];
    expect(cipher.decrypt(first, 'key 1')).toBe('a private key');
    expect(first.equals(second)).toBe(false);
    expect(first.toString('latin1')).not.toContain('private');
  });

  it('has a fingerprint that depends on the secret', () => {
    const other = new Cipher([another]);
    expect(cipher.fingerprint('a password')).toEqual(cipher.fingerprint('a password'));
    expect(cipher.fingerprint('a password')).not.toEqual(cipher.fingerprint('a passwore'));
    expect(cipher.fingerprint('a password')).not.toEqual(other.fingerprint('a password'));
  });

  it('cannot be decrypted with another secret, for another purpose, or after a change', () => {
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

    it('is decrypted whichever secret encrypted it, and carries the id of that key', () => {
      for (const [writer, reader] of [[before, after], [after, before], [cipher, after]] as const) {
        const { keyId, bytes } = writer.encrypt('a private key', 'key 1');
        expect(reader.decrypt(bytes, 'key 1')).toBe('a private key');
        expect(keyId).toBe(writer.keyId);
      }
      expect(before.keyId).toBe(cipher.keyId);
      expect(after.formerKeyIds).toEqual([cipher.keyId]);
      expect(new Cipher([secret, secret]).formerKeyIds).toEqual([]);
    });

    it('is re-encrypted with the first secret, after which the other one cannot decrypt it', () => {
      const reencrypted = after.reencrypt(cipher.encrypt('a private key', 'key 1').bytes, 'key 1');
      expect(reencrypted?.keyId).toBe(after.keyId);
      expect(new Cipher([another]).decrypt(reencrypted!.bytes, 'key 1')).toBe('a private key');
      expect(() => cipher.decrypt(reencrypted!.bytes, 'key 1')).toThrow(/IDENTITY_SECRET/);
      expect(after.reencrypt(cipher.encrypt('a private key', 'key 1').bytes, 'key 2')).toBeUndefined();
      expect(after.reencrypt(Buffer.of(9), 'key 1')).toBeUndefined();
    });

    it('has a fingerprint for each secret', () => {
      const text = 'a password';
      const all = (one: Cipher): Buffer[] => [one.fingerprint(text), ...one.formerFingerprints(text)];
      expect(all(after)).toEqual(all(before).reverse());
    });
  });
});
