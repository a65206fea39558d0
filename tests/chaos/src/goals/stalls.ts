import { describe } from '../checks/answers.js';
import type { Violation } from '../checks/violation.js';
import { isServed } from '../history.js';
import { describeFault, leavesStalledMembers, makePlan } from '../plan.js';
import type { Row } from '../report.js';
import { trade } from '../trade.js';
import { busySeconds, type Goal, judged, openArena } from './goal.js';

/** What the goal says; a machine that builds something else as well gets half as much again. */
const recoveryLimitMs = 5_000;
const slack = 1.5;

/** Connections that nobody closes and nothing passes through, and servers that stand still. */
const stalls: Goal = {
  what: 'half-open connections to Postgres and NATS, SIGSTOP of both',
  weight: 5,
  isLong: true,
  run: async (trial): Promise<Row[]> => {
    const seconds = busySeconds(trial);
    const { instances, natsServers, natsVersion } = trial.ground.stack;
    const labels = instances.map(({ label }) => label);
    const plan = makePlan(trial.random.fork(), { kinds: ['stall', 'stall', 'freeze'], labels, natsServers, natsVersion, seconds });
    if (!leavesStalledMembers(natsVersion)) trial.ground.say(`  not tried: NATS connections of services other than the gateway, which nats-server ${natsVersion} does not leave while it sends to them (2.9.16 does)`);
    for (const fault of plan) trial.ground.say(`  plan  ${describeFault(fault)}`);
    const arena = await openArena(trial);
    await arena.faults.carryOut(plan, trade(arena, { seconds, leavers: 0 }));
    const late = arena.faults.done.flatMap(({ to }, n) => {
      const next = arena.faults.done[n + 1]?.from ?? Infinity;
      return arena.calls.filter((call) => call.from > to && call.to < next && !isServed(call)).map((call) => ({ call, afterMs: call.from - to }));
    });
    const violations = late
      .filter(({ afterMs }) => afterMs > recoveryLimitMs * slack)
      .map(({ call, afterMs }): Violation => ({ rule: 'settled', what: `${(afterMs / 1_000).toFixed(1)} s after the fault: ${describe(call)}` }));
    // Calls that were lost on a stalled connection wait for their deadlines: what counts is when they were made.
    const recoveryMs = Math.max(0, ...late.map(({ afterMs }) => afterMs));
    return [{ ...(await judged('R13', stalls.what, arena, violations)), recoveryMs }];
  },
};

export const stallGoals: Readonly<Record<string, Goal>> = { R13: stalls };
