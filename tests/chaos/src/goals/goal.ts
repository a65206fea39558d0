import { Trial, type Testbed } from '../trial.js';
import type { Violation } from '../checks/violation.js';
import { now } from '../clock.js';
import type { History } from '../history.js';
import type { Row } from '../report.js';
import type { Random } from '../random.js';

export interface GoalContext {
  readonly testbed: Testbed;
  readonly random: Random;
  /** Duration of the goal, judgement included. A longer run repeats more of the same. */
  readonly seconds: number;
}

export interface Goal {
  readonly what: string;
  /** Its share of the minutes, relative to the weights of the other goals. */
  readonly weight: number;
  /** The goal needs minutes or all cores, so `--short` skips it. */
  readonly isLong?: boolean;
  readonly run: (context: GoalContext) => Promise<Row[]>;
}

/** Judges a trial and makes its row of the table. @param more further violations, or a check for them */
export async function rowOf(goal: string, what: string, trial: Trial, more: readonly Violation[] | ((history: History) => readonly Violation[]) = [], limitMs?: number): Promise<Row> {
  const { history, violations, recoveryMs } = await trial.judge(limitMs);
  const { calls, snapshots, final } = history;
  const events = final.orders.flatMap(({ transitions }) => transitions.flatMap(({ eventId }) => eventId ?? [])).length;
  const tried = `${calls.length} calls, ${final.orders.length} orders, ${events} events, ${trial.faults.injected.length} faults, ${snapshots.length} snapshots`;
  return { goal, what, tried, violations: [...violations, ...(typeof more === 'function' ? more(history) : more)], recoveryMs };
}

export const openTrial = ({ testbed, random }: GoalContext, options?: { receivers?: number; sockets?: number }): Promise<Trial> =>
  Trial.open(testbed, random.fork(), options);

/** Seconds for the workload; the rest, a fifth but at most 15 s, is for settling and judgement. */
export const busySeconds = ({ seconds }: GoalContext): number => seconds - Math.min(seconds / 5, 15);

/** Repeats `work` until the time `end`, with `width` calls in parallel, each at least once. */
export async function repeatUntil<R>(width: number, end: number, work: (n: number) => Promise<R>): Promise<R[]> {
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

/** Calls `work` with each value, at most `width` at a time. */
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
