import type { FastifyRequest } from 'fastify';
import { badHeader } from '../problems/refusal.js';

const maxKeyLength = 255;

/**
 * The client's Idempotency-Key: on every POST of a caller who shows a credential, since a key belongs to a principal.
 * @throws Refusal `invalid-input` for a key that is empty, too long or holds anything but visible characters
 */
export function idempotencyKeyOf(request: FastifyRequest): string | undefined {
  const key = request.headers['idempotency-key'];
  if (key === undefined || request.method !== 'POST' || !request.caller) return undefined;
  if (typeof key !== 'string' || key.length > maxKeyLength || !/^[\x21-\x7e]+$/.test(key)) {
    throw badHeader('Idempotency-Key', `must be 1 to ${maxKeyLength} visible ASCII characters`);
  }
  return key;
}
