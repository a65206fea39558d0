import { type Trial, defaultTtlMs } from '../trial.js';
import type { Violation } from '../checks/violation.js';
import type { Outcome } from '../client.js';
import { now, pause } from '../clock.js';
import { isDone } from '../history.js';
import type { Random } from '../random.js';
import type { Row } from '../report.js';
import { instancesOf } from '../stack.js';
import { repeatUntil, busySeconds, type Goal, rowOf, openTrial, type GoalContext } from './goal.js';

const orderTtlMs = 600;
/** Shares of the time; the rest is for two restarts of the store, one to shorten the orders' time to live and one to reset it. */
const lifecycleShare = 0.45;
const deletionShare = 0.35;
/** Requests are spread over this time around the expiry; DueOrdersLoop polls every 200 ms. */
const spreadMs = 300;

/** Without faults nearly every request is served. */
const noFaults = { servedShare: 0.98, recoveryMs: 15_000 };

/** Payment, cancellation and expiry of one order at the same moment; then deletions against orders. */
const lifecycleRaces: Goal = {
  what: 'races of payment, cancellation and expiry',
  weight: 6,
  run: async (context): Promise<Row[]> => {
    const { stack } = context.testbed;
    const trial = await openTrial(context, { receivers: 1, sockets: 2 });
    const restart = async (ttlMs: number): Promise<void> => {
      stack.set('store', { ORDER_TTL_MS: `${ttlMs}` });
      await Promise.all(instancesOf(stack, 'store').map(({ label }) => trial.faults.roll(label)));
    };
    trial.objectives = noFaults;
    trial.timers = { expireAfterMs: orderTtlMs };
    const plantId = await trial.plant(1_000_000);
    await restart(orderTtlMs);
    const { random } = context;
    const end = now() + busySeconds(context) * lifecycleShare * 1_000;
    const { length: races } = await repeatUntil(32, end, async (n) => {
      const soon = (): Promise<void> => pause(orderTtlMs - spreadMs / 2 + random.between(0, spreadMs));
      if (n % 3 === 0) return raceBasket(trial, plantId, n, soon);
      const { call } = await trial.staff.place({ plantId, quantity: 1 });
      const id = isDone(call) ? call.answer.order?.id : undefined;
      if (id === undefined) return;
      await Promise.all([
        soon().then(() => trial.staff.pay(id, `race-${n}`)),
        soon().then(() => trial.staff.cancel(id)),
      ]);
      await trial.staff.read(id);
    });
    const row = await rowOf('R7', lifecycleRaces.what, trial);
    await restart(defaultTtlMs);
    return [{ ...row, tried: `${races} races, ${row.tried}` }, await deletionRaces(context)];
  },
};

/** The orders of a basket are paid, cancelled or expired together. */
async function raceBasket(trial: Trial, plantId: number, n: number, soon: () => Promise<void>): Promise<void> {
  const line = { plantId, quantity: 1 };
  const { basket } = await trial.staff.placeBasket([line, line, line], `race ${trial.random.between(0, 2 ** 31)} ${n}`);
  if (!basket) return;
  await Promise.all([soon().then(() => trial.staff.payBasket(basket, `race-${n}`)), soon().then(() => trial.staff.cancelBasket(basket))]);
  await trial.staff.readBasket(basket);
}

/** A plant or a user is deleted while an order is placed: one of the two requests must be refused. */
async function deletionRaces(context: GoalContext): Promise<Row> {
  const trial = await openTrial(context, { receivers: 0, sockets: 0 });
  trial.objectives = noFaults;
  const plantId = await trial.plant(1_000_000);
  const { random } = context;
  const end = now() + busySeconds(context) * deletionShare * 1_000;
  const wrong = await repeatUntil(8, end, (n) => (n % 2 === 0 ? racePlantDeletion(trial, random) : raceUserDeletion(trial, random, plantId, n)));
  const row = await rowOf('R7', 'races of deletions with orders', trial, wrong.flat());
  return { ...row, tried: `${wrong.length} races, ${row.tried}` };
}

async function racePlantDeletion(trial: Trial, random: Random): Promise<Violation[]> {
  const plantId = await trial.plant(1, [], false);
  const placing = pause(random.between(0, 15)).then(() => trial.staff.place({ plantId, quantity: 1 }));
  const deleting = pause(random.between(0, 15)).then(() => trial.staff.deletePlant(plantId));
  return notBoth(`plant ${plantId}`, trial, await placing, await deleting);
}

async function raceUserDeletion(trial: Trial, random: Random, plantId: number, n: number): Promise<Violation[]> {
  const { username, client } = await trial.customer(`deleted${n}`);
  trial.deletedUsers.add(client.name);
  // An earlier order makes the store create the customer's row: then the lock on it decides the race, not its creation.
  const { call: before } = await client.place({ plantId, quantity: 1 });
  if (isDone(before) && before.answer.order) await client.cancel(before.answer.order.id);
  const placing = pause(random.between(0, 15)).then(() => client.place({ plantId, quantity: 1 }));
  const deleting = pause(random.between(0, 15)).then(() => trial.staff.deleteUser(username));
  return notBoth(`user ${username}`, trial, await placing, await deleting);
}

async function notBoth(what: string, trial: Trial, { call: placed }: Outcome, { call: deleted }: Outcome): Promise<Violation[]> {
  if (isDone(placed) && isDone(deleted)) return [{ rule: 'owners', what: `${what} was deleted although its order was accepted` }];
  const orderId = isDone(placed) ? placed.answer.order?.id : undefined;
  if (orderId !== undefined) await trial.staff.cancel(orderId);
  return [];
}

export const raceGoals: Readonly<Record<string, Goal>> = { R7: lifecycleRaces };
