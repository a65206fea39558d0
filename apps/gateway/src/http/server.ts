import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { Logger } from '@plant-shop/platform/logging';
import { requestIdOf } from '@plant-shop/platform/request-id';
import type { ConnectionDrain } from '@plant-shop/platform/service/connection-drain';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Load } from '../limits/load.js';
import { answerConnectionError } from '../problems/connection-errors.js';
import { sendProblem } from '../problems/send-problem.js';
import { bodyReader } from './body.js';
import { UrlEncoded } from './url-encoded.js';

/**
 * JSON and form bodies. They travel to their service as they came, in one entry of a frame (900 KiB), with at most 4 KiB of
 * metadata and parameters: docs/decisions/size-of-bodies.md.
 */
export const maxBodyBytes = 896 * 1024;

/** Longer than the idle time of usual load balancers (60 s), so that they and not we close idle connections. */
const keepAliveTimeout = 72_000;
const headersTimeout = 15_000;

/** Fastify with everything that would answer, log or parse by itself replaced by ours. */
export function createAdapter(parts: {
  readonly publicUrl: string;
  readonly trustedProxies: readonly string[];
  /** For a whole request with its body. Node has no limit but what it is given. */
  readonly requestTimeoutMs: number;
  readonly load: Load;
  readonly logger: Logger;
  readonly drain: ConnectionDrain;
}): FastifyAdapter {
  const { requestTimeoutMs } = parts;
  const adapter = new FastifyAdapter({
    logger: false,
    genReqId: requestIdOf,
    requestIdHeader: false,
    ...(parts.trustedProxies.length > 0 && { trustProxy: [...parts.trustedProxies] }),
    keepAliveTimeout,
    requestTimeout: requestTimeoutMs,
    // Node would answer a missing Host by itself, without a body.
    http: {
      ServerResponse: parts.drain.ServerResponse,
      headersTimeout: Math.min(headersTimeout, requestTimeoutMs),
      connectionsCheckingInterval: Math.min(5_000, requestTimeoutMs),
      requireHostHeader: false,
    },
    // Requests that are on their way when the server closes are still served.
    return503OnClosing: false,
    routerOptions: {
      maxParamLength: 2_048,
      // Whatever it makes is what handlers get; only the types want a plain object.
      querystringParser: ((text: string) => (text === '' ? UrlEncoded.empty : UrlEncoded.parse(text))) as never,
    },
    clientErrorHandler: answerConnectionError(parts.publicUrl),
    frameworkErrors: (error: Error, request: FastifyRequest, reply: FastifyReply) => sendProblem(error, request, reply, parts),
    // Nest's middleware layer and its multipart plug-in would cost every request their hooks.
    skipMiddie: true,
    multipart: false,
  });
  const instance = adapter.getInstance();
  // Node would answer an expectation that it does not know by itself; RFC 9110, 10.1.1 lets us overlook it.
  instance.server.on('checkExpectation', (request, response) => instance.server.emit('request', request, response));
  instance.removeAllContentTypeParsers();
  const read = bodyReader(parts.load, maxBodyBytes);
  for (const type of ['application/json', 'application/x-www-form-urlencoded']) instance.addContentTypeParser(type, read);
  // Other types get this far only on routes that read no body, or that read it as a stream.
  instance.addContentTypeParser('*', (_request, _payload, done) => done(null));
  return adapter;
}
