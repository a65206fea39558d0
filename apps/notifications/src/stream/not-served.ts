import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';

const streamPath = '/v1/orders/updates';

/** The stream port, and on it the plain answer that this release does not serve the stream. */
export async function listenWithoutStream(host: string, port: number): Promise<Server> {
  const server = createServer((request, response) => answer(request, response));
  server.on('upgrade', (request: IncomingMessage, socket) => {
    socket.end(`HTTP/1.1 ${isStream(request) ? '503 Service Unavailable' : '404 Not Found'}\r\nConnection: close\r\n\r\n`);
  });
  server.listen(port, host);
  await once(server, 'listening');
  return server;
}

const pathOf = (request: IncomingMessage): string => (request.url ?? '/').split('?', 1)[0] ?? '/';
const isStream = (request: IncomingMessage): boolean => pathOf(request) === streamPath;

function answer(request: IncomingMessage, response: ServerResponse): void {
  const requestId = randomUUID();
  const problem = isStream(request)
    ? { status: 503, code: 'unavailable', title: 'Not served yet', detail: 'This release serves no event stream: poll the orders.' }
    : { status: 404, code: 'route-not-found', title: 'No such address', detail: `The event stream is at ${streamPath}.` };
  response.writeHead(problem.status, { 'content-type': 'application/problem+json', 'x-request-id': requestId });
  response.end(JSON.stringify({ type: 'about:blank', ...problem, instance: pathOf(request), requestId }));
}
