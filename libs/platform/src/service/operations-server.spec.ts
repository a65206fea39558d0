import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { connect } from 'node:net';
import type { AddressInfo } from 'node:net';
import type { Server } from 'node:http';
import { createMetrics, gauge } from './metrics.js';
import { startOperationsServer } from './operations-server.js';
import { Readiness } from './readiness.js';

describe('the operations port', () => {
  let server: Server;
  let readiness: Readiness;
  const metrics = createMetrics('store');
  gauge(metrics, 'things', 'how many', () => 42);
  const told: number[] = [];
  const port = (): number => (server.address() as AddressInfo).port;
  const get = (path: string, method = 'GET'): Promise<Response> =>
    fetch(`http://127.0.0.1:${port()}${path}`, { method, headers: { connection: 'close' } });

  beforeEach(async () => {
    readiness = new Readiness();
    server = await startOperationsServer({ host: '127.0.0.1', port: 0 }, readiness, metrics, new Map([['/wait', (seconds) => told.push(seconds)]]));
  });
  afterEach(async () => {
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
  });

  it('reports that the process is alive, even if it is not ready', async () => {
    readiness.drain();
    expect((await get('/livez')).status).toBe(200);
  });

  it('reports whether the process is ready, and what is missing', async () => {
    expect((await get('/readyz')).status).toBe(200);
    readiness.require('nats', () => {
      throw new Error('not connected');
    });
    const answer = await get('/readyz?verbose');
    expect(answer.status).toBe(503);
    await expect(answer.json()).resolves.toEqual({ ready: false, checks: { nats: 'not connected' } });
  });

  it('serves metrics, read at each scrape and labelled with the service', async () => {
    const text = await (await get('/metrics')).text();
    expect(text).toContain('things{service="store"} 42');
    expect(text).toContain('process_cpu_seconds_total');
  });

  it.each([['GET', '/'], ['GET', '/metrics/x'], ['GET', '/__proto__'], ['POST', '/livez'], ['DELETE', '/metrics']])(
    'answers 404 to %s %s',
    async (method, path) => expect((await get(path, method)).status).toBe(404),
  );

  it('takes commands by POST, with seconds that it can wait', async () => {
    for (const query of ['seconds=5', 'seconds=0', 'seconds=x', 'seconds=-1', 'seconds=601']) {
      expect((await get(`/wait?${query}`, 'POST')).status).toBe(/=[05]$/.test(query) ? 204 : 404);
    }
    expect((await get('/wait?seconds=5')).status).toBe(404);
    expect(told).toEqual([5, 0]);
  });

  it('survives input that is not HTTP', async () => {
    for (const bytes of ['constructor\r\n\r\n', 'GET constructor HTTP/1.1\r\nHost: x\r\n\r\n', 'GET http://[ HTTP/1.1\r\nHost: x\r\n\r\n']) {
      const socket = connect(port(), '127.0.0.1');
      socket.resume().end(bytes);
      await once(socket, 'close');
    }
    expect((await get('/livez')).status).toBe(200);
  });

  it('names the setting when its port is in use', async () => {
    const taken = { host: '127.0.0.1', port: port() };
    await expect(startOperationsServer(taken, readiness, metrics)).rejects.toThrow(`OPS_PORT: cannot listen on 127.0.0.1:${taken.port}`);
  });
});
