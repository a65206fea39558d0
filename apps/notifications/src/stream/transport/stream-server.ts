import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Inject, Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { answerConnectionError, missingHostOf } from '@plant-shop/contracts/problem';
import { isAllowedOrigin, pathOf, preflightMaxAge, requestIdOf } from '@plant-shop/platform/http/request';
import { transportSecurity } from '@plant-shop/platform/http/security-headers';
import { ConnectionDrain } from '@plant-shop/platform/service/connection-drain';
import { makeDocument } from '../../asyncapi/document.js';
import { NOTIFICATIONS_OPTIONS, type NotificationsOptions } from '../../options.js';
import { asyncApiPath, checkRoute, isServed, readRequest } from '../request.js';
import { Admission } from '../subscribers/admission.js';
import { Connections } from '../subscribers/connections.js';
import { beginEventStream, wantsEventStream } from './event-stream.js';
import { Pages } from './pages.js';
import { ProblemResponder, streamHeaders } from './problem-responder.js';

/** Response headers that pages of allowed origins may read. */
const exposed = 'Retry-After, X-Request-Id, WWW-Authenticate';
const allowed = 'api_key, authorization, session_token, last-event-id, x-request-id';

/** Returns the headers that let pages of allowed origins read a response. No cookies are used: a page must send a key. */
function corsHeaders({ headers }: IncomingMessage, origins: readonly string[]): Record<string, string> {
  const { origin } = headers;
  if (origins.length === 0) return {};
  const isAllowed = origin !== undefined && isAllowedOrigin(origin, origins);
  return { vary: 'Origin', ...(isAllowed && { 'access-control-allow-origin': origin, 'access-control-expose-headers': exposed }) };
}

const isPreflight = ({ method, headers }: IncomingMessage): boolean =>
  method === 'OPTIONS' && headers.origin !== undefined && headers['access-control-request-method'] !== undefined;

const preflightHeaders: Readonly<Record<string, string>> = {
  'access-control-allow-methods': 'GET',
  'access-control-allow-headers': allowed,
  'access-control-max-age': String(preflightMaxAge),
};

/** Limits of receiving a request. They do not limit a stream, whose request has ended. */
const limits = { headersTimeout: 5_000, requestTimeout: 10_000, connectionsCheckingInterval: 2_000, maxHeaderSize: 16_384 };

/** How long a drain waits for the last connections to close. */
const drainLimitMs = 1_300;

/** Serves the stream's port: SSE, pages and the AsyncAPI document. `StreamAdapter` handles its upgrades. */
@Injectable()
export class StreamServer implements OnModuleInit, OnApplicationShutdown {
  readonly server: Server;
  private readonly headers: Readonly<Record<string, string>>;
  private readonly drainer = new ConnectionDrain();
  private readonly document: string;
  private drained: Promise<void> | undefined;

  constructor(
    private readonly connections: Connections,
    private readonly admission: Admission,
    private readonly pages: Pages,
    private readonly problems: ProblemResponder,
    @Inject(NOTIFICATIONS_OPTIONS) private readonly options: NotificationsOptions,
  ) {
    this.headers = streamHeaders(options);
    this.document = JSON.stringify(makeDocument(options.stream.publicUrl));
    const settings = { ...limits, requireHostHeader: false, ServerResponse: this.drainer.ServerResponse, shouldUpgradeCallback: isWebSocket };
    this.server = createServer(settings, (request, response) => {
      const requestId = requestIdOf(request);
      this.answer(request, response, requestId).catch((error: unknown) => {
        this.problems.refuse(error, request, response, requestId);
      });
    });
    this.server.on('clientError', answerConnectionError(problems.origin));
  }

  /** Rejects if the port is in use, which ends the start of the service. */
  async onModuleInit(): Promise<void> {
    const { stream } = this.options;
    this.server.listen(stream.port, stream.host);
    await once(this.server, 'listening');
  }

  /** Tells clients to reconnect elsewhere, answers requests in progress, and waits for connections to close. */
  drain(): Promise<void> {
    return (this.drained ??= this.drainOnce());
  }

  async onApplicationShutdown(): Promise<void> {
    const closed = once(this.server, 'close');
    this.server.close();
    this.server.closeAllConnections();
    await closed;
  }

  get port(): number {
    return (this.server.address() as AddressInfo | null)?.port ?? 0;
  }

  private async answer(request: IncomingMessage, response: ServerResponse, requestId: string): Promise<void> {
    const missingHost = missingHostOf(request);
    if (missingHost) throw missingHost;
    const cors = corsHeaders(request, this.options.stream.corsOrigins);
    for (const [name, value] of Object.entries(cors)) response.setHeader(name, value);
    if (isPreflight(request) && cors['access-control-allow-origin'] !== undefined && isServed(pathOf(request.url ?? '/'))) {
      response.writeHead(204, { ...transportSecurity(this.options.stream.publicUrl), ...preflightHeaders }).end();
      return;
    }
    const path = checkRoute(request);
    const headers = { ...this.headers, 'x-request-id': requestId };
    if (path === asyncApiPath) {
      response.writeHead(200, { ...headers, 'content-type': 'application/json; charset=utf-8' }).end(this.document);
      return;
    }
    const asked = readRequest(request);
    if (wantsEventStream(request)) {
      await this.admission.admit(asked, requestId, (connection, start) => {
        beginEventStream(response, headers, { connections: this.connections, connection, start });
      });
      return;
    }
    const gone = new AbortController();
    response.on('close', () => gone.abort());
    const page = await this.pages.read(asked, requestId, gone.signal);
    response.writeHead(200, { ...headers, 'content-type': 'application/json; charset=utf-8' }).end(page);
  }

  private async drainOnce(): Promise<void> {
    await this.connections.drain(this.drainer.announce(this.server));
    await this.drainer.finish(this.server, drainLimitMs);
  }
}

const isWebSocket = ({ headers }: IncomingMessage): boolean => headers.upgrade?.toLowerCase() === 'websocket';
