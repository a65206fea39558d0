import type { Connection } from '../connection.js';

/** Deadlines of connections, grouped by second: one sweep a second instead of a timer for each. */
export class Deadlines {
  private readonly bySecond = new Map<number, Set<Connection>>();
  private readonly secondOf = new Map<Connection, number>();

  /** @param at milliseconds by the clock of `sweep`; Infinity for no deadline */
  add(connection: Connection, at: number): void {
    if (at === Infinity) return;
    const second = toSecond(at);
    this.secondOf.set(connection, second);
    const others = this.bySecond.get(second);
    if (others) others.add(connection);
    else this.bySecond.set(second, new Set([connection]));
  }

  delete(connection: Connection): void {
    const second = this.secondOf.get(connection);
    if (second === undefined) return;
    this.secondOf.delete(connection);
    const others = this.bySecond.get(second);
    if (others?.delete(connection) && others.size === 0) this.bySecond.delete(second);
  }

  /**
   * Returns the connections whose deadline is in this second or earlier. Scans all seconds (at most one per connection), because
   * the clock may have been set back or forward since the last sweep.
   */
  sweep(now: number): Connection[] {
    const last = toSecond(now);
    const found: Connection[] = [];
    for (const [second, connections] of this.bySecond) if (second <= last) found.push(...connections);
    return found;
  }
}

const toSecond = (ms: number): number => Math.floor(ms / 1_000);
