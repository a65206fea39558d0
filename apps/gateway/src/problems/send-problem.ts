import type { Logger } from '@plant-shop/platform/logging';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { securityHeaders } from '../http/security-headers.js';
import { problemOf, toCoded } from './problem.js';

/**
 * The path as it was sent: without its query, and without the origin that a request line may name, since both may hold
 * secrets (a password stands before the @).
 */
export function pathOf(url: string): string {
  const path = url.startsWith('/') ? url : url.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '');
  const end = path.search(/[?#]/);
  return end === -1 ? path : path.slice(0, end);
}

/** Answers a request with the problem that an error is; defects are logged. */
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
  // Too late for an answer: the client sees a cut-off body, which is what it is.
  if (reply.raw.headersSent) {
    reply.raw.destroy();
    return;
  }
  void reply
    .code(problem.status)
    // Some errors come before any hook, and some after a handler has set headers for what it did not send.
    .headers(securityHeaders(parts.publicUrl))
    .headers(problem.headers)
    .header('x-request-id', request.id)
    .header('content-type', 'application/problem+json; charset=utf-8')
    .send(problem.body);
}
