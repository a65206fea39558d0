import { afterEach, describe, expect, it } from '@jest/globals';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { Balancer } from './balancer.js';

const servers: Server[] = [];
let balancer: Balancer | undefined;

/** A gateway that is always ready. */
async function gateway(answer: RequestListener): Promise<{ label: string; port: number; opsPort: number; server: Server }> {
  const server = createServer((request, response) => (request.url === '/readyz' ? void response.end() : answer(request, response)));
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { label: `gateway-${servers.length}`, port, opsPort: port, server };
}

const named = (name: string): Promise<Awaited<ReturnType<typeof gateway>>> => gateway((_request, response) => void response.end(name));
/** Resolves when the balancer has noticed that its connections closed: a request sent on one of them would be lost. */
async function kill({ server }: { server: Server }): Promise<void> {
  server.close();
  server.closeAllConnections();
  await pause(50);
}

/** Sends requests one after the other. @returns status and body of each, or `lost` */
async function send(url: string, times: number): Promise<string[]> {
  const answers: string[] = [];
  for (let n = 0; n < times; n++) {
    answers.push(await fetch(url, { method: 'POST', body: 'an order' }).then(async (response) => `${response.status} ${await response.text()}`, () => 'lost'));
  }
  return answers;
}

describe('a balancer', () => {
  afterEach(async () => {
    balancer?.stop();
    for (const server of servers.splice(0)) await kill({ server });
  });

  it('retries at another gateway when one refuses the connection', async () => {
    const [first, second] = [await named('first'), await named('second')];
    balancer = new Balancer([first, second]);
    const url = await balancer.start();
    expect(new Set(await send(url, 4))).toEqual(new Set(['200 first', '200 second']));
    await kill(first);
    expect(new Set(await send(url, 4))).toEqual(new Set(['200 second']));
  });

  it('answers 503 `no-gateway` when every gateway refuses the connection', async () => {
    const gateways = [await named('first'), await named('second')];
    balancer = new Balancer(gateways);
    const url = await balancer.start();
    await Promise.all(gateways.map(kill));
    const answer = await fetch(`${url}/v3/plant/1?secret=x`, { headers: { 'x-request-id': 'ours' } });
    expect([answer.status, answer.headers.get('retry-after'), await answer.json()]).toEqual([
      503,
      '1',
      { type: 'about:blank', title: 'No gateway', status: 503, detail: expect.any(String), instance: '/v3/plant/1', code: 'no-gateway', requestId: 'ours' },
    ]);
  });

  it('counts the requests that a ready gateway refused', async () => {
    const [first, second] = [await named('first'), await named('second')];
    await kill(first);
    balancer = new Balancer([{ ...first, opsPort: second.opsPort }, second]);
    const url = await balancer.start();
    expect(new Set(await send(url, 4))).toEqual(new Set(['200 second']));
    expect(balancer.detours).toBe(2);
  });

  it('passes requests to a gateway that is added, and none to one that is withdrawn', async () => {
    const [first, second] = [await named('first'), await named('second')];
    balancer = new Balancer([first]);
    const url = await balancer.start();
    balancer.add(second);
    balancer.withdraw(first.label);
    expect(new Set(await send(url, 4))).toEqual(new Set(['200 second']));
    balancer.readmit(first.label);
    expect(new Set(await send(url, 4))).toEqual(new Set(['200 first', '200 second']));
  });

  it('never resends a request that a gateway received, and closes the connection of its client', async () => {
    let taken = 0;
    const dying = await gateway((request) => {
      taken++;
      request.socket.destroy();
    });
    const other = await named('other');
    balancer = new Balancer([dying, other]);
    const url = await balancer.start();
    expect((await send(url, 4)).sort()).toEqual(['200 other', '200 other', 'lost', 'lost']);
    expect(taken).toBe(2);
  });
});
