import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import type { Logger } from '@plant-shop/platform/logging';
import { type RawAnswer, RpcClient } from '@plant-shop/platform/rpc/client';
import { RpcContext } from '@plant-shop/platform/rpc/context';
import { Deadline } from '@plant-shop/platform/rpc/deadline';
import type { Operation } from '@plant-shop/platform/rpc/operation';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { RevocationLog } from '@plant-shop/credentials/revocation-log';
import { GATEWAY_OPTIONS, type GatewayOptions } from '../options.js';
import { etagOf, expectedVersion, isKnown } from './conditions.js';
import type { KeptRead } from '../reads/kept-reads.js';
import { idempotencyKeyOf } from './idempotency.js';
import { formBody, jsonBody, pathText } from './input.js';

/** Members of a payload by name, not yet validated: that is the owner's. */
export type Unvalidated<Payload> = Partial<Record<keyof Payload, unknown>>;

/** A page's own parameters, as they are linked. */
export type PageQuery = Readonly<Record<string, string | number | undefined>>;

const jsonType = 'application/json; charset=utf-8';

/** The way from an HTTP request to the service that owns the operation, and back. */
@Injectable()
export class Services {
  constructor(
    private readonly rpc: RpcClient,
    private readonly revocations: RevocationLog,
    @Inject(GATEWAY_OPTIONS) private readonly options: GatewayOptions,
    @InjectLogger() private readonly logger: Logger,
  ) {}

  /** Answers with what the operation answers, as the bytes that came; the body joins the parameters as its rule says. */
  async pass<Payload>(
    request: FastifyRequest,
    reply: FastifyReply,
    operation: Operation<Payload, unknown>,
    parameters: Unvalidated<Payload>,
  ): Promise<void> {
    const answer = await this.ask(request, operation, parameters, idempotencyKeyOf(request));
    await this.settle(request);
    sendAnswer(request, reply, answer);
  }

  /** Like `pass`, for a list: the next page is linked. `query` names the page's own parameters. */
  async passPage<Payload>(
    request: FastifyRequest,
    reply: FastifyReply,
    operation: Operation<Payload, unknown>,
    parameters: Unvalidated<Payload>,
    query: PageQuery,
  ): Promise<void> {
    const answer = await this.ask(request, operation, parameters);
    if (answer.next !== undefined) this.linkNext(request, reply, query, answer.next);
    sendAnswer(request, reply, answer);
  }

  linkNext(request: FastifyRequest, reply: FastifyReply, query: PageQuery, cursor: string): void {
    reply.header('link', this.linkTo(request, query, cursor));
  }

  /** A page for handlers that make their own of it, with its cursor if there is another one. */
  async callPage<Payload, Entry>(
    request: FastifyRequest,
    operation: Operation<Payload, Entry[]>,
    parameters: Unvalidated<Payload>,
  ): Promise<{ readonly entries: readonly Entry[]; readonly next: string | undefined }> {
    const { payload, next } = await this.ask(request, operation, parameters);
    return { entries: parsed(payload) as Entry[], next };
  }

  /**
   * What the operation answers, on nobody's behalf and for several requests, whose budget it has from now on. Logs and traces
   * show it as that of the request `from`, where there is one.
   */
  read<Payload>(
    operation: Operation<Payload, unknown>,
    parameters: Unvalidated<Payload>,
    from?: FastifyRequest,
  ): Promise<RawAnswer> {
    const deadline = Deadline.in(this.options.requestBudgetMs);
    return this.rpc.callRaw(operation, parameters, new RpcContext(from?.id ?? randomUUID(), deadline, undefined, from?.span?.traceparent));
  }

  /**
   * What the operation answers, for handlers that make their own answer of it. They may make several calls, of which an
   * Idempotency-Key would name only one: see `callOnce`.
   */
  async call<Payload, Answer>(
    request: FastifyRequest,
    operation: Operation<Payload, Answer>,
    parameters: Unvalidated<Payload>,
  ): Promise<Answer> {
    const { payload } = await this.ask(request, operation, parameters);
    await this.settle(request);
    return parsed(payload) as Answer;
  }

