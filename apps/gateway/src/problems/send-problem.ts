import type { Logger } from '@plant-shop/platform/logging';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { securityHeaders } from '../http/security-headers.js';
import { problemOf, toCoded } from './problem.js';

/**
 * Returns the path of a request line's URL, without query and origin: both may contain secrets (a password before the @).
 */
export function pathOf(url: string): string {
  const path = url.startsWith('/') ? url : url.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '');
  const end = path.search(/[?#]/);
  return end === -1 ? path : path.slice(0, end);
}

/** Answers a request with the problem document of an error; logs defects. */
export function sendProblem(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  parts: { readonly publicUrl: string; readonly logger: Logger },
): void {
  const problem = problemOf(error, {
    publicUrl: parts.publicUrl,
    requestId: request.id,
    instance: pathOf(request.raw.url ?? ''),
    body: request.routeSpec?.body,
  });
  if (problem.status === 500) {
    const err = error instanceof Error ? error : toCoded(error);
    parts.logger.error({ err, requestId: request.id, operation: request.routeSpec?.operation }, 'defect');
  }
  // The response has begun, so the connection is closed: the client must see that the body is incomplete.
  if (reply.raw.headersSent) {
    reply.raw.destroy();
    return;
  }
  void reply
    .code(problem.status)
    // Set again: some errors occur before any hook, and a handler may have set headers for the response that it did not send.
    .headers(securityHeaders(parts.publicUrl))
    .headers(problem.headers)
    .header('x-request-id', request.id)
    .header('content-type', 'application/problem+json; charset=utf-8')
    .send(problem.body);
}
