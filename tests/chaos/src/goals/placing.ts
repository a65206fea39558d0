import { now, pause } from '../clock.js';
import type { Violation } from '../checks/violation.js';
import { describeFault, makePlan } from '../plan.js';
import type { Row } from '../report.js';
import { placeStubbornly } from '../trade.js';
import { type Goal, inParallel, judged, openArena, type Trial } from './goal.js';

const units = 100;

/** Many want the last ones, all at once. */
const rush: Goal = {
  what: 'more orders than units, all at once',
  weight: 0,
  run: async (trial): Promise<Row[]> => {
    const [rounds, orders] = trial.isShort ? [2, 1_000] : [20, 2_000];
    const arena = await openArena(trial, { receivers: 0, sockets: 0 });
    const wrong: Violation[] = [];
    for (let round = 0; round < rounds; round++) {
      const plantId = await arena.plant(units);
      const outcomes = await Promise.all(Array.from({ length: orders }, () => arena.staff.place({ plantId, quantity: 1 })));
      const count = (status: number): number => outcomes.filter(({ call: { answer } }) => answer !== 'lost' && answer.status === status).length;
      if (count(200) !== units || count(409) !== orders - units) {
        wrong.push({ rule: 'stock', what: `of ${orders} orders of ${units} units ${count(200)} were accepted and ${count(409)} refused` });
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
    await untilOver(trial, arena.faults, placing);
    const { size } = new Set((await placing).filter((id) => id !== undefined));
    const wrong: Violation[] = size === keys ? [] : [{ rule: 'once-per-key', what: `${keys} keys are ${size} orders` }];
    return [await judged('R4', retries.what, arena, wrong)];
  },
};

/** Kills, one after the other, for as long as the work goes on. */
async function untilOver({ random, ground }: Trial, faults: { do: (fault: ReturnType<typeof makePlan>[number]) => Promise<void> }, work: Promise<unknown>): Promise<void> {
  const labels = ground.stack.instances.map(({ label }) => label);
  const plan = makePlan(random.fork(), { kinds: ['kill', 'kill', 'restart'], services: ['store', 'gateway'], labels, seconds: 600, restMs: 1_500 });
  for (const fault of plan.slice(0, 3)) ground.say(`  plan  ${describeFault(fault)}, …`);
  const over = work.then(() => 'over' as const);
  const begin = now();
  for (const fault of plan) {
    if ((await Promise.race([over, pause(begin + fault.atMs - now())])) === 'over') return;
    await faults.do(fault);
  }
}

export const placingGoals: Readonly<Record<string, Goal>> = { R1: rush, R4: retries };
