import { randomUUID } from 'node:crypto';
import { Agent, createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';

/** Problem code of the answer when no gateway accepted the connection. */
export const noGateway = 'no-gateway';

/** A gateway's process. */
export interface Gateway {
  readonly label: string;
  readonly port?: number;
  readonly opsPort: number;
}

interface Upstream extends Required<Gateway> {
  readonly agent: Agent;
  isReady: boolean;
  isWithdrawn: boolean;
}

/** Per gateway; further requests queue in the balancer. */
const connectionsEach = 256;
/** Connections that the kernel holds until they are accepted. */
const backlog = 4_096;
const pollMs = 100;
const pollLimitMs = 1_000;

/**
 * Distributes requests among the ready gateways, round robin. Retries a request at another gateway only if it cannot have reached
 * the first, because the connection was refused; answers 503 `no-gateway` when all refuse. If a request was sent and no answer
 * comes, closes the client's connection, so that the client sees an unknown outcome.
 */
export class Balancer {
  private readonly server: Server;
  private readonly upstreams: Upstream[] = [];
  private turn = 0;
  private isOpen = true;
  /** Requests that were passed to a gateway that was not ready, or to another one because the first refused the connection. */
  detours = 0;

  constructor(gateways: readonly Gateway[]) {
    for (const gateway of gateways) this.add(gateway);
    this.server = createServer((incoming, outgoing) => void this.pass(incoming, outgoing));
    this.server.keepAliveTimeout = 0;
  }

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.server.listen({ port: 0, host: '127.0.0.1', backlog }, resolve));
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Adds a gateway that is ready. */
  add({ label, port = 0, opsPort }: Gateway): void {
    const agent = new Agent({ keepAlive: true, maxSockets: connectionsEach, maxFreeSockets: connectionsEach });
    const upstream = { label, port, opsPort, agent, isReady: true, isWithdrawn: false };
    this.upstreams.push(upstream);
    void this.watch(upstream);
  }

  /** Sends no new requests to this gateway, as a platform does from the moment when it decides to stop a process. */
  withdraw(label: string): void {
    for (const one of this.upstreams) if (one.label === label) one.isWithdrawn = true;
  }

  readmit(label: string): void {
    for (const one of this.upstreams) if (one.label === label) one.isWithdrawn = false;
  }

  stop(): void {
    this.isOpen = false;
    this.server.close();
    this.server.closeAllConnections();
    for (const { agent } of this.upstreams) agent.destroy();
  }

  private async pass(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    try {
      const body = await buffer(incoming);
      for (const [tried, upstream] of this.inTurn().entries()) {
        if (tried > 0 || !upstream.isReady) this.detours++;
        if (await this.forward(upstream, incoming, body, outgoing)) return;
      }
      refuse(incoming, outgoing);
    } catch {
      outgoing.destroy();
    }
  }

  /** @returns false if the gateway refused the connection and so received nothing of the request */
  private forward(upstream: Upstream, { method, url: path, headers }: IncomingMessage, body: Buffer, outgoing: ServerResponse): Promise<boolean> {
    return new Promise((resolve, reject) => {
      const forward = request({ host: '127.0.0.1', port: upstream.port, agent: upstream.agent, method, path, headers });
      forward.on('response', (answer) => {
        outgoing.writeHead(answer.statusCode ?? 0, answer.headers);
        answer.on('error', () => outgoing.destroy()).pipe(outgoing);
        resolve(true);
      });
      forward.on('error', (error: NodeJS.ErrnoException) => (error.code === 'ECONNREFUSED' ? resolve(false) : reject(error)));
      outgoing.on('close', () => forward.destroy());
      forward.end(body);
    });
  }

  /** Gateways in the order in which to try them: ready ones first, round robin. */
  private inTurn(): readonly Upstream[] {
    const usable = this.upstreams.filter((one) => !one.isWithdrawn);
    const among = usable.length > 0 ? usable : this.upstreams;
    const turn = this.turn++ % among.length;
    const turned = [...among.slice(turn), ...among.slice(0, turn)];
    return turned.sort((a, b) => Number(b.isReady) - Number(a.isReady));
  }

  private async watch(upstream: Upstream): Promise<void> {
    while (this.isOpen) {
      try {
        upstream.isReady = (await fetch(`http://127.0.0.1:${upstream.opsPort}/readyz`, { signal: AbortSignal.timeout(pollLimitMs) })).ok;
      } catch {
        upstream.isReady = false;
      }
      await pause(pollMs);
    }
  }
}

/** Answers with a problem like the shop's own, so that clients can tell it from another server's error page. */
function refuse({ url: path = '/', headers }: IncomingMessage, outgoing: ServerResponse): void {
  const requestId = String(headers['x-request-id'] ?? randomUUID());
  const problem = {
    type: 'about:blank',
    title: 'No gateway',
    status: 503,
    detail: 'No gateway took the connection. Nothing happened.',
    instance: path.split('?')[0],
    code: noGateway,
    requestId,
  };
  outgoing.writeHead(503, { 'retry-after': '1', 'content-type': 'application/problem+json', 'x-request-id': requestId }).end(JSON.stringify(problem));
}
