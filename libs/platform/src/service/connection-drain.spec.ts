import { once } from 'node:events';
import { Agent, createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { ConnectionDrain } from './connection-drain.js';

const servers: Server[] = [];
const agents: Agent[] = [];
afterEach(() => {
  for (const agent of agents.splice(0)) agent.destroy();
  for (const server of servers.splice(0)) server.close().closeAllConnections();
});

async function started(answer: (response: ServerResponse) => unknown): Promise<{ drain: ConnectionDrain; server: Server }> {
  const drain = new ConnectionDrain();
  const server = createServer({ ServerResponse: drain.ServerResponse }, (_request, response) => void answer(response));
  servers.push(server);
  drain.watch(server);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return { drain, server };
}

/** A client that keeps one connection open for as long as the server allows. */
function client(server: Server): () => Promise<{ status: number | undefined; connection: string | undefined }> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  agents.push(agent);
  return async () => {
    const asked = request({ port: (server.address() as AddressInfo).port, agent }).end();
    const [response] = (await once(asked, 'response')) as [IncomingMessage];
    await once(response.resume(), 'end');
    return { status: response.statusCode, connection: response.headers.connection };
  };
}

const connections = (server: Server): Promise<number> =>
  new Promise((resolve) => {
    server.getConnections((_, count) => resolve(count));
  });

describe('the connection drain of an HTTP server', () => {
  it('serves a request on an idle connection after the announcement, with Connection: close', async () => {
    const { drain, server } = await started((response) => response.end('served'));
    const ask = client(server);
    expect(await ask()).toEqual({ status: 200, connection: 'keep-alive' });
    const announced = drain.announce();
    await sleep(500);
    expect(await ask()).toEqual({ status: 200, connection: 'close' });
    await announced;
  });

  it('answers a request that was in progress at the announcement with Connection: close', async () => {
    const { drain, server } = await started((response) => setTimeout(() => response.writeHead(200).end('served'), 300));
    const arrived = once(server, 'request');
    const answer = client(server)();
    await arrived;
    const announced = drain.announce();
    expect(await answer).toEqual({ status: 200, connection: 'close' });
    await announced;
  });

  it('ends the announcement when no connection is open, or after 2 s (slow)', async () => {
    const { drain } = await started((response) => response.end('served'));
    const alone = performance.now();
    await drain.announce();
    expect(performance.now() - alone).toBeLessThan(1_000);

    const { drain: other, server: busy } = await started((response) => response.end('served'));
    await client(busy)();
    const announced = performance.now();
    await other.announce();
    expect(performance.now() - announced).toBeGreaterThanOrEqual(1_990);
    expect(await connections(busy)).toBe(1);
  });

  it('closes idle connections in the end, and waits for pending answers until its limit (slow)', async () => {
    const { drain, server } = await started((response) => setTimeout(() => response.end('served'), 400));
    await client(server)();
    const arrived = once(server, 'request');
    const late = client(server)();
    await arrived;
    await drain.finish(5_000);
    expect(await connections(server)).toBe(0);
    expect((await late).status).toBe(200);

    const { drain: other, server: hanging } = await started(() => undefined);
    const hangs = once(hanging, 'request');
    client(hanging)().catch(() => undefined);
    await hangs;
    const begun = performance.now();
    await other.finish(300);
    expect(performance.now() - begun).toBeGreaterThanOrEqual(290);
    expect(await connections(hanging)).toBe(1);
  });
});
