import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Inject, Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { NOTIFICATIONS_OPTIONS, type NotificationsOptions } from '../options.js';
import { answerTo } from './stream-answer.js';

/** Listens where the stream of order events will be. */
@Injectable()
export class StreamServer implements OnModuleInit, OnApplicationShutdown {
  private server: Server | undefined;

  constructor(@Inject(NOTIFICATIONS_OPTIONS) private readonly options: NotificationsOptions) {}

  /** A port that is taken ends the start here. */
  async onModuleInit(): Promise<void> {
    const { publicUrl, stream } = this.options;
    const limits = { requestTimeout: 10_000, headersTimeout: 5_000, maxHeaderSize: 16_384 };
    // Without a listener for upgrades, handshakes of WebSockets come in as the requests that they are.
    this.server = createServer(limits, (request, response) => {
      const { status, headers, body } = answerTo(request, publicUrl);
      response.writeHead(status, headers).end(body);
    });
    this.server.listen(stream.port, stream.host);
    await once(this.server, 'listening');
  }

  async onApplicationShutdown(): Promise<void> {
    const { server } = this;
    if (!server) return;
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  }

  get port(): number {
    return (this.server?.address() as AddressInfo | null)?.port ?? 0;
  }
}
