import { Arena, type Ground } from '../arena.js';
import type { Violation } from '../checks/violation.js';
import { now } from '../clock.js';
import type { History } from '../history.js';
import type { Row } from '../report.js';
import type { Random } from '../random.js';

export interface Trial {
  readonly ground: Ground;
  readonly random: Random;
  /** All that it may take, until it is judged: it is more of the same the longer it goes on. */
  readonly seconds: number;
}

export interface Goal {
  readonly what: string;
  /** Its share of the minutes, in parts of all. */
  readonly weight: number;
  /** Is nothing without minutes of its own, which not every build has. */
  readonly isLong?: boolean;
  readonly run: (trial: Trial) => Promise<Row[]>;
}

/** What a trial with the usual record found. */
export async function judged(goal: string, what: string, arena: Arena, more: readonly Violation[] | ((history: History) => readonly Violation[]) = [], limitMs?: number): Promise<Row> {
  const { history, violations, recoveryMs } = await arena.judge(limitMs);
  const { calls, snapshots, final } = history;
  const events = final.orders.flatMap(({ transitions }) => transitions.flatMap(({ eventId }) => eventId ?? [])).length;
  const tried = `${calls.length} calls, ${final.orders.length} orders, ${events} events, ${arena.faults.done.length} faults, ${snapshots.length} snapshots`;
  return { goal, what, tried, violations: [...violations, ...(typeof more === 'function' ? more(history) : more)], recoveryMs };
}

export const openArena = ({ ground, random }: Trial, options?: { receivers?: number; sockets?: number }): Promise<Arena> =>
  Arena.open(ground, random.fork(), options);

/** Seconds for what is tried; the others, a fifth and at most 15, are for coming to rest and judging. */
export const busySeconds = ({ seconds }: Trial): number => seconds - Math.min(seconds / 5, 15);

/** Does `work` again and again until it is `end`, so many at the same time. */
export async function again<R>(width: number, end: number, work: (n: number) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    do {
      results.push(await work(next++));
    } while (now() < end);
  };
  await Promise.all(Array.from({ length: width }, worker));
  return results;
}

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
