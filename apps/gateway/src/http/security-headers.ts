import type { FastifyInstance } from 'fastify';

/** A year, the minimum that browsers' preload lists require. */
const httpsOnly = 'max-age=31536000';

/**
 * Returns the default headers of every response: nothing may load or run content unless the handler sets another policy, no
 * framing, no referrer (the login URL contains a password), and no storage in shared caches.
 */
export function securityHeaders(publicUrl: string): Readonly<Record<string, string>> {
  return {
    'x-content-type-options': 'nosniff',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    'referrer-policy': 'no-referrer',
    'cache-control': 'private, no-cache',
    ...(publicUrl.startsWith('https:') && { 'strict-transport-security': httpsOnly }),
  };
}

/** Sets the default headers before any route; handlers may replace them. */
export function secureAnswers(instance: FastifyInstance, publicUrl: string): void {
  const headers = securityHeaders(publicUrl);
  instance.addHook('onRequest', (_request, reply, done) => {
    reply.headers(headers);
    done();
  });
}
