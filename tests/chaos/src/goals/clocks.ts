import { describe } from '../checks/answers.js';
import type { Violation } from '../checks/violation.js';
import { isServed } from '../history.js';
import { describeFault, type Fault } from '../plan.js';
import type { Random } from '../random.js';
import type { Row } from '../report.js';
import { services, type Stack } from '../stack.js';
import { trade } from '../trade.js';
import { busySeconds, type Goal, judged, openArena } from './goal.js';

/** By how much the clocks of two hosts may differ. */
const mostMs = 600_000;
const stepsMs = [-mostMs, -5_000, 5_000, mostMs];
const everyMs = 4_000;

/** Hosts whose clocks are wrong, and are set while everybody works. Nobody may notice. */
const clocks: Goal = {
  what: 'clocks of single hosts are set by ±5 s and ±10 min',
  weight: 4,
  isLong: true,
  run: async (trial): Promise<Row[]> => {
    const { stack, say } = trial.ground;
    if (stack.clocks === undefined) {
      say('  not tried: libfaketime cannot be had on this machine');
      return [];
    }
    const seconds = busySeconds(trial);
    const plan = clockPlan(trial.random.fork(), stack, seconds);
    for (const fault of plan) say(`  plan  ${describeFault(fault)}`);
    const arena = await openArena(trial);
    await arena.faults.carryOut(plan, trade(arena, { seconds }));
    for (const clock of Object.values(stack.clocks)) clock.set(0);
    const refused = arena.calls
      .filter((call) => !isServed(call))
      .map((call): Violation => ({ rule: 'answers', what: `refused while only clocks were set: ${describe(call)}: ${JSON.stringify(call.answer)}` }));
    return [await judged('R12', clocks.what, arena, refused)];
  },
};

/** One host at a time is away from all others, so that no two differ by more than is allowed; each service in its turn. */
function clockPlan(random: Random, stack: Stack, seconds: number): Fault[] {
  const plan: Fault[] = [];
  let turns: Fault[] = [];
  for (let atMs = 1_000; atMs < (seconds - 4) * 1_000; atMs += everyMs) {
    if (turns.length === 0) {
      turns = random.shuffle(services).flatMap((service) =>
        random.shuffle(stepsMs).map((aheadMs): Fault => ({ kind: 'clock', atMs: 0, targets: [random.pick(labelsOf(stack, service))], aheadMs })));
      turns = random.shuffle(turns);
    }
    plan.push({ ...turns.shift()!, atMs });
  }
  return plan;
}

const labelsOf = (stack: Stack, service: string): string[] =>
  stack.instances.filter((one) => one.service === service).map(({ label }) => label);

export const clockGoals: Readonly<Record<string, Goal>> = { R12: clocks };
