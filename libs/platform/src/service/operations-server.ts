import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import type { Registry } from 'prom-client';
import type { Readiness } from './readiness.js';

const maxSeconds = 600;
/** In IPv4, or as a socket for both writes it. */
const ownAddress = /^(::ffff:)?127\.0\.0\.1$/;

/**
 * Serves `/livez` (the process runs its event loop), `/readyz` (the process is ready and has capacity) and `/metrics`, on a port that
 * clients cannot reach; and commands, POST with `seconds`, only from its own pod or computer.
 */
export async function startOperationsServer(
  address: { readonly host: string; readonly port: number },
  readiness: Readiness,
  metrics: Registry,
  commands: ReadonlyMap<string, (seconds: number) => void> = new Map(),
): Promise<Server> {
  const answers = new Map<string, () => Promise<{ status: number; type: string; body: string }>>([
    ['/livez', async () => ({ status: 200, type: 'text/plain', body: 'ok\n' })],
    [
      '/readyz',
      async () => {
        const report = await readiness.report({ includeCapacity: true });
        return { status: report.ready ? 200 : 503, type: 'application/json', body: JSON.stringify(report) };
      },
    ],
    ['/metrics', async () => ({ status: 200, type: metrics.contentType, body: await metrics.metrics() })],
  ]);
  const server = createServer((request, response) => {
    const [path = '', query] = (request.url ?? '').split('?', 2);
    const command = commands.get(path);
    const seconds = Number(new URLSearchParams(query).get('seconds'));
    if (command && request.method === 'POST' && ownAddress.test(request.socket.remoteAddress ?? '') && seconds >= 0 && seconds <= maxSeconds) {
      command(seconds);
      response.writeHead(204).end();
      return;
    }
    const answer = answers.get(path);
    if (!answer || (request.method !== 'GET' && request.method !== 'HEAD')) {
      response.writeHead(404).end();
      return;
    }
    void answer().then(
      ({ status, type, body }) => response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' }).end(body),
      () => response.writeHead(500).end(),
    );
  });
  server.listen(address.port, address.host);
  try {
    await once(server, 'listening');
  } catch (error) {
    throw new Error(`OPS_PORT: cannot listen on ${address.host}:${address.port} (${(error as Error).message})`, { cause: error });
  }
  return server;
}
