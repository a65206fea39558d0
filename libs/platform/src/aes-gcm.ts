import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

const algorithm = 'aes-256-gcm';
const nonceBytes = 12;
const tagBytes = 16;
const options = { authTagLength: tagBytes };

/** Where the tag stands: before or after the ciphertext. Saved rows have both forms. */
type TagPlace = 'first' | 'last';

/** Encrypts a text with AES-256-GCM under a random nonce, which precedes the ciphertext. `associated` is authenticated, not stored. */
export function seal(key: Buffer, text: string, tagPlace: TagPlace, associated = ''): Buffer {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv(algorithm, key, nonce, options).setAAD(Buffer.from(associated));
  const ciphertext = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  const tag = cipher.getAuthTag();
  return Buffer.concat(tagPlace === 'first' ? [nonce, tag, ciphertext] : [nonce, ciphertext, tag]);
}

/** @throws Error when another key or associated text was used to encrypt, or the bytes were changed */
export function open(key: Buffer, sealed: Buffer, tagPlace: TagPlace, associated = ''): string {
  const nonce = sealed.subarray(0, nonceBytes);
  const rest = sealed.subarray(nonceBytes);
  const [tag, ciphertext] =
    tagPlace === 'first' ? [rest.subarray(0, tagBytes), rest.subarray(tagBytes)] : [rest.subarray(-tagBytes), rest.subarray(0, -tagBytes)];
  const decipher = createDecipheriv(algorithm, key, nonce, options).setAAD(Buffer.from(associated)).setAuthTag(tag);
  return Buffer.concat([decipher.update(ciphertext), decipher.final()]).toString('utf8');
}
