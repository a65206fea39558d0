import type { Arena } from './arena.js';
import { now, pause } from './clock.js';
import type { Call } from './history.js';

/**
 * A customer whose requests can only succeed, at a fixed rate, whatever becomes of those before. Registered and logged in before what
 * follows keeps the shop busy.
 * @returns begins, until the work is over, and returns the calls
 */
export async function steadyCustomer(arena: Arena, perSecond: number): Promise<(work: Promise<unknown>) => Promise<readonly Call[]>> {
  const plantId = await arena.plant(1_000_000);
  const { client } = await arena.customer('steady');
  const first = (await arena.surely(() => client.place({ plantId, quantity: 1 }))).id ?? 0;
  const kinds = [
    () => client.place({ plantId, quantity: 1 }),
    () => client.read(first),
    () => client.lookAt(plantId),
    () => client.inventory(),
  ];
  return async (work) => {
    let isOver = false;
    void work.finally(() => (isOver = true));
    const calls: Promise<Call>[] = [];
    for (let n = 0, begin = now(); !isOver; n++) {
      await pause(begin + (n * 1_000) / perSecond - now());
      const ask = kinds[n % kinds.length]!;
      calls.push(ask().then(({ call }) => call));
    }
    await work;
    return Promise.all(calls);
  };
}
