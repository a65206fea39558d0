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
  /** CA file (PEM) that replaces Node's CAs; if empty, Node's CAs are used. */
  readonly ca?: string;
  /**
   * Milliseconds between pings; 1,000 if absent. The client leaves a connection when two pings are unanswered as the third is due,
   * which is 2 to 3 intervals after it stalled.
   */
  readonly pingIntervalMs?: number;
}

/** A subscription that is renewed after the server refused it. */
export interface Listener {
  /** Unsubscribes. Resolves when all messages that the server had already sent are processed. */
  drain(): Promise<void>;
  stop(): void;
}

const firstConnectPauseMs = 250;
const resubscribeMs = 1_000;
const maxAnnouncedBytes = 512 * 1024;
/** Time for the last writes to a stalled connection, before its socket is destroyed. */
const staleSocketMs = 50;

/**
 * A connection that reconnects forever, and leaves a dead server within seconds. By default the client gives up after ten attempts,
 * and notices a dead server after minutes.
 */
export class Nats {
  private up = true;
  private closing = false;
  /** Numbers of the last round trip that was started to confirm our subscriptions, and of the last that succeeded. */
  private confirmation = 0;
  private confirmed = 0;
  private readonly refused = new Set<string>();
  private readonly publishers: (() => void)[] = [];

  private constructor(
    readonly connection: NatsConnection,
    private readonly logger: Logger,
  ) {}

  /**
   * Connects, and retries until the signal is aborted while the server is unreachable or refuses us. Logs the reason.
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
      // A stack trace for each request would cost more than the rest of the request.
      noAsyncTraces: true,
      ignoreAuthErrorAbort: true,
      // No process needs its own messages: replicas that broadcast to each other would read all that they have just written.
      noEcho: true,
      // The client ignores the URL's scheme: without this it would use plain text with a server that offers no TLS.
      ...((settings.url.startsWith('tls:') || settings.ca) && { tls: settings.ca ? { caFile: settings.ca } : {} }),
      ...(settings.user !== undefined && { user: settings.user, pass: settings.password ?? '' }),
    };
    const nats = new Nats(await firstConnection(options, logger, signal), logger);
    void nats.watchStatus();
    return nats;
  }

  /**
   * Whether the server was reachable when last checked. While it is not, publish nothing that must not arrive late: the client
   * buffers messages between two connection attempts and sends them after it has reconnected.
   */
  get isUp(): boolean {
    return this.up && !this.connection.isClosed();
  }

  /** Whether the server has confirmed all our subscriptions; it learns of them after the connection is established. */
  get hasConfirmedSubscriptions(): boolean {
    return this.isUp && this.confirmed === this.confirmation;
  }

  /** Subjects whose subscription the server's account permissions refuse. */
  get refusedSubjects(): readonly string[] {
    return [...this.refused];
  }

  /**
   * Subscribes to a subject for as long as the connection lives. Renews a subscription that the server refused (for example after a
   * mistake in its accounts), and logs errors of the callback; the client itself would drop the subscription for good, and stop
   * reading the whole connection.
   */
  listen(subject: string, onMessage: (message: Msg) => unknown, options: { readonly queue?: string } = {}): Listener {
    let subscription: Subscription;
    let retry: NodeJS.Timeout | undefined;
    const subscribe = (): void => {
      if (this.connection.isClosed() || this.connection.isDraining()) return;
      let refusal: Error | undefined;
      subscription = this.connection.subscribe(subject, {
        ...options,
        callback: (error, message) => {
          if (error) {
            refusal = error;
            this.refused.add(subject);
            retry = setTimeout(subscribe, resubscribeMs);
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
    subscribe();
    return {
      drain: async () => {
        clearTimeout(retry);
        if (subscription.isClosed()) return;
        if (this.isUp) await subscription.drain();
        else subscription.unsubscribe();
      },
      stop: () => {
        clearTimeout(retry);
        if (!subscription.isClosed()) subscription.unsubscribe();
      },
    };
  }

  /**
   * Calls back at the end of this turn of the event loop, together with all others that asked for it: the client sends in one write what they
   * publish, such as an answer and the event of its change. `publish` must not throw.
   */
  atEndOfTurn(publish: () => void): void {
    if (this.publishers.push(publish) > 1) return;
    setImmediate(() => {
      for (const one of this.publishers.splice(0)) one();
    });
  }

  /**
   * Publishes JSON that only saves time, since its receivers also look for themselves. Drops it while the server is down: the client would
   * send it after it has reconnected, when it is outdated.
   * @param short sent instead of a message of more than 512 KiB; NATS takes 1 MiB
   */
  announce(subject: string, message: object, short: object): void {
    this.atEndOfTurn(() => {
      if (!this.isUp) return;
      const whole = Buffer.from(JSON.stringify(message));
      try {
        this.connection.publish(subject, whole.length <= maxAnnouncedBytes ? whole : JSON.stringify(short));
      } catch (error) {
        this.logger.warn({ err: error, subject }, 'message not sent');
      }
    });
  }

  /** Sends buffered messages and closes the connection. Closes it without sending if the server does not answer within the limit. */
  async close(limitMs: number): Promise<void> {
    this.closing = true;
    if (this.connection.isClosed()) return;
    const timer = setTimeout(() => void this.connection.close(), limitMs);
    try {
      // A drain never ends if the server does not answer, and rejects without closing if the connection is lost.
      if (this.isUp) await Promise.race([this.connection.drain(), this.connection.closed()]);
    } catch (error) {
      this.logger.warn({ err: error }, 'nats drain failed');
    } finally {
      clearTimeout(timer);
      await this.connection.close();
    }
  }

  private async watchStatus(): Promise<void> {
    for await (const status of this.connection.status()) {
      switch (status.type) {
        case 'staleConnection':
          this.up = false;
          this.logger.warn('nats connection stalled, reconnecting');
          this.destroyStaleSocket();
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
          this.logger.error({ err: status.error }, 'nats server refused a subscription or message');
          break;
        default:
      }
    }
    if (!this.closing) this.logger.fatal('the nats client stopped reconnecting');
  }

  /** Confirms the subscriptions by a round trip: the server handles them before the ping that is sent after them. */
  private confirm(then?: () => void): void {
    const confirmation = ++this.confirmation;
    void this.connection.flush().then(
      () => {
        this.confirmed = Math.max(this.confirmed, confirmation);
        then?.();
      },
      // Disconnected: after reconnecting the client subscribes again, and the `reconnect` event starts another round trip.
      () => undefined,
    );
  }

  /**
   * Destroys the socket of a stalled connection. The client flushes a dead connection before it leaves it; with full buffers towards
   * a vanished host, that flush only ends with TCP's own timeout, after about 15 minutes.
   */
  private destroyStaleSocket(): void {
    // The socket is not part of the client's types. If another version of the client lacks it, reconnecting just takes longer.
    const { protocol } = this.connection as unknown as { protocol?: { transport?: { socket?: Socket } } };
    const socket = protocol?.transport?.socket;
    setTimeout(() => socket?.destroy(), staleSocketMs).unref();
  }
}

/** Retries the first connection and logs the reason. The client retries silently: a wrong password would look like a slow start. */
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
      if (attempt % 40 === 0) logger.warn({ err: error }, 'nats unreachable, retrying');
      await new Promise((resolve) => setTimeout(resolve, firstConnectPauseMs));
    }
  }
}
