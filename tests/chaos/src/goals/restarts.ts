import { describe } from '../checks/answers.js';
import type { Violation } from '../checks/violation.js';
import { now } from '../clock.js';
import { isDone } from '../history.js';
import { describeFault, type Fault } from '../plan.js';
import type { Row } from '../report.js';
import { services } from '../stack.js';
import { steadyCustomer } from '../steady.js';
import { trade } from '../trade.js';
import { busySeconds, type Goal, judged, openArena } from './goal.js';

const endLimitMs = 15_000;
/** A new release, one process after the other, while everybody goes on. */
const rolling: Goal = {
  what: 'rolling SIGTERM of everything at a fixed rate',
  weight: 5,
  run: async (trial): Promise<Row[]> => {
    const { ground, random } = trial;
    const end = now() + busySeconds(trial) * 1_000;
    const arena = await openArena(trial, { sockets: 20 });
    arena.demands = { ...arena.demands, servedShare: 1 };
    // One of each service first: a short trial has no time for the others.
    const turns = [1, 2].flatMap((n) => random.shuffle(services.map((service) => `${service}-${n}`)));
    const roll = async (): Promise<void> => {
      for (let n = 0; n < services.length || now() < end; n++) {
        await arena.faults.do({ kind: 'roll', atMs: 0, targets: [turns[n % turns.length]!] });
      }
    };
    const ask = await steadyCustomer(arena, 100);
    const calls = await ask(roll());
    const failed = calls.filter((call) => !isDone(call));
    const closes = arena.sockets.flatMap((socket) => socket.closes);
    const wrong: Violation[] = [
      ...failed.map((call): Violation => ({ rule: 'answers', what: `${describe(call)}: ${JSON.stringify(call.answer)}` })),
      ...closes.filter((code) => code !== 4200).map((code): Violation => ({ rule: 'sockets', what: `closed with ${code}` })),
      ...(closes.length === 0 ? [{ rule: 'sockets', what: 'no socket was told that its replica drains' } as const] : []),
      ...arena.faults.endings.filter((ms) => ms > endLimitMs).map((ms): Violation => ({ rule: 'settled', what: `a process took ${(ms / 1_000).toFixed(1)} s to end` })),
    ];
    ground.say(`  ${calls.length} requests at a fixed rate, ${failed.length} failed; ${closes.length} sockets closed; longest end ${(Math.max(...arena.faults.endings) / 1_000).toFixed(1)} s`);
    return [await judged('R9', rolling.what, arena, wrong)];
  },
};

/** NATS away for the 60 s that the goal says, Postgres for 30 s, and 15 s after each to look whether all is served. */
const longestRoundSeconds = 120;

/** NATS, then Postgres, gone for everybody, and back: again and again, at most for the time that the goal says. */
const outages: Goal = {
  what: 'NATS away, Postgres away',
  weight: 4,
  run: async (trial): Promise<Row[]> => {
    const seconds = busySeconds(trial);
    const rounds = Math.max(1, Math.round(seconds / longestRoundSeconds));
    const roundMs = (seconds / rounds) * 1_000;
    const natsMs = Math.min(60_000, Math.max(5_000, roundMs / 2));
    const postgresMs = natsMs / 2;
    const restMs = Math.max(3_000, (roundMs - natsMs - postgresMs) / 2);
    const plan: Fault[] = [];
    let atMs = 2_000;
    for (let round = 0; round < rounds; round++) {
      plan.push({ kind: 'away', atMs, targets: ['nats'], forMs: natsMs });
      atMs += natsMs + restMs;
      plan.push({ kind: 'away', atMs, targets: ['postgres'], forMs: postgresMs });
      atMs += postgresMs + restMs;
    }
    for (const fault of plan) trial.ground.say(`  plan  ${describeFault(fault)}`);
    const arena = await openArena(trial);
    await arena.faults.carryOut(plan, trade(arena, { seconds: atMs / 1_000, leavers: 0, perSecond: 4 }));
    return [await judged('R10', outages.what, arena)];
  },
};

export const restartGoals: Readonly<Record<string, Goal>> = { R9: rolling, R10: outages };
