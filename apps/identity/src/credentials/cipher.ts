import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';

const format = 1;
const ivBytes = 12;
const tagBytes = 16;

interface Key {
  readonly id: string;
  readonly atRest: Buffer;
  readonly fingerprints: Buffer;
}

/** What can be read again, and the id of the key that it was encrypted with. */
export interface Encrypted {
  readonly keyId: string;
  readonly bytes: Buffer;
}

/**
 * AES-256-GCM under keys derived from the secrets of IDENTITY_SECRET, for what identity must be able to read again: the first one
 * encrypts, all of them decrypt. A key's id is derived as well, so nobody has to name keys. What something is for goes in as
 * associated data: a ciphertext that was moved to another row cannot be read there.
 */
export class Cipher {
  private readonly keys: readonly Key[];
  private readonly present: Key;

  constructor(secrets: readonly string[]) {
    this.keys = secrets.map(keyFrom);
    const [present] = this.keys;
    if (!present) throw new Error('a cipher without a key');
    this.present = present;
  }

  /** What is encrypted from now on has it. */
  get keyId(): string {
    return this.present.id;
  }

  get formerKeyIds(): string[] {
    return this.keys.map(({ id }) => id).filter((id) => id !== this.present.id);
  }

  /** Equal for equal texts, and no help in guessing them to whoever lacks the secret. */
  fingerprint(text: string): Buffer {
    return fingerprintOf(this.present, text);
  }

  /** As replicas would make it that put another of the secrets first, or as it was made before the secret changed. */
  formerFingerprints(text: string): Buffer[] {
    return this.keys.slice(1).map((key) => fingerprintOf(key, text));
  }

  encrypt(text: string, purpose: string): Encrypted {
    const iv = randomBytes(ivBytes);
    const cipher = createCipheriv('aes-256-gcm', this.present.atRest, iv, { authTagLength: tagBytes }).setAAD(Buffer.from(purpose));
    const encrypted = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
    return { keyId: this.present.id, bytes: Buffer.concat([Buffer.of(format), iv, cipher.getAuthTag(), encrypted]) };
  }

  /** @throws Error when it was made under another secret, for another purpose, or changed since */
  decrypt(bytes: Buffer, purpose: string): string {
    if (bytes[0] !== format) throw new Error(`${purpose} is not encrypted in a format that this build knows`);
    const text = this.tryKeys(bytes, purpose);
    if (text === undefined) throw new Error(`${purpose} cannot be decrypted: does IDENTITY_SECRET hold the one that it was made with?`);
    return text;
  }

  /** With the present key. @returns undefined for what `decrypt` would not read */
  encryptAnew(bytes: Buffer, purpose: string): Encrypted | undefined {
    const text = bytes[0] === format ? this.tryKeys(bytes, purpose) : undefined;
    return text === undefined ? undefined : this.encrypt(text, purpose);
  }

  /** Which key it was needs no telling: no other one opens it. */
  private tryKeys(bytes: Buffer, purpose: string): string | undefined {
    for (const { atRest } of this.keys) {
      try {
        return opened(atRest, bytes, purpose);
      } catch {
        // The next one.
      }
    }
    return undefined;
  }
}

const derived = (secret: string, use: string, length = 32): Buffer => Buffer.from(hkdfSync('sha256', secret, '', use, length));

const keyFrom = (secret: string): Key => ({
  id: derived(secret, 'identity, id of key', 6).toString('base64url'),
  atRest: derived(secret, 'identity at rest'),
  fingerprints: derived(secret, 'identity fingerprints'),
});

const fingerprintOf = ({ fingerprints }: Key, text: string): Buffer => createHmac('sha256', fingerprints).update(text).digest();

function opened(key: Buffer, bytes: Buffer, purpose: string): string {
  const tagAt = 1 + ivBytes;
  const textAt = tagAt + tagBytes;
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(1, tagAt), { authTagLength: tagBytes })
    .setAAD(Buffer.from(purpose))
    .setAuthTag(bytes.subarray(tagAt, textAt));
  return Buffer.concat([decipher.update(bytes.subarray(textAt)), decipher.final()]).toString('utf8');
}
