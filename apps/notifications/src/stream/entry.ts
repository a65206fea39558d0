import { type Cursor, encodeCursor } from './cursor.js';
import { type Form, sseMessage, textFrame } from './frames.js';
import type { Break, History, Place } from './history.js';

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
interface Facts {
  readonly type: string;
  readonly orderId: number | undefined;
  readonly plantId: number | undefined;
  readonly newStatus: string | undefined;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** One event or gap as it goes out: what it takes to filter and to send it is made once, when the first client needs it. */
export class Entry {
  private readonly frames = new Map<Form, Buffer>();
  private asText: string | undefined;
  private encodedCursor: string | undefined;
  private knownFacts: Facts | undefined;

  private constructor(
    readonly place: Place,
    private readonly at: Cursor,
    /** Undefined: a gap, which is everybody's. */
    readonly event: LoggedEvent | undefined,
    private readonly gapText = '',
    /** When it reached notifications, in milliseconds since the epoch by identity's clock. Undefined: it is sent to a client that resumes. */
    readonly reachedAt?: number,
  ) {}

  static ofEvent(event: LoggedEvent, history: History, reachedAt?: number): Entry {
    return new Entry(event.seq, history.cursorAt(event.seq), event, '', reachedAt);
  }

  static ofBreak({ place, reason }: Break, history: History): Entry {
    return Entry.gap(place, history, reason);
  }

  static gap(place: Place, history: History, reason: GapReason): Entry {
    const cursor = history.cursorAt(place);
    const text = JSON.stringify({ event: 'stream.gap', timestamp: new Date().toISOString(), cursor: encodeCursor(cursor), data: { reason } });
    return new Entry(place, cursor, undefined, text);
  }

  get cursor(): string {
    return (this.encodedCursor ??= encodeCursor(this.at));
  }

  /** Undefined for a gap. */
  get facts(): Facts | undefined {
    return this.event && (this.knownFacts ??= factsOf(this.event.body));
  }

  /** With id and cursor in front of what the body says, which is not parsed and written anew. */
  get text(): string {
    return (this.asText ??= this.event
      ? `{"id":"${this.event.id}","cursor":"${this.cursor}",${this.event.body.slice(1)}`
      : this.gapText);
  }

  /** @returns undefined for a gap in the plain form, whose frames are events and nothing else */
  frame(form: Form): Buffer | undefined {
    if (form === 'plain' && !this.event) return undefined;
    let frame = this.frames.get(form);
    if (!frame) this.frames.set(form, (frame = this.build(form)));
    return frame;
  }

  /** Roughly what it holds in memory, in bytes. */
  get size(): number {
    return 500 + 4 * (this.event?.body.length ?? this.gapText.length);
  }

  private build(form: Form): Buffer {
    switch (form) {
      case 'plain':
        return textFrame(this.event?.body ?? this.gapText);
      case 'resumable':
        return textFrame(this.text);
      case 'sse':
        return sseMessage(this.cursor, this.event?.body ?? this.gapText);
      default:
        return form satisfies never;
    }
  }
}

function factsOf(body: string): Facts {
  const { event = '', timestamp, data } = JSON.parse(body) as { event?: string; timestamp?: string; data?: Partial<Facts> };
  return { type: event, orderId: data?.orderId, plantId: data?.plantId, newStatus: data?.newStatus, at: Date.parse(timestamp ?? '') };
}
