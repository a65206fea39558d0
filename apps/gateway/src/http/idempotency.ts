import { badHeader } from '@plant-shop/contracts/problem';
import type { FastifyRequest } from 'fastify';

const maxKeyLength = 255;

/**
 * Returns the Idempotency-Key of an authenticated POST; others have none, since a key belongs to a principal.
 * @throws HttpError `invalid-input` unless the key is 1 to 255 visible ASCII characters
 */
export function idempotencyKeyOf(request: FastifyRequest): string | undefined {
  const key = request.headers['idempotency-key'];
  if (key === undefined || request.method !== 'POST' || !request.authentication) return undefined;
  if (typeof key !== 'string' || key.length > maxKeyLength || !/^[\x21-\x7e]+$/.test(key)) {
    throw badHeader('Idempotency-Key', `must be 1 to ${maxKeyLength} visible ASCII characters`);
  }
  return key;
}
