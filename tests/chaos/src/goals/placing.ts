import type { Trial } from '../trial.js';
import type { Violation } from '../checks/violation.js';
import type { Client } from '../client.js';
import { now } from '../clock.js';
import { isDone } from '../history.js';
import { makePlan } from '../plan.js';
import type { Random } from '../random.js';
import type { Row } from '../report.js';
import { placeBasketWithRetries, placeWithRetries } from '../retries.js';
import { busySeconds, type Goal, inParallel, rowOf, openTrial } from './goal.js';

const units = 100;
const orders = 2_000;

/** Many clients order the last units at once. */
const rush: Goal = {
  what: 'more orders than units, all at once',
  weight: 3,
  run: async (context): Promise<Row[]> => {
    const end = now() + busySeconds(context) * 1_000;
    const trial = await openTrial(context, { receivers: 0, sockets: 0 });
    // This process makes all of the load and is slower than the shop.
    trial.deadlineMs = Infinity;
    trial.objectives = { servedShare: 1, recoveryMs: Infinity };
    const wrong: Violation[] = [];
    let rounds = 0;
    do {
      rounds++;
      const plantId = await trial.plant(units);
      const outcomes = await Promise.all(Array.from({ length: orders }, () => trial.staff.place({ plantId, quantity: 1 })));
      const answers = Map.groupBy(outcomes, ({ call: { answer } }) => (answer === 'lost' ? 'lost' : `${answer.status} ${answer.code ?? ''}`));
      const count = (answer: string): number => answers.get(answer)?.length ?? 0;
      if (count('200 ') !== units || count('409 insufficient-stock') !== orders - units) {
        const all = [...answers].map(([answer, { length }]) => `${length} × ${answer}`).join(', ');
        wrong.push({ rule: 'stock', what: `${orders} orders of ${units} units: ${all}` });
      }
      wrong.push(...(await rushOfBaskets(trial, rounds)));
    } while (now() < end);
    const row = await rowOf('R1', rush.what, trial, wrong);
    return [{ ...row, tried: `${rounds} × ${orders} orders of ${units} units, and as many beside baskets in opposite order` }];
  },
};

/**
 * Baskets of two plants, half of them in the other order, and orders of one. Nothing is cancelled, and there are more orders of each plant
 * than units, so each plant sells out exactly.
 */
async function rushOfBaskets(trial: Trial, round: number): Promise<Violation[]> {
  const plantIds = [await trial.plant(units), await trial.plant(units)];
  const lines = plantIds.map((plantId) => ({ plantId, quantity: 1 }));
  const sold = new Map(plantIds.map((plantId) => [plantId, 0]));
  const sell = (plantId: number): unknown => sold.set(plantId, (sold.get(plantId) ?? 0) + 1);
  await Promise.all(Array.from({ length: orders / 2 }, async (_, n) => {
    if (n % 4 < 2) {
      const line = lines[n % 2]!;
      if (isDone((await trial.staff.place(line)).call)) sell(line.plantId);
      return;
    }
    const { basket } = await trial.staff.placeBasket(n % 2 === 0 ? lines : lines.toReversed(), `rush ${trial.random.between(0, 2 ** 31)} ${round} ${n}`);
    if (basket) plantIds.forEach(sell);
  }));
  return [...sold].flatMap(([plantId, count]): Violation[] => (count === units ? [] : [{ rule: 'stock', what: `of plant ${plantId}, ${count} of ${units} units were sold` }]));
}

/** Keys of a round, requests for each key, and concurrent requests. */
const keysAtATime = 100;
const triesEach = 10;
const width = 24;

/** Every order is requested ten times with its key, while processes that would answer are killed. */
const retries: Goal = {
  what: 'retries with their Idempotency-Key, and kills',
  weight: 5,
  run: async (context): Promise<Row[]> => {
    const { random } = context;
    const seconds = busySeconds(context);
    const trial = await openTrial(context, { receivers: 0, sockets: 0 });
    const people = await Promise.all(Array.from({ length: 4 }, (_, n) => trial.customer(`keyed${n + 1}`)));
    const plantIds = await Promise.all(Array.from({ length: 4 }, () => trial.plant(1_000_000)));
    const labels = context.testbed.stack.instances.map(({ label }) => label);
    const plan = makePlan(random.fork(), { kinds: ['kill', 'kill', 'restart'], services: ['store', 'gateway'], labels, seconds, restMs: 1_500 });
    const clients = people.map(({ client }) => client);
    const end = now() + seconds * 1_000;
    const retrying = retryUntil(() => now() >= end + trial.faults.delayMs, trial, clients, plantIds);
    await trial.faults.carryOut(plan, retrying);
    const { keys, ids } = await retrying;
    const wrong: Violation[] = ids === keys ? [] : [{ rule: 'once-per-key', what: `${keys} keys made ${ids} orders` }];
    const row = await rowOf('R4', retries.what, trial, wrong);
    return [{ ...row, tried: `${keys} keys × ${triesEach}, ${row.tried}` }];
  },
};

/** @returns the number of keys used, and of distinct orders made with them */
async function retryUntil(isOver: () => boolean, { random }: Trial, clients: readonly Client[], plantIds: readonly number[]): Promise<{ keys: number; ids: number }> {
  const own = random.fork();
  const ids = new Set<number>();
  let keys = 0;
  do {
    const tries = Array.from({ length: keysAtATime }, () => ({
      key: newKey(own, keys++),
      client: own.pick(clients),
      wanted: { plantId: own.pick(plantIds), quantity: 1 },
      isBasket: own.chance(0.3),
    })).flatMap((one) => Array.from({ length: triesEach }, () => one));
    const found = await inParallel(own.shuffle(tries), width, async ({ key, client, wanted, isBasket }) =>
      isBasket ? (await placeBasketWithRetries(client, own, [wanted, wanted], key))?.id : placeWithRetries(client, own, wanted, key));
    for (const id of found) if (id !== undefined) ids.add(id);
  } while (!isOver());
  return { keys, ids: ids.size };
}

const newKey = (random: Random, n: number): string => `retried-${n}-${random.between(0, 2 ** 31)}`;

export const placingGoals: Readonly<Record<string, Goal>> = { R1: rush, R4: retries };
