import { Inject } from '@nestjs/common';
import { type OnGatewayConnection, type OnGatewayDisconnect, type OnGatewayInit, WebSocketGateway } from '@nestjs/websockets';
import { shopMode, transportSecurity } from '@plant-shop/platform/http/security-headers';
import type { Logger } from '@plant-shop/platform/logging';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import type { WebSocketServer } from 'ws';
import { NOTIFICATIONS_OPTIONS, type NotificationsOptions } from '../../options.js';
import { Connections } from '../subscribers/connections.js';
import { updatesPath } from '../request.js';
import { type AdmittedSocket, type StreamSocket, WebSocketTransport } from './websocket.js';

/**
 * Handles WebSockets after the 101; `StreamAdapter` admits or refuses clients before it. Frames bypass Nest (`frame-sender.ts`), and
 * there is no `@SubscribeMessage`, because clients have no commands.
 */
@WebSocketGateway({ path: updatesPath })
export class OrderEventsGateway implements OnGatewayInit<WebSocketServer>, OnGatewayConnection<StreamSocket>, OnGatewayDisconnect<StreamSocket> {
  constructor(
    private readonly connections: Connections,
    @Inject(NOTIFICATIONS_OPTIONS) private readonly options: NotificationsOptions,
    @InjectLogger() private readonly logger: Logger,
  ) {}

  /** Adds the headers of every response of the stream to the 101. */
  afterInit(server: WebSocketServer): void {
    const { stream, sandbox } = this.options;
    const headers = Object.entries({ ...transportSecurity(stream.publicUrl), ...shopMode(sandbox) }).map(([name, value]) => `${name}: ${value}`);
    server.on('headers', (lines) => void lines.push(...headers));
  }

  /** Runs in the turn of the event loop that sent the 101: from then on the client receives every event after its start. */
  handleConnection(client: StreamSocket, { connection, socket, format, start }: AdmittedSocket): void {
    client.connection = connection;
    try {
      this.connections.open(connection, new WebSocketTransport(client, socket, format), start);
    } catch (error) {
      // An error thrown to Nest would end the process and all connections.
      this.logger.error({ err: error }, 'opening a stream failed');
      client.terminate();
    }
  }

  /** @param code the close code; `ws` passes a number, although Nest's interface has only strings */
  handleDisconnect({ connection }: StreamSocket, code: number | string = 'none'): void {
    this.connections.disconnected(connection, code);
  }
}
