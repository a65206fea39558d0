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

  /** Who sees something of a batch; a filter may leave nothing of it. */
  *seeing({ entries }: Batch): Iterable<Connection> {
    if (entries.some(({ event }) => !event)) {
      yield* this.all();
      return;
    }
    yield* this.seeingAll;
    for (const subject of new Set(entries.map(({ event }) => event?.subject ?? ''))) yield* this.bySubject.get(subject) ?? [];
  }
}

export function selectionFor(connection: Connection, batch: Batch): Selected {
  const form = connection.outlet?.form ?? 'plain';
  if (connection.sees.all && !connection.isFiltered) return batch.all(form);
  return batch.only(form, (entry) => isFor(connection, entry));
}
