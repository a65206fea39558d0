import type { Logger } from '@plant-shop/platform/logging';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Histogram, type Registry } from 'prom-client';

declare module 'fastify' {
  interface FastifyRequest {
    isLogged: boolean;
  }
}

/**
 * Logs one line and records one duration per request, including requests whose client disconnected before the whole
 * response (status `aborted`). Logs the route and never the URL, since queries may contain secrets.
 */
export function logRequests(instance: FastifyInstance, logger: Logger, metrics: Registry): void {
  const durations = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Time from routing a request to the end of its response',
    labelNames: ['operation', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers: [metrics],
  });
  const log = (request: FastifyRequest, reply: FastifyReply, status: number | string): void => {
    // After a disconnect, the response may fail later than the connection.
    if (request.isLogged) return;
    request.isLogged = true;
    durations.observe({ operation: request.routeSpec?.operation ?? 'none', status }, reply.elapsedTime / 1_000);
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
  operation: request.routeSpec?.operation,
  ms: Math.round(reply.elapsedTime * 100) / 100,
  requestId: request.id,
  subject: request.caller?.principal.subject,
  status,
  ...(request.span && { traceId: request.span.traceId, spanId: request.span.spanId }),
});
