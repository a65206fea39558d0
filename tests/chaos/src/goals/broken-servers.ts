import { becomesTrue } from '@plant-shop/testing/until';
import { settleLimitMs } from '../trial.js';
import { checkAcknowledged } from '../checks/orders.js';
import type { Violation } from '../checks/violation.js';
import { now, pause } from '../clock.js';
import { type Follower, type History, isServed, type Window } from '../history.js';
import type { Fault } from '../plan.js';
import type { Row } from '../report.js';
import type { Disk } from '../stack.js';
import { runWorkload } from '../workload.js';
import { busySeconds, type Goal, rowOf, openTrial, type GoalContext } from './goal.js';
import { checkArrival, placeOrders, checkRestored } from './long-outages.js';

/** How far the standby lags behind at the failover. */
const lostMs = 1_000;
/** The goal's target, for an idle machine; a run fails beyond `slack` times that. */
const recoveryLimitMs = 5_000;
const slack = 3;

const brokenServers: Goal = {
  what: 'NATS servers die one at a time, a failover loses the last second, a full disk, a slow disk',
  weight: 5,
  isLong: true,
  run: async (context): Promise<Row[]> => {
    const { stack, say } = context.testbed;
    const rows = stack.natsServers.length > 1 ? [await killNatsInTurn(context)] : [];
    const disk = await stack.addStandby();
    rows.push(await failover(context));
    if ('reason' in disk) {
      say(`  skipped: a full and a slow disk (${disk.reason})`);
      return rows;
    }
    rows.push(await fullDisk(context, disk));
    if (disk.canBeSlow) rows.push(await slowDisk(context, disk));
    else say('  skipped: a slow disk (this machine has no blkio control group, version 1)');
    return rows;
  },
};

/** Kills the NATS servers one after the other, each back before the next. Its messages are lost; the other servers keep working. */
async function killNatsInTurn(context: GoalContext): Promise<Row> {
  const what = 'NATS servers of a cluster die one at a time';
  const seconds = Math.max(15, busySeconds(context) / 4);
  const { natsServers } = context.testbed.stack;
  const plan = [...natsServers, ...natsServers].map((server, n): Fault => ({ kind: 'restart', atMs: 1_000 + n * 3_000, targets: [server] }));
  const trial = await openTrial(context);
  await trial.faults.carryOut(plan, runWorkload(trial, { seconds, deletedUsers: 0, perSecond: 4 }));
  const row = await rowOf('R14', what, trial);
  return { ...row, violations: [...row.violations, ...checkRecovery(row.recoveryMs)] };
}

/** Changes that the standby lacks are lost; a client that has seen some is told of one gap, and no other of more. Everything that the standby had must be complete. */
export async function failover(context: GoalContext): Promise<Row> {
  const { stack, say } = context.testbed;
  const seconds = busySeconds(context) / 6;
  const trial = await openTrial(context);
  const plantIds = await Promise.all(Array.from({ length: 6 }, () => trial.plant(10_000)));
  await placeOrders(trial, plantIds, seconds);
  const from = now();
  const working = placeOrders(trial, plantIds, seconds);
  await pause((seconds * 1_000) / 2);
  const cutAt = now();
  await stack.failOver(lostMs);
  const promotedAt = now();
  say(`  failed over in ${((promotedAt - cutAt - lostMs) / 1_000).toFixed(1)} s`);
  trial.faults.injected.push({ fault: { kind: 'restart', atMs: 0, targets: ['postgres'] }, from: cutAt, to: promotedAt });
  await working;
  await trial.faults.ready();
  await placeOrders(trial, plantIds, seconds);
  const late = await checkArrival(trial);
  const { history: complete, recoveryMs } = await trial.judge();
  const history = { ...complete, final: { ...complete.final, sockets: complete.final.sockets.map(withoutRepetitions) } };
  const kept = new Set(complete.final.log.map(({ id }) => id));
  const gaps = trial.sockets.filter((socket) => socket.gaps.length > 1 || (socket.gaps.length === 0 && socket.events.some(({ id }) => !kept.has(id))));
  return {
    goal: 'R14',
    what: 'a failover to a replica that lacks the last second',
    tried: `${history.calls.length} calls in ${((now() - from) / 1_000).toFixed(0)} s, ${history.final.orders.length} orders left`,
    violations: [
      ...checkRestored(history),
      ...checkAcknowledged(without(history, { from: cutAt, to: promotedAt })),
      ...late,
      ...gaps.map(({ name, gaps }): Violation => ({ rule: 'sockets', what: `${name} got ${gaps.length} gaps (${gaps.join(', ')}), expected one for lost events that it has seen` })),
      ...checkRecovery(recoveryMs),
    ],
    recoveryMs,
  };
}

const synchronousFailover: Goal = {
  what: 'Postgres is killed and fails over to a synchronous replica, again and again',
  weight: 3,
  isLong: true,
  run: async (context): Promise<Row[]> => [await failoversWithoutLoss(context)],
};

