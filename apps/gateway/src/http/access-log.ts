import type { Logger } from '@plant-shop/platform/logging';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Histogram, type Registry } from 'prom-client';

declare module 'fastify' {
  interface FastifyRequest {
    isLogged: boolean;
  }
}

/**
 * One line and one observation per request, also for those whose client left before the whole answer. The route is logged,
 * never the URL: queries hold secrets.
 */
export function logRequests(instance: FastifyInstance, logger: Logger, metrics: Registry): void {
  const durations = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Time from routing a request to the end of its answer',
    labelNames: ['operation', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers: [metrics],
  });
  const log = (request: FastifyRequest, reply: FastifyReply, status: number | string): void => {
    // An answer to somebody who left may fail later than the connection.
    if (request.isLogged) return;
    request.isLogged = true;
    durations.observe({ operation: request.rule?.operation ?? 'none', status }, reply.elapsedTime / 1_000);
    logger.info(lineOf(request, reply, status), 'request');
  };
  instance.decorateRequest('isLogged', false);
  instance.addHook('onRequest', (request, reply, done) => {
    reply.raw.once('close', () => {
      if (!reply.raw.writableFinished) log(request, reply, 'aborted');
    });
    done();
  });
  instance.addHook('onResponse', (request, reply, done) => {
    log(request, reply, reply.statusCode);
    done();
  });
}

const lineOf = (request: FastifyRequest, reply: FastifyReply, status: number | string): object => ({
  method: request.method,
  route: request.routeOptions.url,
  operation: request.rule?.operation,
  ms: Math.round(reply.elapsedTime * 100) / 100,
  requestId: request.id,
  subject: request.caller?.principal.subject,
  status,
  ...(request.span && { traceId: request.span.traceId, spanId: request.span.spanId }),
});
