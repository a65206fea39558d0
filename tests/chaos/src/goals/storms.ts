import { describeFault, type FaultKind, makePlan } from '../plan.js';
import type { Row } from '../report.js';
import type { ServiceName } from '../stack.js';
import { trade } from '../trade.js';
import { busySeconds, type Goal, judged, openArena } from './goal.js';

interface Storm {
  readonly kinds: readonly FaultKind[];
  readonly services?: readonly ServiceName[];
}

/** From one fault to the next, however long the trial is: a short one is no harder than a long one. */
const restMs = 3_000;

/** Trade, and faults at the same time; whatever the history shows counts. */
const storm = (goal: string, what: string, weight: number, { kinds, services }: Storm): Goal => ({
  what,
  weight,
  run: async (trial): Promise<Row[]> => {
    const arena = await openArena(trial);
    const seconds = busySeconds(trial);
    const { instances, natsServers, natsVersion } = trial.ground.stack;
    const labels = instances.map(({ label }) => label);
    const plan = makePlan(trial.random.fork(), {
      kinds, labels, natsServers, natsVersion, seconds,
      ...(services && { services }),
      restMs,
      // So that a short one has several of them as well.
      ...(seconds < 30 && { longestPauseMs: 4_000 }),
    });
    for (const fault of plan) trial.ground.say(`  plan  ${describeFault(fault)}`);
    await arena.faults.carryOut(plan, trade(arena, { seconds }));
    return [await judged(goal, what, arena)];
  },
});

export const stormGoals: Readonly<Record<string, Goal>> = {
  R2: storm('R2', 'kill -9 of everything', 8, { kinds: ['kill', 'restart', 'kill'] }),
  R3: storm('R3', 'processes and servers that stand still, networks cut or half-open', 8, { kinds: ['pause', 'cut', 'stall', 'freeze'] }),
  R5: storm('R5', 'events: store, notifications and NATS killed', 7, { kinds: ['kill', 'restart', 'kill'], services: ['store', 'notifications'] }),
};
