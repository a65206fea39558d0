import { FastifyAdapter } from '@nestjs/platform-fastify';
import { answerConnectionError, HttpError } from '@plant-shop/contracts/problem';
import { expectationsAsRequests, requestFaultOf } from '@plant-shop/contracts/request-checks';
import { corsHeaders } from '@plant-shop/platform/http/cors';
import { UrlEncoded } from '@plant-shop/platform/http/url-encoded';
import type { Logger } from '@plant-shop/platform/logging';
import { requestIdOf } from '@plant-shop/platform/http/request';
import type { ConnectionDrain } from '@plant-shop/platform/service/connection-drain';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ConcurrencyLimiter } from '../limits/concurrency-limiter.js';
import { sendProblem } from './problem.js';
import { gatewayHeaders, type HeaderOptions, mergePatchType } from './headers.js';

type Done = (error: Error | null, body?: Buffer) => void;

/** Reads a body into memory as raw bytes, which handlers check and forward. */
const bodyReader =
  (limiter: ConcurrencyLimiter, maxBytesOf: (request: FastifyRequest) => number) =>
  (request: FastifyRequest, payload: NodeJS.ReadableStream, done: Done): void => {
    const maxBytes = maxBytesOf(request);
    const announced = Number(request.headers['content-length'] ?? 0);
    try {
      if (announced > maxBytes) throw tooLarge(maxBytes);
      if (request.slot) limiter.checkRoom(request.slot, announced);
    } catch (error) {
      done(error as Error);
      return;
    }
    const chunks: Buffer[] = [];
    let received = 0;
    let hasEnded = false;
    // Removing the listeners instead would cost more than they do.
    const end = (error: Error | null, body?: Buffer): void => {
      if (hasEnded) return;
      hasEnded = true;
      done(error, body);
    };
    const receive = (chunk: Buffer): void => {
      if (hasEnded) return;
      received += chunk.length;
      if (received > maxBytes) {
        end(tooLarge(maxBytes));
        return;
      }
      try {
        if (request.slot) limiter.reserve(request.slot, chunk.length);
      } catch (error) {
        end(error as Error);
        return;
      }
      chunks.push(chunk);
    };
    const finish = (): void => end(null, chunks.length === 1 ? chunks[0] : Buffer.concat(chunks, received));
    const fail = (): void => end(new HttpError('malformed-request', 'The body was cut off.'));
    payload.on('data', receive).on('end', finish).on('error', fail);
  };

/** Closes the connection, so that the rest of the body need not be read. */
const tooLarge = (maxBytes: number): HttpError =>
  new HttpError('payload-too-large', `Send a body of at most ${maxBytes / 1024} KiB.`, {}, { connection: 'close' });

/**
 * Nest's adapter without the seven hooks that its constructor adds to every request, a tenth of the cost of an order. They serve features
 * of Nest that the gateway does not use; the methods that switch those on throw.
 */
export class LeanAdapter extends FastifyAdapter {
  /** Nest's constructor calls this before it adds its hooks. */
  override setInstance(instance: unknown): void {
    super.setInstance(Object.create(instance as object, { addHook: { value: () => instance } }));
  }

  /** Call once, after construction. */
  permitHooks(): void {
    super.setInstance(Object.getPrototypeOf(this.instance));
  }

  override setOnRequestHook(): void {
    throw leftOut();
  }
  override setOnResponseHook(): void {
    throw leftOut();
  }
  override enableCors(): void {
    throw leftOut();
  }
  /** Security headers and CSRF protection. */
  override registerSecurityHook(): void {
    throw leftOut();
  }
}

const leftOut = (): Error => new Error("the hook of this feature is left out: add it to Fastify's instance");

/**
 * The limit of JSON lists. Bodies are forwarded unchanged in one entry of an RPC batch (900 KiB), with at most 4 KiB of metadata
 * and parameters: docs/decisions/validation.md.
 */
export const maxListBytes = 896 * 1024;
/** The limit of JSON objects: more than the largest plant, every character escaped. Each byte costs gateway, broker and service. */
export const maxObjectBytes = 384 * 1024;
const maxJsonBytes = ({ routeSpec }: FastifyRequest): number => (routeSpec?.body?.kind === 'json' && routeSpec.body.top === 'array' ? maxListBytes : maxObjectBytes);
/** The limit of forms, whose longest field is a name. */
const maxFormBytes = 64 * 1024;

/** In milliseconds; longer than the idle timeout of common load balancers (60 s), so that they close idle connections first. */
const keepAliveTimeout = 72_000;
const headersTimeout = 15_000;

/** Creates Fastify with its own error responses, logging and parsing replaced by the gateway's. */
export function createAdapter(parts: HeaderOptions & {
  readonly corsOrigins: readonly string[];
  readonly trustedProxies: readonly string[];
  /** Time to receive a whole request with its body. */
  readonly requestTimeoutMs: number;
  readonly limiter: ConcurrencyLimiter;
  readonly logger: Logger;
  readonly drain: ConnectionDrain;
}): FastifyAdapter {
  const { requestTimeoutMs } = parts;
  const adapter = new LeanAdapter({
    logger: false,
    genReqId: requestIdOf,
    requestIdHeader: false,
    ...(parts.trustedProxies.length > 0 && { trustProxy: [...parts.trustedProxies] }),
    keepAliveTimeout,
    requestTimeout: requestTimeoutMs,
    http: {
      ServerResponse: parts.drain.ServerResponse,
      headersTimeout: Math.min(headersTimeout, requestTimeoutMs),
      connectionsCheckingInterval: Math.min(5_000, requestTimeoutMs),
      // `secureAnswers` checks it.
      requireHostHeader: false,
    },
    // Requests already on their way when the server closes are still served.
    return503OnClosing: false,
    routerOptions: {
      maxParamLength: 2_048,
      // Handlers receive the UrlEncoded; only the type declaration demands a plain object.
      querystringParser: ((text: string) => (text === '' ? UrlEncoded.empty : UrlEncoded.parse(text))) as never,
    },
    clientErrorHandler: answerConnectionError({ publicUrl: parts.publicUrl, headers: gatewayHeaders(parts) }, parts.corsOrigins),
    // Of requests that reach no hook, such as those with a path that cannot be decoded.
    frameworkErrors: (error: Error, request: FastifyRequest, reply: FastifyReply) => {
      reply.headers(corsHeaders(request.headers.origin, parts.corsOrigins));
      sendProblem(requestFaultOf(request.raw) ?? error, request, reply, parts);
    },
    // Nest's middleware layer and multipart plug-in would add their hooks to every request.
    skipMiddie: true,
    multipart: false,
  });
  adapter.permitHooks();
  const instance = adapter.getInstance();
  expectationsAsRequests(instance.server);
  instance.removeAllContentTypeParsers();
  instance.addContentTypeParser(['application/json', mergePatchType], bodyReader(parts.limiter, maxJsonBytes));
  instance.addContentTypeParser('application/x-www-form-urlencoded', bodyReader(parts.limiter, () => maxFormBytes));
  // Other types get here only on routes that read no body, or read it as a stream.
  instance.addContentTypeParser('*', (_request, _payload, done) => done(null));
  return adapter;
}
