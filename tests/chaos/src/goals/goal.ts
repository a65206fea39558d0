import { Arena, type Ground } from '../arena.js';
import type { Violation } from '../checks/violation.js';
import type { Row } from '../report.js';
import type { Random } from '../random.js';

export interface Trial {
  readonly ground: Ground;
  readonly random: Random;
  /** How long it may go on; it takes a little more, since the last of it must come to rest. */
  readonly seconds: number;
  /** The short form, for every build: fewer of everything. */
  readonly isShort: boolean;
}

export interface Goal {
  readonly what: string;
  /** Its share of the minutes, in parts of all. 0: it takes the time it takes. */
  readonly weight: number;
  /** Takes too long for every build, however short. */
  readonly isLong?: boolean;
  readonly run: (trial: Trial) => Promise<Row[]>;
}

/** What a trial with the usual record found. */
export async function judged(goal: string, what: string, arena: Arena, more: readonly Violation[] = [], limitMs?: number): Promise<Row> {
  const { history, violations, recoveryMs } = await arena.judge(limitMs);
  const { calls, snapshots, final } = history;
  const events = final.orders.reduce((sum, { transitions }) => sum + transitions.length, 0) - final.orders.length;
  const tried = `${calls.length} calls, ${final.orders.length} orders, ${events} events, ${arena.faults.done.length} faults, ${snapshots.length} snapshots`;
  return { goal, what, tried, violations: [...violations, ...more], recoveryMs };
}

export const openArena = ({ ground, random }: Trial, options?: { receivers?: number; sockets?: number }): Promise<Arena> =>
  Arena.open(ground, random.fork(), options);

/** Does `work` with each, at most so many at the same time. */
export async function inParallel<T, R>(all: readonly T[], width: number, work: (one: T, n: number) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < all.length) {
      const n = next++;
      results[n] = await work(all[n]!, n);
    }
  };
  await Promise.all(Array.from({ length: Math.min(width, all.length) }, worker));
  return results;
}
