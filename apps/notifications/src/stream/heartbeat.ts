import type { Connection } from './connection.js';

/** Every connection is pinged once in so many seconds, a part of them each second. */
const periodSeconds = 25;
const answerSeconds = 8;
/** What a client may say in that time: pings of its own, keep-alives. It has nothing else to say. */
const maxHeard = 100;

/** One clock for all connections: 10,000 timers would cost more than what they are for. */
export class Heartbeat {
  private readonly slots = Array.from({ length: periodSeconds }, () => new Set<Connection>());
  private second = 0;
  private next = 0;

  /** Spread evenly, whenever they come. */
  add(connection: Connection): void {
    connection.slot = this.next;
    this.slots[this.next]?.add(connection);
    this.next = (this.next + 1) % periodSeconds;
  }

  delete(connection: Connection): void {
    this.slots[connection.slot]?.delete(connection);
  }

  /** Once a second. `onSilent` is called for those that have not answered, `onTalking` for those that say too much. */
  tick(onSilent: (connection: Connection) => void, onTalking: (connection: Connection) => void): void {
    this.second = (this.second + 1) % periodSeconds;
    const pinged = this.slots[(this.second - answerSeconds + periodSeconds) % periodSeconds] ?? [];
    for (const connection of pinged) if (connection.isAwaited) onSilent(connection);
    for (const connection of this.slots[this.second] ?? []) {
      if (connection.heard > maxHeard) onTalking(connection);
      connection.heard = 0;
      connection.isAwaited = connection.outlet?.ping() ?? false;
    }
  }
}
