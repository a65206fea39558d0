import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

const ivBytes = 12;
const tagBytes = 16;

/** An encrypted text, and the id of the key that decrypts it. */
export interface EncryptedSecret {
  readonly keyId: string;
  readonly encrypted: Buffer;
}

interface Key {
  readonly id: string;
  readonly bytes: Buffer;
}

/**
 * Encrypts with AES-256-GCM under keys derived from the configured secrets: the first key seals, each opens what it sealed. Key ids
 * are derived too, so keys need no names. The owner of a text is authenticated as associated data: a text moved to another row
 * cannot be opened there.
 */
export class SecretBox {
  private readonly keys: readonly Key[];
  private readonly first: Key;

  constructor(secrets: readonly string[]) {
    this.keys = secrets.map(keyFrom);
    const [first] = this.keys;
    if (!first) throw new Error('no secret to derive a key from');
    this.first = first;
  }

  /** Id of the key that seals new texts. */
  get keyId(): string {
    return this.first.id;
  }

  /** Ids of all keys. */
  get keyIds(): string[] {
    return this.keys.map(({ id }) => id);
  }

  seal(text: string, owner: string): EncryptedSecret {
    const iv = randomBytes(ivBytes);
    const cipher = createCipheriv('aes-256-gcm', this.first.bytes, iv, { authTagLength: tagBytes }).setAAD(Buffer.from(owner));
    const encrypted = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
    return { keyId: this.first.id, encrypted: Buffer.concat([iv, cipher.getAuthTag(), encrypted]) };
  }

  /** Throws if no key sealed the text, it belongs to another owner, or it was altered. */
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
