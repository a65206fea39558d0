import { settleLimitMs as longSettleLimitMs, Trial, type Testbed, openTestbed } from '../trial.js';
import type { Violation } from '../checks/violation.js';
import { prepareLibrary } from '../library.js';
import { describeFault, type Fault } from '../plan.js';
import { Random } from '../random.js';
import { describeViolations } from '../report.js';
import type { Stack } from '../stack.js';
import { runWorkload, type WorkloadOptions } from '../workload.js';
import type { Bug } from './bug.js';
import { bugs } from './bugs.js';
import type { BuildCopy } from './build-copy.js';

export interface Proof {
  readonly copy: BuildCopy;
  /** Starts a shop with empty databases from the copy. */
  readonly openStack: () => Promise<Stack>;
  readonly seed: number;
  /** Ids of bugs; empty: all bugs and the unmodified code. */
  readonly only: readonly string[];
  readonly say: (line: string) => void;
}

/** Name of the unmodified code as an argument of `--prove`. */
const unmodified = 'none';

export const proofNames: readonly string[] = [unmodified, ...bugs.map(({ id }) => id)];

const seconds = 10;
/** Long enough for the faults of all bugs, one after the other. */
const unmodifiedSeconds = 30;
const goalSeconds = 60;
/** Mails that are retried, some after 36 s. */
const unmodifiedMails = { mailCustomers: 2, mailUsers: 2, failingMails: 0.2 };
/** Shorter than in a normal run: many bugs leave work pending forever, and each would cost a minute. */
const settleLimitMs = 12_000;

/**
 * Proves that the checker detects violations: each bug must break one of the rules that it names, and the same short trial of the
 * unmodified code, with the faults of all bugs, must break none.
 */
export async function prove(proof: Proof): Promise<{ passed: number; failed: number }> {
  const { say, only } = proof;
  const lines: { readonly name: string; readonly isOk: boolean; readonly found: string }[] = [];
  const isChosen = (id: string): boolean => only.length === 0 || only.includes(id);
  const faults = [...new Map(bugs.flatMap((bug) => bug.faults ?? []).map((fault) => [describeFault(fault), fault])).values()].sort((a, b) => a.atMs - b.atMs);
  if (isChosen(unmodified)) {
    const clean = [
      ...(await runTrial(proof, faults, (trial) => workloadIn(trial, { seconds: unmodifiedSeconds, ...unmodifiedMails }))),
      ...(await runTrial(proof, [], (trial) => libraryIn(trial, seconds))),
    ];
    for (const goal of new Set(bugs.flatMap((bug) => bug.goal ?? []))) clean.push(...(await runGoal(proof, goal)));
    if (clean.length > 0) say(describeViolations(clean));
    lines.push({ name: 'the unmodified code', isOk: clean.length === 0, found: clean.length === 0 ? 'nothing' : rulesOf(clean) });
  }
  for (const bug of bugs.filter(({ id }) => isChosen(id))) {
    say(`${bug.id}: ${bug.name}`);
    const { isDetected, found } = await attempt(proof, bug);
    say(`  ${isDetected ? 'detected' : 'NOT DETECTED'}: ${found}`);
    lines.push({ name: `${bug.id}: ${bug.name}`, isOk: isDetected, found: found.split('\n')[0] ?? '' });
  }
  const width = Math.max(...lines.map(({ name }) => name.length));
  say(`\n${lines.map(({ name, isOk, found }) => `${isOk ? 'ok    ' : 'WRONG '} ${name.padEnd(width)}  ${found}`).join('\n')}`);
  const failed = lines.filter(({ isOk }) => !isOk).length;
  return { passed: lines.length - failed, failed };
}

async function attempt(proof: Proof, { edits, breaks, faults = [], workload = {}, isInLibrary = false, goal }: Bug): Promise<{ isDetected: boolean; found: string }> {
  let undo: () => void;
  try {
    undo = proof.copy.apply(edits);
  } catch (error) {
    return { isDetected: false, found: String(error instanceof Error ? error.message : error) };
  }
  try {
    const violations = goal
      ? await runGoal(proof, goal)
      : await runTrial(proof, faults, (trial) => (isInLibrary ? libraryIn(trial, workload.seconds ?? seconds) : workloadIn(trial, workload)));
    const isDetected = violations.some(({ rule }) => breaks.includes(rule));
    return { isDetected, found: violations.length === 0 ? 'nothing' : rulesOf(violations) };
  } finally {
    undo();
  }
}

const workloadIn = (trial: Trial, options: Partial<WorkloadOptions>): Promise<void> =>
  runWorkload(trial, { seconds, customers: 6, perSecond: 12, plants: 2, unitsEach: 400, ...options });

/** Consumers are nearly always busy, so that kills hit them while they handle an event. */
async function libraryIn(trial: Trial, seconds: number): Promise<void> {
  const use = await prepareLibrary(trial, { orders: seconds * 20, perSecond: 20, workMs: 30 });
  await use();
}

async function runTrial(proof: Proof, faults: readonly Fault[], work: (trial: Trial) => Promise<void>): Promise<readonly Violation[]> {
  return withTestbed(proof, async (testbed) => {
    const trial = await Trial.open(testbed, new Random(proof.seed), { receivers: 1, sockets: 2 });
    await trial.faults.carryOut(faults, work(trial));
    const { violations } = await trial.judge(trial.mailUsers.length > 0 ? longSettleLimitMs : settleLimitMs);
    return violations;
  });
}

const runGoal = (proof: Proof, goal: NonNullable<Bug['goal']>): Promise<readonly Violation[]> =>
  withTestbed(proof, async (testbed) => (await goal({ testbed, random: new Random(proof.seed), seconds: goalSeconds })).violations);

async function withTestbed({ copy, openStack, say }: Proof, work: (testbed: Testbed) => Promise<readonly Violation[]>): Promise<readonly Violation[]> {
  const stack = await openStack();
  const testbed = await openTestbed(stack, () => undefined, { library: copy.library });
  try {
    return await work(testbed);
  } catch (error) {
    say(`  ${String(error)}`);
    return [{ rule: 'settled', what: `the trial was aborted: ${String(error)}` }];
  } finally {
    testbed.close();
    await stack.end();
  }
}

function rulesOf(violations: readonly Violation[]): string {
  const counts = Map.groupBy(violations, ({ rule }) => rule);
  return [...counts].map(([rule, { length }]) => `${rule} ${length}`).join(', ');
}
