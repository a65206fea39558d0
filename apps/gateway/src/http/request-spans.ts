import { type OpenSpan, type Tracing, tracing } from '@plant-shop/platform/telemetry/tracing';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

declare module 'fastify' {
  interface FastifyRequest {
    /** Absent if tracing is off. */
    span: OpenSpan | undefined;
  }
}

/**
 * Opens a span per request, in the client's trace if `traceparent` names one. Records the route and never the URL, since
 * queries may contain secrets. Ignores `tracestate` and `baggage`.
 */
export function traceRequests(instance: FastifyInstance): void {
  instance.decorateRequest('span', undefined);
  const on = tracing;
  if (!on) return;
  instance.addHook('onRequest', (request, reply, done) => {
    const span = beginRequest(on, request);
    request.span = span;
    reply.raw.once('close', () => endRequest(span, reply));
    span.run(done);
  });
}

function beginRequest(on: Tracing, { method, routeOptions, headers }: FastifyRequest): OpenSpan {
  const { traceparent } = headers;
  const { url: route } = routeOptions;
  return on.begin({
    name: route === undefined ? method : `${method} ${route}`,
    kind: 'server',
    // The active span here may be that of the previous request on the same connection, so it is never the parent.
    ...(typeof traceparent === 'string' ? { parent: traceparent } : { isRoot: true }),
    attributes: { 'http.request.method': method, ...(route !== undefined && { 'http.route': route }) },
  });
}

/** Ends the span, as `aborted` if the client disconnected before the whole response. */
function endRequest(span: OpenSpan, { raw }: FastifyReply): void {
  if (!raw.writableFinished) {
    span.end('aborted');
    return;
  }
  span.set({ 'http.response.status_code': raw.statusCode });
  span.end(raw.statusCode >= 500 ? String(raw.statusCode) : undefined);
}
