import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

const ivBytes = 12;
const tagBytes = 16;

/** A text that only we can read, and which of our keys reads it. */
export interface EncryptedSecret {
  readonly keyId: string;
  readonly encrypted: Buffer;
}

interface Key {
  readonly id: string;
  readonly bytes: Buffer;
}

/**
 * AES-256-GCM under keys derived from the secrets of the setting: the first one seals, each of them opens what it sealed.
 * A key's id is derived as well, so nobody has to name keys. What a text belongs to goes in as associated data: moved to
 * another row it cannot be read there.
 */
export class SecretBox {
  private readonly keys: readonly Key[];
  private readonly first: Key;

  constructor(secrets: readonly string[]) {
    this.keys = secrets.map(keyFrom);
    const [first] = this.keys;
    if (!first) throw new Error('a box without a key');
    this.first = first;
  }

  /** What new texts are sealed with. */
  get keyId(): string {
    return this.first.id;
  }

  /** Of all that can be opened. */
  get keyIds(): string[] {
    return this.keys.map(({ id }) => id);
  }

  seal(text: string, owner: string): EncryptedSecret {
    const iv = randomBytes(ivBytes);
    const cipher = createCipheriv('aes-256-gcm', this.first.bytes, iv, { authTagLength: tagBytes }).setAAD(Buffer.from(owner));
    const encrypted = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
    return { keyId: this.first.id, encrypted: Buffer.concat([iv, cipher.getAuthTag(), encrypted]) };
  }

  /** @throws Error when none of the keys sealed it, it belongs to something else, or was changed since */
  open({ keyId, encrypted }: EncryptedSecret, owner: string): string {
    const key = this.keys.find(({ id }) => id === keyId);
    if (!key) throw new Error(`a secret was sealed with key ${keyId}, which NOTIFICATIONS_SECRET no longer holds`);
    const textAt = ivBytes + tagBytes;
    const decipher = createDecipheriv('aes-256-gcm', key.bytes, encrypted.subarray(0, ivBytes), { authTagLength: tagBytes })
      .setAAD(Buffer.from(owner))
      .setAuthTag(encrypted.subarray(ivBytes, textAt));
    return Buffer.concat([decipher.update(encrypted.subarray(textAt)), decipher.final()]).toString('utf8');
  }
}

const derived = (secret: string, use: string, length: number): Buffer =>
  Buffer.from(hkdfSync('sha256', secret, '', use, length));

const keyFrom = (secret: string): Key => ({
  id: derived(secret, 'webhook secrets, id of key', 6).toString('base64url'),
  bytes: derived(secret, 'webhook secrets at rest', 32),
});
