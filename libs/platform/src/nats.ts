import type { Socket } from 'node:net';
import {
  type ConnectionOptions,
  connect,
  type Msg,
  type NatsConnection,
  type Subscription,
} from '@nats-io/transport-node';
import type { Logger } from './logging.js';

export interface NatsSettings {
  readonly url: string;
  readonly name: string;
  readonly user?: string;
  readonly password?: string;
  /** File with the certificates of authorities (PEM) that count instead of those that Node knows; empty: those of Node. */
  readonly ca?: string;
  /**
   * Milliseconds between pings; 1,000 if absent. A connection is left when two are unanswered as the third is due, so 2 to 3
   * intervals after it stalled.
   */
  readonly pingIntervalMs?: number;
}

/** A subscription that comes back by itself. */
export interface Listener {
  /** Takes nothing new; resolves when all that the server had already sent was handed over. */
  drain(): Promise<void>;
  stop(): void;
}

const firstConnectPauseMs = 250;
const resubscribeMs = 1_000;
/** A server that left two pings unanswered takes nothing any more. */
const staleSocketMs = 50;

/**
 * A connection that looks for its server for ever. The client's defaults give up after ten attempts, and notice a dead
 * server after minutes.
 */
export class Nats {
  private up = true;
  private closing = false;
  /** Round trips that were begun so that the server knows our subscriptions, and the newest that ended. */
  private confirmation = 0;
  private confirmed = 0;
  private readonly refused = new Set<string>();

  private constructor(
    readonly connection: NatsConnection,
    private readonly logger: Logger,
  ) {}

  /**
   * Waits for ever, or until the signal, for a server that is not there yet or refuses us, and says so in the log.
   * @throws the signal's reason
   */
  static async connect(settings: NatsSettings, logger: Logger, signal?: AbortSignal): Promise<Nats> {
    const options: ConnectionOptions = {
      servers: settings.url,
      name: settings.name,
      maxReconnectAttempts: -1,
      reconnectTimeWait: 250,
      reconnectJitter: 100,
      timeout: 2_000,
      pingInterval: settings.pingIntervalMs ?? 1_000,
      maxPingOut: 2,
      // A stack trace for each request would cost more than all the rest of it.
      noAsyncTraces: true,
      ignoreAuthErrorAbort: true,
      // The client ignores the scheme: without this it would go on in plain text with a server that offers no TLS.
      ...((settings.url.startsWith('tls:') || settings.ca) && { tls: settings.ca ? { caFile: settings.ca } : {} }),
      ...(settings.user !== undefined && { user: settings.user, pass: settings.password ?? '' }),
    };
    const nats = new Nats(await firstConnection(options, logger, signal), logger);
    void nats.follow();
    return nats;
  }

  /**
   * Whether the server was there when we last looked. While it is not, publish nothing that must not be late: the client
   * keeps what is published between two attempts to connect and sends it after the second.
   */
  get isUp(): boolean {
    return this.up && !this.connection.isClosed();
  }

  /** Whether the server knows all that we listen to: it hears of that only after a connection stands. */
  get isHearing(): boolean {
    return this.isUp && this.confirmed === this.confirmation;
  }

  /** Subjects that this connection wants to hear and that the server's accounts do not give it. */
  get refusedSubjects(): readonly string[] {
    return [...this.refused];
  }

  /**
   * Hears a subject for as long as the connection lives. Two things the client leaves to its users: a subscription that
   * the server refused once (after a mistake in its accounts, say) is gone for ever, and an error thrown by a callback
   * stops the reading of the whole connection.
   */
  listen(subject: string, onMessage: (message: Msg) => unknown, options: { readonly queue?: string } = {}): Listener {
    let subscription: Subscription;
    let again: NodeJS.Timeout | undefined;
    const begin = (): void => {
      if (this.connection.isClosed() || this.connection.isDraining()) return;
      let refusal: Error | undefined;
      subscription = this.connection.subscribe(subject, {
        ...options,
        callback: (error, message) => {
          if (error) {
            refusal = error;
            this.refused.add(subject);
            again = setTimeout(begin, resubscribeMs);
            return;
          }
          try {
            onMessage(message);
          } catch (failure) {
            this.logger.error({ err: failure, subject: message.subject }, 'message failed');
          }
        },
      });
      this.confirm(() => {
        if (refusal === undefined) this.refused.delete(subject);
      });
    };
    begin();
    return {
      drain: async () => {
        clearTimeout(again);
        if (subscription.isClosed()) return;
        if (this.isUp) await subscription.drain();
        else subscription.unsubscribe();
      },
      stop: () => {
        clearTimeout(again);
        if (!subscription.isClosed()) subscription.unsubscribe();
      },
    };
  }

  /** Sends what is buffered and closes, or just closes when the server does not answer within the limit. */
  async close(limitMs: number): Promise<void> {
    this.closing = true;
    if (this.connection.isClosed()) return;
    const timer = setTimeout(() => void this.connection.close(), limitMs);
    try {
      // A drain that the server leaves unanswered never ends, and one that loses its connection rejects without closing.
      if (this.isUp) await Promise.race([this.connection.drain(), this.connection.closed()]);
    } catch (error) {
      this.logger.warn({ err: error }, 'nats drain failed');
    } finally {
      clearTimeout(timer);
      await this.connection.close();
    }
  }

  private async follow(): Promise<void> {
    for await (const status of this.connection.status()) {
      switch (status.type) {
        case 'staleConnection':
          this.up = false;
          this.logger.warn('nats connection stalled, leaving it');
          this.cutStaleSocket();
          break;
        case 'disconnect':
          this.up = false;
          this.logger.warn('nats disconnected');
          break;
        case 'reconnect':
          this.up = true;
          this.confirm();
          this.logger.info('nats reconnected');
          break;
        case 'error':
          this.logger.error({ err: status.error }, 'nats refused something');
          break;
        default:
      }
    }
    if (!this.closing) this.logger.fatal('the nats client gave up, which it was told never to do');
  }

  /** Server and client keep their order: when a ping is answered, the subscriptions sent before it are known. */
  private confirm(then?: () => void): void {
    const confirmation = ++this.confirmation;
    void this.connection.flush().then(
      () => {
        this.confirmed = Math.max(this.confirmed, confirmation);
        then?.();
      },
      // Disconnected: the client subscribes again when it is back, and `reconnect` asks again.
      () => undefined,
    );
  }

  /**
   * The client flushes a connection that it found dead before it leaves it. With full buffers towards a host that
   * vanished, that flush ends with TCP's own patience: after about 15 minutes.
   */
  private cutStaleSocket(): void {
    // Its types say nothing of the socket; without it, as after another version, all that is lost is the haste.
    const { protocol } = this.connection as unknown as { protocol?: { transport?: { socket?: Socket } } };
    const socket = protocol?.transport?.socket;
    setTimeout(() => socket?.destroy(), staleSocketMs).unref();
  }
}

/** The client's own waiting for a first connection is silent: a wrong password would look like a slow start. */
async function firstConnection(
  options: ConnectionOptions,
  logger: Logger,
  signal?: AbortSignal,
): Promise<NatsConnection> {
  for (let attempt = 0; ; attempt++) {
    signal?.throwIfAborted();
    try {
      return await connect(options);
    } catch (error) {
      if (attempt % 40 === 0) logger.warn({ err: error }, 'nats not there yet');
      await new Promise((resolve) => setTimeout(resolve, firstConnectPauseMs));
    }
  }
}
