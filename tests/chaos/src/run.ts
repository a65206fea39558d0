import { openTestbed } from './trial.js';
import { now } from './clock.js';
import { goals } from './goals/all.js';
import type { Browser } from './programs/follow-events-in-browser.js';
import { Random } from './random.js';
import { waitUntilIdle } from './idle.js';
import { describeViolations, type Row, tableOf } from './report.js';
import type { Stack } from './stack.js';

export interface Options {
  readonly seed: number;
  readonly minutes: number;
  readonly only: readonly string[];
  /** Skips the goals that need minutes. */
  readonly isShort: boolean;
  /** Runs one of R15's consumers in a page. Absent: no browser was found. */
  readonly browser?: Browser | undefined;
  readonly say: (line: string) => void;
}

/** The part of `minutes` that starting and stopping the shop takes. */
const startAndStopSeconds = 30;

export const goalNames = Object.keys(goals);

export interface Outcome {
  readonly passed: number;
  readonly failed: number;
  /** The rows with violations. */
  readonly failures: readonly string[];
}

/** Runs the goals one after the other against one shop. */
export async function run(stack: Stack, { seed, minutes, only, isShort, browser, say }: Options): Promise<Outcome> {
  const names = Object.entries(goals)
    .filter(([name, { isLong }]) => (only.length > 0 ? only.includes(name) : !(isShort && isLong)))
    .map(([name]) => name);
  const weights = names.reduce((sum, name) => sum + (goals[name]?.weight ?? 0), 0);
  const testbed = await openTestbed(stack, say, browser && { browser });
  const rows: Row[] = [];
  try {
    for (const name of names) {
      const goal = goals[name];
      if (!goal) continue;
      const seconds = ((minutes * 60 - startAndStopSeconds) * goal.weight) / weights;
      say(`\n${name}: ${goal.what} (seed ${seed}, ${Math.round(seconds)} s)`);
      const begun = now();
      const found = await attempt(name, goal.what, say, async () => {
        // Not counted in the goal's seconds, so that leftovers of other goals do not shorten it.
        const notIdle = await waitUntilIdle(testbed);
        const rows = await goal.run({ testbed, random: new Random(seed + seedOffset(name)), seconds });
        return notIdle.length === 0 ? rows : [{ goal: name, what: 'the shop before it began', tried: '', violations: notIdle }, ...rows];
      });
      rows.push(...found);
      const violations = found.flatMap((row) => row.violations);
      if (violations.length > 0) say(describeViolations(violations));
      say(`  took ${((now() - begun) / 1_000).toFixed(0)} s`);
      stack.signal.throwIfAborted();
    }
  } finally {
    testbed.close();
    say(`\n${tableOf(rows)}\n${(now() / 60_000).toFixed(1)} of ${minutes} minutes`);
  }
  const failures = rows.filter(({ violations }) => violations.length > 0).map(({ goal, what }) => `${goal}: ${what}`);
  return { passed: rows.length - failures.length, failed: failures.length, failures };
}

/** Turns an error into a violation of its goal, so that the other goals still run. */
async function attempt(goal: string, what: string, say: Options['say'], work: () => Promise<Row[]>): Promise<Row[]> {
  try {
    return await work();
  } catch (error) {
    say(String(error instanceof Error ? error.stack : error));
    return [{ goal, what, tried: 'aborted', violations: [{ rule: 'settled', what: String(error) }] }];
  }
}

/** Separates the random numbers of the goals, so that a goal alone (--only) gets the same ones as among all. */
const seedOffset = (name: string): number => Number(name.slice(1)) * 1_000_003;
