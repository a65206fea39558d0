import { type Cursor, encodeCursor } from './cursor.js';
import type { Break, History, Position } from './history.js';

/** A row of the event log. */
export interface LoggedEvent {
  readonly seq: number;
  readonly id: string;
  /** Who may see it. */
  readonly subject: string;
  /** What clients get, byte for byte. */
  readonly body: string;
  /** What caused it, when that was traced. */
  readonly traceparent?: string;
}

/** Why the events before a `stream.gap` and those after it do not follow each other. */
export type GapReason = 'restored' | 'lost' | 'cursor-too-old' | 'cursor-unknown' | 'cursor-ahead';

/** What clients filter by, and when it happened; another type of event may lack some of it. */
interface EventFields {
  readonly type: string;
  readonly orderId: number | undefined;
  readonly plantId: number | undefined;
  readonly newStatus: string | undefined;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** One event or gap as it goes out: what it takes to filter and to send it is made once, when the first client needs it. */
export class LogEntry {
  private readonly encoded = new Map<string, Buffer>();
  private asText: string | undefined;
  private encodedCursor: string | undefined;
  private parsedFields: EventFields | undefined;

  private constructor(
    readonly position: Position,
    private readonly at: Cursor,
    /** Undefined: a gap, which is everybody's. */
    readonly event: LoggedEvent | undefined,
    private readonly gapText = '',
    /** When it reached notifications, in milliseconds since the epoch by identity's clock. Undefined: it is sent to a client that resumes. */
    readonly reachedAt?: number,
  ) {}

  static ofEvent(event: LoggedEvent, history: History, reachedAt?: number): LogEntry {
    return new LogEntry(event.seq, history.cursorAt(event.seq), event, '', reachedAt);
  }

  static ofBreak({ position, reason }: Break, history: History): LogEntry {
    return LogEntry.gap(position, history, reason);
  }

  static gap(position: Position, history: History, reason: GapReason): LogEntry {
    const cursor = history.cursorAt(position);
    const text = JSON.stringify({ event: 'stream.gap', timestamp: new Date().toISOString(), cursor: encodeCursor(cursor), data: { reason } });
    return new LogEntry(position, cursor, undefined, text);
  }

  /** What clients get of it, byte for byte: the body of the event, or the gap notice. */
  get body(): string {
    return this.event?.body ?? this.gapText;
  }

  get cursor(): string {
    return (this.encodedCursor ??= encodeCursor(this.at));
  }

  /** Undefined for a gap. */
  get fields(): EventFields | undefined {
    return this.event && (this.parsedFields ??= parseFields(this.event.body));
  }

  /** With id and cursor in front of what the body says, which is not parsed and written anew. */
  get text(): string {
    return (this.asText ??= this.event
      ? `{"id":"${this.event.id}","cursor":"${this.cursor}",${this.event.body.slice(1)}`
      : this.gapText);
  }

  /** Returns the bytes of this entry in a format; `encode` makes them once, for all clients of that format. */
  bytesIn<Format extends string>(format: Format, encode: (entry: LogEntry, format: Format) => Buffer): Buffer {
    let bytes = this.encoded.get(format);
    if (!bytes) this.encoded.set(format, (bytes = encode(this, format)));
    return bytes;
  }

  /** Roughly what it holds in memory, in bytes. */
  get size(): number {
    return 500 + 4 * (this.event?.body.length ?? this.gapText.length);
  }
}

function parseFields(body: string): EventFields {
  const { event = '', timestamp, data } = JSON.parse(body) as { event?: string; timestamp?: string; data?: Partial<EventFields> };
  return { type: event, orderId: data?.orderId, plantId: data?.plantId, newStatus: data?.newStatus, at: Date.parse(timestamp ?? '') };
}
