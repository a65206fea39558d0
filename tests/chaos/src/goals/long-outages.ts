import { becomesTrue } from '@plant-shop/testing/until';
import type { Trial } from '../trial.js';
import { settleLimitMs } from '../trial.js';
import { checkEvents } from '../checks/events.js';
import { checkTimelines } from '../checks/orders.js';
import { checkStock } from '../checks/stock.js';
import type { Violation } from '../checks/violation.js';
import { now, pause } from '../clock.js';
import { type Follower, type History, isDone } from '../history.js';
import type { Row } from '../report.js';
import { instancesOf, type Link, type Links } from '../stack.js';
import { runWorkload } from '../workload.js';
import { repeatUntil, type Goal, rowOf, openTrial, type GoalContext } from './goal.js';

/** The goal's target, for an idle machine; a run fails beyond `slack` times that. */
const arrivalLimitMs = 30_000;
const slack = 3;

const longOutages: Goal = {
  what: 'NATS away for long; notifications away; the store restored from a backup',
  weight: 10,
  isLong: true,
  run: async (context): Promise<Row[]> => [await natsAway(context), await notificationsAway(context), await storeRestored(context)],
};

/** NATS is away for two fifths of the time less 12 s, at most ten minutes. */
async function natsAway(context: GoalContext): Promise<Row> {
  const what = 'NATS away for long, back empty';
  const forMs = Math.round(Math.min(600_000, Math.max(10_000, context.seconds * 400 - 12_000)));
  const trial = await openTrial(context);
  const working = runWorkload(trial, { seconds: forMs / 1_000 + 10, deletedUsers: 0, perSecond: 2 });
  await trial.faults.carryOut([{ kind: 'away', atMs: 4_000, targets: ['nats'], forMs }], working);
  return rowOf('R6', `${what} (${forMs / 1_000} s)`, trial, await checkArrival(trial));
}

/** Notifications is away for a quarter of the time, while orders are paid and delivered. Webhooks take half that time again to arrive. */
async function notificationsAway(context: GoalContext): Promise<Row> {
  const forMs = context.seconds * 250;
  const trial = await openTrial(context, { receivers: 1, sockets: 2 });
  const { links } = context.testbed.stack;
  const away = instancesOf(context.testbed.stack, 'notifications').flatMap(({ label }) => linksOf(links[label]));
  const plantId = await trial.plant(1_000_000);
  const from = now();
  await Promise.all(away.map((link) => link.cut()));
  context.testbed.say('  notifications away');
  let orders = 0;
  await repeatUntil(32, from + forMs, async (n) => {
    orders++;
    const { call } = await trial.staff.place({ plantId, quantity: 1 });
    const id = isDone(call) ? call.answer.order?.id : undefined;
    if (id === undefined) return;
    await trial.staff.pay(id, `away-${n}`);
    await trial.staff.deliver(id);
  });
  context.testbed.say(`  back, after ${orders * 2} events`);
  await Promise.all(away.map((link) => link.restore()));
  trial.faults.injected.push({ fault: { kind: 'cut', atMs: 0, targets: ['notifications-1', 'notifications-2'], from: 'nats', forMs: now() - from }, from, to: now() });
  const late = await checkArrival(trial);
  return rowOf('R6', `notifications away for ${orders * 2} events`, trial, late, settleLimitMs + orders * 20);
}

/** Everything written after the backup is lost. The rest reaches every follower, and each gets exactly one gap. */
async function storeRestored(context: GoalContext): Promise<Row> {
  const { databases, stack } = context.testbed;
  const seconds = Math.min(20, Math.max(4, context.seconds * 0.05));
  const stores = instancesOf(stack, 'store').map(({ label }) => label);
  const trial = await openTrial(context);
  await runWorkload(trial, { seconds, deletedUsers: 0, perSecond: 4 });
  context.testbed.say('  backup of the store');
  await trial.faults.withoutPostgres(stores, () => databases.backUpStore());
  await trial.faults.ready();
  // No new plants from here on: the restored store would not know them until tools/reconcile runs.
  const plantIds = [...trial.supplied.keys()];
  await placeOrders(trial, plantIds, seconds);
  await becomesTrue(() => trial.hasArrived(), settleLimitMs);
  context.testbed.say('  the store is restored from it');
  await trial.faults.withoutPostgres(stores, () => databases.restoreStore());
  await trial.faults.ready();
  await placeOrders(trial, plantIds, seconds);
  const late = await checkArrival(trial);
  const { history, recoveryMs } = await trial.judge();
  const gaps = trial.sockets.filter((socket) => socket.gaps.length !== 1);
  const events = history.final.log.length;
  return {
    goal: 'R6',
    what: 'the store restored from a backup',
    tried: `${history.calls.length} calls, ${history.final.orders.length} orders left, ${events} events in the log`,
    violations: [
      ...checkRestored(history),
      ...late,
      ...gaps.map(({ name, gaps }): Violation => ({ rule: 'sockets', what: `${name} got ${gaps.length} gaps (${gaps.join(', ')}), expected one` })),
    ],
    recoveryMs,
  };
}

/** Places orders for existing plants, and pays 70 % of them. */
export async function placeOrders(trial: Trial, plantIds: readonly number[], seconds: number): Promise<void> {
  const end = now() + seconds * 1_000;
  while (now() < end) {
    const { call } = await trial.staff.place({ plantId: trial.random.pick(plantIds), quantity: 1 });
    const id = isDone(call) ? call.answer.order?.id : undefined;
    if (id !== undefined && trial.random.chance(0.7)) await trial.staff.pay(id, `paid-${id}-${Math.round(now())}`);
    await pause(30);
  }
}

/** Checks only the orders that the restored database holds, without answers and events about lost ones. */
export function checkRestored(history: History): Violation[] {
  const known = new Set(history.final.orders.flatMap(({ transitions }) => transitions.map(({ eventId }) => eventId)));
  const only = (one: Follower): Follower => ({ ...one, events: one.events.filter(({ id }) => known.has(id)) });
  const { log, receivers, sockets, destinations } = history.final;
  const final = {
    ...history.final,
    log: log.filter(({ id }) => known.has(id)),
    ...{ receivers: receivers.map(only), sockets: sockets.map(only) },
    destinations: destinations.map((one) => ({ ...one, events: one.events.filter(({ id, isMarker }) => isMarker || known.has(id)) })),
  };
  const left = { ...history, final };
  return [
    ...checkEvents(left),
    ...checkTimelines(left),
    ...checkStock(left),
    ...history.unsettled.map((what): Violation => ({ rule: 'settled', what })),
  ];
}

const linksOf = (links: Links | undefined): Link[] => [links?.nats, links?.postgres].flatMap((link) => link ?? []);

/** Waits until every event is in the log and at every socket. @returns a violation if that took too long */
export async function checkArrival(trial: Trial): Promise<Violation[]> {
  const from = now();
  await becomesTrue(() => trial.hasArrived(), arrivalLimitMs * slack * 2, 250);
  const tookMs = now() - from;
  trial.testbed.say(`  everything arrived after ${(tookMs / 1_000).toFixed(1)} s`);
  return tookMs <= arrivalLimitMs * slack ? [] : [{ rule: 'settled', what: `it took ${(tookMs / 1_000).toFixed(0)} s until everything had arrived` }];
}

export const longOutageGoals: Readonly<Record<string, Goal>> = { R6: longOutages };
