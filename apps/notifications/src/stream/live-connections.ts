import type { Batch, Selected } from './batch.js';
import type { Connection } from './connection.js';
import { isFor } from './subscription.js';

/** The live connections, found by what they see: one customer's event is not held against 10,000 sockets. */
export class LiveConnections {
  private readonly seeingAll = new Set<Connection>();
  private readonly bySubject = new Map<string, Set<Connection>>();

  add(connection: Connection): void {
    const { all, subject } = connection.sees;
    if (all) {
      this.seeingAll.add(connection);
      return;
    }
    const others = this.bySubject.get(subject);
    if (others) others.add(connection);
    else this.bySubject.set(subject, new Set([connection]));
  }

  delete(connection: Connection): void {
    this.seeingAll.delete(connection);
    const { subject } = connection.sees;
    const others = this.bySubject.get(subject);
    if (others?.delete(connection) && others.size === 0) this.bySubject.delete(subject);
  }

  *all(): Iterable<Connection> {
    yield* this.seeingAll;
    for (const connections of this.bySubject.values()) yield* connections;
  }

  /** Who gets something of a batch, and what. */
  *wanting(batch: Batch): Iterable<readonly [Connection, Selected]> {
    for (const connection of this.seeingAll) yield [connection, selectionFor(connection, batch)];
    for (const connections of this.concerned(batch)) {
      for (const connection of connections) yield [connection, selectionFor(connection, batch)];
    }
  }

  private *concerned({ entries }: Batch): Iterable<ReadonlySet<Connection>> {
    if (entries.some(({ event }) => !event)) {
      yield* this.bySubject.values();
      return;
    }
    for (const subject of new Set(entries.map(({ event }) => event?.subject ?? ''))) {
      const connections = this.bySubject.get(subject);
      if (connections) yield connections;
    }
  }
}

export function selectionFor(connection: Connection, batch: Batch): Selected {
  const form = connection.outlet?.form ?? 'plain';
  if (connection.sees.all && !connection.isFiltered) return batch.all(form);
  return batch.only(form, (entry) => isFor(connection, entry));
}
