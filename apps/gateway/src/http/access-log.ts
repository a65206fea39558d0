import type { Logger } from '@plant-shop/platform/logging';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Histogram, type Registry } from 'prom-client';

/** One line and one observation per answered request. The route is logged, never the URL: queries hold secrets. */
export function logRequests(instance: FastifyInstance, logger: Logger, metrics: Registry): void {
  const durations = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Time from routing a request to the end of its answer',
    labelNames: ['operation', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers: [metrics],
  });
  instance.addHook('onResponse', (request, reply, done) => {
    const seconds = reply.elapsedTime / 1_000;
    durations.observe({ operation: request.rule?.operation ?? 'none', status: reply.statusCode }, seconds);
    logger.info(lineOf(request, reply), 'request');
    done();
  });
}

const lineOf = (request: FastifyRequest, reply: FastifyReply): object => ({
  method: request.method,
  route: request.routeOptions.url,
  operation: request.rule?.operation,
  status: reply.statusCode,
  ms: Math.round(reply.elapsedTime * 100) / 100,
  requestId: request.id,
  subject: request.caller?.principal.subject,
});
