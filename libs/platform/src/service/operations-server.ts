import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import type { Registry } from 'prom-client';
import type { Readiness } from './readiness.js';

/**
 * Serves `/livez` (the process runs its event loop), `/readyz` (the process is ready and has capacity) and `/metrics`, on a port that
 * clients cannot reach.
 */
export async function startOperationsServer(
  address: { readonly host: string; readonly port: number },
  readiness: Readiness,
  metrics: Registry,
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
    const answer = answers.get((request.url ?? '').split('?', 1)[0] ?? '');
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
