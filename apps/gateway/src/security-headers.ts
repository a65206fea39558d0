import { responseHeaders } from '@plant-shop/platform/http/security-headers';
import type { FastifyInstance } from 'fastify';

/** Returns the default headers of every response of the gateway. Shared caches must not store them. */
export const gatewayHeaders = (publicUrl: string): Readonly<Record<string, string>> => responseHeaders(publicUrl, 'private, no-cache');

/** Sets the default headers before any route; handlers may replace them. */
export function secureAnswers(instance: FastifyInstance, publicUrl: string): void {
  const headers = gatewayHeaders(publicUrl);
  instance.addHook('onRequest', (_request, reply, done) => {
    reply.headers(headers);
    done();
  });
}
