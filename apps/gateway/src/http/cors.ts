import cors from '@fastify/cors';
import { isAllowedOrigin } from '@plant-shop/platform/service/origins';
import type { FastifyInstance } from 'fastify';

/** What pages of other origins may read of an answer, beside its body. */
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

/** How long a browser need not ask again, in seconds. */
const maxAge = 600;

/**
 * Lets pages of other origins call the API. No cookies are involved: a page must show a credential that it has. Preflights
 * are answered before methods and credentials are looked at, since browsers send them without any.
 */
export async function allowOrigins(instance: FastifyInstance, origins: readonly string[]): Promise<void> {
  if (origins.length === 0) return;
  await instance.register(cors, {
    origin: origins.includes('*') ? '*' : (origin, allow) => allow(null, origin !== undefined && isAllowedOrigin(origin, origins)),
    methods: ['GET', 'HEAD', 'POST', 'PUT', 'DELETE'],
    exposedHeaders,
    maxAge,
    hook: 'onRequest',
  });
}
