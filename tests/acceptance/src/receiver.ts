import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { verifyWebhook } from '@plant-shop/client/webhooks';
import { until } from './shop.js';

/** A received POST. */
export interface Post {
  readonly id: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

interface Reply {
  readonly status: number;
  readonly headers?: Record<string, string>;
}

/** A webhook endpoint that records POSTs and answers as configured by `answer`. */
export class Receiver {
  readonly posts: Post[] = [];
  answer: (post: Post) => Reply = () => ({ status: 204 });

  private constructor(
    private readonly server: ReturnType<typeof createServer>,
    readonly url: string,
  ) {}

  static async start(): Promise<Receiver> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const receiver = new Receiver(server, `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`);
    server.on('request', (request, response) => {
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      request.on('end', () => {
        const post = { id: String(request.headers['webhook-id']), headers: request.headers, body: Buffer.concat(parts).toString('utf8') };
        receiver.posts.push(post);
        const { status, headers } = receiver.answer(post);
        response.writeHead(status, headers).end();
      });
    });
    return receiver;
  }

  /** Waits until `count` POSTs have arrived. @returns all of them */
  async got(count: number, limitMs?: number): Promise<readonly Post[]> {
    await until(async () => this.posts.length >= count, limitMs);
    return this.posts;
  }

  stop(): Promise<void> {
    const stopped = new Promise<void>((resolve) => this.server.close(() => resolve()));
    this.server.closeAllConnections();
    return stopped;
  }
}

/** Whether the POST has a valid signature with this secret. */
export function isSigned(post: Post, secret: string): boolean {
  try {
    verifyWebhook(post.headers, post.body, secret);
    return true;
  } catch {
    return false;
  }
}
