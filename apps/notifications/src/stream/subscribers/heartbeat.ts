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

/** The part of the ping interval within which a client must answer: 8 s of 25 s. */
const answerPart = 8 / 25;

/** Pings all connections from one clock: 10,000 timers would cost more than the pings. */
export class Heartbeat {
  private readonly slots: readonly Set<Connection>[];
  private readonly answerSeconds: number;
  private second = 0;
  private next = 0;

  /** @param periodSeconds the interval in which each connection is pinged once; every second pings a part of them */
  constructor(private readonly periodSeconds: number) {
    this.slots = Array.from({ length: periodSeconds }, () => new Set());
    this.answerSeconds = Math.ceil(periodSeconds * answerPart);
  }

  /** Assigns slots in turn, so that pings are spread evenly however clients arrive. */
  add(connection: Connection): void {
    connection.heartbeatSlot = this.next;
    this.slots[this.next]?.add(connection);
    this.next = (this.next + 1) % this.periodSeconds;
  }

  delete(connection: Connection): void {
    this.slots[connection.heartbeatSlot]?.delete(connection);
  }

  /** Call once a second. Calls `onSilent` for clients that have not answered. */
  tick(cursorOf: (connection: Connection) => string | undefined, onSilent: (connection: Connection) => void): void {
    const { periodSeconds, slots } = this;
    this.second = (this.second + 1) % periodSeconds;
    const pinged = slots[(this.second - this.answerSeconds + periodSeconds) % periodSeconds] ?? [];
    for (const connection of pinged) if (connection.awaitsPong) onSilent(connection);
    for (const connection of slots[this.second] ?? []) {
      connection.messagesSincePing = 0;
      connection.awaitsPong = connection.transport?.ping(cursorOf(connection)) ?? false;
    }
  }
}
