import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

/** @param ms from routing the request to its end */
export type AtEnd = (request: FastifyRequest, reply: FastifyReply, ms: number) => void;

/**
 * Calls each function once per request, when its response is complete or its client has disconnected; `reply.raw.writableFinished` tells
 * which. Call before other hooks are added, since the time runs from here.
 *
 * One listener for all of them, and no `onResponse` hook: for one such hook, Fastify adds two listeners of its own to every response.
 */
export function atRequestEnd(instance: FastifyInstance, ...all: readonly AtEnd[]): void {
  instance.addHook('onRequest', (request, reply, done) => {
    const startedAt = performance.now();
    reply.raw.on('close', () => {
      const ms = performance.now() - startedAt;
      for (const atEnd of all) atEnd(request, reply, ms);
    });
    done();
  });
}
