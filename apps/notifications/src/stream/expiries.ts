import type { Connection } from './connection.js';

/** Connections by the second in which their credentials expire. */
export class Expiries {
  private readonly bySecond = new Map<number, Set<Connection>>();
  private swept = secondOf(Date.now());

  add(connection: Connection): void {
    const { expiresAt } = connection.caller;
    if (expiresAt === Infinity) return;
    // One that has expired already is found by the next sweep.
    const second = Math.max(secondOf(expiresAt), this.swept + 1);
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

  /** @returns those whose last second has begun */
  sweep(now: number): Connection[] {
    const last = secondOf(now);
    const found: Connection[] = [];
    // A clock that was set forward by years is no reason to count them.
    const seconds = last - this.swept > 1_000 ? [...this.bySecond.keys()].filter((one) => one <= last) : range(this.swept + 1, last);
    for (const second of seconds) found.push(...(this.bySecond.get(second) ?? []));
    this.swept = last;
    return found;
  }
}

const secondOf = (ms: number): number => Math.floor(ms / 1_000);
const range = (from: number, to: number): number[] => Array.from({ length: Math.max(0, to - from + 1) }, (_, n) => from + n);
