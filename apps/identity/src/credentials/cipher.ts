import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';

const format = 1;
const ivBytes = 12;
const tagBytes = 16;

interface Key {
  readonly id: string;
  readonly encryption: Buffer;
  readonly fingerprints: Buffer;
}

/** A ciphertext and the id of the key that encrypted it. */
export interface Encrypted {
  readonly keyId: string;
  readonly bytes: Buffer;
}

/**
 * Encrypts data that identity must read again: AES-256-GCM with keys derived from the secrets of IDENTITY_SECRET. The first
 * secret encrypts, all of them decrypt. The key id is derived from the secret too, so operators need not name keys. The
 * purpose is the associated data: a ciphertext moved to another row cannot be decrypted there.
 */
export class Cipher {
  private readonly keys: readonly Key[];
  private readonly current: Key;

  constructor(secrets: readonly string[]) {
    this.keys = secrets.map(deriveKey);
    const [current] = this.keys;
    if (!current) throw new Error('a cipher needs at least one secret');
    this.current = current;
  }

  /** Id of the key that encrypts. */
  get keyId(): string {
    return this.current.id;
  }

  get formerKeyIds(): string[] {
    return this.keys.map(({ id }) => id).filter((id) => id !== this.current.id);
  }

  /** Returns an HMAC of the text. Without the secret it does not help to guess the text. */
  fingerprint(text: string): Buffer {
    return fingerprintOf(this.current, text);
  }

  /** Returns the fingerprints of the other secrets: made before a rotation, or by replicas with another order of secrets. */
  formerFingerprints(text: string): Buffer[] {
    return this.keys.slice(1).map((key) => fingerprintOf(key, text));
  }

  encrypt(text: string, purpose: string): Encrypted {
    const iv = randomBytes(ivBytes);
    const cipher = createCipheriv('aes-256-gcm', this.current.encryption, iv, { authTagLength: tagBytes }).setAAD(Buffer.from(purpose));
    const encrypted = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
    return { keyId: this.current.id, bytes: Buffer.concat([Buffer.of(format), iv, cipher.getAuthTag(), encrypted]) };
  }

  /** @throws Error when another secret or purpose was used to encrypt, or the ciphertext was changed */
  decrypt(bytes: Buffer, purpose: string): string {
    if (bytes[0] !== format) throw new Error(`${purpose} is encrypted in a format that this version does not know`);
    const text = this.tryKeys(bytes, purpose);
    if (text === undefined) throw new Error(`${purpose} cannot be decrypted: does IDENTITY_SECRET contain the secret that encrypted it?`);
    return text;
  }

  /** Re-encrypts with the current key. @returns undefined where `decrypt` would throw */
  reencrypt(bytes: Buffer, purpose: string): Encrypted | undefined {
    const text = bytes[0] === format ? this.tryKeys(bytes, purpose) : undefined;
    return text === undefined ? undefined : this.encrypt(text, purpose);
  }

  /** Tries every key, since authenticated decryption fails with a wrong one. */
  private tryKeys(bytes: Buffer, purpose: string): string | undefined {
    for (const { encryption } of this.keys) {
      try {
        return decryptWith(encryption, bytes, purpose);
      } catch {
        // Wrong key: try the next one.
      }
    }
    return undefined;
  }
}

const derive = (secret: string, use: string, length = 32): Buffer => Buffer.from(hkdfSync('sha256', secret, '', use, length));

const deriveKey = (secret: string): Key => ({
  id: derive(secret, 'identity, id of key', 6).toString('base64url'),
  encryption: derive(secret, 'identity at rest'),
  fingerprints: derive(secret, 'identity fingerprints'),
});

const fingerprintOf = ({ fingerprints }: Key, text: string): Buffer => createHmac('sha256', fingerprints).update(text).digest();

function decryptWith(key: Buffer, bytes: Buffer, purpose: string): string {
  const tagAt = 1 + ivBytes;
  const textAt = tagAt + tagBytes;
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(1, tagAt), { authTagLength: tagBytes })
    .setAAD(Buffer.from(purpose))
    .setAuthTag(bytes.subarray(tagAt, textAt));
  return Buffer.concat([decipher.update(bytes.subarray(textAt)), decipher.final()]).toString('utf8');
}
