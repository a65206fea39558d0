import type { EventTypes } from '../../log/event-types.js';
import type { LogEntry } from '../../log/log-entry.js';
import { type FrameFormat, frameOf } from '../frames.js';

/** Encoded entries for one client, and the number of events and gap notices in them. */
export interface Selection {
  readonly bytes: Buffer;
  readonly count: number;
}

const nothing: Selection = { bytes: Buffer.alloc(0), count: 0 };

/** Entries that are sent together. Clients that receive the same entries in the same format share the encoded bytes. */
export class EntryBatch {
  private readonly ofAllOrders: Record<FrameFormat, Map<EventTypes, Selection>> = { plain: new Map(), resumable: new Map(), sse: new Map() };
  private readonly joined = new Map<string, Selection>();

  constructor(readonly entries: readonly LogEntry[]) {}

  /** Returns all events of these types, and gap notices. Only the first call for a format and types filters; later ones are look-ups. */
  ofTypes(format: FrameFormat, types: EventTypes): Selection {
    const known = this.ofAllOrders[format];
    let selected = known.get(types);
    if (!selected) known.set(types, (selected = this.only(format, ({ fields }) => !fields || types.has(fields.type))));
    return selected;
  }

  only(format: FrameFormat, isWanted: (entry: LogEntry) => boolean): Selection {
    const wanted = this.entries.filter(isWanted);
    const key = `${format}:${wanted.map(({ position }) => position).join()}`;
    let selected = this.joined.get(key);
    if (!selected) this.joined.set(key, (selected = join(format, wanted)));
    return selected;
  }
}

function join(format: FrameFormat, entries: readonly LogEntry[]): Selection {
  const frames = entries.map((entry) => frameOf(entry, format)).filter((frame) => frame !== undefined);
  const [first, second] = frames;
  const bytes = first === undefined ? nothing.bytes : second === undefined ? first : Buffer.concat(frames);
  return { bytes, count: frames.length };
}
