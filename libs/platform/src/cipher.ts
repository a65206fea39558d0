import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';

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

interface Key {
  readonly id: string;
  readonly encryption: Buffer;
  readonly fingerprints: Buffer;
}

export interface CipherOptions {
  /** Part of the derivation of the keys: with another name, nothing can be decrypted. */
  readonly name: string;
  /** The setting that has the secrets. */
  readonly setting: string;
  /** The first byte of each ciphertext, if they begin with one. */
  readonly format?: number;
}

/** A ciphertext and the id of the key that encrypted it. */
export interface Encrypted {
  readonly keyId: string;
  readonly bytes: Buffer;
}

/**
 * Encrypts data that a service must read again: AES-256-GCM with keys derived from the secrets of a setting. The first secret
 * encrypts, all of them decrypt. The key id is derived from the secret too, so operators need not name keys. The purpose is the
 * associated data: a ciphertext moved to another row cannot be decrypted there.
 */
export class Cipher {
  private readonly keys: readonly Key[];
  private readonly current: Key;
  private readonly prefix: Buffer;

  constructor(secrets: readonly string[], private readonly options: CipherOptions) {
    this.keys = secrets.map((secret) => deriveKey(secret, options.name));
    this.prefix = options.format === undefined ? Buffer.alloc(0) : Buffer.of(options.format);
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
    return { keyId: this.current.id, bytes: Buffer.concat([this.prefix, seal(this.current.encryption, text, 'first', purpose)]) };
  }

  /** @throws Error when another secret or purpose was used to encrypt, or the ciphertext was changed */
  decrypt(bytes: Buffer, purpose: string): string {
    if (!this.hasFormat(bytes)) throw new Error(`${purpose} is encrypted in a format that this version does not know`);
    const text = this.tryKeys(bytes, purpose);
    if (text === undefined) throw new Error(`${purpose} cannot be decrypted: does ${this.options.setting} contain the secret that encrypted it?`);
    return text;
  }

  /** Re-encrypts with the current key. @returns undefined where `decrypt` would throw */
  reencrypt(bytes: Buffer, purpose: string): Encrypted | undefined {
    const text = this.hasFormat(bytes) ? this.tryKeys(bytes, purpose) : undefined;
    return text === undefined ? undefined : this.encrypt(text, purpose);
  }

  private hasFormat(bytes: Buffer): boolean {
    return bytes.subarray(0, this.prefix.length).equals(this.prefix);
  }

  /** Tries every key, since authenticated decryption fails with a wrong one. */
  private tryKeys(bytes: Buffer, purpose: string): string | undefined {
    for (const { encryption } of this.keys) {
      try {
        return open(encryption, bytes.subarray(this.prefix.length), 'first', purpose);
      } catch {
        // Wrong key: try the next one.
      }
    }
    return undefined;
  }
}

const derive = (secret: string, use: string, length = 32): Buffer => Buffer.from(hkdfSync('sha256', secret, '', use, length));

const deriveKey = (secret: string, name: string): Key => ({
  id: derive(secret, `${name}, id of key`, 6).toString('base64url'),
  encryption: derive(secret, `${name} at rest`),
  fingerprints: derive(secret, `${name} fingerprints`),
});

const fingerprintOf = ({ fingerprints }: Key, text: string): Buffer => createHmac('sha256', fingerprints).update(text).digest();
