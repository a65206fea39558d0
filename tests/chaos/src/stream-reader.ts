import { JetStreamApiCodes, JetStreamApiError, type JetStreamManager, jetstreamManager } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { pause } from './clock.js';
import { type DestinationStream, eventTypes, type StreamedEvent } from './history.js';

const everyMs = 250;
/** The least that the server takes, so that repeats are stored. */
const duplicateWindowNs = 100_000_000;
const readAtOnce = 100;

/** Reads the stream of a destination of all events, and makes it anew when its server has come back without it. */
export class StreamReader implements DestinationStream {
  readonly name = 'destination';
  readonly types = eventTypes;
  readonly stream = `TRIAL-${crypto.randomUUID()}`;
  readonly subject = this.stream.toLowerCase();
  events: StreamedEvent[] = [];
  private next = 1;
  private created = '';
  private isEnding = false;
  private readonly reading: Promise<void>;

  private constructor(
    private readonly connection: NatsConnection,
    private readonly streams: JetStreamManager['streams'],
  ) {
    this.reading = this.loop();
  }

  static async open(url: string): Promise<StreamReader> {
    const connection = await connect({ servers: url, maxReconnectAttempts: -1, reconnectTimeWait: 100, pingInterval: 1_000 });
    const { streams } = await jetstreamManager(connection, { timeout: 2_000 });
    const reader = new StreamReader(connection, streams);
    await reader.make();
    return reader;
  }

  /** Deletes the stream. @returns what it had in the end */
  async end(): Promise<DestinationStream> {
    this.isEnding = true;
    await this.reading;
    this.next = 1;
    await this.read();
    await this.streams.delete(this.stream);
    await this.connection.close();
    return this;
  }

  private async loop(): Promise<void> {
    while (!this.isEnding) {
      await pause(everyMs);
      // Its server may be away; the trial waits until what it lacks is there.
      await this.read().catch(() => undefined);
    }
  }

  private async read(): Promise<void> {
    const { created, state } = await this.info();
    if (created !== this.created || state.last_seq < this.next - 1) this.next = 1;
    if (this.next === 1) this.events = [];
    this.created = created;
    while (this.next <= state.last_seq) {
      const numbers = Array.from({ length: Math.min(readAtOnce, state.last_seq - this.next + 1) }, (_, n) => this.next + n);
      const found = await Promise.all(numbers.map((seq) => this.streams.getMessage(this.stream, { seq })));
      this.events.push(...found.flatMap((one) => {
        if (!one) return [];
        const [id, epoch] = [one.header.get('Nats-Msg-Id'), one.header.get('Shop-Epoch')];
        return [{ id, epoch, body: one.string(), at: one.time.getTime() - performance.timeOrigin, isMarker: one.subject.endsWith('.gap') }];
      }));
      this.next += numbers.length;
    }
  }

  private async info(): Promise<Awaited<ReturnType<JetStreamManager['streams']['info']>>> {
    try {
      return await this.streams.info(this.stream);
    } catch (error) {
      if (error instanceof JetStreamApiError && error.code === JetStreamApiCodes.StreamNotFound) return this.make();
      throw error;
    }
  }

  private make(): Promise<Awaited<ReturnType<JetStreamManager['streams']['add']>>> {
    return this.streams.add({ name: this.stream, subjects: [`${this.subject}.>`], duplicate_window: duplicateWindowNs });
  }
}
