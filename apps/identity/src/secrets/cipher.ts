import { Cipher } from '@plant-shop/platform/cipher';

/** Encrypts with the secrets of IDENTITY_SECRET. */
export const identityCipher = (secrets: readonly string[]): Cipher => new Cipher(secrets, { name: 'identity', setting: 'IDENTITY_SECRET', format: 1 });
