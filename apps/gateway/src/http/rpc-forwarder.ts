import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import type { Logger } from '@plant-shop/platform/logging';
import { badField } from '@plant-shop/contracts/problem';
import { type RawAnswer, RpcClient } from '@plant-shop/platform/rpc/client';
import { Deadline, RpcContext } from '@plant-shop/platform/rpc/context';
import type { Operation } from '@plant-shop/platform/rpc/operation';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { RevocationLog } from '@plant-shop/credentials/revocation-log';
import { GATEWAY_OPTIONS, type GatewayOptions } from '../config.js';
import { ConcurrencyLimiter } from '../limits/concurrency-limiter.js';
import { etagOf, expectedVersion, idempotencyKeyOf, isNotModified } from './headers.js';
import { formBody, pathText } from './input.js';
import { jsonBody } from './json-body.js';
import { weightOf } from './route.js';

/** Members of a payload by name; the owning service validates them. */
export type Unvalidated<Payload> = Partial<Record<keyof Payload, unknown>>;

/** A page's query parameters, repeated in the link to the next page. */
export type PageQuery = Readonly<Record<string, string | number | boolean | readonly string[] | Readonly<Record<string, string>> | undefined>>;

const jsonType = 'application/json; charset=utf-8';

/** Forwards HTTP requests to the service that owns the operation, and its answers to the client. */
@Injectable()
export class RpcForwarder {
  constructor(
    private readonly rpc: RpcClient,
    private readonly revocations: RevocationLog,
    private readonly limiter: ConcurrencyLimiter,
    @Inject(GATEWAY_OPTIONS) private readonly options: GatewayOptions,
    @InjectLogger() private readonly logger: Logger,
  ) {}

  /** Sends the operation's answer byte for byte. The request body joins `parameters` as the route's `BodySpec` says. */
  async forward<Payload>(
    request: FastifyRequest,
    reply: FastifyReply,
    operation: Operation<Payload, unknown>,
    parameters: Unvalidated<Payload>,
  ): Promise<void> {
    const answer = await this.callRaw(request, operation, parameters, idempotencyKeyOf(request));
    if (request.routeSpec?.revokes) await this.applyOwnRevocations(request);
    sendAnswer(request, reply, answer);
  }

  /** Like `forward`, for a list: links to the next page. @param query this page's parameters, repeated in that link */
  async forwardPage<Payload>(
    request: FastifyRequest,
    reply: FastifyReply,
    operation: Operation<Payload, unknown>,
    parameters: Unvalidated<Payload>,
    query: PageQuery,
  ): Promise<void> {
    const answer = await this.callRaw(request, operation, parameters);
    if (answer.next !== undefined) this.addNextLink(request, reply, query, answer.next);
    sendAnswer(request, reply, answer);
  }

  addNextLink(request: FastifyRequest, reply: FastifyReply, query: PageQuery, cursor: string): void {
    reply.header('link', this.nextLink(request, query, cursor));
  }

  /** Returns a page for handlers that compose their own response, with the cursor of the next page if there is one. */
  async callPage<Payload, Entry>(
    request: FastifyRequest,
    operation: Operation<Payload, Entry[]>,
    parameters: Unvalidated<Payload>,
  ): Promise<{ readonly entries: readonly Entry[]; readonly next: string | undefined }> {
    const { payload, next } = await this.callRaw(request, operation, parameters);
    return { entries: parsed(payload) as Entry[], next };
  }

  /**
   * Calls a read whose answer several requests share: without a principal, with a full time budget from now on. Logs and
   * traces attribute it to the request `from`, if given.
   */
  readShared<Payload>(
    operation: Operation<Payload, unknown>,
    parameters: Unvalidated<Payload>,
    from?: FastifyRequest,
  ): Promise<RawAnswer> {
    const deadline = Deadline.in(this.options.requestBudgetMs);
    return this.rpc.callRaw(operation, parameters, new RpcContext(from?.id ?? randomUUID(), deadline, undefined, from?.span?.traceparent));
  }

  /**
   * Returns the parsed answer: for responses that are not the service's bytes. Sends no Idempotency-Key, since a handler may make
   * several calls; see `callIdempotent`.
   * @param weight of the call (`ConcurrencyLimiter`); undefined: the request's
   */
  async call<Payload, Answer>(
    request: FastifyRequest,
    operation: Operation<Payload, Answer>,
    parameters: Unvalidated<Payload>,
    weight?: number,
  ): Promise<Answer> {
    const { payload } = await this.callRaw(request, operation, parameters, undefined, weight);
    if (request.routeSpec?.revokes) await this.applyOwnRevocations(request);
    return parsed(payload) as Answer;
  }

