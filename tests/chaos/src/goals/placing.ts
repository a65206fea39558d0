import type { Arena } from '../arena.js';
import type { Violation } from '../checks/violation.js';
import type { Client } from '../client.js';
import { now } from '../clock.js';
import { makePlan } from '../plan.js';
import type { Random } from '../random.js';
import type { Row } from '../report.js';
import { placeStubbornly } from '../stubborn.js';
import { busySeconds, type Goal, inParallel, judged, openArena } from './goal.js';

const units = 100;
const orders = 2_000;

/** Many want the last ones, all at once. */
const rush: Goal = {
  what: 'more orders than units, all at once',
  weight: 3,
  run: async (trial): Promise<Row[]> => {
    const end = now() + busySeconds(trial) * 1_000;
    const arena = await openArena(trial, { receivers: 0, sockets: 0 });
    // One process makes all of the rush, and is slower than the shop.
    arena.deadlineMs = Infinity;
    arena.demands = { servedShare: 1, recoveryMs: Infinity };
    const wrong: Violation[] = [];
    let rounds = 0;
    do {
      rounds++;
      const plantId = await arena.plant(units);
      const outcomes = await Promise.all(Array.from({ length: orders }, () => arena.staff.place({ plantId, quantity: 1 })));
      const answers = Map.groupBy(outcomes, ({ call: { answer } }) => (answer === 'lost' ? 'lost' : `${answer.status} ${answer.code ?? ''}`));
      const count = (answer: string): number => answers.get(answer)?.length ?? 0;
      if (count('200 ') !== units || count('409 insufficient-stock') !== orders - units) {
        const all = [...answers].map(([answer, { length }]) => `${length} × ${answer}`).join(', ');
        wrong.push({ rule: 'stock', what: `${orders} orders of ${units} units: ${all}` });
      }
    } while (now() < end);
    const row = await judged('R1', rush.what, arena, wrong);
    return [{ ...row, tried: `${rounds} × ${orders} orders of ${units} units` }];
  },
};

/** Of these so many are tried at a time, each so often, and so many together at the same moment. */
const keysAtATime = 100;
const triesEach = 10;
const width = 24;

/** Everybody asks for the same thing again and again, and is never told what came of it at first. */
const retries: Goal = {
  what: 'retries with their Idempotency-Key, and kills',
  weight: 5,
  run: async (trial): Promise<Row[]> => {
    const { random } = trial;
    const seconds = busySeconds(trial);
    const arena = await openArena(trial, { receivers: 0, sockets: 0 });
    const people = await Promise.all(Array.from({ length: 4 }, (_, n) => arena.customer(`keyed${n + 1}`)));
    const plantIds = await Promise.all(Array.from({ length: 4 }, () => arena.plant(1_000_000)));
    const labels = trial.ground.stack.instances.map(({ label }) => label);
    const plan = makePlan(random.fork(), { kinds: ['kill', 'kill', 'restart'], services: ['store', 'gateway'], labels, seconds, restMs: 1_500 });
    const clients = people.map(({ client }) => client);
    const retrying = retryUntil(now() + seconds * 1_000, arena, clients, plantIds);
    await arena.faults.carryOut(plan, retrying);
    const { keys, ids } = await retrying;
    const wrong: Violation[] = ids === keys ? [] : [{ rule: 'once-per-key', what: `${keys} keys are ${ids} orders` }];
    const row = await judged('R4', retries.what, arena, wrong);
    return [{ ...row, tried: `${keys} keys × ${triesEach}, ${row.tried}` }];
  },
};

/** @returns how many keys were used, and for how many orders */
async function retryUntil(end: number, { random }: Arena, clients: readonly Client[], plantIds: readonly number[]): Promise<{ keys: number; ids: number }> {
  const own = random.fork();
  const ids = new Set<number>();
  let keys = 0;
  do {
    const tries = Array.from({ length: keysAtATime }, () => ({
      key: newKey(own, keys++),
      client: own.pick(clients),
      wanted: { plantId: own.pick(plantIds), quantity: 1 },
    })).flatMap((one) => Array.from({ length: triesEach }, () => one));
    const found = await inParallel(own.shuffle(tries), width, ({ key, client, wanted }) => placeStubbornly(client, own, wanted, key));
    for (const id of found) if (id !== undefined) ids.add(id);
  } while (now() < end);
  return { keys, ids: ids.size };
}

const newKey = (random: Random, n: number): string => `retried-${n}-${random.between(0, 2 ** 31)}`;

export const placingGoals: Readonly<Record<string, Goal>> = { R1: rush, R4: retries };
