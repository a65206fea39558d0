import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { verifyWebhook } from '@plant-shop/client/webhooks';
import { pause } from './clock.js';
import type { EventType, Follower, SeenEvent } from './history.js';
import type { Random } from './random.js';

/** A webhook endpoint that fails at times: with a 500, by closing the connection, or by a late answer. */
export class Receiver implements Follower {
  readonly events: SeenEvent[] = [];
  /** POSTs whose signature did not match the secret. */
  forged = 0;
  secret = '';
  failing: number;

  private constructor(readonly name: string, private readonly server: Server, random: Random, failing: number, readonly types?: readonly EventType[]) {
    this.failing = failing;
    server.on('request', (request, response) => {
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      request.on('end', () => {
        const body = Buffer.concat(parts).toString('utf8');
        const fails = random.chance(this.failing);
        const how = random.between(1, 3);
        // An event answered with 500 counts as not received.
        if (fails && how === 1) return void response.writeHead(500).end();
        this.take(String(request.headers['webhook-id']), body, request.headers as Record<string, string>);
        if (fails && how === 2) return void response.destroy();
        if (fails) return void pause(300).then(() => response.writeHead(204).end());
        response.writeHead(204).end();
      });
    });
  }

  static async start(name: string, random: Random, failing: number, types?: readonly EventType[]): Promise<Receiver> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new Receiver(name, server, random, failing, types);
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/hook`;
  }

  stop(): void {
    this.server.close();
    this.server.closeAllConnections();
  }

  private take(id: string, body: string, headers: Record<string, string>): void {
    try {
      verifyWebhook(headers, body, this.secret);
      this.events.push({ id, body });
    } catch {
      this.forged++;
    }
  }
}
