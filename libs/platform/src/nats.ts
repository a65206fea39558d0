import { type ConnectionOptions, type NatsConnection, connect } from '@nats-io/transport-node';
import type { Logger } from './logging.js';

export interface NatsSettings {
  readonly url: string;
  readonly name: string;
  readonly user?: string;
  readonly password?: string;
}

/**
 * A connection that looks for its server for ever. The client's defaults give up after ten attempts, and notice a dead
 * server after minutes.
 */
export class Nats {
  private up = true;

  private constructor(
    readonly connection: NatsConnection,
    private readonly logger: Logger,
  ) {}

  static async connect(settings: NatsSettings, logger: Logger): Promise<Nats> {
    const options: ConnectionOptions = {
      servers: settings.url,
      name: settings.name,
      maxReconnectAttempts: -1,
      waitOnFirstConnect: true,
      reconnectTimeWait: 250,
      reconnectJitter: 100,
      timeout: 2_000,
      pingInterval: 5_000,
      maxPingOut: 2,
      // A stack trace for each request would cost more than all the rest of it.
      noAsyncTraces: true,
      ignoreAuthErrorAbort: true,
      ...(settings.user !== undefined && { user: settings.user, pass: settings.password ?? '' }),
    };
    const nats = new Nats(await connect(options), logger);
    void nats.follow();
    return nats;
  }

  /** Whether the server was there when we last looked. While it is not, nothing is sent: the client would keep it back. */
  get isUp(): boolean {
    return this.up && !this.connection.isClosed();
  }

  /** Sends what is buffered and closes, or just closes when the server does not answer within the limit. */
  async close(limitMs: number): Promise<void> {
    if (this.connection.isClosed()) return;
    const timer = setTimeout(() => void this.connection.close(), limitMs);
    try {
      await (this.isUp ? this.connection.drain() : this.connection.close());
    } finally {
      clearTimeout(timer);
    }
  }

  private async follow(): Promise<void> {
    for await (const status of this.connection.status()) {
      switch (status.type) {
        case 'disconnect':
          this.up = false;
          this.logger.warn('nats disconnected');
          break;
        case 'reconnect':
          this.up = true;
          this.logger.info('nats reconnected');
          break;
        case 'error':
          this.logger.error({ err: status.error }, 'nats refused something');
          break;
        default:
      }
    }
  }
}
