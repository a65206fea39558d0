import type { Arena } from '../arena.js';
import type { Violation } from '../checks/violation.js';
import type { Outcome } from '../client.js';
import { pause } from '../clock.js';
import { isDone } from '../history.js';
import type { Random } from '../random.js';
import type { Row } from '../report.js';
import { instancesOf } from '../stack.js';
import { type Goal, inParallel, judged, openArena } from './goal.js';

const orderTtlMs = 600;
/** DueOrders looks every 200 ms. */
const spreadMs = 300;

/** Payment, cancellation and expiry of the same order at the same moment. */
const ends: Goal = {
  what: 'races of payment, cancellation and expiry',
  weight: 0,
  run: async (trial): Promise<Row[]> => {
    const races = trial.isShort ? 150 : 5_000;
    const { stack, balancer } = trial.ground;
    const arena = await openArena(trial, { receivers: 1, sockets: 2 });
    const restart = async (ttlMs: number): Promise<void> => {
      stack.set('store', { ORDER_TTL_MS: `${ttlMs}` });
      for (const { label } of instancesOf(stack, 'store')) await arena.faults.roll(label);
      balancer.readmit('store');
    };
    arena.ordersExpire = true;
    const plantId = await arena.plant(races);
    await restart(orderTtlMs);
    const { random } = trial;
    await inParallel(Array.from({ length: races }, (_, n) => n), 32, async (n) => {
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
    await restart(15 * 60_000);
    return [row, ...(await departures.run(trial))];
  },
};

/** A plant or a user is deleted while an order for it is placed: one of the two is refused. */
const departures: Goal = {
  what: 'races of deletions with orders',
  weight: 0,
  run: async (trial): Promise<Row[]> => {
    const races = trial.isShort ? 60 : 2_000;
    const arena = await openArena(trial, { receivers: 0, sockets: 0 });
    const plantId = await arena.plant(races);
    const { random } = trial;
    const wrong = await inParallel(Array.from({ length: races }, (_, n) => n), 8, (n) =>
      n % 2 === 0 ? plantGoes(arena, random) : userGoes(arena, random, plantId, n));
    return [await judged('R7', departures.what, arena, wrong.flat())];
  },
};

async function plantGoes(arena: Arena, random: Random): Promise<Violation[]> {
  const plantId = await arena.plant(1, [], false);
  const placing = pause(random.between(0, 15)).then(() => arena.staff.place({ plantId, quantity: 1 }));
  const deleting = pause(random.between(0, 15)).then(() => arena.staff.other('DELETE', `/v3/plant/${plantId}`));
  return oneOf(`plant ${plantId}`, arena, await placing, await deleting);
}

async function userGoes(arena: Arena, random: Random, plantId: number, n: number): Promise<Violation[]> {
  const { username, client } = await arena.customer(`leaver${n}`);
  arena.leavers.add(client.name);
  const placing = pause(random.between(0, 15)).then(() => client.place({ plantId, quantity: 1 }));
  const deleting = pause(random.between(0, 15)).then(() => arena.staff.other('DELETE', `/v3/user/${username}`));
  return oneOf(`user ${username}`, arena, await placing, await deleting);
}

async function oneOf(what: string, arena: Arena, { call: placed }: Outcome, { call: deleted }: Outcome): Promise<Violation[]> {
  if (isDone(placed) && isDone(deleted)) return [{ rule: 'owners', what: `${what} was deleted, and its order accepted` }];
  const orderId = isDone(placed) ? placed.answer.order?.id : undefined;
  if (orderId !== undefined) await arena.staff.cancel(orderId);
  return [];
}

export const raceGoals: Readonly<Record<string, Goal>> = { R7: ends };
