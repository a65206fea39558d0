import { createHash, randomBytes } from 'node:crypto';
import { Cipher } from '@plant-shop/platform/cipher';

/** Encrypts with the secrets of IDENTITY_SECRET. */
export const identityCipher = (secrets: readonly string[]): Cipher => new Cipher(secrets, { name: 'identity', setting: 'IDENTITY_SECRET', format: 1 });

/** Returns 256 random bits. A secret of that size cannot be guessed, so storing its plain SHA-256 is safe. */
export const newSecret = (prefix = ''): string => prefix + randomBytes(32).toString('base64url');

export const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest();

/** Decodes a digest as contracts carry it (base64url). */
export const fromDigest = (digest: string): Buffer => Buffer.from(digest, 'base64url');
