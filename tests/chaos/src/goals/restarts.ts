import { describe } from '../checks/answers.js';
import type { Violation } from '../checks/violation.js';
import { now } from '../clock.js';
import { isDone } from '../history.js';
import { describeFault, type Fault } from '../plan.js';
import type { Row } from '../report.js';
import { services } from '../stack.js';
import { constantRateLoad } from '../constant-rate.js';
import { runWorkload } from '../workload.js';
import { busySeconds, type Goal, rowOf, openTrial } from './goal.js';

const exitLimitMs = 15_000;
/** A rolling restart of all processes, as for a new release, during the workload. */
const rolling: Goal = {
  what: 'rolling SIGTERM of everything at a fixed rate',
  weight: 5,
  run: async (context): Promise<Row[]> => {
    const { testbed, random } = context;
    const end = now() + busySeconds(context) * 1_000;
    const trial = await openTrial(context, { sockets: 20 });
    trial.objectives = { ...trial.objectives, servedShare: 1 };
    // One replica of each service first: a short trial has no time for the others.
    const turns = [1, 2].flatMap((n) => random.shuffle(services.map((service) => `${service}-${n}`)));
    const roll = async (): Promise<void> => {
      for (let n = 0; n < services.length || now() < end; n++) {
        await trial.faults.do({ kind: 'roll', atMs: 0, targets: [turns[n % turns.length]!] });
      }
    };
    const runLoad = await constantRateLoad(trial, 100);
    const calls = await runLoad(roll());
    const failed = calls.filter((call) => !isDone(call));
    const closes = trial.sockets.flatMap((socket) => socket.closes);
    const wrong: Violation[] = [
      ...failed.map((call): Violation => ({ rule: 'answers', what: `${describe(call)}: ${JSON.stringify(call.answer)}` })),
      ...closes.filter((code) => code !== 4200).map((code): Violation => ({ rule: 'sockets', what: `closed with ${code}` })),
      ...(closes.length === 0 ? [{ rule: 'sockets', what: 'no socket was closed by a draining replica' } as const] : []),
      ...trial.faults.endings.filter((ms) => ms > exitLimitMs).map((ms): Violation => ({ rule: 'settled', what: `a process took ${(ms / 1_000).toFixed(1)} s to exit` })),
    ];
    testbed.say(`  ${calls.length} requests at a fixed rate, ${failed.length} failed; ${closes.length} sockets closed; slowest exit ${(Math.max(...trial.faults.endings) / 1_000).toFixed(1)} s`);
    return [await rowOf('R9', rolling.what, trial, wrong)];
  },
};

/** The goal's 60 s without NATS and 30 s without Postgres, each followed by 15 s to see the recovery. */
const longestRoundSeconds = 120;

/** NATS and Postgres in turn are away for all services, repeatedly, each time for at most the goal's duration. */
const outages: Goal = {
  what: 'NATS away, Postgres away',
  weight: 4,
  run: async (context): Promise<Row[]> => {
    const seconds = busySeconds(context);
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
    for (const fault of plan) context.testbed.say(`  plan  ${describeFault(fault)}`);
    const trial = await openTrial(context);
    await trial.faults.carryOut(plan, runWorkload(trial, { seconds: atMs / 1_000, deletedUsers: 0, perSecond: 4 }));
    return [await rowOf('R10', outages.what, trial)];
  },
};

export const restartGoals: Readonly<Record<string, Goal>> = { R9: rolling, R10: outages };