/** Nothing acknowledged is lost, no event comes twice, and no client is told of a gap, as without a failover. */
export async function failoversWithoutLoss(context: GoalContext): Promise<Row> {
  const { stack, say } = context.testbed;
  const rounds = Math.max(2, Math.floor(busySeconds(context) / 15));
  const trial = await openTrial(context);
  const working = runWorkload(trial, { seconds: busySeconds(context), deletedUsers: 0, perSecond: 4 });
  for (let round = 0; round < rounds; round++) {
    await stack.addSynchronousStandby();
    await pause(2_000 + trial.random.between(0, 4_000));
    const from = now();
    await stack.failOver(0);
    const to = now();
    say(`  failed over in ${((to - from) / 1_000).toFixed(1)} s`);
    trial.faults.injected.push({ fault: { kind: 'restart', atMs: 0, targets: ['postgres'] }, from, to });
    await trial.faults.ready();
  }
  await working;
  const row = await rowOf('R16', `${rounds} failovers to a synchronous replica`, trial);
  const gaps = trial.sockets.filter((socket) => socket.gaps.length > 0);
  const told = gaps.map(({ name, gaps }): Violation => ({ rule: 'sockets', what: `${name} got ${gaps.length} gaps (${gaps.join(', ')}), expected none` }));
  return { ...row, violations: [...row.violations, ...told, ...checkRecovery(row.recoveryMs)] };
}

/**
 * Removes repetitions. If the number of an event was lost but its change was not, the event comes again after the gap, with the same
 * id and bytes; otherwise the check reports it.
 */
const withoutRepetitions = (one: Follower): Follower => ({
  ...one,
  events: one.events.filter((event, n) => one.events.findIndex(({ id, body }) => id === event.id && body === event.body) === n),
});

/** Removes the calls in this window, whose acknowledged effects may be lost. */
const without = (history: History, { from, to }: Window): History =>
  ({ ...history, calls: history.calls.filter((call) => call.to < from || call.from > to) });

async function fullDisk(context: GoalContext, disk: Disk): Promise<Row> {
  const fill = async (): Promise<void> => {
    await disk.fill();
    await context.testbed.databases.useUpWal();
  };
  return withBrokenDisk(context, 'a full disk of Postgres', fill, () => disk.free(), { mayRefuse: true });
}

async function slowDisk(context: GoalContext, disk: Disk): Promise<Row> {
  const { stack } = context.testbed;
  const slowDown = async (): Promise<void> => {
    const pid = stack.pidOf('postgres');
    if (pid === undefined) throw new Error('Postgres does not run');
    disk.slowDown(pid);
  };
  return withBrokenDisk(context, 'a slow disk of Postgres', slowDown, () => disk.speedUp(), { mayRefuse: false });
}

/** Runs the workload: a quarter of the time on a healthy disk, a quarter on the broken one, and the rest to see the recovery. */
async function withBrokenDisk(context: GoalContext, what: string, begin: () => Promise<void>, end: () => Promise<void>, { mayRefuse }: { mayRefuse: boolean }): Promise<Row> {
  const { stack, say } = context.testbed;
  const seconds = Math.max(12, busySeconds(context) / 3);
  const trial = await openTrial(context);
  const working = runWorkload(trial, { seconds, deletedUsers: 0, perSecond: 4 });
  await pause((seconds * 1_000) / 4);
  const from = now();
  await begin();
  say(`${(from / 1_000).toFixed(2).padStart(8)} s  ${what}`);
  await pause((seconds * 1_000) / 4);
  await end();
  const to = now();
  trial.faults.injected.push({ fault: { kind: 'away', atMs: 0, targets: ['postgres'], forMs: to - from }, from, to });
  await working;
  await becomesTrue(() => Promise.resolve(stack.pidOf('postgres') !== undefined), settleLimitMs);
  const row = await rowOf('R14', what, trial);
  const during = trial.calls.filter((call) => call.from >= from && call.to <= to);
  const refused = during.filter((call) => !isServed(call)).length;
  const refusals: Violation[] = mayRefuse || refused === 0 ? [] : [{ rule: 'work', what: `${refused} of ${during.length} calls were refused meanwhile` }];
  return { ...row, tried: `${row.tried}; meanwhile ${refused} of ${during.length} calls refused`, violations: [...row.violations, ...refusals, ...checkRecovery(row.recoveryMs)] };
}

const checkRecovery = (recoveryMs = 0): Violation[] =>
  recoveryMs <= recoveryLimitMs * slack ? [] : [{ rule: 'settled', what: `recovered ${(recoveryMs / 1_000).toFixed(1)} s after the end of the fault` }];

export const brokenServerGoals: Readonly<Record<string, Goal>> = { R14: brokenServers, R16: synchronousFailover };
