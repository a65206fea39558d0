import type { Arena } from '../arena.js';
import { settleLimitMs } from '../arena.js';
import { checkEvents } from '../checks/events.js';
import { checkTimelines } from '../checks/orders.js';
import { checkStock } from '../checks/stock.js';
import type { Violation } from '../checks/violation.js';
import { now, pause, until } from '../clock.js';
import { type Follower, type History, isDone } from '../history.js';
import type { Row } from '../report.js';
import { instancesOf, type Link, type Links } from '../stack.js';
import { trade } from '../trade.js';
import { again, type Goal, judged, openArena, type Trial } from './goal.js';

/** What the goal says; a machine that builds something else as well gets thrice that. */
const arrivalLimitMs = 30_000;
const slack = 3;

const longest: Goal = {
  what: 'NATS away for long; notifications away; the store restored from a backup',
  weight: 10,
  isLong: true,
  run: async (trial): Promise<Row[]> => [await natsAway(trial), await notificationsAway(trial), await storeRestored(trial)],
};

/** For two fifths of the time, with what comes before and after; for ten minutes at most. */
async function natsAway(trial: Trial): Promise<Row> {
  const what = 'NATS away for long, back empty';
  const forMs = Math.round(Math.min(600_000, Math.max(10_000, trial.seconds * 400 - 12_000)));
  const arena = await openArena(trial);
  const trading = trade(arena, { seconds: forMs / 1_000 + 10, leavers: 0, perSecond: 2 });
  await arena.faults.carryOut([{ kind: 'away', atMs: 4_000, targets: ['nats'], forMs }], trading);
  return judged('R6', `${what} (${forMs / 1_000} s)`, arena, await lateArrival(arena));
}

/** Orders are paid and delivered while nobody takes their events: a quarter of the time; webhooks take half as long again to arrive. */
async function notificationsAway(trial: Trial): Promise<Row> {
  const forMs = trial.seconds * 250;
  const arena = await openArena(trial, { receivers: 1, sockets: 2 });
  const { links } = trial.ground.stack;
  const away = instancesOf(trial.ground.stack, 'notifications').flatMap(({ label }) => linksOf(links[label]));
  const plantId = await arena.plant(1_000_000);
  const from = now();
  await Promise.all(away.map((link) => link.cut()));
  trial.ground.say('  notifications away');
  let orders = 0;
  await again(32, from + forMs, async (n) => {
    orders++;
    const { call } = await arena.staff.place({ plantId, quantity: 1 });
    const id = isDone(call) ? call.answer.order?.id : undefined;
    if (id === undefined) return;
    await arena.staff.pay(id, `away-${n}`);
    await arena.staff.deliver(id);
  });
  trial.ground.say(`  back, after ${orders * 2} events`);
  await Promise.all(away.map((link) => link.restore()));
  arena.faults.done.push({ fault: { kind: 'cut', atMs: 0, targets: ['notifications-1', 'notifications-2'], from: 'nats', forMs: now() - from }, from, to: now() });
  const late = await lateArrival(arena);
  return judged('R6', `notifications away for ${orders * 2} events`, arena, late, settleLimitMs + orders * 20);
}

/** What it forgot is forgotten; what it has reaches everybody, who are told once that something is missing. */
async function storeRestored(trial: Trial): Promise<Row> {
  const { databases, stack } = trial.ground;
  const seconds = Math.min(20, Math.max(4, trial.seconds * 0.05));
  const stores = instancesOf(stack, 'store').map(({ label }) => label);
  const arena = await openArena(trial);
  const some = { seconds, leavers: 0, perSecond: 4 };
  await trade(arena, some);
  trial.ground.say('  backup of the store');
  await arena.faults.withoutPostgres(stores, () => databases.backUpStore());
  await arena.faults.ready();
  // A plant that is made after the backup would be unknown to the store: tools/reconcile mends that.
  const kept = [...arena.supplied.keys()];
  await onlyOrders(arena, kept, seconds);
  await until(() => arena.hasArrived(), settleLimitMs);
  trial.ground.say('  the store is set back to it');
  await arena.faults.withoutPostgres(stores, () => databases.setStoreBack());
  await arena.faults.ready();
  await onlyOrders(arena, kept, seconds);
  const late = await lateArrival(arena);
  const { history, recoveryMs } = await arena.judge();
  const gaps = arena.sockets.filter((socket) => socket.gaps !== 1);
  const events = history.final.log.length;
  return {
    goal: 'R6',
    what: 'the store restored from a backup',
    tried: `${history.calls.length} calls, ${history.final.orders.length} orders left, ${events} events in the log`,
    violations: [
      ...whatStaysTrue(history),
      ...late,
      ...gaps.map(({ name, gaps }): Violation => ({ rule: 'sockets', what: `${name} was told of ${gaps} gaps, and there is one` })),
    ],
    recoveryMs,
  };
}

/** Orders of plants that there are, half of them paid. */
export async function onlyOrders(arena: Arena, plantIds: readonly number[], seconds: number): Promise<void> {
  const end = now() + seconds * 1_000;
  while (now() < end) {
    const { call } = await arena.staff.place({ plantId: arena.random.pick(plantIds), quantity: 1 });
    const id = isDone(call) ? call.answer.order?.id : undefined;
    if (id !== undefined && arena.random.chance(0.7)) await arena.staff.pay(id, `paid-${id}-${Math.round(now())}`);
    await pause(30);
  }
}

/** Answers, and events of what is forgotten, are void; all that the database still holds counts. */
export function whatStaysTrue(history: History): Violation[] {
  const known = new Set(history.final.orders.flatMap(({ transitions }) => transitions.map(({ eventId }) => eventId)));
  const only = (one: Follower): Follower => ({ ...one, events: one.events.filter(({ id }) => known.has(id)) });
  const { log, receivers, sockets } = history.final;
  const final = { ...history.final, log: log.filter(({ id }) => known.has(id)), receivers: receivers.map(only), sockets: sockets.map(only) };
  const left = { ...history, final };
  return [
    ...checkEvents(left),
    ...checkTimelines(left),
    ...checkStock(left),
    ...history.unsettled.map((what): Violation => ({ rule: 'settled', what })),
  ];
}

const linksOf = (links: Links | undefined): Link[] => [links?.nats, links?.postgres].flatMap((link) => link ?? []);

/** From now on until everything is in the log and at every socket. */
export async function lateArrival(arena: Arena): Promise<Violation[]> {
  const from = now();
  await until(() => arena.hasArrived(), arrivalLimitMs * slack * 2, 250);
  const tookMs = now() - from;
  arena.ground.say(`  everything has arrived after ${(tookMs / 1_000).toFixed(1)} s`);
  return tookMs <= arrivalLimitMs * slack ? [] : [{ rule: 'settled', what: `everything had arrived only after ${(tookMs / 1_000).toFixed(0)} s` }];
}

export const longGoals: Readonly<Record<string, Goal>> = { R6: longest };
