import type { FastifyInstance } from 'fastify';

/** A year, as browsers want it before they keep it for good. */
const httpsOnly = 'max-age=31536000';

/**
 * What every answer tells browsers, whoever made it: nothing here is a page unless its handler says so, nothing is framed,
 * nobody learns an address (login has a password in it), and what has no rule of its own is kept by no shared cache.
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

/** Before any route: handlers replace what they know better. */
export function secureAnswers(instance: FastifyInstance, publicUrl: string): void {
  const headers = securityHeaders(publicUrl);
  instance.addHook('onRequest', (_request, reply, done) => {
    reply.headers(headers);
    done();
  });
}
