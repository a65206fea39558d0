import { isStockEvent } from '@plant-shop/contracts/events';
import { type Break, type Cursor, encodeCursor, type History, type Position } from './history.js';

/** A row of the event log. */
export interface LoggedEvent {
  readonly seq: number;
  readonly id: string;
  /** The order's owner at the time of the event; of an event of stock `noSubject`: whoever may read stock sees it. */
  readonly subject: string;
  /** The bytes that clients receive, as JSON. */
  readonly body: string;
  /** The trace that caused the event, if it was traced. */
  readonly traceparent?: string;
}

/** Why events may be missing at a `stream.gap`. */
export type GapReason = 'restored' | 'lost' | 'cursor-too-old' | 'cursor-unknown' | 'cursor-ahead';

/** The fields of an event that clients filter by, and its time. Which of them exist depends on the event type. */
interface EventFields {
  readonly type: string;
  readonly isStock: boolean;
  readonly orderId: number | undefined;
  readonly plantId: number | undefined;
  readonly newStatus: string | undefined;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** An event or a gap notice of the log. Parsed fields and encoded bytes are computed once, when the first client needs them. */
export class LogEntry {
  private readonly encoded = new Map<string, Buffer>();
  private asText: string | undefined;
  private encodedCursor: string | undefined;
  private parsedFields: EventFields | undefined;

  private constructor(
    readonly position: Position,
    private readonly at: Cursor,
    /** Undefined for a gap notice. */
    readonly event: LoggedEvent | undefined,
    private readonly gapText = '',
    /** When the event reached notifications, in milliseconds since 1970 by identity's clock. Undefined for gap notices and events of `pageEntries`. */
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

  /** The JSON text of the event or gap notice, without id and cursor of an event. */
  get body(): string {
    return this.event?.body ?? this.gapText;
  }

  get cursor(): string {
    return (this.encodedCursor ??= encodeCursor(this.at));
  }

  /** Undefined for a gap notice. */
  get fields(): EventFields | undefined {
    return this.event && (this.parsedFields ??= parseFields(this.event.body));
  }

  /** The JSON text with id and cursor. They are spliced in front of the body, which is not parsed and serialised again. */
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

  /** Estimated memory of this entry, in bytes. */
  get size(): number {
    return 500 + 4 * (this.event?.body.length ?? this.gapText.length);
  }
}

function parseFields(body: string): EventFields {
  const { event = '', timestamp, data } = JSON.parse(body) as { event?: string; timestamp?: string; data?: Partial<EventFields> };
  return { type: event, isStock: isStockEvent(event), orderId: data?.orderId, plantId: data?.plantId, newStatus: data?.newStatus, at: Date.parse(timestamp ?? '') };
}
