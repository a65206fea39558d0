import { describe, expect, it } from '@jest/globals';
import { Cipher } from './cipher.js';

const options = { name: 'a service', setting: 'SERVICE_SECRET', format: 1 };
const cipherOf = (...secrets: string[]): Cipher => new Cipher(secrets, options);

describe('data encrypted at rest', () => {
  const [secret, another] = ['a test secret of 32 characters or more', 'another secret of 32 characters or more'];
  const cipher = cipherOf(secret);

  it('is decrypted with the same secret, and has a different ciphertext each time', () => {
    const [first, second] = [cipher.encrypt('a private key', 'key 1').bytes, cipher.encrypt('a private key', 'key 1').bytes];
    expect(cipher.decrypt(first, 'key 1')).toBe('a private key');
    expect(first.equals(second)).toBe(false);
    expect(first.toString('latin1')).not.toContain('private');
  });

  it('has a fingerprint that depends on the secret', () => {
    const other = cipherOf(another);
    expect(cipher.fingerprint('a password')).toEqual(cipher.fingerprint('a password'));
    expect(cipher.fingerprint('a password')).not.toEqual(cipher.fingerprint('a passwore'));
    expect(cipher.fingerprint('a password')).not.toEqual(other.fingerprint('a password'));
  });

  it('cannot be decrypted with another secret, for another purpose, or after a change', () => {
    const { bytes: encrypted } = cipher.encrypt('a private key', 'key 1');
    expect(() => cipherOf(another).decrypt(encrypted, 'key 1')).toThrow(/SERVICE_SECRET/);
    expect(() => cipher.decrypt(encrypted, 'key 2')).toThrow(/key 2 cannot be decrypted/);
    const changed = Buffer.from(encrypted);
    changed[changed.length - 1]! ^= 1;
    expect(() => cipher.decrypt(changed, 'key 1')).toThrow(/cannot be decrypted/);
    expect(() => cipher.decrypt(Buffer.of(9, 9, 9), 'key 1')).toThrow(/format/);
  });

  it('detects every changed byte', () => {
    const { bytes } = cipher.encrypt('a private key', 'key 1');
    for (let at = 0; at < bytes.length; at++) {
      const changed = Buffer.from(bytes);
      changed[at]! ^= 1;
      expect(() => cipher.decrypt(changed, 'key 1')).toThrow();
    }
  });

  it('is decrypted by a cipher of the same name only', () => {
    const { keyId, bytes } = cipher.encrypt('a private key', 'key 1');
    const other = new Cipher([secret], { ...options, name: 'another service' });
    expect(other.keyId).not.toBe(keyId);
    expect(() => other.decrypt(bytes, 'key 1')).toThrow(/cannot be decrypted/);
  });

  it.each([
    [{ name: 'identity', format: 1 }, 'key 1', 'a private key', '0vkW2U0K', '01a6161340a958889c1c16beb69fcdfa1dc769862f983b74be97da6ba3b12b0a4a82943a71d5be5b1581'],
    [{ name: 'webhook secrets' }, 'webhook 1', 'whsec_x', 'ucAU27lk', '30bde520dba5aef7c1f08f0f68c87d0458ae8de1a2b049bb92fbc9d24466e682f6b46f'],
  ])('stays readable: rows of %j exist', (its, purpose, text, keyId, hex) => {
    const one = new Cipher([secret], { setting: 'SERVICE_SECRET', ...its });
    expect(one.keyId).toBe(keyId);
    expect(one.decrypt(Buffer.from(hex, 'hex'), purpose)).toBe(text);
    expect(one.encrypt(text, purpose).bytes).toHaveLength(hex.length / 2);
  });

  describe('under several secrets', () => {
    const [before, after] = [cipherOf(secret, another), cipherOf(another, secret)];

    it('is decrypted whichever secret encrypted it, and carries the id of that key', () => {
      for (const [writer, reader] of [[before, after], [after, before], [cipher, after]] as const) {
        const { keyId, bytes } = writer.encrypt('a private key', 'key 1');
        expect(reader.decrypt(bytes, 'key 1')).toBe('a private key');
        expect(keyId).toBe(writer.keyId);
      }
      expect(before.keyId).toBe(cipher.keyId);
      expect(after.formerKeyIds).toEqual([cipher.keyId]);
      expect(cipherOf(secret, secret).formerKeyIds).toEqual([]);
    });

    it('is re-encrypted with the first secret, after which the other one cannot decrypt it', () => {
      const reencrypted = after.reencrypt(cipher.encrypt('a private key', 'key 1').bytes, 'key 1');
      expect(reencrypted?.keyId).toBe(after.keyId);
      expect(cipherOf(another).decrypt(reencrypted!.bytes, 'key 1')).toBe('a private key');
      expect(() => cipher.decrypt(reencrypted!.bytes, 'key 1')).toThrow(/SERVICE_SECRET/);
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
