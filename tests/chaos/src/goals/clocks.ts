import { describe } from '../checks/answers.js';
import type { Violation } from '../checks/violation.js';
import { isAnswered, isServed } from '../history.js';
import { describeFault, type Fault } from '../plan.js';
import type { Random } from '../random.js';
import type { Row } from '../report.js';
import { services, type Stack } from '../stack.js';
import { runWorkload } from '../workload.js';
import { busySeconds, type Goal, rowOf, openTrial } from './goal.js';

/** The largest allowed difference between the clocks of two hosts. */
const maxSkewMs = 600_000;
const stepsMs = [-maxSkewMs, -5_000, 5_000, maxSkewMs];
const everyMs = 4_000;

/** The clocks of hosts are wrong and change during the workload. No request may fail because of it. */
const clocks: Goal = {
  what: 'clocks of single hosts are set by ±5 s and ±10 min',
  weight: 4,
  isLong: true,
  run: async (context): Promise<Row[]> => {
    const { stack, say } = context.testbed;
    if (stack.clocks === undefined) {
      say('  skipped: libfaketime is not available on this machine');
      return [];
    }
    const seconds = busySeconds(context);
    const plan = clockPlan(context.random.fork(), stack, seconds);
    for (const fault of plan) say(`  plan  ${describeFault(fault)}`);
    const trial = await openTrial(context);
    trial.databaseClockErrorMs = maxSkewMs;
    await trial.faults.carryOut(plan, runWorkload(trial, { seconds }));
    for (const clock of Object.values(stack.clocks)) clock.set(0);
    // A clock set forward makes a login old. To ask again, also for a repetition, is the safe side and has no effect: not judged.
    const judged = trial.calls.filter((call) => !(isAnswered(call) && call.answer.code === 'recent-login-required'));
    trial.calls.splice(0, trial.calls.length, ...judged);
    const refused = judged
      .filter((call) => !isServed(call))
      .map((call): Violation => ({ rule: 'answers', what: `refused although only clocks were changed: ${describe(call)}: ${JSON.stringify(call.answer)}` }));
    return [await rowOf('R12', clocks.what, trial, refused)];
  },
};

/** One host at a time is off, so that no two clocks differ by more than is allowed; services and databases take turns. */
function clockPlan(random: Random, stack: Stack, seconds: number): Fault[] {
  const plan: Fault[] = [];
  let turns: Fault[] = [];
  for (let atMs = 1_000; atMs < (seconds - 4) * 1_000; atMs += everyMs) {
    if (turns.length === 0) {
      const hosts = [...services.map((service) => labelsOf(stack, service)), ['postgres']];
      turns = random.shuffle(hosts.flatMap((labels) =>
        stepsMs.map((aheadMs): Fault => ({ kind: 'clock', atMs: 0, targets: [random.pick(labels)], aheadMs }))));
    }
    plan.push({ ...turns.shift()!, atMs });
  }
  return plan;
}

const labelsOf = (stack: Stack, service: string): string[] =>
  stack.instances.filter((one) => one.service === service).map(({ label }) => label);

export const clockGoals: Readonly<Record<string, Goal>> = { R12: clocks };
