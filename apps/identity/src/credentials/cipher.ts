import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';

const format = 1;
const ivBytes = 12;
const tagBytes = 16;

const keyFrom = (secret: string, use: string): Buffer => Buffer.from(hkdfSync('sha256', secret, '', use, 32));

/**
 * AES-256-GCM under a key derived from IDENTITY_SECRET, for what identity must be able to read again. What something is
 * for goes in as associated data: a ciphertext that was moved to another row cannot be read there.
 */
export class Cipher {
  private readonly key: Buffer;
  private readonly fingerprintKey: Buffer;

  constructor(secret: string) {
    this.key = keyFrom(secret, 'identity at rest');
    this.fingerprintKey = keyFrom(secret, 'identity fingerprints');
  }

  /** Equal for equal texts, and no help in guessing them to whoever lacks the secret. */
  fingerprint(text: string): Buffer {
    return createHmac('sha256', this.fingerprintKey).update(text).digest();
  }

  encrypt(text: string, purpose: string): Buffer {
    const iv = randomBytes(ivBytes);
    const cipher = createCipheriv('aes-256-gcm', this.key, iv, { authTagLength: tagBytes }).setAAD(
      Buffer.from(purpose),
    );
    const encrypted = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
    return Buffer.concat([Buffer.of(format), iv, cipher.getAuthTag(), encrypted]);
  }

  /** @throws Error when it was made under another secret, for another purpose, or changed since */
  decrypt(bytes: Buffer, purpose: string): string {
    if (bytes[0] !== format) throw new Error(`${purpose} is not encrypted in a format that this build knows`);
    const tagAt = 1 + ivBytes;
    const decipher = createDecipheriv('aes-256-gcm', this.key, bytes.subarray(1, tagAt), { authTagLength: tagBytes })
      .setAAD(Buffer.from(purpose))
      .setAuthTag(bytes.subarray(tagAt, tagAt + tagBytes));
    try {
      return Buffer.concat([decipher.update(bytes.subarray(tagAt + tagBytes)), decipher.final()]).toString('utf8');
    } catch (cause) {
      throw new Error(`${purpose} cannot be decrypted: is IDENTITY_SECRET the one that it was made with?`, { cause });
    }
  }
}
