import { securityHeaders, transportSecurity } from '@plant-shop/platform/http/security-headers';
import type { FastifyInstance } from 'fastify';

/** Returns the default headers of every response: the security headers, and no storage in shared caches. */
export const defaultHeaders = (publicUrl: string): Readonly<Record<string, string>> => ({
  ...securityHeaders,
  'cache-control': 'private, no-cache',
  ...transportSecurity(publicUrl),
});

/** Sets the default headers before any route; handlers may replace them. */
export function secureAnswers(instance: FastifyInstance, publicUrl: string): void {
  const headers = defaultHeaders(publicUrl);
  instance.addHook('onRequest', (_request, reply, done) => {
    reply.headers(headers);
    done();
  });
}
