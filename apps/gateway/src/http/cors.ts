import cors from '@fastify/cors';
import { isAllowedOrigin, preflightMaxAge } from '@plant-shop/platform/http/request';
import type { FastifyInstance } from 'fastify';

/** Response headers that pages of other origins may read. */
const exposedHeaders = [
  'ETag',
  'Link',
  'Retry-After',
  'Content-Range',
  'X-Request-Id',
  'RateLimit',
  'RateLimit-Policy',
  'Idempotency-Replayed',
  'X-Rate-Limit',
  'X-Expires-After',
  'WWW-Authenticate',
  'Deprecation',
  'Sunset',
];

/**
 * Allows pages of these origins to call the API. Cookies are not used, so a page needs a credential of its own. Preflights
 * are answered before the checks of methods and credentials, since browsers send them without credentials.
 */
export async function allowOrigins(instance: FastifyInstance, origins: readonly string[]): Promise<void> {
  if (origins.length === 0) return;
  await instance.register(cors, {
    origin: origins.includes('*') ? '*' : (origin, allow) => allow(null, origin !== undefined && isAllowedOrigin(origin, origins)),
    methods: ['GET', 'HEAD', 'POST', 'PUT', 'DELETE'],
    exposedHeaders,
    maxAge: preflightMaxAge,
    hook: 'onRequest',
  });
}
