import { openGround } from './arena.js';
import { now } from './clock.js';
import { goals } from './goals/all.js';
import { Random } from './random.js';
import { rest } from './rest.js';
import { describeViolations, type Row, tableOf } from './report.js';
import type { Stack } from './stack.js';

export interface Options {
  readonly seed: number;
  readonly minutes: number;
  readonly only: readonly string[];
  /** Without the goals that are nothing in a short time. */
  readonly isShort: boolean;
  readonly say: (line: string) => void;
}

/** Seconds for the shop's start and end, of all the minutes. */
const aroundSeconds = 30;

export const goalNames = Object.keys(goals);

export interface Outcome {
  readonly passed: number;
  readonly failed: number;
  /** The goals that were not reached. */
  readonly failures: readonly string[];
}

/** Tries the goals one after the other on one shop. */
export async function run(stack: Stack, { seed, minutes, only, isShort, say }: Options): Promise<Outcome> {
  const names = Object.entries(goals)
    .filter(([name, { isLong }]) => (only.length > 0 ? only.includes(name) : !(isShort && isLong)))
    .map(([name]) => name);
  const weights = names.reduce((sum, name) => sum + (goals[name]?.weight ?? 0), 0);
  const ground = await openGround(stack, say);
  const rows: Row[] = [];
  try {
    for (const name of names) {
      const goal = goals[name];
      if (!goal) continue;
      const seconds = ((minutes * 60 - aroundSeconds) * goal.weight) / weights;
      say(`\n${name}: ${goal.what} (seed ${seed}, ${Math.round(seconds)} s)`);
      const begun = now();
      const found = await attempt(name, goal.what, say, async () => {
        // Not of its time: a goal that others leave something to has no less of it.
        const unrested = await rest(ground);
        const rows = await goal.run({ ground, random: new Random(seed + numberOf(name)), seconds });
        return unrested.length === 0 ? rows : [{ goal: name, what: 'the shop before it began', tried: '', violations: unrested }, ...rows];
      });
      rows.push(...found);
      const violations = found.flatMap((row) => row.violations);
      if (violations.length > 0) say(describeViolations(violations));
      say(`  took ${((now() - begun) / 1_000).toFixed(0)} s`);
      stack.signal.throwIfAborted();
    }
  } finally {
    ground.close();
    say(`\n${tableOf(rows)}\n${(now() / 60_000).toFixed(1)} of ${minutes} minutes`);
  }
  const failures = rows.filter(({ violations }) => violations.length > 0).map(({ goal, what }) => `${goal}: ${what}`);
  return { passed: rows.length - failures.length, failed: failures.length, failures };
}

/** A trial that breaks is a failure of its own goal. */
async function attempt(goal: string, what: string, say: Options['say'], work: () => Promise<Row[]>): Promise<Row[]> {
  try {
    return await work();
  } catch (error) {
    say(String(error instanceof Error ? error.stack : error));
    return [{ goal, what, tried: 'broken off', violations: [{ rule: 'settled', what: String(error) }] }];
  }
}

/** Each goal has numbers of its own, so that one alone (--only) is the same as among all. */
const numberOf = (name: string): number => Number(name.slice(1)) * 1_000_003;
