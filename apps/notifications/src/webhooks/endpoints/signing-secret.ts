import { randomBytes } from 'node:crypto';

const prefix = 'whsec_';
const keyBytes = 32;

/** Returns a new random secret, in the form that Standard Webhooks 1.0 prescribes for symmetric signatures. */
export const newSecret = (): string => prefix + randomBytes(keyBytes).toString('base64');

/** Returns the key of the HMAC. */
export const signingKeyOf = (secret: string): Buffer => Buffer.from(secret.slice(prefix.length), 'base64');
