import { isDone } from '../history.js';
import { describe } from '../checks/answers.js';
import type { Violation } from '../checks/violation.js';
import type { Fault } from '../plan.js';
import type { Row } from '../report.js';
import { services } from '../stack.js';
import { steady } from '../steady.js';
import { trade } from '../trade.js';
import { type Goal, judged, openArena } from './goal.js';

const endLimitMs = 15_000;
/** What the goal says; a machine that builds something else as well gets thrice that. */
const recoveryLimitMs = 5_000;
const slack = 3;

/** A new release, one process after the other, while everybody goes on. */
const rolling: Goal = {
  what: 'rolling SIGTERM of everything at a fixed rate',
  weight: 0,
  run: async (trial): Promise<Row[]> => {
    const arena = await openArena(trial, { sockets: 20 });
    const labels = trial.ground.stack.instances.map(({ label }) => label);
    const all = trial.isShort ? services.map((service) => `${service}-1`) : labels;
    const roll = async (): Promise<void> => {
      for (const target of trial.random.shuffle(all)) await arena.faults.do({ kind: 'roll', atMs: 0, targets: [target] });
    };
    const calls = await steady(arena, trial.isShort ? 50 : 100, roll());
    const failed = calls.filter((call) => !isDone(call));
    const closes = arena.sockets.flatMap((socket) => socket.closes);
    const wrong: Violation[] = [
      ...failed.map((call): Violation => ({ rule: 'answers', what: `${describe(call)}: ${JSON.stringify(call.answer)}` })),
      ...closes.filter((code) => code !== 4200).map((code): Violation => ({ rule: 'sockets', what: `closed with ${code}` })),
      ...(closes.length === 0 ? [{ rule: 'sockets', what: 'no socket was told that its replica drains' } as const] : []),
      ...arena.faults.endings.filter((ms) => ms > endLimitMs).map((ms): Violation => ({ rule: 'settled', what: `a process took ${(ms / 1_000).toFixed(1)} s to end` })),
    ];
    trial.ground.say(`  ${calls.length} requests at a fixed rate, ${failed.length} failed; ${closes.length} sockets closed; longest end ${(Math.max(...arena.faults.endings) / 1_000).toFixed(1)} s`);
    return [await judged('R9', rolling.what, arena, wrong)];
  },
};

/** NATS, then Postgres, gone for everybody, and back. */
const outages: Goal = {
  what: 'NATS away, Postgres away',
  weight: 0,
  run: async (trial): Promise<Row[]> => {
    const [natsMs, postgresMs, restMs] = trial.isShort ? [5_000, 5_000, 5_000] : [60_000, 30_000, 15_000];
    const arena = await openArena(trial);
    const plan: Fault[] = [
      { kind: 'away', atMs: 2_000, targets: ['nats'], forMs: natsMs },
      { kind: 'away', atMs: 2_000 + natsMs + restMs, targets: ['postgres'], forMs: postgresMs },
    ];
    const seconds = (2_000 + natsMs + restMs + postgresMs + restMs) / 1_000;
    await arena.faults.carryOut(plan, trade(arena, { seconds, leavers: 0, perSecond: 4 }));
    const row = await judged('R10', outages.what, arena);
    if ((row.recoveryMs ?? 0) <= recoveryLimitMs * slack) return [row];
    return [{ ...row, violations: [...row.violations, { rule: 'settled', what: `served again ${((row.recoveryMs ?? 0) / 1_000).toFixed(1)} s after the return` }] }];
  },
};

export const restartGoals: Readonly<Record<string, Goal>> = { R9: rolling, R10: outages };
