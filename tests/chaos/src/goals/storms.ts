import { describeFault, type FaultKind, makePlan } from '../plan.js';
import type { Row } from '../report.js';
import type { ServiceName } from '../stack.js';
import { runWorkload, type WorkloadOptions } from '../workload.js';
import { busySeconds, type Goal, rowOf, openTrial } from './goal.js';

interface Storm {
  readonly kinds: readonly FaultKind[];
  readonly services?: readonly ServiceName[];
  readonly workload?: Partial<WorkloadOptions>;
}

/** Time between faults, independent of the duration, so that a short trial is no harder than a long one. */
const restMs = 3_000;

/** Runs the workload with faults, and applies all checks to the history. */
const storm = (goal: string, what: string, weight: number, { kinds, services, workload = {} }: Storm): Goal => ({
  what,
  weight,
  run: async (context): Promise<Row[]> => {
    const trial = await openTrial(context);
    const seconds = busySeconds(context);
    const { instances, natsServers, natsVersion } = context.testbed.stack;
    const labels = instances.map(({ label }) => label);
    const plan = makePlan(context.random.fork(), {
      kinds, labels, natsServers, natsVersion, seconds,
      ...(services && { services }),
      restMs,
      // Lets a short trial have several faults too.
      ...(seconds < 30 && { longestPauseMs: 4_000 }),
    });
    for (const fault of plan) context.testbed.say(`  plan  ${describeFault(fault)}`);
    await trial.faults.carryOut(plan, runWorkload(trial, { seconds, ...workload }));
    return [await rowOf(goal, what, trial)];
  },
});

export const stormGoals: Readonly<Record<string, Goal>> = {
  R2: storm('R2', 'kill -9 of everything', 8, { kinds: ['kill', 'restart', 'kill'] }),
  R3: storm('R3', 'processes and servers that stand still, networks cut or half-open', 8, { kinds: ['pause', 'cut', 'stall', 'freeze'] }),
  R5: storm('R5', 'events, mails and destinations: store, identity, notifications, NATS, the mail server and the destination\'s broker killed or cut off', 7, {
    kinds: ['kill', 'mail', 'jetstream', 'kill', 'restart', 'cut'],
    services: ['store', 'notifications', 'identity'],
    workload: { mailCustomers: 3, mailUsers: 2, failingMails: 0.2 },
  }),
};
