import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Injectable } from '@nestjs/common';
import { AbstractWsAdapter } from '@nestjs/websockets';
import { requestFaultOf } from '@plant-shop/contracts/request-checks';
import { requestIdOf } from '@plant-shop/platform/http/request';
import { ConnectionLimit } from '@plant-shop/platform/service/connection-limit';
import { type WebSocket, WebSocketServer } from 'ws';
import { closeLimitMs } from '../connection.js';
import { Connections } from '../subscribers/connections.js';
import { ProblemResponder } from './problem-responder.js';
import { checkRoute, noRoute, readRequest } from '../request.js';
import { SocketLimits } from './socket-limits.js';
import { StreamServer } from './stream-server.js';
import { type AdmittedSocket, checkHandshake, offersResumable, resumableProtocol, StreamSocket } from './websocket.js';

const maxInboundBytes = 4 * 1024;
/** Fragments of one message: empty ones would never be counted as a message. */
const maxFragments = 16;
/** Messages, pings and pongs that a client may send between two pings. The stream has no commands, so this leaves room for keep-alives. */
const maxMessages = 100;
/** An option that the types of `ws` do not have yet. */
const closeTimeout = { closeTimeout: closeLimitMs };

/** A handshake without a response so far. */
interface Handshake {
  readonly request: IncomingMessage;
  readonly socket: Socket;
  readonly head: Buffer;
  readonly requestId: string;
}

/**
 * Connects Nest's gateway to the stream's port. Nest calls a gateway only after the 101, so the adapter admits or refuses clients
 * before it: a refused client gets an HTTP problem.
 */
@Injectable()
export class StreamAdapter extends AbstractWsAdapter {
  /** For all sockets: a closure for each would cost memory. */
  private readonly count: (this: WebSocket) => void;

  constructor(
    private readonly stream: StreamServer,
    private readonly connections: Connections,
    private readonly problems: ProblemResponder,
    private readonly limit: ConnectionLimit,
    private readonly sockets: SocketLimits,
  ) {
    super(stream.server);
    this.count = function (this: WebSocket): void {
      const { connection } = this as StreamSocket;
      if (++connection.messagesSincePing <= maxMessages || connection.state === 'closed') return;
      connections.close(connection, 1008);
      // Reads nothing more: the close frame is sent, and the socket is destroyed soon.
      this.pause();
    };
  }

  /** @param path the gateway's path; its port is ignored, because it shares the stream's */
  create(_port: number, { path }: { readonly path: string }): WebSocketServer {
    const server = new WebSocketServer({
      noServer: true,
      WebSocket: StreamSocket,
      clientTracking: false,
      perMessageDeflate: false,
      maxPayload: maxInboundBytes,
      maxFragments,
      ...closeTimeout,
      handleProtocols: (offered) => offered.has(resumableProtocol) && resumableProtocol,
    });
    this.stream.server.on('upgrade', (request: IncomingMessage, socket: Socket, head) => {
      socket.on('error', destroy);
      this.limit.handOver(socket);
      const handshake = { request, socket, head, requestId: requestIdOf(request) };
      this.upgrade(server, path, handshake).catch((error: unknown) => this.refuse(error, handshake));
    });
    return server;
  }

  /** Runs after `handleConnection`. Counts what clients send, ignores it otherwise, and closes clients that flood. */
  bindMessageHandlers(client: StreamSocket): void {
    client.on('pong', notePong);
    client.on('pong', this.count);
    client.on('ping', this.count);
    client.on('message', this.count);
    client.on('error', waitForClose);
  }

  override bindClientDisconnect(client: StreamSocket, disconnected: (code: number) => void): void {
    client.on('close', disconnected);
  }

  /** Drains first, so that clients are told to reconnect elsewhere (4200). */
  override async close(server: WebSocketServer): Promise<void> {
    await this.stream.drain();
    await super.close(server);
  }

  private async upgrade(server: WebSocketServer, path: string, { request, socket, head, requestId }: Handshake): Promise<void> {
    const fault = requestFaultOf(request);
    if (fault) throw fault;
    if (checkRoute(request) !== path) throw noRoute();
    checkHandshake(request);
    this.connections.checkNotDraining();
    const asked = readRequest(request);
    this.sockets.check(socket, asked.credentials);
    const format = asked.start !== undefined || offersResumable(request) ? 'resumable' : 'plain';
    await this.connections.admit(asked, requestId, (connection, start) => {
      this.sockets.settle(socket);
      const admitted: AdmittedSocket = { connection, socket, format, start };
      server.handleUpgrade(request, socket, head, (client) => server.emit('connection', client, admitted));
    });
  }

  /** Sends a complete HTTP response on the socket, which Node's server no longer handles after an upgrade. */
  private refuse(error: unknown, { request, socket, requestId }: Handshake): void {
    const response = new ServerResponse(request);
    response.assignSocket(socket);
    socket.setTimeout(closeLimitMs, () => socket.destroy());
    response.once('finish', () => socket.destroySoon());
    this.problems.refuse(error, request, response, requestId);
  }
}

/** A function and no closure in the upgrade handler: that would keep the request and its headers as long as the socket lives. */
function destroy(this: Socket): void {
  this.destroy();
}

// All sockets share these handlers: a closure for each would cost memory.
function notePong(this: WebSocket): void {
  (this as StreamSocket).connection.awaitsPong = false;
}
/** `ws` emits `close` with the code after an error. */
const waitForClose = (): void => undefined;
