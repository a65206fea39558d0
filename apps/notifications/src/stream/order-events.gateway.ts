import { Inject } from '@nestjs/common';
import { type OnGatewayConnection, type OnGatewayDisconnect, type OnGatewayInit, WebSocketGateway } from '@nestjs/websockets';
import type { Logger } from '@plant-shop/platform/logging';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import type { WebSocketServer } from 'ws';
import { NOTIFICATIONS_OPTIONS, type NotificationsOptions } from '../options.js';
import { Connections } from './connections.js';
import { transportSecurity } from './problems.js';
import { updatesPath } from './request.js';
import { type AdmittedSocket, type StreamSocket, WebSocketTransport } from './websocket.js';

/**
 * The WebSocket side of the stream, from the 101 on: `StreamAdapter` admits or refuses clients before it. Frames do not pass
 * through Nest (`sender.ts`), and there is no `@SubscribeMessage`, because clients have no commands.
 */
@WebSocketGateway({ path: updatesPath })
export class OrderEventsGateway implements OnGatewayInit<WebSocketServer>, OnGatewayConnection<StreamSocket>, OnGatewayDisconnect<StreamSocket> {
  constructor(
    private readonly connections: Connections,
    @Inject(NOTIFICATIONS_OPTIONS) private readonly options: NotificationsOptions,
    @InjectLogger() private readonly logger: Logger,
  ) {}

  /** Adds the headers that every answer of the stream has to the 101. */
  afterInit(server: WebSocketServer): void {
    const headers = [...transportSecurity(this.options.stream.publicUrl)].map(([name, value]) => `${name}: ${value}`);
    server.on('headers', (lines) => void lines.push(...headers));
  }

  /** Runs in the turn of the event loop that sent the 101: from it on, the client may rely on every event after its start. */
  handleConnection(client: StreamSocket, { connection, socket, format, start }: AdmittedSocket): void {
    client.connection = connection;
    try {
      this.connections.open(connection, new WebSocketTransport(client, socket, format), start);
    } catch (error) {
      // Nest would end the process, and with it everybody's connection.
      this.logger.error({ err: error }, 'a stream could not begin');
      client.terminate();
    }
  }

  /** @param code of the close; a number, although Nest's interface has only strings */
  handleDisconnect({ connection }: StreamSocket, code: number | string = 'none'): void {
    this.connections.disconnected(connection, code);
  }
}
