import type { Connection } from './connection.js';

/** Connections by the second in which their credentials expire, by identity's clock. */
export class Expiries {
  private readonly bySecond = new Map<number, Set<Connection>>();

  add(connection: Connection): void {
    const { expiresAt } = connection.caller;
    if (expiresAt === Infinity) return;
    const second = secondOf(expiresAt);
    connection.expirySecond = second;
    const others = this.bySecond.get(second);
    if (others) others.add(connection);
    else this.bySecond.set(second, new Set([connection]));
  }

  delete(connection: Connection): void {
    const second = connection.expirySecond;
    if (second === undefined) return;
    const others = this.bySecond.get(second);
    if (others?.delete(connection) && others.size === 0) this.bySecond.delete(second);
    connection.expirySecond = undefined;
  }

  /**
   * Looks at every second that there is, which 10,000 connections make 10,000 at most: the clock may have been set back or
   * forward since the last sweep.
   * @param time identity's clock
   * @returns those whose last second has begun
   */
  sweep(time: number): Connection[] {
    const last = secondOf(time);
    const found: Connection[] = [];
    for (const [second, connections] of this.bySecond) if (second <= last) found.push(...connections);
    return found;
  }
}

const secondOf = (ms: number): number => Math.floor(ms / 1_000);
