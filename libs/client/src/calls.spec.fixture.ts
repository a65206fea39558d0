import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A server other than the shop: a proxy, one that hangs, one that closes connections. */
export class Elsewhere {
  readonly requests: IncomingMessage[] = [];
  readonly bodies: string[] = [];

  private constructor(
    private readonly server: Server,
    readonly url: string,
  ) {}

  static async start(...answers: RequestListener[]): Promise<Elsewhere> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const elsewhere = new Elsewhere(server, `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    server.on('request', (request, response) => {
      const answer = answers[Math.min(elsewhere.requests.length, answers.length - 1)];
      elsewhere.requests.push(request);
      let body = '';
      request.on('data', (part: Buffer) => (body += part.toString()));
      request.on('end', () => {
        elsewhere.bodies.push(body);
        answer?.(request, response);
      });
    });
    return elsewhere;
  }

  async stop(): Promise<void> {
    const stopped = new Promise<void>((resolve) => this.server.close(() => resolve()));
    this.server.closeAllConnections();
    await stopped;
  }
}

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

export const answered =
  (status: number, headers: Record<string, string>, body: string): Answer =>
  (_, response) => {
    response.writeHead(status, headers).end(body);
  };
export const json = (body: unknown, status = 200, headers: Record<string, string> = {}): Answer => answered(status, { 'content-type': 'application/json', ...headers }, JSON.stringify(body));
export const page = (status: number, headers: Record<string, string> = {}): Answer => answered(status, { 'content-type': 'text/html', ...headers }, '<html><title>Bad gateway</title></html>');
export const problem = (status: number, code: string, headers: Record<string, string> = {}): Answer =>
  answered(status, { 'content-type': 'application/problem+json', ...headers }, JSON.stringify({ type: `http://shop/problems/${code}`, title: code, status, code, requestId: 'r-1' }));
/** Closes the connection without an answer, after reading the request. */
export const hangUp: Answer = (request) => {
  request.socket.destroy();
};
/** Closes the connection in the middle of the answer. */
export const cutShort: Answer = (request, response) => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': '999' }).write('{"id":');
  setTimeout(() => request.socket.destroy(), 20);
};
/** Never answers. */
export const silence: Answer = () => undefined;
