import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { until } from './until.js';

/** A request that a receiver got. */
export interface Received {
  /** The header `webhook-id`. */
  readonly id: string;
  readonly at: number;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: string;
}

/** A webhook endpoint that records requests, and responds as a test defines. */
export class Receiver {
  readonly received: Received[] = [];
  /** Number of connections that were opened. */
  connections = 0;
  openConnections = 0;
  answer: (received: Received, response: ServerResponse) => void = (_received, response) => response.writeHead(204).end();

  private constructor(private readonly server: Server) {}

  static async start(server: Server = createServer(), host = '127.0.0.1'): Promise<Receiver> {
    const receiver = new Receiver(server);
    server.on('connection', (socket: Socket) => {
      receiver.connections++;
      receiver.openConnections++;
      socket.once('close', () => receiver.openConnections--);
    });
    server.on('request', (request: IncomingMessage, response: ServerResponse) => void receiver.take(request, response));
    server.listen(0, host);
    await once(server, 'listening');
    return receiver;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/hook`;
  }

  get ids(): string[] {
    return this.received.map(({ id }) => id);
  }

  /** Responds to each request with this status, and no body. */
  answerWith(status: number, headers: Record<string, string> = {}): void {
    this.answer = (_received, response) => response.writeHead(status, headers).end();
  }

  /** Waits until `count` requests have arrived. @returns all of them */
  async got(count: number, limitMs = 15_000): Promise<readonly Received[]> {
    await until(() => this.received.length >= count, limitMs);
    return this.received;
  }

  async stop(): Promise<void> {
    const closed = once(this.server, 'close');
    this.server.close();
    this.server.closeAllConnections();
    await closed;
  }

  private async take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const at = performance.now();
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const { url: path = '' } = request;
    const headers = request.headers as Record<string, string>;
    const received = { id: headers['webhook-id'] ?? '', at, path, headers, body: Buffer.concat(pieces).toString() };
    this.received.push(received);
    this.answer(received, response);
  }
}
