import { settleLimitMs } from '../arena.js';
import { checkAcknowledged } from '../checks/orders.js';
import type { Violation } from '../checks/violation.js';
import { now, pause, until } from '../clock.js';
import { type Follower, type History, isServed, type Window } from '../history.js';
import type { Fault } from '../plan.js';
import type { Row } from '../report.js';
import type { Disk } from '../stack.js';
import { trade } from '../trade.js';
import { busySeconds, type Goal, judged, openArena, type Trial } from './goal.js';
import { lateArrival, onlyOrders, whatStaysTrue } from './long-outages.js';

/** The time by which the replica is behind. */
const lostMs = 1_000;
/** What the goal allows; a machine that is busy with something else gets three times that. */
const recoveryLimitMs = 5_000;
const slack = 3;

const brokenServers: Goal = {
  what: 'NATS servers die one at a time, a failover loses the last second, a full disk, a slow disk',
  weight: 5,
  isLong: true,
  run: async (trial): Promise<Row[]> => {
    const { stack, say } = trial.ground;
    const rows = stack.natsServers.length > 1 ? [await oneOfNats(trial)] : [];
    const disk = await stack.addStandby();
    rows.push(await failover(trial));
    if ('reason' in disk) {
      say(`  not tried: a full and a slow disk (${disk.reason})`);
      return rows;
    }
    rows.push(await fullDisk(trial, disk));
    if (disk.canBeSlow) rows.push(await slowDisk(trial, disk));
    else say('  not tried: a slow disk (this machine has no blkio control group, version 1)');
    return rows;
  },
};

/** One after the other, each back before the next: what a server had is lost, and all others go on. */
async function oneOfNats(trial: Trial): Promise<Row> {
  const what = 'NATS servers of a cluster die one at a time';
  const seconds = Math.max(15, busySeconds(trial) / 4);
  const { natsServers } = trial.ground.stack;
  const plan = [...natsServers, ...natsServers].map((server, n): Fault => ({ kind: 'restart', atMs: 1_000 + n * 3_000, targets: [server] }));
  const arena = await openArena(trial);
  await arena.faults.carryOut(plan, trade(arena, { seconds, leavers: 0, perSecond: 4 }));
  const row = await judged('R14', what, arena);
  return { ...row, violations: [...row.violations, ...recoveredLate(row.recoveryMs)] };
}

/** What the replica did not have is lost, and the stream says so once; all that it had counts. */
async function failover(trial: Trial): Promise<Row> {
  const { stack, say } = trial.ground;
  const seconds = busySeconds(trial) / 6;
  const arena = await openArena(trial);
  const plantIds = await Promise.all(Array.from({ length: 6 }, () => arena.plant(10_000)));
  await onlyOrders(arena, plantIds, seconds);
  const from = now();
  const trading = onlyOrders(arena, plantIds, seconds);
  await pause((seconds * 1_000) / 2);
  const cutAt = now();
  await stack.failOver(lostMs);
  const promotedAt = now();
  say(`  failed over in ${((promotedAt - cutAt - lostMs) / 1_000).toFixed(1)} s`);
  arena.faults.done.push({ fault: { kind: 'restart', atMs: 0, targets: ['postgres'] }, from: cutAt, to: promotedAt });
  await trading;
  await arena.faults.ready();
  await onlyOrders(arena, plantIds, seconds);
  const late = await lateArrival(arena);
  const { history: whole, recoveryMs } = await arena.judge();
  const history = { ...whole, final: { ...whole.final, sockets: whole.final.sockets.map(onceEach) } };
  // A client that comes back before the log has noted the gap is told of its own (`cursor-ahead`), and then of the log's.
  const gaps = arena.sockets.filter((socket) => socket.gaps < 1 || socket.gaps > 2);
  return {
    goal: 'R14',
    what: 'a failover to a replica that lacks the last second',
    tried: `${history.calls.length} calls in ${((now() - from) / 1_000).toFixed(0)} s, ${history.final.orders.length} orders left`,
    violations: [
      ...whatStaysTrue(history),
      ...checkAcknowledged(without(history, { from: cutAt, to: promotedAt })),
      ...late,
      ...gaps.map(({ name, gaps }): Violation => ({ rule: 'sockets', what: `${name} was told of ${gaps} gaps: one or two are right` })),
      ...recoveredLate(recoveryMs),
    ],
    recoveryMs,
  };
}

/**
 * An event whose number was lost, and not the change that it tells of, comes again after the gap; with the same id and the
 * same bytes, or the check says so.
 */
const onceEach = (one: Follower): Follower => ({
  ...one,
  events: one.events.filter((event, n) => one.events.findIndex(({ id, body }) => id === event.id && body === event.body) === n),
});

/** What was acknowledged in this window may be lost. */
const without = (history: History, { from, to }: Window): History =>
  ({ ...history, calls: history.calls.filter((call) => call.to < from || call.from > to) });

async function fullDisk(trial: Trial, disk: Disk): Promise<Row> {
  const fill = async (): Promise<void> => {
    await disk.fill();
    await trial.ground.databases.useUpWal();
  };
  return withBrokenDisk(trial, 'a full disk of Postgres', fill, () => disk.free());
}

async function slowDisk(trial: Trial, disk: Disk): Promise<Row> {
  const { stack } = trial.ground;
  const slowDown = async (): Promise<void> => {
    const pid = stack.pidOf('postgres');
    if (pid === undefined) throw new Error('Postgres does not run');
    disk.slowDown(pid);
  };
  return withBrokenDisk(trial, 'a slow disk of Postgres', slowDown, async () => disk.speedUp());
}

/** A quarter of the time of healthy trade, as much with the broken disk, and the rest to see whether all is served again. */
async function withBrokenDisk(trial: Trial, what: string, begin: () => Promise<void>, end: () => Promise<void>): Promise<Row> {
  const { stack, say } = trial.ground;
  const seconds = Math.max(12, busySeconds(trial) / 3);
  const arena = await openArena(trial);
  const trading = trade(arena, { seconds, leavers: 0, perSecond: 4 });
  await pause((seconds * 1_000) / 4);
  const from = now();
  await begin();
  say(`${(from / 1_000).toFixed(2).padStart(8)} s  ${what}`);
  await pause((seconds * 1_000) / 4);
  await end();
  const to = now();
  arena.faults.done.push({ fault: { kind: 'away', atMs: 0, targets: ['postgres'], forMs: to - from }, from, to });
  await trading;
  await until(() => Promise.resolve(stack.pidOf('postgres') !== undefined), settleLimitMs);
  const row = await judged('R14', what, arena);
  const during = arena.calls.filter((call) => call.from >= from && call.to <= to);
  const refused = during.filter((call) => !isServed(call)).length;
  return { ...row, tried: `${row.tried}; meanwhile ${refused} of ${during.length} calls refused`, violations: [...row.violations, ...recoveredLate(row.recoveryMs)] };
}

const recoveredLate = (recoveryMs = 0): Violation[] =>
  recoveryMs <= recoveryLimitMs * slack ? [] : [{ rule: 'settled', what: `served again ${(recoveryMs / 1_000).toFixed(1)} s after the end` }];

export const brokenServerGoals: Readonly<Record<string, Goal>> = { R14: brokenServers };
