import type { Violation } from '../checks/violation.js';
import { makePlan } from '../plan.js';
import type { Row } from '../report.js';
import { placeStubbornly } from '../trade.js';
import { type Goal, inParallel, judged, openArena } from './goal.js';

const units = 100;

/** Many want the last ones, all at once. */
const rush: Goal = {
  what: 'more orders than units, all at once',
  weight: 0,
  run: async (trial): Promise<Row[]> => {
    const [rounds, orders] = trial.isShort ? [2, 1_000] : [20, 2_000];
    const arena = await openArena(trial, { receivers: 0, sockets: 0 });
    // One process makes all of the rush, and is slower than the shop.
    arena.deadlineMs = Infinity;
    const wrong: Violation[] = [];
    for (let round = 0; round < rounds; round++) {
      const plantId = await arena.plant(units);
      const outcomes = await Promise.all(Array.from({ length: orders }, () => arena.staff.place({ plantId, quantity: 1 })));
      const answers = Map.groupBy(outcomes, ({ call: { answer } }) => (answer === 'lost' ? 'lost' : `${answer.status} ${answer.code ?? ''}`));
      const count = (answer: string): number => answers.get(answer)?.length ?? 0;
      if (count('200 ') !== units || count('409 insufficient-stock') !== orders - units) {
        const all = [...answers].map(([answer, { length }]) => `${length} × ${answer}`).join(', ');
        wrong.push({ rule: 'stock', what: `${orders} orders of ${units} units: ${all}` });
      }
    }
    return [await judged('R1', rush.what, arena, wrong)];
  },
};

/** Everybody asks for the same thing again and again, and is never told what came of it at first. */
const retries: Goal = {
  what: 'retries with their Idempotency-Key, and kills',
  weight: 0,
  run: async (trial): Promise<Row[]> => {
    const { random } = trial;
    const [keys, each] = trial.isShort ? [150, 6] : [1_000, 10];
    const arena = await openArena(trial, { receivers: 0, sockets: 0 });
    const people = await Promise.all(Array.from({ length: 4 }, (_, n) => arena.customer(`keyed${n + 1}`)));
    const plantIds = await Promise.all(Array.from({ length: 4 }, () => arena.plant(keys)));
    const tries = Array.from({ length: keys }, (_, n) => ({
      key: `retried-${n}-${random.between(0, 2 ** 31)}`,
      client: random.pick(people).client,
      wanted: { plantId: random.pick(plantIds), quantity: 1 },
    })).flatMap((one) => Array.from({ length: each }, () => one));
    const placing = inParallel(random.shuffle(tries), 24, ({ key, client, wanted }) => placeStubbornly(client, random, wanted, key));
    const labels = trial.ground.stack.instances.map(({ label }) => label);
    const plan = makePlan(random.fork(), { kinds: ['kill', 'kill', 'restart'], services: ['store', 'gateway'], labels, seconds: 600, restMs: 1_500 });
    await arena.faults.carryOut(plan, placing);
    const { size } = new Set((await placing).filter((id) => id !== undefined));
    const wrong: Violation[] = size === keys ? [] : [{ rule: 'once-per-key', what: `${keys} keys are ${size} orders` }];
    return [await judged('R4', retries.what, arena, wrong)];
  },
};

export const placingGoals: Readonly<Record<string, Goal>> = { R1: rush, R4: retries };
