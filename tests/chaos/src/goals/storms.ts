import { describeFault, type FaultKind, makePlan } from '../plan.js';
import type { Row } from '../report.js';
import type { ServiceName } from '../stack.js';
import { trade } from '../trade.js';
import { type Goal, judged, openArena } from './goal.js';

interface Storm {
  readonly kinds: readonly FaultKind[];
  readonly services?: readonly ServiceName[];
}

/** Trade, and faults at the same time; whatever the history shows counts. */
const storm = (goal: string, what: string, { kinds, services }: Storm): Goal => ({
  what,
  weight: 2,
  run: async (trial): Promise<Row[]> => {
    const arena = await openArena(trial);
    const labels = trial.ground.stack.instances.map(({ label }) => label);
    const plan = makePlan(trial.random.fork(), {
      kinds, labels, seconds: trial.seconds,
      ...(services && { services }),
      ...(trial.isShort && { restMs: 2_500, longestPauseMs: 4_000 }),
    });
    for (const fault of plan) trial.ground.say(`  plan  ${describeFault(fault)}`);
    await arena.faults.carryOut(plan, trade(arena, { seconds: trial.seconds }));
    return [await judged(goal, what, arena)];
  },
});

export const stormGoals: Readonly<Record<string, Goal>> = {
  R2: storm('R2', 'kill -9 of everything', { kinds: ['kill', 'restart', 'kill'] }),
  R3: storm('R3', 'processes that stand still, cut networks', { kinds: ['pause', 'cut'] }),
  R5: storm('R5', 'events: store, notifications and NATS killed', { kinds: ['kill', 'restart', 'kill'], services: ['store', 'notifications'] }),
};
