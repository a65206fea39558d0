import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Inject, Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { answerConnectionError } from '@plant-shop/contracts/problem';
import { checkAccept, contentCodingFor, expectationsAsRequests, requestFaultOf } from '@plant-shop/contracts/request-checks';
import { corsHeaders, preflightHeaders } from '@plant-shop/platform/http/cors';
import { requestIdOf } from '@plant-shop/platform/http/request';
import { shopMode, transportSecurity } from '@plant-shop/platform/http/security-headers';
import { ConnectionLimit } from '@plant-shop/platform/service/connection-limit';
import { ConnectionDrain } from '@plant-shop/platform/service/connection-drain';
import { makeDocument } from '../../asyncapi/document.js';
import { NOTIFICATIONS_OPTIONS, type NotificationsOptions } from '../../options.js';
import { asyncApiPath, checkRoute, readRequest, servedMethods } from '../request.js';
import { Connections } from '../subscribers/connections.js';
import { beginEventStream, eventStreamType, wantsEventStream } from './event-stream.js';
import { Pages } from './pages.js';
import { ProblemResponder, streamHeaders } from './problem-responder.js';
import { SocketLimits } from './socket-limits.js';

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
    private readonly pages: Pages,
    private readonly problems: ProblemResponder,
    private readonly limit: ConnectionLimit,
    private readonly sockets: SocketLimits,
    @Inject(NOTIFICATIONS_OPTIONS) private readonly options: NotificationsOptions,
  ) {
    this.headers = streamHeaders(options);
    this.document = JSON.stringify(makeDocument(options.stream.publicUrl));
    const settings = { ...limits, requireHostHeader: false, ServerResponse: this.drainer.ServerResponse, shouldUpgradeCallback: isWebSocket };
    this.server = createServer(settings, (request, response) => {
      const requestId = requestIdOf(request);
      const cors = corsHeaders(request.headers.origin, options.stream.corsOrigins);
      for (const [name, value] of Object.entries(cors)) response.setHeader(name, value);
      // At once, before the parser reads what follows a malformed request.
      const fault = requestFaultOf(request);
      if (fault) this.problems.refuse(fault, request, response, requestId);
      else this.answer(request, response, requestId).catch((error: unknown) => {
        this.problems.refuse(error, request, response, requestId);
      });
    });
    this.server.on('clientError', answerConnectionError(problems.origin, options.stream.corsOrigins));
    expectationsAsRequests(this.server);
    limit.watch(this.server);
    sockets.watch(this.server);
    this.drainer.watch(this.server);
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
    const { stream, sandbox } = this.options;
    const preflight = preflightHeaders(request, stream.corsOrigins, servedMethods);
    if (preflight) {
      response.writeHead(204, { ...transportSecurity(stream.publicUrl), ...shopMode(sandbox), ...preflight }).end();
      return;
    }
    const path = checkRoute(request);
    contentCodingFor(request.headers, []);
    const headers = { ...this.headers, 'x-request-id': requestId };
    const isEvents = path !== asyncApiPath && wantsEventStream(request);
    checkAccept(request.headers, isEvents ? eventStreamType : 'application/json');
    if (path === asyncApiPath) {
      sendJson(response, headers, this.document);
      return;
    }
    const isHead = request.method === 'HEAD';
    const asked = isHead ? { ...readRequest(request), waitSeconds: 0 } : readRequest(request);
    const { socket } = request;
    this.sockets.check(socket, asked.credentials);
    if (isEvents) {
      await this.connections.admit(asked, requestId, (connection, start) => {
        this.sockets.settle(socket);
        if (isHead) {
          response.writeHead(200, { ...headers, 'content-type': eventStreamType }).end();
          return;
        }
        this.limit.handOver(socket);
        beginEventStream(response, headers, { connections: this.connections, connection, start });
      });
      return;
    }
    const gone = new AbortController();
    response.on('close', () => {
      gone.abort();
      this.sockets.release(socket);
    });
    const page = await this.pages.read(asked, requestId, gone.signal, () => this.sockets.settle(socket));
    sendJson(response, headers, page);
  }

  private async drainOnce(): Promise<void> {
    await this.connections.drain(this.drainer.announce());
    await this.drainer.finish(drainLimitMs);
  }
}

/** With its length, which HEAD tells too. */
function sendJson(response: ServerResponse, headers: Readonly<Record<string, string>>, json: string): void {
  response.writeHead(200, { ...headers, 'content-type': 'application/json; charset=utf-8', 'content-length': Buffer.byteLength(json) }).end(json);
}

/** RFC 6455, section 4.1: by GET. Other methods are answered as if they asked for no upgrade. */
const isWebSocket = ({ method, headers }: IncomingMessage): boolean => method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket';
