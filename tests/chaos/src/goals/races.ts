import { type Arena, usualTtlMs } from '../arena.js';
import type { Violation } from '../checks/violation.js';
import type { Outcome } from '../client.js';
import { now, pause } from '../clock.js';
import { isDone } from '../history.js';
import type { Random } from '../random.js';
import type { Row } from '../report.js';
import { instancesOf } from '../stack.js';
import { again, busySeconds, type Goal, judged, openArena, type Trial } from './goal.js';

const orderTtlMs = 600;
/** Of the time; the store is restarted twice as well, with this time to live and without it. */
const shareOfEnds = 0.45;
const shareOfDepartures = 0.35;
/** DueOrders looks every 200 ms. */
const spreadMs = 300;

/** Nothing is broken: almost all is served. */
const noFaults = { servedShare: 0.98, recoveryMs: 15_000 };

/** Payment, cancellation and expiry of the same order at the same moment; then deletions. */
const ends: Goal = {
  what: 'races of payment, cancellation and expiry',
  weight: 6,
  run: async (trial): Promise<Row[]> => {
    const { stack } = trial.ground;
    const arena = await openArena(trial, { receivers: 1, sockets: 2 });
    const restart = async (ttlMs: number): Promise<void> => {
      stack.set('store', { ORDER_TTL_MS: `${ttlMs}` });
      await Promise.all(instancesOf(stack, 'store').map(({ label }) => arena.faults.roll(label)));
    };
    arena.demands = noFaults;
    arena.clocks = { expireAfterMs: orderTtlMs };
    const plantId = await arena.plant(1_000_000);
    await restart(orderTtlMs);
    const { random } = trial;
    const end = now() + busySeconds(trial) * shareOfEnds * 1_000;
    const { length: races } = await again(32, end, async (n) => {
      const { call } = await arena.staff.place({ plantId, quantity: 1 });
      const id = isDone(call) ? call.answer.order?.id : undefined;
      if (id === undefined) return;
      const soon = (): Promise<void> => pause(orderTtlMs - spreadMs / 2 + random.between(0, spreadMs));
      await Promise.all([
        soon().then(() => arena.staff.pay(id, `race-${n}`)),
        soon().then(() => arena.staff.cancel(id)),
      ]);
      await arena.staff.read(id);
    });
    const row = await judged('R7', ends.what, arena);
    await restart(usualTtlMs);
    return [{ ...row, tried: `${races} races, ${row.tried}` }, await departures(trial)];
  },
};

/** A plant or a user is deleted while an order for it is placed: one of the two is refused. */
async function departures(trial: Trial): Promise<Row> {
  const arena = await openArena(trial, { receivers: 0, sockets: 0 });
  arena.demands = noFaults;
  const plantId = await arena.plant(1_000_000);
  const { random } = trial;
  const end = now() + busySeconds(trial) * shareOfDepartures * 1_000;
  const wrong = await again(8, end, (n) => (n % 2 === 0 ? plantGoes(arena, random) : userGoes(arena, random, plantId, n)));
  const row = await judged('R7', 'races of deletions with orders', arena, wrong.flat());
  return { ...row, tried: `${wrong.length} races, ${row.tried}` };
}

async function plantGoes(arena: Arena, random: Random): Promise<Violation[]> {
  const plantId = await arena.plant(1, [], false);
  const placing = pause(random.between(0, 15)).then(() => arena.staff.place({ plantId, quantity: 1 }));
  const deleting = pause(random.between(0, 15)).then(() => arena.staff.removePlant(plantId));
  return oneOf(`plant ${plantId}`, arena, await placing, await deleting);
}

async function userGoes(arena: Arena, random: Random, plantId: number, n: number): Promise<Violation[]> {
  const { username, client } = await arena.customer(`leaver${n}`);
  arena.leavers.add(client.name);
  // The store knows them from an order before: then the race is decided by the lock on their row, not by its creation.
  const { call: before } = await client.place({ plantId, quantity: 1 });
  if (isDone(before) && before.answer.order) await client.cancel(before.answer.order.id);
  const placing = pause(random.between(0, 15)).then(() => client.place({ plantId, quantity: 1 }));
  const deleting = pause(random.between(0, 15)).then(() => arena.staff.removeUser(username));
  return oneOf(`user ${username}`, arena, await placing, await deleting);
}

async function oneOf(what: string, arena: Arena, { call: placed }: Outcome, { call: deleted }: Outcome): Promise<Violation[]> {
  if (isDone(placed) && isDone(deleted)) return [{ rule: 'owners', what: `${what} was deleted, and its order accepted` }];
  const orderId = isDone(placed) ? placed.answer.order?.id : undefined;
  if (orderId !== undefined) await arena.staff.cancel(orderId);
  return [];
}

export const raceGoals: Readonly<Record<string, Goal>> = { R7: ends };
