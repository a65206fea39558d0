import { describe } from '../checks/answers.js';
import type { Violation } from '../checks/violation.js';
import { isServed } from '../history.js';
import { describeFault, closesStalledConnections, makePlan } from '../plan.js';
import type { Row } from '../report.js';
import { runWorkload } from '../workload.js';
import { busySeconds, type Goal, rowOf, openTrial } from './goal.js';

/** The goal's target, for an idle machine; a run fails beyond `slack` times that. */
const recoveryLimitMs = 5_000;
const slack = 1.5;

/** Half-open connections, and servers stopped by SIGSTOP. */
const stalls: Goal = {
  what: 'half-open connections to Postgres and NATS, SIGSTOP of both',
  weight: 5,
  isLong: true,
  run: async (context): Promise<Row[]> => {
    const seconds = busySeconds(context);
    const { instances, natsServers, natsVersion } = context.testbed.stack;
    const labels = instances.map(({ label }) => label);
    const plan = makePlan(context.random.fork(), { kinds: ['stall', 'stall', 'freeze'], labels, natsServers, natsVersion, seconds });
    if (!closesStalledConnections(natsVersion)) context.testbed.say(`  skipped: NATS connections of services other than the gateway, because nats-server ${natsVersion} does not close stalled connections while it sends to them (2.9.16 does)`);
    for (const fault of plan) context.testbed.say(`  plan  ${describeFault(fault)}`);
    const trial = await openTrial(context);
    await trial.faults.carryOut(plan, runWorkload(trial, { seconds, deletedUsers: 0 }));
    const late = trial.faults.injected.flatMap(({ to }, n) => {
      const next = trial.faults.injected[n + 1]?.from ?? Infinity;
      return trial.calls.filter((call) => call.from > to && call.to < next && !isServed(call)).map((call) => ({ call, afterMs: call.from - to }));
    });
    const violations = late
      .filter(({ afterMs }) => afterMs > recoveryLimitMs * slack)
      .map(({ call, afterMs }): Violation => ({ rule: 'settled', what: `${(afterMs / 1_000).toFixed(1)} s after the fault: ${describe(call)}` }));
    // Calls lost on a stalled connection wait for their deadlines, so their start counts, not their end.
    const recoveryMs = Math.max(0, ...late.map(({ afterMs }) => afterMs));
    return [{ ...(await rowOf('R13', stalls.what, trial, violations)), recoveryMs }];
  },
};

export const stallGoals: Readonly<Record<string, Goal>> = { R13: stalls };
