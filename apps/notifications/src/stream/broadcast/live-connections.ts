import type { EventTypes } from '../../log/event-types.js';
import { isVisibleTo } from '../../log/subscription.js';
import type { Connection } from '../connection.js';
import type { EntryBatch, Selection } from './entry-batch.js';

/**
 * The live connections, indexed by visibility and requested event types, so that an event is matched against the connections that
 * may receive it and not against all 10,000 sockets.
 */
export class LiveConnections {
  private readonly ofAllOrders = new Groups<EventTypes>();
  private readonly bySubject = new Groups<string>();

  add(connection: Connection): void {
    const { all, subject } = connection.visibility;
    if (all) this.ofAllOrders.add(connection.filter.types, connection);
    else this.bySubject.add(subject, connection);
  }

  delete(connection: Connection): void {
    this.ofAllOrders.delete(connection.filter.types, connection);
    this.bySubject.delete(connection.visibility.subject, connection);
  }

  *all(): Iterable<Connection> {
    yield* this.ofAllOrders.all();
    yield* this.bySubject.all();
  }

  /** Yields connections that may see an event of the batch and asked for its type. Their other filters may still exclude it. */
  *interestedIn({ entries }: EntryBatch): Iterable<Connection> {
    const typesBySubject = new Map<string, Set<string>>();
    for (const { event, fields } of entries) {
      if (!event || !fields) {
        yield* this.all();
        return;
      }
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
  if (connection.visibility.all && !connection.isFiltered) return batch.ofTypes(format, connection.filter.types);
  return batch.only(format, (entry) => isVisibleTo(connection, entry));
}