  /** Like `call`, with the client's Idempotency-Key; for one of several calls. */
  async callIdempotent<Payload, Answer>(
    request: FastifyRequest,
    reply: FastifyReply,
    operation: Operation<Payload, Answer>,
    parameters: Unvalidated<Payload>,
  ): Promise<Answer> {
    const { payload, replayed } = await this.callRaw(request, operation, parameters, idempotencyKeyOf(request));
    if (replayed) reply.header('idempotency-replayed', 'true');
    return parsed(payload) as Answer;
  }

  private callRaw(
    request: FastifyRequest,
    operation: Operation<unknown, unknown>,
    parameters: object,
    idempotencyKey?: string,
    weight = weightOf(request),
  ): Promise<RawAnswer> {
    const ifVersion = request.routeSpec?.conditional ? expectedVersion(request.headers['if-match']) : undefined;
    const payload = payloadOf(request, ifVersion === undefined ? parameters : { ...parameters, ifVersion });
    // Its time runs while it waits for its turn: afterwards it is refused as late, and nothing has happened.
    const context = this.contextOf(request);
    return this.limiter.inTurn(request.slot, weight, () => this.rpc.callRaw(operation, payload, context, idempotencyKey));
  }

  /** Waits until this gateway has applied what the request revoked, so that the client's next request is refused. */
  private async applyOwnRevocations(request: FastifyRequest): Promise<void> {
    try {
      await this.revocations.catchUp();
    } catch (error) {
      // The operation took effect, so it is answered. Within a second the cached credentials expire here, as everywhere.
      this.logger.warn({ err: error, requestId: request.id }, 'revocation not applied yet');
    }
  }

  private contextOf(request: FastifyRequest): RpcContext {
    const budgetMs = this.options.requestBudgetMs * (request.routeSpec?.budgetFactor ?? 1) - request.credentialCheckMs;
    return new RpcContext(request.id, Deadline.in(budgetMs), request.authentication?.principal, request.span?.traceparent);
  }

  /** Returns the `Link` header that leads to the next page. */
  nextLink(request: FastifyRequest, query: PageQuery, cursor: string): string {
    const page: PageQuery = { ...query, cursor };
    const parameters = new URLSearchParams();
    for (const [name, value = []] of Object.entries(page)) {
      if (typeof value !== 'object') parameters.append(name, String(value));
      else if (Array.isArray(value)) for (const one of value as readonly string[]) parameters.append(name, one);
      else for (const [key, one] of Object.entries(value)) parameters.append(`${name}[${key}]`, one);
    }
    const path = (request.routeOptions.url ?? '').replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(pathText(request, name)));
    return `<${this.options.publicUrl}${path}?${parameters.toString()}>; rel="next"`;
  }
}

const textOf = (payload: Uint8Array): string => Buffer.from(payload.buffer, payload.byteOffset, payload.length).toString('utf8');

const parsed = (payload: Uint8Array): unknown => JSON.parse(textOf(payload));

/**
 * Returns `parameters`, with the request body as the route's `BodySpec` says: the fields of a form as members, or a JSON body as one
 * member, `{"orderId":7,"transfer":<the body's text>}`, which is checked, but not re-serialised. Other bodies do not join them.
 */
function payloadOf(request: FastifyRequest, parameters: object): unknown {
  const body = request.routeSpec?.body;
  if (body?.kind === 'form') {
    const fields = formBody(request, body.fields);
    const twice = Object.keys(fields).find((name) => name in parameters);
    if (twice !== undefined) throw badField(`/${twice}`, 'must be given once, in the form or in the query');
    return { ...fields, ...parameters };
  }
  if (body?.kind !== 'json') return parameters;
  const text = jsonBody(request, body.top);
  const head = JSON.stringify(parameters);
  return Buffer.from(`${head.slice(0, -1)}${head === '{}' ? '' : ','}"${body.member}":${text}}`);
}

function sendAnswer(request: FastifyRequest, reply: FastifyReply, { payload, version, replayed }: RawAnswer): void {
  if (replayed) reply.header('idempotency-replayed', 'true');
  sendJson(request, reply, payload, version === undefined ? undefined : etagOf(version, payload));
}

/** Up to this size an answer is sent as text: Node writes it together with the headers, which saves a tenth of an order's CPU in the gateway. */
const maxTextBytes = 16 * 1024;

/** Sends JSON with its ETag, or 304 if the client of a read has it. */
export function sendJson(request: FastifyRequest, reply: FastifyReply, payload: RawAnswer['payload'], etag: string | undefined): void {
  if (etag !== undefined) {
    reply.header('etag', etag);
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    if (isRead && isNotModified(request.headers['if-none-match'], etag)) {
      void reply.code(304).send();
      return;
    }
  }
  void reply.code(200).header('content-type', jsonType).send(payload.length <= maxTextBytes ? textOf(payload) : payload);
}

/** Sends the specification's ApiResponse. @param more members of our own */
export function sendApiResponse(reply: FastifyReply, message: string, more: object = {}): void {
  void reply.code(200).header('content-type', jsonType).send(JSON.stringify({ code: 200, type: 'SUCCESS', message, ...more }));
}
