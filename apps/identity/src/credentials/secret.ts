import { createHash, randomBytes } from 'node:crypto';

/** 256 random bits: as a secret of that size cannot be guessed, a plain SHA-256 of it is safe to keep. */
export const newSecret = (prefix = ''): string => prefix + randomBytes(32).toString('base64url');

export const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest();

/** A digest as contracts carry it. */
export const fromDigest = (digest: string): Buffer => Buffer.from(digest, 'base64url');
