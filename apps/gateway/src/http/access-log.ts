import { isPlainText, type Logger, serialisedLines } from '@plant-shop/platform/logging';
import type { Principal } from '@plant-shop/platform/rpc/context';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Histogram, type Registry } from 'prom-client';

/** The fields of a request's line, in their order. */
export interface AccessLine {
  readonly method: string;
  /** Absent, like `operation`, if no route was found. */
  readonly route: string | undefined;
  readonly operation: string | undefined;
  readonly ms: number;
  readonly requestId: string;
  readonly subject: string | undefined;
  /** The subject's credentials, as `<kind>:<id>`. */
  readonly by: string | undefined;
  readonly status: number | 'aborted';
  /** While tracing is on. */
  readonly traceId?: string;
  readonly spanId?: string;
}

/**
 * Returns a function that logs a request. Lines of plain texts only are composed here, at a tenth of the cost of the logger, which has to
 * look for secrets in every field. The logger writes all others, and all while tracing is on.
 */
export function accessLines(logger: Logger): (line: AccessLine) => void {
  const write = serialisedLines(logger, 'request');
  if (!write) return (line) => logger.info(line, 'request');
  const plain = new KnownTexts();
  return (line) => {
    const { method, route, operation, ms, requestId, subject, by, status, traceId } = line;
    const isPlain =
      traceId === undefined &&
      plain.has(method) &&
      (route === undefined || plain.has(route)) &&
      (operation === undefined || plain.has(operation)) &&
      isPlainText(requestId) &&
      (subject === undefined || isPlainText(subject)) &&
      (by === undefined || isPlainText(by));
    if (!isPlain) {
      logger.info(line, 'request');
      return;
    }
    const where = `"method":"${method}"${member('route', route)}${member('operation', operation)}`;
    const code = status === 'aborted' ? '"aborted"' : status;
    write(`${where},"ms":${ms},"requestId":"${requestId}"${member('subject', subject)}${member('by', by)},"status":${code}`);
  };
}

const member = (name: string, text: string | undefined): string => (text === undefined ? '' : `,"${name}":"${text}"`);

/** Remembers which of the methods, routes and operations are plain. They are few: a request cannot add any. */
class KnownTexts {
  private readonly plain = new Set<string>();

  has(text: string): boolean {
    if (this.plain.has(text)) return true;
    if (!isPlainText(text)) return false;
    this.plain.add(text);
    return true;
  }
}

/** @param ms from routing the request to its end */
export type AtEnd = (request: FastifyRequest, reply: FastifyReply, ms: number) => void;

/**
 * Calls each function once per request, when its response is complete or its client has disconnected; `reply.raw.writableFinished` tells
 * which. Call before other hooks are added, since the time runs from here.
 *
 * One listener for all of them, and no `onResponse` hook: for one such hook, Fastify adds two listeners of its own to every response.
 */
export function atRequestEnd(instance: FastifyInstance, ...all: readonly AtEnd[]): void {
  instance.addHook('onRequest', (request, reply, done) => {
    const startedAt = performance.now();
    reply.raw.on('close', () => {
      const ms = performance.now() - startedAt;
      for (const atEnd of all) atEnd(request, reply, ms);
    });
    done();
  });
}

/** Returns what finds and revokes the credentials of a request: `apiKey:<id>`. */
const credentialsIn = ({ shown, shownIds = [] }: Principal): string =>
  shown.length === 1 ? `${shown[0]}:${shownIds[0]}` : shown.map((kind, n) => `${kind}:${shownIds[n]}`).join(' ');

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
      by: authentication && credentialsIn(authentication.principal),
      status,
      ...(span && { traceId: span.traceId, spanId: span.spanId }),
    });
  };
}
