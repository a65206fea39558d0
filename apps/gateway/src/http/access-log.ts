import type { Logger } from '@plant-shop/platform/logging';
import { Histogram, type Registry } from 'prom-client';
import { accessLines } from './access-line.js';
import type { AtEnd } from './request-end.js';

/**
 * Logs one line and records one duration per request, including requests whose client disconnected before the whole
 * response (status `aborted`). Logs the route and never the URL, since queries may contain secrets.
 */
export function requestLog(logger: Logger, metrics: Registry): AtEnd {
  const durations = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Time from routing a request to the end of its response',
    labelNames: ['operation', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers: [metrics],
  });
  const log = accessLines(logger);
  return (request, reply, ms) => {
    const { id: requestId, method, routeSpec, authentication, span } = request;
    const operation = routeSpec?.operation;
    const status = reply.raw.writableFinished ? reply.statusCode : 'aborted';
    durations.observe({ operation: operation ?? 'none', status }, ms / 1_000);
    log({
      method,
      route: request.routeOptions.url,
      operation,
      ms: Math.round(ms * 100) / 100,
      requestId,
      subject: authentication?.principal.subject,
      status,
      ...(span && { traceId: span.traceId, spanId: span.spanId }),
    });
  };
}
