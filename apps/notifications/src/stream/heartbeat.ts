import type { Connection } from './connection.js';

/** The part of the time between two pings that a client has for its answer: 8 s of 25. */
const answerPart = 8 / 25;
/** What a client may say in that time: pings of its own, keep-alives. It has nothing else to say. */
const maxMessages = 100;

/** One clock for all connections: 10,000 timers would cost more than what they are for. */
export class Heartbeat {
  private readonly slots: readonly Set<Connection>[];
  private readonly answerSeconds: number;
  private second = 0;
  private next = 0;

  /** Every connection is pinged once in so many seconds, a part of them each second. */
  constructor(private readonly periodSeconds: number) {
    this.slots = Array.from({ length: periodSeconds }, () => new Set());
    this.answerSeconds = Math.ceil(periodSeconds * answerPart);
  }

  /** Spread evenly, whenever they come. */
  add(connection: Connection): void {
    connection.heartbeatSlot = this.next;
    this.slots[this.next]?.add(connection);
    this.next = (this.next + 1) % this.periodSeconds;
  }

  delete(connection: Connection): void {
    this.slots[connection.heartbeatSlot]?.delete(connection);
  }

  /** Once a second. `onSilent` is called for those that have not answered, `onTalking` for those that say too much. */
  tick(onSilent: (connection: Connection) => void, onTalking: (connection: Connection) => void): void {
    const { periodSeconds, slots } = this;
    this.second = (this.second + 1) % periodSeconds;
    const pinged = slots[(this.second - this.answerSeconds + periodSeconds) % periodSeconds] ?? [];
    for (const connection of pinged) if (connection.awaitsPong) onSilent(connection);
    for (const connection of slots[this.second] ?? []) {
      if (connection.messagesSincePing > maxMessages) onTalking(connection);
      connection.messagesSincePing = 0;
      connection.awaitsPong = connection.transport?.ping() ?? false;
    }
  }
}
