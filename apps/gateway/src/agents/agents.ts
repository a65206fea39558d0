import { setImmediate as nextTurn } from 'node:timers/promises';
import type { McpHttpHandler } from '@modelcontextprotocol/server';
import { Controller, Get, Inject, Post, Req, Res } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { agentTools } from '@plant-shop/contracts/agent-tools';
import type { TokenResource } from '@plant-shop/contracts/permissions';
import { HttpError } from '@plant-shop/contracts/problem';
import { isAllowedOrigin } from '@plant-shop/platform/http/cors';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import inject, { type Response as OwnAnswer } from 'light-my-request';
import { GATEWAY_OPTIONS, type GatewayOptions } from '../config.js';
import { jsonBody } from '../http/json-body.js';
import { RequestAuthenticator } from '../http/request-authenticator.js';
import { Undocumented } from '../http/route.js';
import { ConcurrencyLimiter } from '../limits/concurrency-limiter.js';
import type { Caller } from './mcp-server.js';
import type { OwnRequest } from './tools.js';

const path = '/mcp' satisfies TokenResource;

/** What a message costs beside its calls, in requests: the gateway's CPU is 1 to 3 ms, most of it the library's. */
const messageWeight = 8;
/** Of an answer, for each further request. */
const bytesPerRequest = 4 * 1024;

/** Headers that the library reads. */
const isForMcp = /^(accept|content-type|mcp-.*)$/;

const credentialHeaders = ['authorization', 'api_key', 'session_token'];

/**
 * Serves MCP without sessions, so that any replica answers any message. A tool's call becomes requests to routes of this gateway, inside the
 * process and with the caller's credential: permissions, limits, idempotency and audit are those of the API because it is the API.
 */
@Controller()
export class AgentsController {
  private handler: Promise<McpHttpHandler> | undefined;

  constructor(
    private readonly authenticator: RequestAuthenticator,
    private readonly limiter: ConcurrencyLimiter,
    private readonly adapter: HttpAdapterHost,
    @Inject(GATEWAY_OPTIONS) private readonly options: GatewayOptions,
  ) {}

  @Post('mcp')
  @Undocumented({ body: { kind: 'json', member: 'message', top: 'object' }, weight: messageWeight, resource: path })
  async callMcp(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { authentication } = request;
    if (!authentication) throw new Error('the route requires a credential');
    this.checkOrigin(request.headers.origin);
    const message = JSON.parse(jsonBody(request, 'object')) as Readonly<Record<string, unknown>>;
    const send: Caller['send'] = (own) => this.send(request, own);
    const { fetch } = await (this.handler ??= this.createHandler());
    const headers = Object.entries(request.headers).flatMap(([name, value]): [string, string][] => (typeof value === 'string' && isForMcp.test(name) ? [[name, value]] : []));
    // In turn, since most of its cost is here, and one in each turn of the event loop: a list of tools waits for nothing.
    const { answer, text } = await this.limiter.inTurn(request.slot, messageWeight, async () => {
      if (request.slot) request.slot.hasTurn = true;
      await nextTurn();
      const answered = await fetch(new Request(this.options.publicUrl + path, { method: 'POST', headers }), {
        parsedBody: message,
        authInfo: { token: '', clientId: '', scopes: [], extra: { caller: { principal: authentication.principal, send } satisfies Caller } },
      });
      return { answer: answered, text: await answered.text() };
    });
    this.authenticator.charge(request, Math.floor(text.length / bytesPerRequest));
    const type = answer.headers.get('content-type');
    if (type !== null) reply.header('content-type', type);
    void reply.code(answer.status).send(text);
  }

  /** RFC 9728. It names no scopes, so clients ask for all that they were registered for. */
  @Get('.well-known/oauth-protected-resource/mcp')
  @Undocumented()
  describeMcp(@Res() reply: FastifyReply): void {
    const { publicUrl } = this.options;
    const metadata = {
      resource: publicUrl + path,
      authorization_servers: [publicUrl],
      bearer_methods_supported: ['header'],
      resource_name: 'Plant shop',
      resource_documentation: `${publicUrl}/llms.txt`,
    };
    void reply.header('content-type', 'application/json; charset=utf-8').send(JSON.stringify(metadata));
  }

  @Get('llms.txt')
  @Undocumented()
  getLlmsText(@Res() reply: FastifyReply): void {
    void reply.header('content-type', 'text/plain; charset=utf-8').send(llmsText(this.options.publicUrl));
  }

  private async createHandler(): Promise<McpHttpHandler> {
    const { createHandler } = await import('./mcp-server.js');
    return createHandler(this.options.publicUrl);
  }

  /** As MCP asks of servers, so that a page in a browser cannot reach a shop of this machine. @throws HttpError `forbidden` */
  private checkOrigin(origin: string | undefined): void {
    const { publicUrl, corsOrigins } = this.options;
    if (origin === undefined || origin === new URL(publicUrl).origin || isAllowedOrigin(origin, corsOrigins)) return;
    throw new HttpError('forbidden', 'Pages of this origin may not call the tools.');
  }

  /** Sends a request to a route of this process as the caller of another. */
  private send({ ip, id, span, slot, headers: given }: FastifyRequest, { method, url, headers, payload }: OwnRequest): Promise<OwnAnswer> {
    const instance = this.adapter.httpAdapter.getInstance<FastifyInstance>();
    const credentials = Object.fromEntries(credentialHeaders.flatMap((name) => (name in given ? [[name, given[name]]] : [])));
    return inject(
      (raw, response) => {
        raw.agentSlot = slot;
        instance.routing(raw, response);
      },
      {
        method,
        url,
        remoteAddress: ip,
        headers: { host: given.host, 'x-request-id': id, ...(span && { traceparent: span.traceparent }), ...credentials, ...headers },
        ...(payload !== undefined && { payload }),
      },
    );
  }
}

/** Returns what language models should know of the shop (llmstxt.org). */
const llmsText = (publicUrl: string): string => `# Plant shop

> The back end of an online plant shop: plants, orders, stock, users, and events for every order.

- Prices and payment are not part of it. An order reserves units at once, and is cancelled unless it is paid in time.
- Errors are problem documents (RFC 9457); \`code\` says what happened. Repeat changes with the same Idempotency-Key.

## Documents

- [API](${publicUrl}/v3/openapi.json): OpenAPI 3.1; [for people](${publicUrl}/docs)
- [Errors](${publicUrl}/problems): each code, and what to do

## Tools

Agents call them by MCP (Streamable HTTP) at ${publicUrl}/mcp, with an API key or an OAuth 2.0 access token for that resource.

${agentTools.map(({ name, title, changes }) => `- \`${name}\`: ${title}${changes ? ' (a change)' : ''}`).join('\n')}
`;
