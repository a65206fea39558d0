import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { Inject, Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import type { Logger } from '@plant-shop/platform/logging';
import { requestIdOf } from '@plant-shop/platform/request-id';
import { ConnectionDrain } from '@plant-shop/platform/service/connection-drain';
import { InjectLogger } from '@plant-shop/platform/service/parts.module';
import { makeDocument } from '../asyncapi/document.js';
import { NOTIFICATIONS_OPTIONS, type NotificationsOptions } from '../options.js';
import type { Connection } from './connection.js';
import { Connections } from './connections.js';
import { corsHeaders, isPreflight, preflightHeaders } from './cors.js';
import { beginEventStream, wantsEventStream } from './event-stream.js';
import { StreamMetrics } from './metrics.js';
import { closeLimitMs } from './outlet.js';
import { Pages } from './pages.js';
import { isDefect, pathOf, Refusal, securityHeaders, sendProblem, transportSecurity } from './problems.js';
import { readRequest, type StreamRequest, updatesPath } from './request.js';
import { type StartingPlace, StartingPlaces } from './starting-places.js';
import { checkHandshake, offersResumable, WebSockets } from './websocket.js';

/** Against requests that never end: nothing of a stream counts, which goes on after its request. */
const limits = { headersTimeout: 5_000, requestTimeout: 10_000, connectionsCheckingInterval: 2_000, maxHeaderSize: 16_384 };

/** How long a drain waits for the last connections to go. */
const drainLimitMs = 1_300;

const asyncApiPath = '/v1/asyncapi.json';

/** The port of the stream: its path, in three forms, and the document of it. */
@Injectable()
export class StreamServer implements OnModuleInit, OnApplicationShutdown {
  private readonly server: Server;
  private readonly drainer = new ConnectionDrain();
  private readonly webSockets: WebSockets;
  private readonly document: string;
  private readonly transportSecurity: Headers;

  constructor(
    private readonly connections: Connections,
    private readonly places: StartingPlaces,
    private readonly pages: Pages,
    private readonly metrics: StreamMetrics,
    @Inject(NOTIFICATIONS_OPTIONS) private readonly options: NotificationsOptions,
    @InjectLogger() private readonly logger: Logger,
  ) {
    this.transportSecurity = transportSecurity(options.stream.publicUrl);
    this.webSockets = new WebSockets(connections, this.transportSecurity);
    this.document = JSON.stringify(makeDocument(options.stream.publicUrl));
    this.server = createServer({ ...limits, ServerResponse: this.drainer.ServerResponse, shouldUpgradeCallback: isWebSocket }, (request, response) => {
      const requestId = requestIdOf(request);
      response.setHeaders(this.transportSecurity);
      this.answer(request, response, requestId).catch((error: unknown) => {
        this.refuse(error, request, response, requestId);
      });
    });
    this.server.on('upgrade', (request: IncomingMessage, socket: Socket, head) => {
      socket.on('error', destroy);
      const requestId = requestIdOf(request);
      this.upgrade(request, socket, head, requestId).catch((error: unknown) => {
        this.refuseUpgrade(error, request, socket, requestId);
      });
    });
  }

  /** A port that is taken ends the start here. */
  async onModuleInit(): Promise<void> {
    const { stream } = this.options;
    this.server.listen(stream.port, stream.host);
    await once(this.server, 'listening');
  }

  /** Tells clients to connect elsewhere, serves what is still on its way, and waits for them to go. */
  async drain(): Promise<void> {
    await this.connections.drain(this.drainer.announce(this.server));
    await this.drainer.finish(this.server, drainLimitMs);
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
    const cors = corsHeaders(request, this.options.stream.corsOrigins);
    for (const [name, value] of Object.entries(cors)) response.setHeader(name, value);
    if (isPreflight(request) && cors['access-control-allow-origin'] !== undefined && isServed(pathOf(request))) {
      response.writeHead(204, preflightHeaders).end();
      return;
    }
    checkRoute(request);
    const headers = { ...securityHeaders, 'x-request-id': requestId };
    if (pathOf(request) === asyncApiPath) {
      response.writeHead(200, { ...headers, 'content-type': 'application/json; charset=utf-8' }).end(this.document);
      return;
    }
    const asked = readRequest(request);
    if (wantsEventStream(request)) {
      await this.admit(asked, requestId, (connection, start) => {
        beginEventStream(response, headers, { connections: this.connections, connection, start });
      });
      return;
    }
    const client = { isGone: false };
    response.on('close', () => (client.isGone = true));
    const page = await this.pages.read(asked, requestId, client);
    response.writeHead(200, { ...headers, 'content-type': 'application/json; charset=utf-8' }).end(page);
  }

  private async upgrade(request: IncomingMessage, socket: Socket, head: Buffer, requestId: string): Promise<void> {
    checkRoute(request);
    if (pathOf(request) !== updatesPath) throw noRoute();
    checkHandshake(request);
    this.connections.checkNotDraining();
    const asked = readRequest(request);
    const form = asked.start !== undefined || offersResumable(request) ? 'resumable' : 'plain';
    await this.admit(asked, requestId, (connection, start) => {
      this.webSockets.accept(request, socket, head, connection, form, start);
    });
  }

  /** Lets a client in whose credentials and cursor are good; `open` answers it, with no turn of the event loop in between. */
  private async admit(
    { shown, filter, start = 'latest' }: StreamRequest,
    requestId: string,
    open: (connection: Connection, start: StartingPlace) => void,
  ): Promise<void> {
    const connection = await this.connections.admit(shown, filter, requestId);
    try {
      const place = await this.places.of(start);
      this.connections.checkStillOpen(connection);
      open(connection, place);
    } finally {
      // The client has gone, or it was refused after all.
      if (!connection.outlet) this.connections.gone(connection, 'none');
    }
  }

  private refuse(error: unknown, request: IncomingMessage, response: ServerResponse, requestId: string): void {
    if (isDefect(error)) this.logger.error({ err: error, requestId }, 'defect');
    if (response.headersSent) {
      response.destroy();
      return;
    }
    const code = sendProblem(error, { publicUrl: this.options.publicUrl, requestId, instance: pathOf(request) }, response);
    this.metrics.refusals.inc({ code });
  }

  /** A full HTTP answer, on the socket that Node no longer looks after. */
  private refuseUpgrade(error: unknown, request: IncomingMessage, socket: Socket, requestId: string): void {
    const response = new ServerResponse(request);
    response.setHeaders(this.transportSecurity);
    response.assignSocket(socket);
    socket.setTimeout(closeLimitMs, () => socket.destroy());
    response.once('finish', () => socket.destroySoon());
    this.refuse(error, request, response, requestId);
  }
}

/** Not an arrow in the handler of an upgrade: that would hold the request and its headers for as long as the socket lives. */
function destroy(this: Socket): void {
  this.destroy();
}

const isWebSocket = ({ headers }: IncomingMessage): boolean => headers.upgrade?.toLowerCase() === 'websocket';

/** @throws Refusal */
function checkRoute(request: IncomingMessage): void {
  if (!isServed(pathOf(request))) throw noRoute();
  if (request.method !== 'GET') throw new Refusal('method-not-allowed', 'Order events are read with GET.', { allow: 'GET' });
}

const isServed = (path: string): boolean => path === updatesPath || path === asyncApiPath;

const noRoute = (): Refusal =>
  new Refusal('route-not-found', `Nothing is served here. The stream of order events is at ${updatesPath}.`);