  /** Like `call`, for the one call of several that the client's Idempotency-Key stands for. */
  async callOnce<Payload, Answer>(
    request: FastifyRequest,
    reply: FastifyReply,
    operation: Operation<Payload, Answer>,
    parameters: Unvalidated<Payload>,
  ): Promise<Answer> {
    const { payload, replayed } = await this.ask(request, operation, parameters, idempotencyKeyOf(request));
    if (replayed) reply.header('idempotency-replayed', 'true');
    return parsed(payload) as Answer;
  }

  private async ask(
    request: FastifyRequest,
    operation: Operation<unknown, unknown>,
    parameters: object,
    idempotencyKey?: string,
  ): Promise<RawAnswer> {
    const ifVersion = request.rule?.conditional ? expectedVersion(request.headers['if-match']) : undefined;
    const payload = payloadOf(request, ifVersion === undefined ? parameters : { ...parameters, ifVersion });
    return this.rpc.callRaw(operation, payload, this.contextOf(request), idempotencyKey);
  }

  /** What was revoked by this request must be refused in the next one. */
  private async settle(request: FastifyRequest): Promise<void> {
    if (!request.rule?.revokes) return;
    try {
      await this.revocations.catchUp();
    } catch (error) {
      // It took effect, so it is answered. Within a second kept answers stop counting here, as everywhere.
      this.logger.warn({ err: error, requestId: request.id }, 'revocation not seen yet');
    }
  }

  private contextOf(request: FastifyRequest): RpcContext {
    const budgetMs = this.options.requestBudgetMs * (request.rule?.patience ?? 1);
    return new RpcContext(request.id, Deadline.in(budgetMs), request.caller?.principal, request.span?.traceparent);
  }

  /** The `Link` header of a page that goes on. */
  linkTo(request: FastifyRequest, query: PageQuery, cursor: string): string {
    const page: PageQuery = { ...query, cursor };
    const parameters = new URLSearchParams();
    for (const [name, value] of Object.entries(page)) if (value !== undefined) parameters.set(name, String(value));
    const path = (request.routeOptions.url ?? '').replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(pathText(request, name)));
    return `<${this.options.publicUrl}${path}?${parameters.toString()}>; rel="next"`;
  }
}

const parsed = (payload: Uint8Array): unknown =>
  JSON.parse(Buffer.from(payload.buffer, payload.byteOffset, payload.length).toString('utf8'));

/** `{"plantId":7,"order":<the body's bytes>}`: what the gateway need not look into is neither parsed nor written anew. */
function payloadOf(request: FastifyRequest, parameters: object): unknown {
  const body = request.rule?.body;
  if (body?.kind === 'form') return { ...formBody(request, body.fields), ...parameters };
  if (body?.kind !== 'json') return parameters;
  const bytes = jsonBody(request, body.top);
  const head = JSON.stringify(parameters);
  return Buffer.concat([
    Buffer.from(`${head.slice(0, -1)}${head === '{}' ? '' : ','}"${body.member}":`),
    bytes,
    closingBrace,
  ]);
}
const closingBrace = Buffer.from('}');

function sendAnswer(request: FastifyRequest, reply: FastifyReply, { payload, version, replayed }: RawAnswer): void {
  if (replayed) reply.header('idempotency-replayed', 'true');
  if (version !== undefined) {
    const etag = etagOf(version);
    reply.header('etag', etag);
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    if (isRead && isKnown(request.headers['if-none-match'], etag)) {
      void reply.code(304).send();
      return;
    }
  }
  void reply.code(200).header('content-type', jsonType).send(payload);
}

/** What may be kept and is ready to be sent. */
export function sendRead(request: FastifyRequest, reply: FastifyReply, { payload, etag, link }: KeptRead): void {
  if (link !== undefined) reply.header('link', link);
  if (etag !== undefined) {
    reply.header('etag', etag);
    if (isKnown(request.headers['if-none-match'], etag)) {
      void reply.code(304).send();
      return;
    }
  }
  void reply.code(200).header('content-type', jsonType).send(payload);
}

/** The specification's ApiResponse. */
export function sendApiResponse(reply: FastifyReply, message: string): void {
  void reply.code(200).header('content-type', jsonType).send(JSON.stringify({ code: 200, type: 'SUCCESS', message }));
}
