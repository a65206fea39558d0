import { noSubject } from '@plant-shop/contracts/events';
import type { LogEntry } from '../../log/log-entry.js';
import { type EventTypes, isVisibleTo } from '../../log/subscription.js';
import type { Connection } from '../connection.js';
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

/**
 * The live connections, indexed by visibility and requested event types, so that an event is matched against the connections that
 * may receive it and not against all 10,000 sockets.
 */
export class LiveConnections {
  private readonly ofAllOrders = new Groups<EventTypes>();
  private readonly bySubject = new Groups<string>();

  add(connection: Connection): void {
    const { visibility: { all, stock, subject }, filter: { types } } = connection;
    if (all) this.ofAllOrders.add(types, connection);
    else this.bySubject.add(subject, connection);
    if (!all && stock && types.haveStock) this.bySubject.add(noSubject, connection);
  }

  delete(connection: Connection): void {
    this.ofAllOrders.delete(connection.filter.types, connection);
    this.bySubject.delete(connection.visibility.subject, connection);
    this.bySubject.delete(noSubject, connection);
  }

  /** A connection may occur twice. */
  *all(): Iterable<Connection> {
    yield* this.ofAllOrders.all();
    yield* this.bySubject.all();
  }

  /** Yields connections that may see an event of the batch and asked for its type, perhaps twice. Their other filters may still exclude it. */
  *interestedIn({ entries }: EntryBatch): Iterable<Connection> {
    const typesBySubject = new Map<string, Set<string>>();
    const hasAll = this.ofAllOrders.size > 0;
    for (const entry of entries) {
      const { event } = entry;
      if (!event) {
        yield* this.all();
        return;
      }
      // The type is in the JSON, which is not parsed for nobody.
      const fields = hasAll || this.bySubject.has(event.subject) ? entry.fields : undefined;
      if (!fields) continue;
      const types = typesBySubject.get(event.subject);
      if (types) types.add(fields.type);
      else typesBySubject.set(event.subject, new Set([fields.type]));
    }
    const all = [...typesBySubject.values()];
    for (const asked of this.ofAllOrders.keys()) {
      if (all.some((types) => areAmong(asked, types))) yield* this.ofAllOrders.of(asked);
    }
    for (const [subject, types] of typesBySubject) {
      for (const connection of this.bySubject.of(subject)) if (areAmong(connection.filter.types, types)) yield connection;
    }
  }
}

const areAmong = (asked: EventTypes, types: ReadonlySet<string>): boolean => asked.types.some((type) => types.has(type));

/** Sets of connections by key. */
class Groups<Key> {
  private readonly groups = new Map<Key, Set<Connection>>();

  add(key: Key, connection: Connection): void {
    const others = this.groups.get(key);
    if (others) others.add(connection);
    else this.groups.set(key, new Set([connection]));
  }

  delete(key: Key, connection: Connection): void {
    const others = this.groups.get(key);
    if (others?.delete(connection) && others.size === 0) this.groups.delete(key);
  }

  get size(): number {
    return this.groups.size;
  }

  has(key: Key): boolean {
    return this.groups.has(key);
  }

  keys(): Iterable<Key> {
    return this.groups.keys();
  }

  of(key: Key): Iterable<Connection> {
    return this.groups.get(key) ?? [];
  }

  *all(): Iterable<Connection> {
    for (const connections of this.groups.values()) yield* connections;
  }
}

export function selectionFor(connection: Connection, batch: EntryBatch): Selection {
  const format = connection.transport?.format ?? 'plain';
  const { visibility, filter: { types } } = connection;
  if (visibility.all && (visibility.stock || !types.haveStock) && !connection.isFiltered) return batch.ofTypes(format, types);
  return batch.only(format, (entry) => isVisibleTo(connection, entry));
}
