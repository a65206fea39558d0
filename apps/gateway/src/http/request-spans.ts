import { type OpenSpan, type Tracing, tracing } from '@plant-shop/platform/telemetry/tracing';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

declare module 'fastify' {
  interface FastifyRequest {
    /** Absent while tracing is off. */
    span: OpenSpan | undefined;
  }
}

/**
 * One span per request, part of the client's trace when it names one. It has the route and never the URL, since queries
 * hold secrets; `tracestate` and `baggage` are not looked at.
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
    // Never of what is under way here: that would be the request before on the same connection.
    ...(typeof traceparent === 'string' ? { parent: traceparent } : { isRoot: true }),
    attributes: { 'http.request.method': method, ...(route !== undefined && { 'http.route': route }) },
  });
}

/** Also when the client left before the whole answer. */
function endRequest(span: OpenSpan, { raw }: FastifyReply): void {
  if (!raw.writableFinished) {
    span.end('aborted');
    return;
  }
  span.set({ 'http.response.status_code': raw.statusCode });
  span.end(raw.statusCode >= 500 ? String(raw.statusCode) : undefined);
}
