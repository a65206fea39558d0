import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Injectable } from '@nestjs/common';
import { AbstractWsAdapter } from '@nestjs/websockets';
import { requestIdOf } from '@plant-shop/platform/request-id';
import { type WebSocket, WebSocketServer } from 'ws';
import { Admission } from './admission.js';
import { closeLimitMs } from './client-transport.js';
import { Connections } from './connections.js';
import { ProblemResponder } from './problem-responder.js';
import { pathOf } from './problems.js';
import { readRequest } from './request.js';
import { checkRoute, noRoute } from './routes.js';
import { StreamServer } from './stream-server.js';
import { type AdmittedSocket, checkHandshake, offersResumable, resumableProtocol, StreamSocket } from './websocket.js';

const maxInboundBytes = 4 * 1024;
/** Newer than the types of `ws`. */
const closeTimeout = { closeTimeout: closeLimitMs };

/** A handshake that has not been answered. */
interface Handshake {
  readonly request: IncomingMessage;
  readonly socket: Socket;
  readonly head: Buffer;
  readonly requestId: string;
}

/**
 * Connects Nest's gateway to the stream's port. Nest calls a gateway only after the 101, so the adapter decides before it: a
 * refused client gets an HTTP problem, and only admitted ones reach the gateway.
 */
@Injectable()
export class StreamAdapter extends AbstractWsAdapter {
  constructor(
    private readonly stream: StreamServer,
    private readonly admission: Admission,
    private readonly connections: Connections,
    private readonly problems: ProblemResponder,
  ) {
    super(stream.server);
  }

  /** @param path where the gateway is; it has no port of its own */
  create(_port: number, { path }: { readonly path: string }): WebSocketServer {
    const server = new WebSocketServer({
      noServer: true,
      WebSocket: StreamSocket,
      clientTracking: false,
      perMessageDeflate: false,
      maxPayload: maxInboundBytes,
      ...closeTimeout,
      handleProtocols: (offered) => offered.has(resumableProtocol) && resumableProtocol,
    });
    this.stream.server.on('upgrade', (request: IncomingMessage, socket: Socket, head) => {
      socket.on('error', destroy);
      const handshake = { request, socket, head, requestId: requestIdOf(request) };
      this.upgrade(server, path, handshake).catch((error: unknown) => this.refuse(error, handshake));
    });
    return server;
  }

  /** Called after `handleConnection`. Counts what clients send, which is otherwise ignored: `heartbeat.ts` closes those that flood. */
  bindMessageHandlers(client: StreamSocket): void {
    client.on('pong', answered);
    client.on('ping', hear);
    client.on('message', hear);
    client.on('error', waitForClose);
  }

  override bindClientDisconnect(client: StreamSocket, disconnected: (code: number) => void): void {
    client.on('close', disconnected);
  }

  /** Drains: clients are told to connect elsewhere (4200), and not cut off. */
  override async close(server: WebSocketServer): Promise<void> {
    await this.stream.drain();
    await super.close(server);
  }

  private async upgrade(server: WebSocketServer, path: string, { request, socket, head, requestId }: Handshake): Promise<void> {
    checkRoute(request);
    if (pathOf(request) !== path) throw noRoute();
    checkHandshake(request);
    this.connections.checkNotDraining();
    const asked = readRequest(request);
    const format = asked.start !== undefined || offersResumable(request) ? 'resumable' : 'plain';
    await this.admission.admit(asked, requestId, (connection, start) => {
      const admitted: AdmittedSocket = { connection, socket, format, start };
      server.handleUpgrade(request, socket, head, (client) => server.emit('connection', client, admitted));
    });
  }

  /** Sends a full HTTP answer on the socket that Node's server no longer handles. */
  private refuse(error: unknown, { request, socket, requestId }: Handshake): void {
    const response = new ServerResponse(request);
    response.setHeaders(this.stream.headers);
    response.assignSocket(socket);
    socket.setTimeout(closeLimitMs, () => socket.destroy());
    response.once('finish', () => socket.destroySoon());
    this.problems.refuse(error, request, response, requestId);
  }
}

/** Not an arrow in the handler of an upgrade: that would hold the request and its headers for as long as the socket lives. */
function destroy(this: Socket): void {
  this.destroy();
}

// All sockets share these listeners: a closure for each would cost memory.
function answered(this: WebSocket): void {
  (this as StreamSocket).connection.awaitsPong = false;
}
function hear(this: WebSocket): void {
  (this as StreamSocket).connection.messagesSincePing++;
}
/** After an error, `ws` reports the code with `close`. */
const waitForClose = (): void => undefined;
